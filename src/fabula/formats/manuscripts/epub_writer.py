"""EPUB 3 out: one page a draft, a table of contents, and nothing a reader would have to guess.

Each page says what it is in the words of EPUB (`epub:type`) and in a class of ours, so that a book
comes back as the tree it was. Pages are written in the blocks of `prose`, with all text escaped.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from io import BytesIO
from itertools import groupby
from uuid import NAMESPACE_URL, uuid5

from fabula.formats.manuscripts.heading_tree import Section, flat
from fabula.formats.manuscripts.prose import Block, Span, blocks_of
from fabula.manuscript.drafts import Book, Kind

_TYPES = {Kind.BOOK: "volume", Kind.PART: "part", Kind.CHAPTER: "chapter"}
_NEVER_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_UNTITLED = "· · ·"

_CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
"""
_STYLE = """body { margin: 5%; line-height: 1.5; }
h1, h2, h3, h4 { text-align: center; font-weight: normal; margin: 2em 0 1.5em; }
p { margin: 0; text-indent: 1.5em; }
h1 + p, h2 + p, h3 + p, .break + p { text-indent: 0; }
:lang(zh) p, :lang(ja) p { text-indent: 0; }
.break { text-align: center; text-indent: 0; margin: 1.5em 0; }
blockquote { margin: 1em 2em; }
"""


def write_epub(book: Book, *, modified: datetime | None = None) -> bytes:
    """A book as an EPUB 3."""
    sections = flat(book.drafts)
    language = book.language or "und"
    title = book.title.strip() or "…"
    pages = {f"p{number:05}.xhtml": section for number, section in enumerate(sections, start=1)}
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip")
        archive.writestr("META-INF/container.xml", _CONTAINER)
        archive.writestr("book/package.opf", _package(book, title, language, list(pages), modified))
        archive.writestr("book/nav.xhtml", _page(title, language, _navigation(pages)))
        archive.writestr("book/style.css", _STYLE)
        archive.writestr("book/title.xhtml", _page(title, language, _title_page(title, book.authors)))
        for name, section in pages.items():
            archive.writestr(f"book/{name}", _page(section.title or title, language, _section(section)))
    return out.getvalue()


def _safe(text: str) -> str:
    return escape(_NEVER_IN_XML.sub("", text), quote=True)


def _page(title: str, language: str, body: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n'
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" '
        f'lang="{_safe(language)}" xml:lang="{_safe(language)}">\n<head><title>{_safe(title)}</title>'
        f'<link rel="stylesheet" type="text/css" href="style.css"/></head>\n<body>\n{body}</body>\n</html>\n'
    )


def _title_page(title: str, authors: Sequence[str]) -> str:
    names = "".join(f"<p>{_safe(name)}</p>\n" for name in authors)
    return f'<section epub:type="titlepage">\n<h1>{_safe(title)}</h1>\n{names}</section>\n'


def _section(section: Section) -> str:
    kind = section.kind or Kind.CHAPTER
    told = f' epub:type="{_TYPES[kind]}"' if kind in _TYPES else ""
    level = min(section.level, 6)
    heading = f"<h{level}>{_safe(section.title)}</h{level}>\n" if section.title else ""
    marks = f"fabula-{kind}" if section.title else f"fabula-{kind} fabula-untitled"
    return f'<section{told} class="{marks}">\n{heading}{"".join(_body(blocks_of(section.text)))}</section>\n'


def _body(blocks: Sequence[Block]) -> Iterator[str]:
    for depth, group in groupby(blocks, key=lambda block: block.quote):
        yield "<blockquote>" * depth + ("\n" if depth else "")
        for block in group:
            mark = ' class="break"' if block.rule else ' class="line"' if block.tight else ""
            yield f"<p{mark}>{''.join(map(_span, block.spans))}</p>\n"
        yield "</blockquote>" * depth + ("\n" if depth else "")


def _span(span: Span) -> str:
    text = _safe(span.text).replace("\n", "<br/>")
    text = f"<em>{text}</em>" if span.italic else text
    return f"<strong>{text}</strong>" if span.bold else text


def _navigation(pages: dict[str, Section]) -> str:
    lines = ['<nav epub:type="toc" id="toc">\n<ol>']
    depth = 1
    for number, (name, section) in enumerate(pages.items()):
        while depth > section.level:
            lines.append("</li></ol>")
            depth -= 1
        if depth < section.level:
            lines.append("<ol>")
            depth += 1
        elif number:
            lines.append("</li>")
        lines.append(f'<li><a href="{name}">{_safe(section.title) or _UNTITLED}</a>')
    if not pages:
        lines.append('<li><a href="title.xhtml">…</a>')
    return "\n".join([*lines, "</li></ol>" * depth, "</nav>\n"])


def _package(book: Book, title: str, language: str, pages: Sequence[str], modified: datetime | None) -> str:
    stamp = (modified or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ident = uuid5(NAMESPACE_URL, "\n".join(["fabula", book.title, *book.authors]))
    authors = "".join(f"<dc:creator>{_safe(name)}</dc:creator>\n" for name in book.authors)
    names = ["title.xhtml", *pages]
    items = "".join(
        f'<item id="i{n}" href="{name}" media-type="application/xhtml+xml"/>\n' for n, name in enumerate(names)
    )
    spine = "".join(f'<itemref idref="i{n}"/>\n' for n in range(len(names)))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">\n'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">\n'
        f'<dc:identifier id="id">urn:uuid:{ident}</dc:identifier>\n<dc:title>{_safe(title)}</dc:title>\n'
        f"<dc:language>{_safe(language)}</dc:language>\n{authors}"
        f'<meta property="dcterms:modified">{stamp}</meta>\n</metadata>\n<manifest>\n'
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>\n'
        f'<item id="style" href="style.css" media-type="text/css"/>\n{items}</manifest>\n<spine>\n{spine}</spine>\n'
        "</package>\n"
    )
