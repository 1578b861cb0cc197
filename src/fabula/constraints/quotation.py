"""Quotation: what is told and what is said.

Rules about the narration hold outside quotation marks. Marks may stand inside each other; one that is
never closed ends with its paragraph, since a speech that goes on is opened again in the next. Where the
next paragraph closes it without opening another, it runs on. A straight single mark is taken for a
quotation only where it opens before a word and is closed in its paragraph: all others are apostrophes.
A paragraph that begins with a dash is spoken, and so are several words between asterisks: somebody thinks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PAIRS = {"“": "”", "‘": "’", "「": "」", "『": "』", "«": "»", "»": "«", "„": "”"}
_MARK = re.compile("[“”‘’「」『』«»„\"']")
_SINGLE = re.compile(r"(?<![^\W_])'(?=[^\s'])[^'\n]*+(?:(?<=[^\W_])'(?=[^\W_])[^'\n]*+)*+'(?![^\W_])")

_DASH = re.compile(r"[\s>]*+[—–―]")
_THOUGHT = re.compile(r"(?<![*\w])(\*{1,3}|_{1,3})(?=[^\s*_])[^*_\n]*\s[^*_\n]*(?<=[^\s*_])\1(?![*\w])")

Stretch = tuple[int, int]


def narration(text: str) -> list[Stretch]:
    """The stretches of a text outside quotation marks, in order; empty ones are left out."""
    found: list[Stretch] = []
    told = 0  # where the narration under way began
    waiting: list[str] = []  # the marks that would close what is open
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        if waiting and not _goes_on(line, waiting[0]):
            waiting, told = [], start
        if not waiting and _DASH.match(line):
            found.append((told, start))
            told = start = end + 1
            continue
        skip = start
        for mark in _MARK.finditer(text, start, end):
            at, character = mark.start(), mark[0]
            if at < skip:
                continue
            if character == "'":
                single = None if waiting else _SINGLE.match(text, at, end)
                if single is not None:
                    found.append((told, at))
                    told = skip = single.end()
            elif character == "’" and _apostrophe(text, at):
                continue
            elif character in waiting:
                del waiting[_last(waiting, character) :]
                told = at + 1 if not waiting else told
            elif character in _PAIRS or character == '"':
                if not waiting:
                    found.append((told, at))
                waiting.append(_PAIRS.get(character, '"'))
        start = end + 1
    if not waiting:
        found.append((told, len(text)))
    return [part for first, last in found for part in _unthought(text, first, last)]


def _unthought(text: str, start: int, end: int) -> Iterator[Stretch]:
    """What is left of a stretch without what somebody thinks in it."""
    for thought in _THOUGHT.finditer(text, start, end):
        if start < thought.start():
            yield start, thought.start()
        start = thought.end()
    if start < end:
        yield start, end


def _goes_on(line: str, closer: str) -> bool:
    """Does a paragraph close what an earlier one opened, before it opens anything itself?"""
    if closer == '"':
        return False
    for mark in _MARK.finditer(line):
        if mark[0] == closer and not (closer == "’" and _apostrophe(line, mark.start())):
            return True
        if mark[0] in _PAIRS or mark[0] == '"':
            return False
    return False


def _apostrophe(text: str, at: int) -> bool:
    return at > 0 and text[at - 1].isalnum() and text[at + 1 : at + 2].isalpha()


def _last(waiting: list[str], character: str) -> int:
    return len(waiting) - 1 - waiting[::-1].index(character)
