"""Word documents in: heading styles become the tree.

A style is known by its English name (`heading 1`), which Word keeps in every language, or by the
style it is based on, or by its outline level. The document is read as XML and not through
python-docx, which passes over tracked insertions and content controls: a writer would miss those
words. Deletions, comments, footnotes, text boxes and tables of contents are left out. Without any
heading style the lines are read as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from fabula.formats.manuscripts.heading_tree import Section, grow
from fabula.formats.manuscripts.imported import Imported, unreadable
from fabula.formats.manuscripts.plain_text import plain_sections, tidy, title_page
from fabula.formats.manuscripts.prose import Block, Span, block, markdown_of
from fabula.formats.safe.folder import Files
from fabula.formats.safe.xml_reader import attribute, children, first, local, parse_xml, words
from fabula.manuscript.drafts import Book, Draft, Kind

DOCUMENT = "word/document.xml"
OURS = {
    "fabula book": Kind.BOOK,
    "fabula part": Kind.PART,
    "fabula chapter": Kind.CHAPTER,
    "fabula scene": Kind.SCENE,
}
LINE = "fabula line"
_HEADING = re.compile(r"heading (\d)")
_CONTENTS = re.compile(r"toc (?:\d|heading)|table of (?:figures|authorities)|index \d")
_QUOTES = frozenset(("quote", "intense quote", "block text", "quotations"))
_SKIPPED = frozenset(
    [
        *("del", "moveFrom", "instrText", "delText", "Fallback", "txbxContent", "rt", "footnoteReference", "comment"),
        *("endnoteReference", "drawing", "pict", "object", "sectPr", "pPr", "rPr"),
    ]
)
_MOST_BASES = 20


class _Style(NamedTuple):
    """What a style means for a manuscript."""

    name: str = ""
    level: int = 0
    italic: bool = False
    bold: bool = False


class _Paragraph(NamedTuple):
    style: _Style
    level: int
    block: Block | None


def read_docx(files: Files) -> Imported:
    """A Word document."""
    document = _main(files)
    styles = _styles(files, document.rsplit("/", 1)[0] + "/styles.xml")
    body = first(parse_xml(files.read(document), document), "body")
    paragraphs = [_paragraph(element, styles) for element in _paragraphs(body)] if body is not None else []
    title, authors, language = _properties(files)
    named = next((p.block.words for p in paragraphs if p.block and p.style.name == "title"), "")
    paragraphs = [p for p in paragraphs if not _CONTENTS.fullmatch(p.style.name)]
    if any(p.level for p in paragraphs):
        kept = [p for p in paragraphs if p.style.name not in ("title", "subtitle")]
        sections = _cut(kept)
        opening = tuple(Draft(title="", text=s.text) for s in sections[:1] if not s.level and s.text)
        drafts = opening + grow([section for section in sections if section.level])
    else:
        named, authors, drafts = _plain(paragraphs, named, authors)
    book = Book(title=named or title, authors=authors, language=language, drafts=drafts)
    return Imported(book=book)


def _main(files: Files) -> str:
    if "_rels/.rels" in files.names:
        for relation in parse_xml(files.read("_rels/.rels"), "_rels/.rels"):
            target = attribute(relation, "Target").lstrip("/")
            if attribute(relation, "Type").endswith("/officeDocument") and target in files.names:
                return target
    if DOCUMENT not in files.names:
        unreadable(files.label, "there is no text in the document", "Open it in Word and save it again as DOCX.")
    return DOCUMENT


def _styles(files: Files, path: str) -> dict[str, _Style]:
    if path not in files.names:
        return {}
    told = {attribute(e, "styleId"): e for e in children(parse_xml(files.read(path), path), "style")}
    return {ident: _style(element, told) for ident, element in told.items()}


def _style(element: Element, told: dict[str, Element]) -> _Style:
    """A style with what it takes from those it is based on."""
    name = _value(element, "name").lower()
    level, italic, bold = 0, False, False
    on: Element | None = element
    for _ in range(_MOST_BASES):
        if on is None:
            break
        known = _HEADING.fullmatch(_value(on, "name").lower())
        outline = _outline(first(on, "pPr"))
        level = level or (int(known[1]) if known else outline)
        properties = first(on, "rPr")
        if properties is not None:
            italic, bold = italic or _is_on(properties, "i"), bold or _is_on(properties, "b")
        on = told.get(_value(on, "basedOn"))
    return _Style(name, level, italic, bold)


def _outline(properties: Element | None) -> int:
    """An outline level as a heading level; 9 means body text."""
    value = _value(properties, "outlineLvl") if properties is not None else ""
    return int(value) + 1 if value.isdecimal() and len(value) == 1 and value != "9" else 0


def _value(element: Element, name: str) -> str:
    child = first(element, name)
    return attribute(child, "val") if child is not None else ""


def _is_on(properties: Element, name: str) -> bool:
    child = first(properties, name)
    return child is not None and attribute(child, "val") not in ("0", "false", "off", "none")


def _paragraphs(body: Element) -> Iterator[Element]:
    """All paragraphs in order, those in tables and content controls too."""
    waiting = [body]
    while waiting:
        element = waiting.pop()
        if local(element) == "p":
            yield element
        elif local(element) not in _SKIPPED:
            waiting.extend(reversed(element))


def _paragraph(element: Element, styles: dict[str, _Style]) -> _Paragraph:
    properties = first(element, "pPr")
    style = styles.get(_value(properties, "pStyle"), _Style()) if properties is not None else _Style()
    level = style.level or _outline(properties)
    spans = list(_runs(element, styles, heading=bool(level)))
    quote = 1 if style.name in _QUOTES else 0
    return _Paragraph(style, level, block(spans, quote=quote, tight=style.name == LINE))


def _runs(paragraph: Element, styles: dict[str, _Style], *, heading: bool) -> Iterator[Span]:
    """The words of a paragraph with their look; what is struck out or beside the text is passed over."""
    waiting = [(child, False, False) for child in reversed(paragraph)]
    while waiting:
        element, italic, bold = waiting.pop()
        name = local(element)
        if name in _SKIPPED:
            continue
        if name == "r":
            properties = first(element, "rPr")
            if properties is not None and not heading:
                style = styles.get(_value(properties, "rStyle"), _Style())
                italic = _is_on(properties, "i") if first(properties, "i") is not None else style.italic
                bold = _is_on(properties, "b") if first(properties, "b") is not None else style.bold
            if properties is not None and _is_on(properties, "vanish"):
                continue
        if name == "t":
            yield Span(element.text or "", italic, bold)
        elif name == "tab":
            yield Span("\t", italic, bold)
        elif name == "cr" or (name == "br" and attribute(element, "type") in ("", "textWrapping")):
            yield Span("\n", italic, bold)
        elif name == "noBreakHyphen":
            yield Span("\u2011", italic, bold)
        else:
            waiting.extend((child, italic, bold) for child in reversed(element))


def _cut(paragraphs: list[_Paragraph]) -> list[Section]:
    """Sections between headings; level 0 is what stands before the first."""
    found: list[tuple[_Paragraph | None, list[Block]]] = [(None, [])]
    for paragraph in paragraphs:
        if paragraph.level and (paragraph.block or _ours(paragraph.style.name)):
            found.append((paragraph, []))
        elif paragraph.block is not None:
            found[-1][1].append(paragraph.block)
    return [
        Section(
            level=heading.level if heading else 0,
            title=" ".join(heading.block.words.split("\n")) if heading and heading.block else "",
            text=markdown_of(blocks),
            kind=_ours(heading.style.name) if heading else None,
        )
        for heading, blocks in found
    ]


def _ours(style: str) -> Kind | None:
    return OURS.get(style.rstrip(" 0123456789"))


def _plain(
    paragraphs: list[_Paragraph], title: str, authors: tuple[str, ...]
) -> tuple[str, tuple[str, ...], tuple[Draft, ...]]:
    """A document without headings: read like a plain text."""
    kept = [p.block for p in paragraphs if p.block and p.style.name not in ("title", "subtitle")]
    sections = plain_sections(markdown_of(kept))
    if len(sections) > 1:
        found, names, rest = title_page(sections[0].text)
        title, authors = title or found, authors or names
        opening = (Draft(title="", text=tidy(rest)),) if rest.strip() else ()
        cut = [Section(level=s.level, title=s.title, text=tidy(s.text)) for s in sections[1:]]
        return title, authors, opening + grow(cut)
    return title, authors, (Draft(title=title, text=sections[0].text),) if sections[0].text else ()


def _properties(files: Files) -> tuple[str, tuple[str, ...], str]:
    path = "docProps/core.xml"
    if path not in files.names:
        return "", (), ""
    told = {local(element): words(element) for element in parse_xml(files.read(path), path)}
    authors = tuple(name.strip() for name in told.get("creator", "").split(";") if name.strip())
    return told.get("title", ""), authors, told.get("language", "")
