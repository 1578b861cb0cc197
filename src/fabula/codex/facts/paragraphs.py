"""Read a paragraph: its facts, and the entries that it names (cdx-10).

A paragraph is read as a whole, because what was said before decides who is meant, and whether somebody speaks. One that
is too long for that, as in a text without line breaks, is read in pieces that begin where a sentence does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex.facts.fact import add_terms
from fabula.codex.facts.find import FactNames, FactSentence, find_fact_sentences, is_in_speech
from fabula.text.names.matcher import NameMatcher
from fabula.text.sentences import find_sentence_starts

MAX_PIECE = 20_000  # characters; a longer sentence has no facts


class ReadParagraph(Struct, frozen=True, gc=False):
    """A paragraph that was read: its facts, and the entries that it names, as often as it names them."""

    sentences: tuple[FactSentence, ...] = ()
    named: tuple[str, ...] = ()


def read_paragraph(line: str, matcher: NameMatcher, names: FactNames) -> ReadParagraph:
    """Read a paragraph of any length."""
    if len(line) <= MAX_PIECE:
        return _read_piece(line, matcher, names)
    sentences: list[FactSentence] = []
    named: list[str] = []
    for start, end in _split(line):
        piece = _read_piece(line[start:end], matcher, names)
        sentences += [replace(one, start=start + one.start, end=start + one.end) for one in piece.sentences]
        named += piece.named
    return ReadParagraph(tuple(sentences), tuple(named))


def _read_piece(line: str, matcher: NameMatcher, names: FactNames) -> ReadParagraph:
    matches = [match for match in matcher.find(line) if match.is_certain]
    if not matches:
        return ReadParagraph()
    sentences = tuple(add_terms(one, line) for one in find_fact_sentences(line, matches, names))
    return ReadParagraph(sentences, tuple(match.owner for match in matches))


def _split(line: str) -> Iterator[tuple[int, int]]:
    """The pieces of a long paragraph, each from one beginning of a sentence to another; a longer sentence is left out.

    A piece ends where nobody speaks, if it has such a place.
    """
    edges = [*find_sentence_starts(line), len(line)]
    number = 0
    while number < len(edges) - 1:
        start = edges[number]
        last = bisect_right(edges, start + MAX_PIECE) - 1
        if last > number:
            piece, places = line[start : edges[last]], range(last, number, -1)
            outside = (one for one in places if not is_in_speech(piece, edges[one] - start))
            last = next(outside, last)
            yield start, edges[last]
        number = max(last, number + 1)
