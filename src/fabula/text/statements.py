"""Statements: sentences that can stand by themselves.

A reader of a synopsis sees each sentence without its neighbours. So what belongs together stays together:
a title and its name (Mr. Tarn), a speech with several sentences, a speech and the words that say who spoke.
What goes on too long is cut where a clause ends, and the cut is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import Struct

from fabula.text.extraction.english_words import SHORT, SPEECH
from fabula.text.sentences import sentence_starts

LONGEST = 600  # characters that are kept together for a speech's sake
PIECE = 300  # characters at which a sentence without an end is cut
MOST = 60_000  # characters of a text that are read; of a longer one, stretches from all of it
_STRETCHES = 12
_SHORTENED = frozenset(f"{word}." for word in (*SHORT, "jr", "sr", "vs", "etc", "vol", *"bcdefghjklmnopqrstuvwxyz"))
_CLAUSE = re.compile(r"[,;:，；：、—]+\s*|\s+")
_SPOKEN = re.compile(r"“[^”]*(?:”|$)|\"[^\"]*(?:\"|$)|「[^」]*(?:」|$)|『[^』]*(?:』|$)")
_SAID = re.compile(rf"\b(?:{'|'.join(sorted(SPEECH))})\b|[说道问答喊叫嚷念]", re.IGNORECASE)
_TELLER = 60  # characters in which somebody is said to have spoken
_ENDS = '”"」』'
_QUOTES = re.compile('[“"「『]')
_FURNITURE = re.compile(r"^(?:#{1,6}\s|[^\w]*$|!?\[)")
_MARKUP = re.compile(r"(?<![\w*_])[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?![\w*_])|^>+\s*")


class Statement(Struct, frozen=True, gc=False):
    """A sentence, or a few that belong together; how far into the text it stands, and how much of it is spoken."""

    text: str
    place: float  # from 0 (the beginning) to 1
    spoken: float
    opening: bool  # does a paragraph begin with it?
    whole: bool  # does it begin where a sentence begins?


def statements(text: str) -> list[Statement]:
    """A text in statements, in order; of a very long one, those of some stretches from all of it."""
    size = max(len(text), 1)
    found: list[Statement] = []
    for first, stretch in _stretches(text):
        at = first
        for line in stretch.split("\n"):
            if line and not _FURNITURE.match(line.strip()):
                found += _line(line, at, size)
            at += len(line) + 1
    return found


def _stretches(text: str) -> Iterator[tuple[int, str]]:
    if len(text) <= MOST:
        yield 0, text
        return
    wide = MOST // _STRETCHES
    for number in range(_STRETCHES):
        start = number * (len(text) - wide) // (_STRETCHES - 1)
        near = text[start : start + wide]
        cut = 0 if number == 0 else _first_start(near)
        yield start + cut, near[cut:]


def _first_start(near: str) -> int:
    """Where the first whole sentence of a stretch begins."""
    line = near.find("\n")
    starts = sentence_starts(near if line < 0 else near[: line + 1])
    found = [start for start in (*starts[1:2], line + 1) if start > 0]
    return min(found) if found else max(near.find(" "), 0)


def _line(line: str, at: int, size: int) -> Iterator[Statement]:
    """The statements of one paragraph."""
    opening = True
    speech = _QUOTES.search(line) is not None
    marked = "*" in line or "_" in line or line.startswith(">")
    starts = _starts(line)
    for start, end in _together(line, [*_pieces(starts, line), len(line)], speech=speech):
        body = line[start:end].strip()
        if marked:
            body = _MARKUP.sub("", body)
        if any(map(str.isalnum, body)):
            spoken = sum([len(found[0]) for found in _SPOKEN.finditer(body)]) / len(body) if speech else 0.0
            yield Statement(body, (at + start) / size, spoken, opening, start in starts)
            opening = False


def _starts(line: str) -> dict[int, None]:
    """Where sentences begin."""
    return dict.fromkeys(sentence_starts(line))


def _together(line: str, edges: list[int], *, speech: bool) -> Iterator[tuple[int, int]]:
    """From where to where each statement of a paragraph goes."""
    start = edges[0]
    for here, end in pairwise(edges[1:]):
        said = line[start:here].rstrip()
        if here - start < LONGEST and (
            said[said.rfind(" ") + 1 :].lower() in _SHORTENED
            or (speech and (_open(said) or (said[-1] in _ENDS and _attributes(line[here:end]))))
        ):
            continue
        yield start, here
        start = here
    yield start, len(line)


def _pieces(starts: Iterable[int], line: str) -> Iterator[int]:
    """Where pieces begin that may stand alone: sentences, and of one without an end its clauses."""
    for start, end in pairwise([*starts, len(line)]):
        yield start
        while end - start > LONGEST:
            cut = start + PIECE
            for found in _CLAUSE.finditer(line, start + PIECE // 2, start + PIECE):
                cut = found.end()
            yield cut
            start = cut


def _open(said: str) -> bool:
    """Does a speech go on behind these words?"""
    for begins, ends in ("“”", "「」", "『』"):
        if said.count(begins) > said.count(ends):
            return True
    return said.count('"') % 2 == 1


def _attributes(following: str) -> bool:
    """Do these words only say who spoke?"""
    words = following.strip()
    return 0 < len(words) <= _TELLER and words[0] not in '“"「『' and _SAID.search(words) is not None
