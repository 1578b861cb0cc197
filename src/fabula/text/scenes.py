"""Paragraphs and scenes of a text: a line of marks begins a scene, and so do blank lines where they are rare."""

from __future__ import annotations

import re
from collections.abc import Iterator

MIN_SCENE_CHARACTERS = 1500  # blank lines are scene breaks where there are so many characters for each
_MAX_BREAK = 80  # characters of a line that marks a scene break
_SCENE_BREAK = re.compile(r"[\s*#\-\u2013\u2014_~=·•⁂※◇◆○●☆★§+]+")


def find_scene_gap(text: str) -> int:
    """How many blank lines end a scene in a text; 0 where blank lines do not."""
    return next((lines for lines in (1, 2) if _is_rare(text, "\n" * (lines + 1))), 0)


def _is_rare(text: str, blank_lines: str) -> bool:
    """Are blank lines so rare that they mark scenes?"""
    return 0 < text.count(blank_lines) * MIN_SCENE_CHARACTERS <= len(text)


def find_paragraphs(text: str, start: int, scene_gap: int, end: int | None = None) -> Iterator[tuple[int, int, bool]]:
    """The paragraphs between two offsets, without the space around them, and whether a scene begins with each."""
    blank_lines, has_break = 0, False
    stop = len(text) if end is None else end
    while start < stop:
        line_end = text.find("\n", start, stop)
        end = line_end if line_end >= 0 else stop
        line = text[start:end]
        body = line.strip()
        if not body:
            blank_lines += 1
        elif len(body) <= _MAX_BREAK and _SCENE_BREAK.fullmatch(body):
            has_break = True
        else:
            begin = start + len(line) - len(line.lstrip())
            yield begin, begin + len(body), has_break or bool(scene_gap and blank_lines >= scene_gap)
            blank_lines, has_break = 0, False
        start = end + 1
