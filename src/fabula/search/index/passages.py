"""Passages: a document cut along its scenes and paragraphs.

A passage is a few paragraphs of one scene; where a paragraph is too long it is cut between sentences, and
where a sentence is, by length. Each cut depends only on what follows the one before, so a text that was
edited is cut again around the edit and nowhere else. A passage is named by its words, not by its number:
a page added further up does not change what the passages behind it are called.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from fabula.search.model import Passage, Thread
from fabula.text.offsets import Edit, difference
from fabula.text.sentences import sentence_starts

SIZE = 120  # characters a passage aims at,
WIDE = 45  # and where a character is a syllable or a word
RARE = 1500  # blank lines are scene breaks where there is not one in so many characters
_MARK = 8  # letters by which the words of a passage are known
_AGAIN = "~"  # before the number of a passage whose words were there before
_LOOK = 4000  # characters by which a text's writing is judged
_ALIKE = 10_000  # characters compared at a time
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]")
_BREAK = re.compile(r"[\s*#\-\u2013\u2014_~=·•⁂※◇◆○●☆★§+]+")

Span = tuple[int, int]


class Text(Struct, frozen=True):
    """A document as search reads it: who may know what it tells comes along."""

    id: str
    title: str
    text: str
    known_to: frozenset[str] | None = None


class Habits(Struct, frozen=True):
    """How a text is written: the size of its passages, and how many blank lines end a scene (0: none do)."""

    size: int
    gap: int


def cut(document: Text, before: tuple[Text, Thread] | None = None) -> Thread:
    """A document in passages; `before` is the same document as it was cut last, and saves cutting all of it."""
    habits = _habits(document.text)
    if before is None or _habits(before[0].text) != habits:
        return Thread(document.id, _named(document, _bare(document, _spans(document.text, habits))))
    old = before[1].passages
    first, spans, behind, growth = _recut(document.text, habits, before[0].text, [(p.start, p.end) for p in old])
    moved = [replace(p, start=p.start + growth, end=p.end + growth) for p in old[behind:]] if growth else old[behind:]
    return Thread(document.id, _named(document, [*old[:first], *_bare(document, spans), *moved]))


def _bare(document: Text, spans: list[Span]) -> Iterator[Passage]:
    """Passages that are named by their words alone."""
    for start, end in spans:
        text = document.text[start:end]
        mark = blake2b(text.encode(), digest_size=_MARK // 2).hexdigest()
        yield Passage(f"search:{document.id}#{mark}", text, document.title, start, end, document.known_to)


def _named(document: Text, passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Each with a name of its own, also where the same words come again, and with what the document says of them."""
    seen: dict[str, int] = {}
    found: list[Passage] = []
    beginning = f"search:{document.id}#"
    for passage in passages:
        plain = passage.source[: len(beginning) + _MARK]
        seen[plain] = number = seen.get(plain, 0) + 1
        source = plain if number == 1 else f"{plain}{_AGAIN}{number}"
        if (source, document.title, document.known_to) != (passage.source, passage.title, passage.known_to):
            passage = replace(passage, source=source, title=document.title, known_to=document.known_to)
        found.append(passage)
    return tuple(found)


def _habits(text: str) -> Habits:
    look = text[:_LOOK]
    wide = 3 * len(_WIDE.findall(look)) > len(look)
    gap = next((lines for lines in (1, 2) if _seldom(text, "\n" * (lines + 1))), 0)
    return Habits(WIDE if wide else SIZE, gap)


def _seldom(text: str, mark: str) -> bool:
    """Do blank lines stand so rarely that they mean something?"""
    return 0 < text.count(mark) * RARE <= len(text)


def _spans(text: str, habits: Habits, start: int = 0, stop: tuple[int, frozenset[int]] | None = None) -> list[Span]:
    """Where passages begin and end, from a place on; up to one of the places where `stop` says to."""
    spans: list[Span] = []
    scene = 0  # how many passages there were when the scene began
    first = last = -1
    for begin, end, fresh in _units(text, start, habits):
        if first >= 0 and (fresh or last - first >= habits.size):
            spans.append((first, last))
            first = -1
            if fresh:
                _join_tail(spans, scene, habits.size)
                scene = len(spans)
        if first < 0:
            if stop is not None and begin >= stop[0] and begin in stop[1]:
                return [*spans, (begin, begin)]
            first = begin
        last = end
    if first >= 0:
        spans.append((first, last))
        _join_tail(spans, scene, habits.size)
    return spans


def _join_tail(spans: list[Span], scene: int, size: int) -> None:
    """The few words at the end of a scene belong to the passage before them."""
    if len(spans) - scene > 1 and spans[-1][1] - spans[-1][0] < size // 3:
        spans[-2:] = [(spans[-2][0], spans[-1][1])]


def _units(text: str, at: int, habits: Habits) -> Iterator[tuple[int, int, bool]]:
    """What is not torn apart: paragraphs, or sentences of long ones; and whether a scene begins with each."""
    blank, ended = 0, False
    while at < len(text):
        found = text.find("\n", at)
        end = found if found >= 0 else len(text)
        line = text[at:end]
        body = line.strip()
        if not body:
            blank += 1
        elif len(body) <= 80 and _BREAK.fullmatch(body):
            ended = True
        else:
            begin = at + len(line) - len(line.lstrip())
            fresh = ended or bool(habits.gap and blank >= habits.gap)
            for first, last in _pieces(body, habits.size):
                yield begin + first, begin + last, fresh and not first
            blank, ended = 0, False
        at = end + 1


def paragraphs_back(text: str, begin: int, end: int) -> Iterator[tuple[str, int, bool]]:
    """Paragraphs before a place, the nearest first: each, how far away it ends, and whether a scene begins with it."""
    part = text[begin:end]
    gap = _habits(part).gap
    waiting: tuple[str, int] | None = None
    blank, last = 0, len(part)
    while last > 0:
        first = part.rfind("\n", 0, last) + 1
        body = part[first:last].strip()
        ended = bool(body) and len(body) <= 80 and _BREAK.fullmatch(body) is not None
        if waiting is not None and body:
            yield (*waiting, ended or bool(gap and blank >= gap))
            waiting = None
        if body and not ended:
            waiting = body, len(part) - last
        blank = 0 if body else blank + 1
        last = first - 1
    if waiting is not None:
        yield (*waiting, False)


def _pieces(paragraph: str, size: int) -> Iterator[Span]:
    if len(paragraph) <= 2 * size:
        yield 0, len(paragraph)
        return
    for start, end in pairwise([*sentence_starts(paragraph), len(paragraph)]):
        while end - start > 2 * size:
            middle = _pause(paragraph, start + size // 2, start + size)
            yield start, middle
            start = middle
            while start < end and paragraph[start] == " ":
                start += 1
        last = start + len(paragraph[start:end].rstrip())
        if last > start:
            yield start, last


def _pause(text: str, low: int, high: int) -> int:
    """Where a sentence too long can best be cut: behind a stop of another kind, a comma, a space; else anywhere."""
    for marks in ("．.!?", "；;：:", "，,、", " "):
        at = max(text.rfind(mark, low, high) for mark in marks)
        if at >= 0:
            return at + 1 if marks != " " else at
    return high


def _recut(text: str, habits: Habits, old: str, known: list[Span]) -> tuple[int, list[Span], int, int]:
    """An edited text is cut anew around the edit alone.

    Says how many passages before it stay, those cut anew, from which old one on all only move, and by how much.
    """
    edit = _edit(old, text)
    starts = [start for start, _ in known]
    # Two whole passages before the edit nothing can have changed, nor two behind it once a cut falls where one fell.
    first = max(bisect_right([end for _, end in known], edit.start) - 2, 0)
    while first and not _begins_line(text, starts[first]):
        first -= 1
    behind = bisect_left(starts, edit.old_end) + 2
    safe = frozenset(start + edit.growth for start in starts[behind:] if _begins_line(old, start))
    again = _spans(text, habits, starts[first] if first else 0, (edit.new_end, safe))
    if not again or again[-1][0] != again[-1][1]:
        return first, again, len(known), edit.growth
    return first, again[:-1], bisect_left(starts, again[-1][0] - edit.growth), edit.growth


def rewritten(old: str, new: str) -> int:
    """How many characters of a text are new."""
    if old is new:
        return 0
    edit = _edit(old, new)
    return edit.new_end - edit.start


def _edit(old: str, new: str) -> Edit:
    """What was changed, found without looking closely at the long stretches that are alike."""
    most = min(len(old), len(new))
    head = 0
    while head + _ALIKE <= most and old[head : head + _ALIKE] == new[head : head + _ALIKE]:
        head += _ALIKE
    tail = 0
    while head + tail + _ALIKE <= most and old.endswith(
        new[len(new) - tail - _ALIKE : len(new) - tail], 0, len(old) - tail
    ):
        tail += _ALIKE
    edit = difference(old[head : len(old) - tail], new[head : len(new) - tail])
    return Edit(edit.start + head, edit.old_end + head, edit.new_end + head)


def _begins_line(text: str, start: int) -> bool:
    while start and text[start - 1] in " \t\u3000":
        start -= 1
    return not start or text[start - 1] == "\n"
