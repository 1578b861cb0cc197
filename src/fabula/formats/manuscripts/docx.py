"""Read and write Word documents (DOCX).

Reading: heading styles become the tree. A style is a heading by its English name (`heading 1`), which
Word keeps in every language, by the style it is based on, or by its outline level. The document is
parsed as XML and not with python-docx, which skips tracked insertions and content controls.
Deletions, comments, footnotes, text boxes and tables of contents are left out. A document without
headings is read as plain text.

Writing: headings have Word's own styles, so its outline and table of contents work. A heading gets a
style of ours only where a reader would guess another kind or where it has no title. Lines of Chinese
prose are paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from io import BytesIO
from typing import NamedTuple
from xml.etree.ElementTree import Element

import docx
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Pt
from docx.styles.style import ParagraphStyle
from msgspec.structs import replace

from fabula.core.messages import message
from fabula.formats.manuscripts.heading_tree import build_tree_with_opening, flatten_with_needed_kinds, join_sections
from fabula.formats.manuscripts.markdown import parse_text
from fabula.formats.manuscripts.model import ImportedManuscript, Section
from fabula.formats.manuscripts.plain_text import HeadingType, classify_title
from fabula.formats.manuscripts.prose import Block, TextRun, make_block, parse_blocks
from fabula.formats.manuscripts.words import load_words
from fabula.formats.safe.files import FileCollection
from fabula.formats.safe.import_errors import SAVE_AGAIN, refuse_too_large, refuse_unreadable
from fabula.formats.safe.xml_reader import (
    NEVER_IN_XML,
    find_children,
    find_path,
    get_attribute,
    local_name,
    parse_xml,
    read_text,
)
from fabula.manuscript.drafts import DocumentKind, ManuscriptDraft

_DOCUMENT = "word/document.xml"
_KINDS_OF_STYLES = {f"fabula {kind}": kind for kind in DocumentKind if kind is not DocumentKind.NOTE}
_LINE_STYLE = "fabula line"  # a paragraph without a blank line before it
_HEADING = re.compile(r"heading (\d)")
_NOT_STORY_STYLE = re.compile(r"(?:sub)?title|toc (?:\d|heading)|table of (?:figures|authorities)|index \d")
_QUOTE_STYLES = load_words("docx", "quote_styles")
_SKIPPED = load_words("docx", "skipped_elements")
_MAX_BASE_STYLES = 20
_MAX_STYLES = 10_000  # Word itself has some 4,000 at most
_MAX_BOLD_HEADING = 80  # characters
_LEVELS_OF_BOLD = {HeadingType.CONTAINER: 1, HeadingType.CHAPTER: 2, HeadingType.SCENE: 3}


class _Style(NamedTuple):
    """A style: its name in lower case, its heading level (0 for none), its look."""

    name: str = ""
    level: int = 0
    italic: bool = False
    bold: bool = False


_DEFAULT_STYLE = _Style()


def is_docx(names: Collection[str]) -> bool:
    """Tell by its members whether an archive is a Word document."""
    return _DOCUMENT in names or ("[Content_Types].xml" in names and any(name.startswith("word/") for name in names))


def read_docx(files: FileCollection) -> ImportedManuscript:
    """Read a Word document."""
    document = _find_document(files)
    styles = _read_styles(files, document.rsplit("/", 1)[0] + "/styles.xml")
    body = find_path(parse_xml(files.read(document), document), "body")
    paragraphs = [_read_paragraph(element, styles) for element in _find_paragraphs(body) if len(element)]
    property_title, authors, language = _read_properties(files)
    title = next((part.text for name, part in paragraphs if name == "title" and isinstance(part, Block)), "")
    parts = [part for name, part in paragraphs if part and not _NOT_STORY_STYLE.fullmatch(name)]
    sections = join_sections(_find_bold_headings(parts))
    if len(sections) == 1:
        parsed = parse_text(sections[0].text)
        title, authors, sections = title or parsed.title, authors or parsed.authors, list(parsed.sections)
        if len(sections) == 1 and not sections[0].level:
            sections = [replace(sections[0], level=1, title=title)]
    drafts = build_tree_with_opening(sections)
    return ImportedManuscript(
        book=ManuscriptDraft(title=title or property_title, authors=authors, language=language, drafts=drafts)
    )


def _find_bold_headings(parts: Sequence[Section | Block]) -> list[Section | Block]:
    """Turn bold lines into headings in a document without heading styles.

    Those that are numbered or named as chapters count, else all short ones, if there are several with text below.
    """
    bold = [at for at, part in enumerate(parts) if isinstance(part, Block) and _is_bold_line(part)]
    if not bold or any(isinstance(part, Section) for part in parts):
        return list(parts)
    types = {at: classify_title(part.text) for at in bold if isinstance(part := parts[at], Block)}
    if any(types.values()):
        chosen = {at: _LEVELS_OF_BOLD[kind] for at, kind in types.items() if kind is not None}
    else:
        above_text = [at for at in bold if at + 1 < len(parts) and at + 1 not in types]
        chosen = dict.fromkeys(above_text, 2) if len(above_text) > 1 else {}
    return [
        Section(level=chosen[at], title=part.text.replace("\n", " "))
        if at in chosen and isinstance(part, Block)
        else part
        for at, part in enumerate(parts)
    ]


def _is_bold_line(block: Block) -> bool:
    """Is every word of a short paragraph bold, and does it not end like a sentence?"""
    text = block.text.strip()
    is_short = 0 < len(text) <= _MAX_BOLD_HEADING and not block.scene_break and not block.quote_depth
    return is_short and text[-1] not in ".,;。，；" and all(run.bold for run in block.runs if run.text.strip())


def write_docx(book: ManuscriptDraft) -> bytes:
    """Write a book as a Word document."""
    document = docx.Document()
    properties = document.core_properties
    properties.title, properties.author = _clean(book.title)[:255], _clean("; ".join(book.authors))[:255]
    properties.language, properties.comments = _clean(book.language)[:255], ""

    @cache
    def get_style(name: str, base: str = "") -> ParagraphStyle:
        """The style of that name; one with a base of another name is our own and is added when it is first used."""
        is_ours = base not in ("", name)
        styles = document.styles
        style = styles.add_style(name.title(), WD_STYLE_TYPE.PARAGRAPH) if is_ours else styles[name]
        assert isinstance(style, ParagraphStyle)
        if is_ours:
            style.base_style = get_style(base)
        if base == "Normal":
            style.paragraph_format.space_after = Pt(0)
        return style

    if book.title.strip():
        document.add_paragraph(_clean(book.title), style=get_style("Title"))
    for name in book.authors:
        document.add_paragraph(_clean(name), style=get_style("Subtitle"))
    for section in flatten_with_needed_kinds(book.drafts, mark_untitled=True):
        level = min(section.level, 9)
        base = f"Heading {level}"
        style = f"fabula {section.kind} {level}" if section.kind else base
        document.add_paragraph(_clean(section.title), style=get_style(style, base))
        for block in parse_blocks(section.text):
            _write_block(document, block, get_style)
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def _find_document(files: FileCollection) -> str:
    """The name of the main document part."""
    if "_rels/.rels" in files.names:
        for relation in parse_xml(files.read("_rels/.rels"), "_rels/.rels"):
            target = get_attribute(relation, "Target").lstrip("/")
            if get_attribute(relation, "Type").endswith("/officeDocument") and target in files.names:
                return target
    if _DOCUMENT not in files.names:
        refuse_unreadable(files.label, message("it has no text"), SAVE_AGAIN)
    return _DOCUMENT


def _read_styles(files: FileCollection, path: str) -> dict[str, _Style]:
    """The styles of a document by their id."""
    if path not in files.names:
        return {}
    root = parse_xml(files.read(path), path)
    elements = {ident: e for e in find_children(root, "style") if (ident := get_attribute(e, "styleId"))}
    if len(elements) > _MAX_STYLES:
        refuse_too_large(path, message("it has more elements than any manuscript"))
    return {ident: _resolve_style(element, elements) for ident, element in elements.items()}


def _resolve_style(style: Element, elements: dict[str, Element]) -> _Style:
    """A style with what it inherits from those it is based on."""
    name = _get_value(style, "name").lower()
    level, italic, bold = 0, False, False
    element: Element | None = style
    for _ in range(_MAX_BASE_STYLES):
        if element is None:
            break
        heading = _HEADING.fullmatch(_get_value(element, "name").lower())
        level = level or (int(heading[1]) if heading else _get_outline_level(find_path(element, "pPr")))
        properties = find_path(element, "rPr")
        italic, bold = italic or _is_on(properties, "i"), bold or _is_on(properties, "b")
        element = elements.get(_get_value(element, "basedOn"))
    return _Style(name, level, italic, bold)


def _get_outline_level(properties: Element | None) -> int:
    """The outline level as a heading level; 9 means body text."""
    value = _get_value(properties, "outlineLvl")
    return int(value) + 1 if value.isdecimal() and len(value) == 1 and value != "9" else 0


def _get_value(element: Element | None, name: str) -> str:
    return get_attribute(find_path(element, name), "val") if element is not None else ""


def _get_style(properties: Element | None, name: str, styles: dict[str, _Style]) -> _Style:
    """The style that properties name; without one, the default style."""
    return styles.get(_get_value(properties, name), _DEFAULT_STYLE)


def _is_on(properties: Element | None, name: str) -> bool:
    child = find_path(properties, name)
    return child is not None and get_attribute(child, "val") not in ("0", "false", "off", "none")


def _find_paragraphs(body: Element | None) -> Iterator[Element]:
    """All paragraphs in order, also those in tables and content controls."""
    pending = [body] if body is not None else []
    while pending:
        element = pending.pop()
        if local_name(element) == "p":
            yield element
        elif local_name(element) not in _SKIPPED:
            pending.extend(reversed(element))


def _read_paragraph(element: Element, styles: dict[str, _Style]) -> tuple[str, Section | Block | None]:
    """The style of a paragraph, and the heading or the block that it is; None when it has no text."""
    properties = find_path(element, "pPr")
    style = _get_style(properties, "pStyle", styles)
    level = style.level or _get_outline_level(properties)
    kind = _KINDS_OF_STYLES.get(style.name.rstrip(" 0123456789"))
    runs = list(_read_runs(element, styles, is_heading=bool(level)))
    block = make_block(runs, quote_depth=int(style.name in _QUOTE_STYLES), tight=style.name == _LINE_STYLE)
    if level and (block or kind):
        title = block.text.replace("\n", " ") if block else ""
        return style.name, Section(level=level, title=title, kind=kind)
    return style.name, block


def _read_runs(paragraph: Element, styles: dict[str, _Style], *, is_heading: bool) -> Iterator[TextRun]:
    """The text of a paragraph with its look, without deletions and hidden text."""
    pending = [(child, False, False) for child in reversed(paragraph)]
    while pending:
        element, italic, bold = pending.pop()
        name = local_name(element)
        if name in _SKIPPED:
            continue
        if name == "r":
            properties = find_path(element, "rPr")
            if _is_on(properties, "vanish"):
                continue
            if not is_heading:
                style = _get_style(properties, "rStyle", styles)
                italic = style.italic if find_path(properties, "i") is None else _is_on(properties, "i")
                bold = style.bold if find_path(properties, "b") is None else _is_on(properties, "b")
        if name == "t":
            yield TextRun(element.text or "", italic, bold)
        elif name == "tab":
            yield TextRun("\t", italic, bold)
        elif name == "cr" or (name == "br" and get_attribute(element, "type") in ("", "textWrapping")):
            yield TextRun("\n", italic, bold)
        elif name == "noBreakHyphen":
            yield TextRun("\u2011", italic, bold)
        else:
            pending.extend((child, italic, bold) for child in reversed(element))


def _read_properties(files: FileCollection) -> tuple[str, tuple[str, ...], str]:
    """Title, authors and language from the document properties."""
    path = "docProps/core.xml"
    if path not in files.names:
        return "", (), ""
    values = {local_name(element): read_text(element) for element in parse_xml(files.read(path), path)}
    authors = tuple(name.strip() for name in values.get("creator", "").split(";") if name.strip())
    return values.get("title", ""), authors, values.get("language", "")


def _write_block(document: Document, block: Block, get_style: Callable[..., ParagraphStyle]) -> None:
    style = None
    if block.quote_depth:
        style = get_style("Quote")
    elif block.tight:
        style = get_style(_LINE_STYLE, "Normal")
    paragraph = document.add_paragraph(style=style)
    if block.scene_break:
        paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
    for text_run in block.runs:
        run = paragraph.add_run(_clean(text_run.text))
        run.italic, run.bold = text_run.italic or None, text_run.bold or None


def _clean(text: str) -> str:
    return NEVER_IN_XML.sub("", text)
