"""Plain text: sections from lines that look like headings, paragraphs from lines wrapped by hand."""

from __future__ import annotations

import re
from itertools import pairwise

from fabula.formats.manuscripts.heading_tree import Section
from fabula.formats.manuscripts.headings import Word, find_headings, word_of
from fabula.formats.manuscripts.prose import wide

_BLANKS = re.compile(r"\n(?:[ \t]*\n){2,}")
_BY = re.compile(r"(?:by[ ]+|作者[ 　]*[:：][ 　]*|著者[:：])(.{1,60})", re.IGNORECASE)
_TITLE = re.compile(r"(?:书名|書名|title)[ ]*[:：][ 　]*(.{1,60})", re.IGNORECASE)


def plain_sections(text: str) -> list[Section]:
    """Plain text cut at the lines that look like headings; level 0 is what stands before the first."""
    lines = text.split("\n")
    found = find_headings(text)
    order: dict[str, int] = {}
    for line in found:
        if line.word is Word.CONTAINER:
            order.setdefault(line.name, len(order) + 1)
    # Lines before the first heading that look like headings are those of a table of contents.
    opening = [line for line in lines[: found[0].start] if word_of(line) is None] if found else lines
    sections = [Section(level=0, title="", text="\n".join(opening))]
    for at, line in enumerate(found):
        end = found[at + 1].start if at + 1 < len(found) else len(lines)
        level = order[line.name] if line.word is Word.CONTAINER else 11 if line.word is Word.SCENE else 10
        sections.append(Section(level=level, title=line.title, text="\n".join(lines[line.end : end])))
    return sections


def tidy(text: str) -> str:
    """Paragraphs with one blank line between them; lines wrapped by hand joined again."""
    text = _BLANKS.sub("\n\n", text).strip("\n")
    if not text.strip():
        return ""
    lines = text.split("\n")
    full = sum(1 for line in lines if 45 <= len(line) <= 100)
    words = sum(1 for line in lines if line.strip())
    if words < 20 or full * 2 < words or max(map(len, lines)) > 110 or wide(text):
        return text
    out: list[str] = [lines[0]]
    for before, line in pairwise(lines):
        wrapped = len(before) >= 45 and before[-1] not in "\\ " and line[:1].strip() and line[0] not in ">#*-+|"
        out.append(f" {line}" if wrapped else f"\n{line}")
    return "".join(out)


def title_page(text: str) -> tuple[str, tuple[str, ...], str]:
    """Title and author from the few lines before the first chapter of a plain text."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines or len(text) > 500:
        return "", (), text
    title = ""
    authors: tuple[str, ...] = ()
    rest: list[str] = []
    for line in lines:
        if said := _BY.fullmatch(line):
            authors = (said[1].strip(),)
        elif not title and (said := _TITLE.fullmatch(line)):
            title = said[1].strip("《》 ")
        elif not title and len(line) <= 60 and line[-1] not in ".。，,":
            title = line.strip("《》 ")
        else:
            rest.append(line)
    return title, authors, "\n\n".join(rest)
