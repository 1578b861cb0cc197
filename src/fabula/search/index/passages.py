"""Cut a document into passages along its scenes and paragraphs.

A passage is a few paragraphs of one scene. A paragraph that is too long is cut between sentences, and a sentence that
is too long by length. Each cut depends only on the text after the previous cut, so an edited text is cut again around
the edit alone. The id of a passage comes from its words, not from its number: a page added further up does not change
the ids of the passages after it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from fabula.core.background import work_on
from fabula.search.model import Passage, SearchDocument
from fabula.text.diff import find_edits
from fabula.text.scenes import find_paragraphs, find_scene_gap
from fabula.text.sentences import find_sentence_starts

PASSAGE_CHARACTERS = 120  # the size a passage aims at,
UNSPACED_PASSAGE_CHARACTERS = 45  # and in scripts where a character is a syllable or a word
_DIGEST_LETTERS = 8  # of the digest in a passage's id
_REPEAT_MARK = "~"  # before the number of a passage whose words occurred before
_SAMPLE = 4000  # characters that decide the script of a text
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]")

Span = tuple[int, int]


class DocumentText(Struct, frozen=True):
    """A manuscript document as search reads it, with the characters who may know it."""

    id: str
    title: str
    text: str
    known_to: frozenset[str] | None = None


class CutStyle(Struct, frozen=True):
    """How a text is cut: the size of its passages, and how many blank lines end a scene (0: none do)."""

    passage_size: int
    scene_gap: int


def cut_into_passages(
    document: DocumentText,
    previous: tuple[DocumentText, SearchDocument] | None = None,
    after_each: Callable[[], None] = work_on,
) -> SearchDocument:
    """A document in passages; `previous` is the same document as it was cut last, to cut only what changed.

    `after_each` is called while it is cut, after each passage.
    """
    style = _find_style(document.text)
    if previous is None or _find_style(previous[0].text) != style:
        spans = _cut_spans(document.text, style, after_each=after_each)
        return SearchDocument(document.id, _assign_ids(document, _make_passages(document, spans), after_each))
    old = previous[1].passages
    first, spans, rest, growth = _cut_edited(
        document.text, style, previous[0].text, [(passage.start, passage.end) for passage in old]
    )
    moved = old[rest:]
    if growth:
        moved = tuple(replace(passage, start=passage.start + growth, end=passage.end + growth) for passage in moved)
    passages = [*old[:first], *_make_passages(document, spans), *moved]
    return SearchDocument(document.id, _assign_ids(document, passages, after_each))


def _make_passages(document: DocumentText, spans: list[Span]) -> Iterator[Passage]:
    """Passages whose ids come from their words alone."""
    for start, end in spans:
        text = document.text[start:end]
        digest = blake2b(text.encode(), digest_size=_DIGEST_LETTERS // 2).hexdigest()
        yield Passage(f"search:{document.id}#{digest}", text, document.title, start, end, document.known_to)


def _assign_ids(
    document: DocumentText, passages: Iterable[Passage], after_each: Callable[[], None]
) -> tuple[Passage, ...]:
    """The passages with unique ids, also where the same words occur again, and with the document's own fields."""
    seen: dict[str, int] = {}
    result: list[Passage] = []
    prefix = f"search:{document.id}#"
    for passage in passages:
        plain = passage.source[: len(prefix) + _DIGEST_LETTERS]
        seen[plain] = number = seen.get(plain, 0) + 1
        source = plain if number == 1 else f"{plain}{_REPEAT_MARK}{number}"
        if (source, document.title, document.known_to) != (passage.source, passage.title, passage.known_to):
            passage = replace(passage, source=source, title=document.title, known_to=document.known_to)
        result.append(passage)
        after_each()
    return tuple(result)


def _find_style(text: str) -> CutStyle:
    sample = text[:_SAMPLE]
    is_unspaced = 3 * len(_UNSPACED.findall(sample)) > len(sample)
    return CutStyle(UNSPACED_PASSAGE_CHARACTERS if is_unspaced else PASSAGE_CHARACTERS, find_scene_gap(text))


def _cut_spans(
    text: str,
    style: CutStyle,
    start: int = 0,
    stop: tuple[int, frozenset[int]] | None = None,
    after_each: Callable[[], None] = work_on,
) -> list[Span]:
    """The spans of passages from `start` on.

    With `stop`, an offset and a set of starts, cutting ends at the first passage at or after the offset that begins at
    one of the starts; an empty span marks it.
    """
    spans: list[Span] = []
    scene = 0  # the number of spans when the scene began
    first = last = -1
    for begin, end, begins_scene in _split_units(text, start, style):
        if first >= 0 and (begins_scene or last - first >= style.passage_size):
            spans.append((first, last))
            after_each()
            first = -1
            if begins_scene:
                _join_short_end(spans, scene, style.passage_size)
                scene = len(spans)
        if first < 0:
            if stop is not None and begin >= stop[0] and begin in stop[1]:
                return [*spans, (begin, begin)]
            first = begin
        last = end
    if first >= 0:
        spans.append((first, last))
        _join_short_end(spans, scene, style.passage_size)
    return spans


def _join_short_end(spans: list[Span], scene: int, size: int) -> None:
    """Join a few words at the end of a scene to the passage before them."""
    if len(spans) - scene > 1 and spans[-1][1] - spans[-1][0] < size // 3:
        spans[-2:] = [(spans[-2][0], spans[-1][1])]


def _split_units(text: str, start: int, style: CutStyle) -> Iterator[tuple[int, int, bool]]:
    """Units that are never cut: paragraphs, or sentences of long ones; and whether a scene begins with each."""
    for begin, end, begins_scene in find_paragraphs(text, start, style.scene_gap):
        for first, last in _split_paragraph(text[begin:end], style.passage_size):
            yield begin + first, begin + last, begins_scene and not first


def iterate_paragraphs_back(text: str, begin: int, end: int) -> Iterator[tuple[str, int, bool]]:
    """The paragraphs before `end`, the nearest first: the text, its distance, and whether a scene begins with it."""
    part = text[begin:end]
    for first, last, begins_scene in reversed([*find_paragraphs(part, 0, _find_style(part).scene_gap)]):
        yield part[first:last], len(part) - last, begins_scene


def _split_paragraph(paragraph: str, size: int) -> Iterator[Span]:
    if len(paragraph) <= 2 * size:
        yield 0, len(paragraph)
        return
    for start, end in pairwise([*find_sentence_starts(paragraph), len(paragraph)]):
        while end - start > 2 * size:
            middle = _find_pause(paragraph, start + size // 2, start + size)
            yield start, middle
            start = middle
            while start < end and paragraph[start] == " ":
                start += 1
        last = start + len(paragraph[start:end].rstrip())
        if last > start:
            yield start, last


def _find_pause(text: str, low: int, high: int) -> int:
    """Where a sentence that is too long is best cut: after a stop, a semicolon, a comma, a space; else anywhere."""
    for marks in ("．.!?", "；;：:", "，,、", " "):
        at = max(text.rfind(mark, low, high) for mark in marks)
        if at >= 0:
            return at + 1 if marks != " " else at
    return high


def _cut_edited(text: str, style: CutStyle, old: str, known: list[Span]) -> tuple[int, list[Span], int, int]:
    """Cut an edited text again from the first change to the last.

    Returns how many passages before the edit stay, the new spans, from which old passage on all only move, and by how
    many characters.
    """
    edits = find_edits(old, text)
    if not edits:
        return len(known), [], len(known), 0
    begin, old_end, new_end = edits[0].start, edits[-1].old_end, edits[-1].new_end
    growth = new_end - old_end
    starts = [start for start, _ in known]
    # Two whole passages before the edit nothing can have changed, nor two after it once a cut falls where one fell.
    first = max(bisect_right([end for _, end in known], begin) - 2, 0)
    while first and not _begins_line(text, starts[first]):
        first -= 1
    after = bisect_left(starts, old_end) + 2
    safe = frozenset(start + growth for start in starts[after:] if _begins_line(old, start))
    spans = _cut_spans(text, style, starts[first] if first else 0, (new_end, safe))
    if not spans or spans[-1][0] != spans[-1][1]:
        return first, spans, len(known), growth
    return first, spans[:-1], bisect_left(starts, spans[-1][0] - growth), growth


def count_new_characters(old: str, new: str) -> int:
    """How many characters of a text are not in the old one."""
    if old is new:
        return 0
    return sum(edit.new_end - edit.new_start for edit in find_edits(old, new))


def _begins_line(text: str, start: int) -> bool:
    while start and text[start - 1] in " \t\u3000":
        start -= 1
    return not start or text[start - 1] == "\n"
