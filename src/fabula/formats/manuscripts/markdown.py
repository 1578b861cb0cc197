"""Markdown and plain text, as one file or as a folder of them.

Headings become the tree. A single `#` above deeper headings is the title of the book; a file without
any `#` is read as plain text, where lines like "Chapter 12" or "第十二章" are headings. Scene breaks
stay in the text unless scenes are asked for. What is written comes back as it was: a kind that a
reader would not guess stands behind its heading, `## Prologue {.scene}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabula.formats.manuscripts.front_matter import Value, quoted, split_head, texts
from fabula.formats.manuscripts.heading_tree import Section, grow, laid_out
from fabula.formats.manuscripts.imported import Imported, unreadable
from fabula.formats.manuscripts.plain_text import plain_sections, tidy, title_page
from fabula.formats.manuscripts.prose import BREAK, heading_of
from fabula.formats.safe.encodings import decode
from fabula.formats.safe.folder import Files
from fabula.manuscript.drafts import Book, Draft, Kind

SUFFIXES = (".md", ".markdown", ".txt")
_KIND = re.compile(r"[ \t]*\{\.(book|part|chapter|scene|note)\}$")
_UNDERLINE = re.compile(r"={3,}[ \t]*")
_NUMBERING = re.compile(r"^[\d\s._-]+(?=[^\d\s._-])")


class Page(Struct, frozen=True, kw_only=True):
    """One file: what its head says, its title if it has one, and its sections."""

    head: dict[str, Value]
    title: str
    authors: tuple[str, ...]
    sections: tuple[Section, ...]


def read_text(data: bytes, name: str, *, scenes: bool = False) -> Imported:
    """A Markdown or plain text file."""
    text, warnings = decode(data, name)
    page = read_page(text, scenes=scenes)
    return Imported(book=_book(page, page.sections), warnings=warnings)


def read_texts(files: Files, *, scenes: bool = False) -> Imported:
    """A folder of Markdown or plain text files, in the order of their names; folders are parts."""
    names = sorted((name for name in files.names if name.lower().endswith(SUFFIXES)), key=_natural)
    if not names:
        unreadable(files.label, "there is no text in it", "Name a folder with Markdown or text files.")
    base = _common(names)
    sections: list[Section] = []
    warnings: list[str] = []
    first: Page | None = None
    above: list[str] = []
    for name in names:
        text, said = decode(files.read(name), name)
        warnings.extend(said)
        page = read_page(text, scenes=scenes, whole=False)
        first = first or page
        folders = name[len(base) :].split("/")[:-1]
        shared = next((at for at, (a, b) in enumerate(zip(above, folders, strict=False)) if a != b), None)
        new = range(min(len(above), len(folders)) if shared is None else shared, len(folders))
        sections.extend(Section(level=at + 1, title=_titled(folders[at]), kind=Kind.PART) for at in new)
        above = folders
        sections.extend(_under(page, len(folders), _titled(name.rsplit("/", 1)[-1].rsplit(".", 1)[0])))
    book = _book(first, sections) if first is not None else Book()
    return Imported(book=replace(book, title=_text(first.head.get("book")) if first else ""), warnings=tuple(warnings))


def write_markdown(book: Book) -> bytes:
    """A book as one Markdown file."""
    pieces: list[str] = []
    if book.authors or book.language:
        pieces.append("---")
        pieces.extend(f"{key}: {quoted(value)}" for key, value in (("lang", book.language),) if value)
        if book.authors:
            pieces.append(f"author: [{', '.join(quoted(name) for name in book.authors)}]")
        pieces.append("---\n")
    if book.title.strip():
        pieces.append(f"# {_one_line(book.title)}\n")
    for section in laid_out(book.drafts):
        kind = f" {{.{section.kind}}}" if section.kind is not None else ""
        marks = "#" * min(section.level + 1, 6)
        pieces.append(f"{marks} {_one_line(section.title)}{kind}".rstrip() + "\n")
        if section.text.strip():
            pieces.append("\n".join(_plain(line) for line in section.text.strip("\n").split("\n")) + "\n")
    return "\n".join(pieces).encode()


def read_page(text: str, *, scenes: bool = False, whole: bool = True) -> Page:
    """One text as sections; `whole` says that it is a book and may have a title of its own."""
    head, body = split_head(text)
    sections = _marked(body)
    plain = len(sections) == 1 and sections[0].level == 0
    if plain:
        sections = plain_sections(sections[0].text)
    title = _text(head.get("title"))
    authors = texts(head.get("author") or head.get("authors"))
    if whole and not plain:
        title, sections = _own_title(title, sections)
    elif whole and len(sections) > 1 and sections[0].level == 0:
        found, names, rest = title_page(sections[0].text)
        title, authors = title or found, authors or names
        sections = [replace(sections[0], text=rest), *sections[1:]]
    sections = [replace(s, text=tidy(s.text)) for s in sections]
    sections = [section for section in sections if section.level or section.text]
    if scenes:
        sections = [piece for section in sections for piece in _scenes(section)]
    return Page(head=head, title=title, authors=authors, sections=tuple(sections))


def _book(page: Page, sections: Sequence[Section]) -> Book:
    language = _text(page.head.get("lang")) or _text(page.head.get("language"))
    opening = tuple(Draft(title="", text=section.text) for section in sections[:1] if not section.level)
    drafts = opening + grow(sections[len(opening) :])
    return Book(title=page.title, authors=page.authors, language=language, drafts=drafts)


def _marked(text: str) -> list[Section]:
    """A text cut at its `#` headings."""
    found: list[Section] = [Section(level=0, title="")]
    lines: list[str] = []
    fenced, fences = False, text.count("\n```") % 2 == 0

    def close() -> None:
        found[-1] = replace(found[-1], text="\n".join(lines))
        lines.clear()

    for line in text.split("\n"):
        if fences and line.startswith("```"):
            fenced = not fenced
        heading = heading_of(line) if not fenced else None
        if heading is not None:
            close()
            found.append(_headed(*heading))
        elif lines and _UNDERLINE.fullmatch(line) and lines[-1].strip() and not "".join(lines[-2:-1]).strip():
            title = lines.pop().strip()
            close()
            found.append(_headed(1, title))
        else:
            lines.append(line)
    close()
    return found if found[0].text.strip() or len(found) == 1 else found[1:]


def _headed(level: int, title: str) -> Section:
    kind = _KIND.search(title)
    bare = title[: kind.start()] if kind else title
    return Section(level=level, title=bare.strip(), kind=Kind(kind[1]) if kind else None)


def _own_title(title: str, sections: list[Section]) -> tuple[str, list[Section]]:
    """A single `#` above all other headings is the book's title; its text becomes an opening without a name."""
    top = [at for at, section in enumerate(sections) if section.level == 1]
    if len(top) != 1 or top[0] > 1:
        return title, sections
    first = sections[top[0]]
    before = sections[: top[0]]
    alone = len(sections) == top[0] + 1
    if first.kind is not None or (alone and (first.text.strip() or before)):
        return title, sections
    opening = [replace(first, level=0, title="")] if first.text.strip() else []
    return first.title, [*before, *opening, *sections[top[0] + 1 :]]


def _scenes(section: Section) -> Iterable[Section]:
    """A chapter cut at its scene breaks."""
    pieces: list[list[str]] = [[]]
    for line in section.text.split("\n"):
        if line.strip() and len(line) < 80 and BREAK.fullmatch(line):
            pieces.append([])
        else:
            pieces[-1].append(line)
    kept = [text for piece in pieces if (text := "\n".join(piece).strip("\n")).strip()]
    if len(kept) < 2 or not section.level:
        return [section]
    return [replace(section, text=""), *(Section(level=12, title="", text=text, kind=Kind.SCENE) for text in kept)]


def _under(page: Page, depth: int, title: str) -> list[Section]:
    """The sections of one file, below the folders it lies in."""
    sections = list(page.sections)
    if not sections or sections[0].level == 0:
        name = page.title or title
        opening = replace(sections[0], title=name) if sections else Section(level=0, title=name)
        rest = [replace(section, level=section.level + 1) for section in sections[1:]]
        sections = [replace(opening, level=1), *rest]
    top = min(section.level for section in sections)
    return [replace(section, level=section.level - top + depth + 1) for section in sections]


def _plain(line: str) -> str:
    """A line of text that will not be read as a heading."""
    heading = heading_of(line)
    if heading is not None:
        return f"**{heading[1]}**" if heading[1] else ""
    return f"\\{line}" if _UNDERLINE.fullmatch(line) else line


def _one_line(title: str) -> str:
    return " ".join(title.split("\n")).strip()


def _text(value: Value | None) -> str:
    return value if isinstance(value, str) else ""


def _titled(name: str) -> str:
    return _NUMBERING.sub("", name).replace("_", " ").replace("-", " ").strip() or name


def _common(names: Sequence[str]) -> str:
    """The folder that holds them all."""
    folders = [name.rsplit("/", 1)[0] + "/" if "/" in name else "" for name in names]
    base = min(folders, key=len)
    while base and not all(folder.startswith(base) for folder in folders):
        base = base[:-1].rsplit("/", 1)[0] + "/" if "/" in base[:-1] else ""
    return base


def _natural(name: str) -> list[tuple[int, int, str]]:
    """`2` comes before `10`."""
    pieces = re.findall(r"(\d{1,15})|(\D+|\d+)", name.lower())
    return [(0, int(digits), "") if digits else (1, 0, text) for digits, text in pieces]
