"""Read and write Markdown and plain text, as one file or as a folder of files.

Headings become the tree. A single `#` above deeper headings is the title of the book. A file without
any `#` is plain text, in which lines like "Chapter 12" or "第十二章" are headings. Scene breaks stay in
the text unless the caller asks for scenes. A written book reads back as the same tree: a kind that a
reader would not guess stands behind its heading, `## Prologue {.scene}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from posixpath import commonpath, commonprefix, dirname

from msgspec import Struct
from msgspec.structs import replace

from fabula.core.messages import Sentence, message
from fabula.formats.manuscripts.front_matter import Value, as_text, as_texts, quote, split_front_matter
from fabula.formats.manuscripts.heading_tree import build_tree_with_opening, flatten_with_needed_kinds
from fabula.formats.manuscripts.model import ImportedManuscript, Section, check_section_count
from fabula.formats.manuscripts.plain_text import parse_title_page, split_plain_text, tidy_paragraphs
from fabula.formats.manuscripts.prose import is_scene_break, parse_heading
from fabula.formats.safe.encodings import decode_text
from fabula.formats.safe.files import FileCollection
from fabula.formats.safe.import_errors import refuse_unreadable
from fabula.manuscript.drafts import DocumentKind, ManuscriptDraft

SUFFIXES = (".md", ".markdown", ".txt")
_KIND = re.compile(r"[ \t]*\{\.(book|part|chapter|scene|note)\}$")
_UNDERLINE = re.compile(r"={3,}[ \t]*")
_NUMBERING = re.compile(r"^[\d\s._-]+(?=[^\d\s._-])")
_SCENE_LEVEL = 12  # below every heading


class ParsedText(Struct, frozen=True, kw_only=True):
    """One text file: its front matter, the title and authors it names, and its sections."""

    front_matter: dict[str, Value]
    title: str
    authors: tuple[str, ...]
    sections: tuple[Section, ...]


def read_text_file(data: bytes, name: str, *, scenes: bool = False) -> ImportedManuscript:
    """Read a Markdown or plain text file; `scenes` cuts chapters at their scene breaks."""
    text, warnings = decode_text(data, name)
    parsed = parse_text(text, scenes=scenes)
    return ImportedManuscript(book=_make_book(parsed, parsed.sections), warnings=warnings)


def read_text_folder(files: FileCollection, *, scenes: bool = False) -> ImportedManuscript:
    """Read a folder of Markdown or plain text files in the order of their names; folders become parts."""
    names = sorted((name for name in files.names if name.lower().endswith(SUFFIXES)), key=_natural_order)
    if not names:
        refuse_unreadable(files.label, message("it has no text"), message("Name a folder with Markdown or text files."))
    base = commonpath(map(dirname, names))
    sections: list[Section] = []
    warnings: list[Sentence] = []
    first: ParsedText | None = None
    parents: list[str] = []
    for name in names:
        text, text_warnings = decode_text(files.read(name), name)
        warnings.extend(text_warnings)
        parsed = parse_text(text, scenes=scenes, is_whole_book=False)
        first = first or parsed
        *folders, file_name = name.removeprefix(base).lstrip("/").split("/")
        shared = len(commonprefix([parents, folders]))
        for depth, folder in enumerate(folders[shared:], start=shared):
            sections.append(Section(level=depth + 1, title=_clean_file_name(folder), kind=DocumentKind.PART))
        parents = folders
        sections.extend(_place_below(parsed, len(folders), _clean_file_name(file_name.rsplit(".", 1)[0])))
    assert first is not None
    book = replace(_make_book(first, sections), title=as_text(first.front_matter.get("book")))
    return ImportedManuscript(book=book, warnings=tuple(warnings))


def write_markdown(book: ManuscriptDraft) -> bytes:
    """Write a book as one Markdown file."""
    parts: list[str] = []
    if book.authors or book.language:
        parts.append("---")
        if book.language:
            parts.append(f"lang: {quote(book.language)}")
        if book.authors:
            parts.append(f"author: [{', '.join(quote(name) for name in book.authors)}]")
        parts.append("---\n")
    if book.title.strip():
        parts.append(f"# {_join_lines(book.title)}\n")
    for section in flatten_with_needed_kinds(book.drafts):
        kind = f" {{.{section.kind}}}" if section.kind is not None else ""
        hashes = "#" * min(section.level + 1, 6)
        parts.append(f"{hashes} {_join_lines(section.title)}{kind}".rstrip() + "\n")
        if section.text.strip():
            parts.append("\n".join(_escape_heading(line) for line in section.text.strip("\n").split("\n")) + "\n")
    return "\n".join(parts).encode()


def write_plain_text(book: ManuscriptDraft) -> bytes:
    """Write a book as plain text: its title, and each chapter's title above its text."""
    titles = [_join_lines(book.title)] if book.title.strip() else []
    sections = [(_join_lines(one.title), one.text.strip("\n")) for one in flatten_with_needed_kinds(book.drafts)]
    parts = [*titles, *(part for section in sections for part in section if part.strip())]
    return ("\n\n".join(parts) + "\n").encode()


def parse_text(text: str, *, scenes: bool = False, is_whole_book: bool = True) -> ParsedText:
    """Parse one text into sections; only a whole book may begin with its own title."""
    front_matter, body = split_front_matter(text)
    sections = _split_at_headings(body)
    title = as_text(front_matter.get("title"))
    authors = as_texts(front_matter.get("author") or front_matter.get("authors"))
    is_plain = len(sections) == 1 and sections[0].level == 0
    if is_plain:
        sections = split_plain_text(sections[0].text)
    if is_whole_book and not is_plain:
        title, sections = _take_title(title, sections)
    elif is_whole_book and len(sections) > 1 and sections[0].level == 0:
        page_title, page_authors, rest = parse_title_page(sections[0].text)
        title, authors = title or page_title, authors or page_authors
        sections = [replace(sections[0], text=rest), *sections[1:]]
    sections = [replace(section, text=tidy_paragraphs(section.text)) for section in sections]
    sections = [section for section in sections if section.level or section.text]
    if scenes:
        sections = [part for section in sections for part in _split_chapter(section)]
    return ParsedText(front_matter=front_matter, title=title, authors=authors, sections=tuple(sections))


def split_at_scene_breaks(text: str, is_break: Callable[[str], bool] = is_scene_break) -> list[str]:
    """The scenes of a text, without those that are blank."""
    scenes: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip() and is_break(line):
            scenes.append([])
        else:
            scenes[-1].append(line)
    return [scene for lines in scenes if (scene := "\n".join(lines).strip("\n")).strip()]


def _make_book(parsed: ParsedText, sections: Sequence[Section]) -> ManuscriptDraft:
    language = as_text(parsed.front_matter.get("lang")) or as_text(parsed.front_matter.get("language"))
    drafts = build_tree_with_opening(sections)
    return ManuscriptDraft(title=parsed.title, authors=parsed.authors, language=language, drafts=drafts)


def _split_at_headings(text: str) -> list[Section]:
    """Cut a text at its `#` headings and underlined titles."""
    sections: list[Section] = [Section(level=0, title="")]
    lines: list[str] = []
    in_fence, fences_are_closed = False, text.count("\n```") % 2 == 0

    def begin_section(level: int, title: str) -> None:
        sections[-1] = replace(sections[-1], text="\n".join(lines))
        lines.clear()
        check_section_count(len(sections))
        kind = _KIND.search(title)
        bare = title[: kind.start()] if kind else title
        sections.append(Section(level=level, title=bare.strip(), kind=DocumentKind(kind[1]) if kind else None))

    for line in text.split("\n"):
        if fences_are_closed and line.startswith("```"):
            in_fence = not in_fence
        heading = parse_heading(line) if not in_fence else None
        if heading is not None:
            begin_section(*heading)
        elif lines and _UNDERLINE.fullmatch(line) and lines[-1].strip() and not "".join(lines[-2:-1]).strip():
            begin_section(1, lines.pop().strip())
        else:
            lines.append(line)
    sections[-1] = replace(sections[-1], text="\n".join(lines))
    return sections if sections[0].text.strip() or len(sections) == 1 else sections[1:]


def _take_title(title: str, sections: list[Section]) -> tuple[str, list[Section]]:
    """Take a single `#` above all other headings as the book's title; its text becomes an untitled opening."""
    top = [at for at, section in enumerate(sections) if section.level == 1]
    if len(top) != 1 or top[0] > 1:
        return title, sections
    before, first, after = sections[: top[0]], sections[top[0]], sections[top[0] + 1 :]
    has_text = bool(first.text.strip())
    if first.kind is not None or (not after and (has_text or before)):
        return title, sections
    opening = [replace(first, level=0, title="")] if has_text else []
    return first.title, [*before, *opening, *after]


def _split_chapter(section: Section) -> Iterable[Section]:
    """Cut a chapter at its scene breaks."""
    scenes = split_at_scene_breaks(section.text)
    if len(scenes) < 2 or not section.level:
        return [section]
    return [
        replace(section, text=""),
        *(Section(level=_SCENE_LEVEL, title="", text=text, kind=DocumentKind.SCENE) for text in scenes),
    ]


def _place_below(parsed: ParsedText, depth: int, file_title: str) -> list[Section]:
    """The sections of one file, moved below the folders it lies in."""
    sections = list(parsed.sections)
    if not sections or sections[0].level == 0:
        text = sections[0].text if sections else ""
        below = [replace(section, level=section.level + 1) for section in sections[1:]]
        sections = [Section(level=1, title=parsed.title or file_title, text=text), *below]
    top = min(section.level for section in sections)
    return [replace(section, level=section.level - top + depth + 1) for section in sections]


def _escape_heading(line: str) -> str:
    """Write a line of text so that it is not read as a heading."""
    heading = parse_heading(line)
    if heading is not None:
        return f"**{heading[1]}**" if heading[1] else ""
    return f"\\{line}" if _UNDERLINE.fullmatch(line) else line


def _join_lines(title: str) -> str:
    return " ".join(title.split("\n")).strip()


def _clean_file_name(name: str) -> str:
    """A file or folder name as a title: without its numbering, blanks for `_` and `-`."""
    return _NUMBERING.sub("", name).replace("_", " ").replace("-", " ").strip() or name


def _natural_order(name: str) -> list[tuple[int, int, str]]:
    """A sort key that puts `2` before `10`."""
    parts = re.findall(r"(\d{1,15})|(\D+|\d+)", name.lower())
    return [(0, int(digits), "") if digits else (1, 0, text) for digits, text in parts]
