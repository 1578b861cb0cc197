"""Find names in a short text that nobody knows: capitalised inside a sentence, or tagged as a name.

A page is too short to learn its names from how often they occur, as `extraction` does with a book. So this module
reports words that look like a name and occur nowhere in the known texts. Only the few candidates are looked up in
these: a whole book is neither joined nor cut into words.

The Chinese dictionary tags most words that begin with a surname as names, 明白 and 宁静 too. A name that somebody makes
up is not in it, so a short word of the dictionary counts only where it speaks or has a title.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import takewhile
from operator import itemgetter

from fabula.text.names.surnames import DOUBLE_SURNAMES, SURNAMES
from fabula.text.segmenter import find_tag, load_segmenter
from fabula.text.word_boundaries import contains_word

Span = tuple[int, int]
_CAPITALISED = re.compile(r"\b[A-ZÀ-Þ][a-zß-ÿ]+(?:['’-][A-Za-zÀ-ÿ]+)*(?: [A-ZÀ-Þ][a-zß-ÿ]+(?:['’-][A-Za-zÀ-ÿ]+)*)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:;—–\n]|[\"“”‘’'(\[])[\"“”‘’'(\[\s]*$")
_NO_NAMES = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August "
    "September October November December Christmas Easter God Lord English French German Sir Madam Mr Mrs Miss Dr"
)
_CAPITALISED_WORDS = frozenset(_NO_NAMES.split())
_PERSON_FOLLOWS = re.compile("(?:[轻低高大冷沉笑忙]声?)?[说道问答喊曰]|先生|小姐|姑娘|老师|夫人|公子")
MAX_LOOKUPS = 1_000  # words of a text that are looked up in all texts
_POSSESSIVE = re.compile(r"['’]s?$")


def find_unknown_names(text: str, language: str, known_spans: Sequence[Span], known_texts: Sequence[str]) -> list[Span]:
    """Where names stand that overlap no known span and occur nowhere in the known texts; each name once."""
    candidates = _find_chinese(text) if language == "zh" else _find_english(text, known_texts)
    merged = _merge_spans(known_spans)
    found: dict[str, Span | None] = {}  # None for a name of the known texts
    for start, end in candidates:
        name = text[start:end]
        at = bisect_right(merged, start, key=itemgetter(1))
        if name not in found and (at == len(merged) or end <= merged[at][0]):
            found[name] = None if any(name in known for known in known_texts) else (start, end)
    return sorted(filter(None, found.values()))


def _merge_spans(spans: Sequence[Span]) -> list[Span]:
    """The spans in order, overlapping ones as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _find_english(text: str, known_texts: Sequence[str]) -> Iterator[Span]:
    lower_case = _LowerCaseWords(text, known_texts)
    for match in _CAPITALISED.finditer(text):
        start, words = match.start(), match[0].split(" ")
        if _SENTENCE_START.search(text, max(0, start - 8), start) or start == 0:
            # The first word of a sentence has a capital anyway; only the words after it can show a name.
            if len(words) == 1:
                continue
            if words[0].lower() in lower_case:
                start += len(words[0]) + 1
                words = words[1:]
        ordinary = list(takewhile(lambda word: word in _CAPITALISED_WORDS or word.lower() in lower_case, words))
        start += sum(len(word) + 1 for word in ordinary)
        name = _POSSESSIVE.sub("", " ".join(words[len(ordinary) :]))
        if name and name not in _CAPITALISED_WORDS and name.lower() not in lower_case:
            yield start, start + len(name)


class _LowerCaseWords:
    """The words that a text or one of the known texts has in lower case; each is looked up once.

    A page has few capitalised words. From a list of thousands, only the first are looked up, and the others count as
    ordinary words.
    """

    def __init__(self, text: str, known_texts: Sequence[str]) -> None:
        self._texts = (text, *known_texts)
        self._known: dict[str, bool] = {}

    def __contains__(self, word: str) -> bool:
        if word not in self._known:
            is_over = len(self._known) >= MAX_LOOKUPS
            self._known[word] = is_over or any(contains_word(text, word) for text in self._texts)
        return self._known[word]


def _find_chinese(text: str) -> Iterator[Span]:
    at, start, name = 0, 0, ""
    for word, tag in [*load_segmenter().tag(text), ("", "")]:
        if tag.startswith("nr") and len(name) + len(word) <= 4:
            start = start if name else at
            name += word
        else:
            is_named = 2 <= len(name) <= 4 and (name[0] in SURNAMES or name[:2] in DOUBLE_SURNAMES)
            if is_named and (len(name) > 2 or not find_tag(name) or _PERSON_FOLLOWS.match(text, start + len(name))):
                yield start, start + len(name)
            name = word if tag.startswith("nr") else ""
            start = at
        at += len(word)
