"""Split a text into statements: sentences that can be understood by themselves.

A synopsis shows each sentence without its neighbours. So these stay together: a title and its name (Mr. Tarn), a
speech of several sentences, a speech and the words that say who spoke. A sentence that is too long is cut where a
clause ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import Struct

from fabula.text.extraction.english_words import ABBREVIATED_TITLES, SPEECH_VERBS
from fabula.text.sentences import find_sentence_starts

MAX_STATEMENT = 600  # characters that stay together in a speech
CUT_AFTER = 300  # characters at which a sentence without an end is cut
MAX_CHARACTERS = 60_000  # of a text that are read; of a longer text, samples spread over all of it
_SAMPLES = 12
_ABBREVIATIONS = frozenset(
    f"{word}." for word in (*ABBREVIATED_TITLES, "jr", "sr", "vs", "etc", "vol", *"bcdefghjklmnopqrstuvwxyz")
)
_CLAUSE_END = re.compile(r"[,;:，；：、—]+\s*|\s+")
_SPEECH = re.compile(r"“[^”]*(?:”|$)|\"[^\"]*(?:\"|$)|「[^」]*(?:」|$)|『[^』]*(?:』|$)")
_SPEECH_VERB = re.compile(rf"\b(?:{'|'.join(sorted(SPEECH_VERBS))})\b|[说道问答喊叫嚷念]", re.IGNORECASE)
_MAX_ATTRIBUTION = 60  # characters that say who spoke
_CLOSING_QUOTES = '”"」』'
_OPENING_QUOTE = re.compile('[“"「『]')
_NOT_PROSE = re.compile(r"^(?:#{1,6}\s|[^\w]*$|!?\[)")
_MARKUP = re.compile(r"(?<![\w*_])[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?![\w*_])|^>+\s*")


class Statement(Struct, frozen=True, gc=False):
    """A sentence, or a few that belong together."""

    text: str
    position: float  # in the text, from 0 (the beginning) to 1
    spoken_share: float  # of its characters that are direct speech
    opens_paragraph: bool
    starts_sentence: bool  # false for the rest of a sentence that was cut


def split_into_statements(text: str) -> list[Statement]:
    """The statements of a text in order; of a very long text, those of samples spread over all of it."""
    size = max(len(text), 1)
    statements: list[Statement] = []
    for start, sample in _take_samples(text):
        offset = start
        for line in sample.split("\n"):
            if line and not _NOT_PROSE.match(line.strip()):
                statements += _split_paragraph(line, offset, size)
            offset += len(line) + 1
    return statements


def _take_samples(text: str) -> Iterator[tuple[int, str]]:
    if len(text) <= MAX_CHARACTERS:
        yield 0, text
        return
    size = MAX_CHARACTERS // _SAMPLES
    for number in range(_SAMPLES):
        start = number * (len(text) - size) // (_SAMPLES - 1)
        sample = text[start : start + size]
        skipped = 0 if number == 0 else _find_first_sentence(sample)
        yield start + skipped, sample[skipped:]


def _find_first_sentence(sample: str) -> int:
    """Where the first whole sentence of a sample begins."""
    line_end = sample.find("\n")
    starts = find_sentence_starts(sample if line_end < 0 else sample[: line_end + 1])
    candidates = [start for start in (*starts[1:2], line_end + 1) if start > 0]
    return min(candidates) if candidates else max(sample.find(" "), 0)


def _split_paragraph(line: str, offset: int, size: int) -> Iterator[Statement]:
    opens_paragraph = True
    has_speech = _OPENING_QUOTE.search(line) is not None
    has_markup = "*" in line or "_" in line or line.startswith(">")
    starts = dict.fromkeys(find_sentence_starts(line))
    for start, end in _join_sentences(line, [*_find_piece_starts(starts, line), len(line)], has_speech=has_speech):
        body = line[start:end].strip()
        if has_markup:
            body = _MARKUP.sub("", body)
        if any(map(str.isalnum, body)):
            spoken = sum([len(speech[0]) for speech in _SPEECH.finditer(body)]) / len(body) if has_speech else 0.0
            yield Statement(body, (offset + start) / size, spoken, opens_paragraph, start in starts)
            opens_paragraph = False


def _join_sentences(line: str, edges: list[int], *, has_speech: bool) -> Iterator[tuple[int, int]]:
    """The start and end of each statement of a paragraph."""
    start = edges[0]
    for edge, end in pairwise(edges[1:]):
        text = line[start:edge].rstrip()
        if edge - start < MAX_STATEMENT and (
            text[text.rfind(" ") + 1 :].lower() in _ABBREVIATIONS
            or (
                has_speech
                and (_is_speech_open(text) or (text[-1] in _CLOSING_QUOTES and _names_speaker(line[edge:end])))
            )
        ):
            continue
        yield start, edge
        start = edge
    yield start, len(line)


def _find_piece_starts(starts: Iterable[int], line: str) -> Iterator[int]:
    """Where sentences begin, and in a sentence that is too long its clauses."""
    for start, end in pairwise([*starts, len(line)]):
        yield start
        while end - start > MAX_STATEMENT:
            cut = start + CUT_AFTER
            for clause_end in _CLAUSE_END.finditer(line, start + CUT_AFTER // 2, start + CUT_AFTER):
                cut = clause_end.end()
            yield cut
            start = cut


def _is_speech_open(text: str) -> bool:
    """Does a speech continue after this text?"""
    for opening, closing in ("“”", "「」", "『』"):
        if text.count(opening) > text.count(closing):
            return True
    return text.count('"') % 2 == 1


def _names_speaker(following: str) -> bool:
    """Do these words only say who spoke?"""
    words = following.strip()
    return 0 < len(words) <= _MAX_ATTRIBUTION and words[0] not in '“"「『' and _SPEECH_VERB.search(words) is not None
