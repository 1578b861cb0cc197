"""Word documents out, with the styles Word itself uses, so that its outline and its contents work.

A heading gets a style of ours only where a reader could not tell what it is: an untitled scene, a
chapter among parts. Lines of Chinese prose are paragraphs of their own.
"""

from __future__ import annotations

import re
from io import BytesIO

import docx
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Pt
from docx.styles.style import ParagraphStyle

from fabula.formats.manuscripts.docx_reader import LINE, OURS
from fabula.formats.manuscripts.heading_tree import laid_out
from fabula.formats.manuscripts.prose import Block, blocks_of
from fabula.manuscript.drafts import Book

_NEVER_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_STYLES = {kind: name for name, kind in OURS.items()}


def write_docx(book: Book) -> bytes:
    """A book as a Word document."""
    document = docx.Document()
    about = document.core_properties
    about.title, about.author = _safe(book.title)[:255], _safe("; ".join(book.authors))[:255]
    about.language, about.comments = _safe(book.language)[:255], ""
    styles = _Styles(document)
    if book.title.strip():
        document.add_paragraph(_safe(book.title), style=styles["Title"])
    for name in book.authors:
        document.add_paragraph(_safe(name), style=styles["Subtitle"])
    for section in laid_out(book.drafts, nameless=True):
        base = f"Heading {min(section.level, 9)}"
        name = f"{_STYLES[section.kind]} {min(section.level, 9)}" if section.kind else base
        document.add_paragraph(_safe(section.title), style=styles.based(name, base))
        for block in blocks_of(section.text):
            _paragraph(document, block, styles)
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def _paragraph(document: Document, block: Block, styles: _Styles) -> None:
    style = styles["Quote"] if block.quote else styles.based(LINE, "Normal") if block.tight else None
    paragraph = document.add_paragraph(style=style)
    if block.rule:
        paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
    for span in block.spans:
        run = paragraph.add_run(_safe(span.text))
        if span.italic:
            run.italic = True
        if span.bold:
            run.bold = True


class _Styles:
    """The styles of a document; ours are made when they are first needed."""

    def __init__(self, document: Document) -> None:
        self._styles = document.styles
        self._known: dict[str, ParagraphStyle] = {}

    def __getitem__(self, name: str) -> ParagraphStyle:
        if name not in self._known:
            style = self._styles[name]
            assert isinstance(style, ParagraphStyle)
            self._known[name] = style
        return self._known[name]

    def based(self, name: str, base: str) -> ParagraphStyle:
        """A style by its name, made from another one if it is new."""
        if name == base:
            return self[base]
        if name not in self._known:
            style = self._styles.add_style(name.title(), WD_STYLE_TYPE.PARAGRAPH)
            assert isinstance(style, ParagraphStyle)
            style.base_style = self[base]
            if base == "Normal":
                style.paragraph_format.space_after = Pt(0)
            self._known[name] = style
        return self._known[name]


def _safe(text: str) -> str:
    return _NEVER_IN_XML.sub("", text)
