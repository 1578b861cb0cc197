"""EPUB in: the spine gives the order, the table of contents gives the tree.

All pages are read in the order of the spine and laid end to end; each entry of the table of
contents is a place in them, and its text runs to the place of the next entry, across pages or
within one. Covers, title pages, imprints and notes are left out. A book without a table of contents
is cut at its headings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fabula.formats.manuscripts.epub_package import (
    APART,
    Entry,
    check_protection,
    contents_of,
    described,
    guided,
    looks_of,
    open_package,
)
from fabula.formats.manuscripts.heading_tree import Section, grow
from fabula.formats.manuscripts.imported import Imported
from fabula.formats.manuscripts.plain_text import plain_sections, tidy
from fabula.formats.manuscripts.prose import Block, markdown_of
from fabula.formats.manuscripts.xhtml import Page, page_text, read_page
from fabula.formats.safe.folder import Files
from fabula.manuscript.drafts import Kind

_APART_TITLE = re.compile(
    r"cover|title[ -]?page|half[ -]?title|(?:table of )?contents|copyright(?: page| notice)?|imprint|colophon|"
    r"uncopyright|also by .*|封面|书名页|版权(?:页|信息)?|版權(?:頁)?|目录|目錄|目次|扉页",
    re.IGNORECASE,
)
_APART_NAME = re.compile(
    r"(?:.*[/_-])?(?:cover|titlepage|title_page|nav|toc|copyright|colophon|imprint)[_\d]*\.x?html?"
)
_KINDS = {"volume": Kind.BOOK, "part": Kind.PART, "chapter": Kind.CHAPTER}
_SAID = {"fabula-book": Kind.BOOK, "fabula-part": Kind.PART, "fabula-chapter": Kind.CHAPTER, "fabula-scene": Kind.SCENE}
_SHORT = 1_500


class _Place(NamedTuple):
    """An entry and where its text begins among all blocks."""

    entry: Entry
    at: int
    kind: Kind | None
    title: str


class _Laid(NamedTuple):
    """All pages laid end to end."""

    blocks: list[Block]
    headings: dict[int, int]
    starts: dict[str, int]


def read_epub(files: Files) -> Imported:
    """An EPUB 2 or 3, as an archive or an unpacked folder."""
    package = open_package(files)
    check_protection(files, package)
    looks = looks_of(files, package)
    contents, nav = contents_of(files, package)
    apart = guided(package) | {nav}
    pages: dict[str, Page] = {}
    left_out = 0
    for name in package.spine:
        page = read_page(page_text(files.read(name), name), looks)
        if name in apart or page.kinds & APART or _told_apart(page) or _APART_NAME.fullmatch(name.lower()):
            left_out += bool(page.blocks)
        else:
            pages[name] = page
    sections = _cut(pages, contents)
    book = described(package, grow(sections) if sections else ())
    warnings = (f"{left_out} pages that are not part of the story (cover, title, notes …) were left out.",)
    return Imported(book=book, warnings=warnings if left_out else ())


def _told_apart(page: Page) -> bool:
    return bool(page.types.get(0, set()) & APART)


def _laid(pages: dict[str, Page]) -> _Laid:
    laid = _Laid([], {}, {})
    for name, page in pages.items():
        laid.starts[name] = len(laid.blocks)
        laid.headings.update({len(laid.blocks) + at: level for at, level in page.headings.items()})
        laid.blocks.extend(page.blocks)
    return laid


def _cut(pages: dict[str, Page], contents: Sequence[Entry]) -> list[Section]:
    """The sections of a book: its blocks cut at the places of the table of contents."""
    laid = _laid(pages)
    ours = any(name in _SAID for page in pages.values() for types in page.types.values() for name in types)
    told = contents if ours else [entry for entry in contents if not _APART_TITLE.fullmatch(entry.title)]
    places = _places(pages, laid, told)
    if not ours and len({place.at for place in places}) < 2:
        return _by_headings(pages, laid, places)
    order = sorted(range(len(places)), key=lambda at: places[at].at)
    ends = dict(zip(order, [*(places[at].at for at in order[1:]), len(laid.blocks)], strict=True)) if order else {}
    sections = [
        Section(
            level=place.entry.level,
            title=place.title,
            kind=place.kind,
            text=_text(laid, place.at, ends[at], place.title),
        )
        for at, place in enumerate(places)
    ]
    opening = markdown_of(laid.blocks[: places[order[0]].at] if order else laid.blocks)
    if len(opening) > _SHORT:
        sections.insert(0, Section(level=1, title="", text=opening, kind=Kind.CHAPTER))
    return sections


def _places(pages: dict[str, Page], laid: _Laid, contents: Sequence[Entry]) -> list[_Place]:
    """Where each entry begins; one without a page of its own stands where the next one does."""
    found: list[_Place] = []
    following: int | None = None
    for entry in reversed(contents):
        page = pages.get(entry.page)
        types: set[str] = set()
        if page is not None:
            inside = page.ids.get(entry.fragment, 0)
            types = page.types.get(inside, set()) | (set() if inside else page.kinds)
            following = laid.starts[entry.page] + inside
        elif entry.page or following is None:
            continue
        said = [kind for name, kind in (_SAID | _KINDS).items() if name in types]
        title = "" if "fabula-untitled" in types else entry.title
        found.append(_Place(entry, following, said[0] if said else None, title))
    return found[::-1]


def _by_headings(pages: dict[str, Page], laid: _Laid, places: Sequence[_Place]) -> list[Section]:
    """A book without a usable table of contents: cut at headings, or at lines that look like them, or by page."""
    marks = sorted(laid.headings.items())
    if len(marks) > 1 or (marks and not places):
        ends = [at for at, _ in marks[1:]] + [len(laid.blocks)]
        cut = [
            Section(level=level, title=laid.blocks[at].words, text=markdown_of(laid.blocks[at + 1 : end]))
            for (at, level), end in zip(marks, ends, strict=True)
        ]
        opening = markdown_of(laid.blocks[: marks[0][0]])
        return [Section(level=1, title="", text=opening), *cut] if len(opening) > _SHORT else cut
    plain = [section for section in plain_sections(markdown_of(laid.blocks)) if section.level or section.text.strip()]
    if len(plain) > 1:
        return [Section(level=s.level or 1, title=s.title, text=tidy(s.text)) for s in plain]
    if places:
        text = _text(laid, 0, len(laid.blocks), places[0].title)
        return [Section(level=1, title=places[0].title, kind=places[0].kind, text=text)]
    return [Section(level=1, title="", text=markdown_of(page.blocks)) for page in pages.values() if page.blocks]


def _text(laid: _Laid, start: int, end: int, title: str) -> str:
    """What stands under a heading, without the heading itself, which may be spread over several."""
    wanted = _letters(title) or title
    at = start
    while at < min(end, start + 4) and wanted:
        said = _letters(laid.blocks[at].words) or laid.blocks[at].words
        whole = said == wanted and (at in laid.headings or at == start)
        if not whole and not (at in laid.headings and (said in wanted or wanted in said)):
            break
        at += 1
        if whole:
            break
    return markdown_of(laid.blocks[at:end])


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
