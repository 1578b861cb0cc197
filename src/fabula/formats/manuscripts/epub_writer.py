"""Write EPUB 3: one page per draft and a table of contents.

Each page names its kind in the vocabulary of EPUB (`epub:type`) and in a class of ours, so that a
book reads back as the same tree. All text is escaped.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from html import escape
from io import BytesIO
from itertools import groupby
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from fabula.formats.manuscripts.heading_tree import flatten_tree
from fabula.formats.manuscripts.model import Section
from fabula.formats.manuscripts.prose import Block, TextRun, parse_blocks
from fabula.formats.safe.xml_reader import NEVER_IN_XML
from fabula.manuscript.drafts import DocumentKind, ManuscriptDraft

_EPUB_TYPES = {DocumentKind.BOOK: "volume", DocumentKind.PART: "part", DocumentKind.CHAPTER: "chapter"}
_UNTITLED = "· · ·"

_TEMPLATES = Path(__file__).with_name("epub_template")


def write_epub(book: ManuscriptDraft, *, modified: datetime | None = None) -> bytes:
    """Write a book as EPUB 3; `modified` is the date in its metadata, by default now."""
    language = book.language or "und"
    title = book.title.strip() or "…"
    pages = {f"p{number:05}.xhtml": section for number, section in enumerate(flatten_tree(book.drafts), start=1)}
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip")
        archive.writestr("META-INF/container.xml", _read_template("container.xml"))
        archive.writestr("book/package.opf", _render_package(book, title, language, list(pages), modified))
        archive.writestr("book/nav.xhtml", _render_page(title, language, _render_navigation(pages)))
        archive.writestr("book/style.css", _read_template("style.css"))
        archive.writestr("book/title.xhtml", _render_page(title, language, _render_title_page(title, book.authors)))
        for name, section in pages.items():
            page = _render_page(section.title or title, language, _render_section(section))
            archive.writestr(f"book/{name}", page)
    return out.getvalue()


def _escape(text: str) -> str:
    return escape(NEVER_IN_XML.sub("", text), quote=True)


@cache
def _read_template(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def _render_page(title: str, language: str, body: str) -> str:
    return _read_template("page.xhtml").format(title=_escape(title), language=_escape(language), body=body)


def _render_title_page(title: str, authors: Sequence[str]) -> str:
    names = "".join(f"<p>{_escape(name)}</p>\n" for name in authors)
    return f'<section epub:type="titlepage">\n<h1>{_escape(title)}</h1>\n{names}</section>\n'


def _render_section(section: Section) -> str:
    kind = section.kind or DocumentKind.CHAPTER
    epub_type = f' epub:type="{_EPUB_TYPES[kind]}"' if kind in _EPUB_TYPES else ""
    level = min(section.level, 6)
    heading = f"<h{level}>{_escape(section.title)}</h{level}>\n" if section.title else ""
    classes = f"fabula-{kind}" if section.title else f"fabula-{kind} fabula-untitled"
    body = "".join(_render_blocks(parse_blocks(section.text)))
    return f'<section{epub_type} class="{classes}">\n{heading}{body}</section>\n'


def _render_blocks(blocks: Sequence[Block]) -> Iterator[str]:
    for depth, group in groupby(blocks, key=lambda block: block.quote_depth):
        yield "<blockquote>" * depth + ("\n" if depth else "")
        for block in group:
            html_class = ' class="break"' if block.scene_break else ' class="line"' if block.tight else ""
            yield f"<p{html_class}>{''.join(map(_render_run, block.runs))}</p>\n"
        yield "</blockquote>" * depth + ("\n" if depth else "")


def _render_run(run: TextRun) -> str:
    text = _escape(run.text).replace("\n", "<br/>")
    text = f"<em>{text}</em>" if run.italic else text
    return f"<strong>{text}</strong>" if run.bold else text


def _render_navigation(pages: dict[str, Section]) -> str:
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
        lines.append(f'<li><a href="{name}">{_escape(section.title) or _UNTITLED}</a>')
    if not pages:
        lines.append('<li><a href="title.xhtml">…</a>')
    return "\n".join([*lines, "</li></ol>" * depth, "</nav>\n"])


def _render_package(
    book: ManuscriptDraft, title: str, language: str, pages: Sequence[str], modified: datetime | None
) -> str:
    stamp = (modified or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ident = uuid5(NAMESPACE_URL, "\n".join(["fabula", book.title, *book.authors]))
    names = ["title.xhtml", *pages]
    return _read_template("package.opf").format(
        ident=ident,
        title=_escape(title),
        language=_escape(language),
        authors="".join(f"<dc:creator>{_escape(name)}</dc:creator>\n" for name in book.authors),
        stamp=stamp,
        items="".join(
            f'<item id="i{n}" href="{name}" media-type="application/xhtml+xml"/>\n' for n, name in enumerate(names)
        ),
        spine="".join(f'<itemref idref="i{n}"/>\n' for n in range(len(names))),
    )
