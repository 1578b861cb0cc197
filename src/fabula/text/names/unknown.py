"""Names in a short text that nobody has heard of: capitalised inside a sentence, or tagged as a name.

A page is too short to learn its names from how often they come back, as `extract` does with a book. So this
only points: at words that look like a name and stand nowhere in what is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rjieba import Jieba

from fabula.text.names.surnames import DOUBLE, SURNAMES

Span = tuple[int, int]
_CAPITAL = re.compile(r"\b[A-ZÀ-Þ][a-zß-ÿ]+(?:['’-][A-Za-zÀ-ÿ]+)*(?: [A-ZÀ-Þ][a-zß-ÿ]+(?:['’-][A-Za-zÀ-ÿ]+)*)*")
_OPENS = re.compile(r"(?:^|[.!?…:;—–\n]|[\"“”‘’'(\[])[\"“”‘’'(\[\s]*$")
_ORDINARY = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August "
    "September October November December Christmas Easter God Lord English French German Sir Madam Mr Mrs Miss Dr"
)
_CALENDAR = frozenset(re.findall(r"\w+", _ORDINARY))
_POSSESSIVE = re.compile(r"['’]s?$")


def strangers(text: str, language: str, taken: Sequence[Span], known: str) -> list[Span]:
    """Where names stand that overlap none of the spans that are taken and occur nowhere in what is known."""
    find = _chinese if language == "zh" else _english
    found: dict[str, Span] = {}
    for start, end in find(text, known):
        apart = all(end <= first or start >= last for first, last in taken)
        if apart and text[start:end] not in known:
            found.setdefault(text[start:end], (start, end))
    return sorted(found.values())


def _english(text: str, known: str) -> Iterator[Span]:
    small = set(re.findall(r"\b[a-zß-ÿ]+", f"{known} {text}"))
    for match in _CAPITAL.finditer(text):
        start, words = match.start(), match[0].split(" ")
        if _OPENS.search(text, max(0, start - 8), start) or start == 0:
            # The first word of a sentence is capital anyhow; behind it, a name shows itself.
            if len(words) == 1:
                continue
            if words[0].lower() in small:
                start += len(words[0]) + 1
                words = words[1:]
        while words and (words[0] in _CALENDAR or words[0].lower() in small):
            start += len(words[0]) + 1
            words = words[1:]
        name = _POSSESSIVE.sub("", " ".join(words))
        if name and name not in _CALENDAR and name.lower() not in small:
            yield start, start + len(name)


def _chinese(text: str, known: str) -> Iterator[Span]:
    at, start, name = 0, 0, ""
    for word, tag in [*_segmenter().tag(text), ("", "")]:
        if tag.startswith("nr") and len(name) + len(word) <= 4:
            start = start if name else at
            name += word
        else:
            if 2 <= len(name) <= 4 and (name[0] in SURNAMES or name[:2] in DOUBLE):
                yield start, start + len(name)
            name = word if tag.startswith("nr") else ""
            start = at
        at += len(word)


@lru_cache(maxsize=1)
def _segmenter() -> Jieba:
    return Jieba()
