"""Traits of a text: what can be counted of a writer's habits, in English and Chinese.

Marks, the length of sentences and paragraphs, how much is spoken, in which person and tense it is told,
which words it uses. Counting only: what a difference between two texts means is judged in `votes`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import pairwise
from statistics import fmean

from rjieba import Jieba

from fabula.core.view import Language
from fabula.memory.dialogue_share import spoken, told
from fabula.text.sentences import sentence_starts

MOST = 6_000  # characters of a text that are looked at
PHRASE = 3  # words of a phrase
_MARKS = {
    "!": re.compile(r"[!！]+"),
    "—": re.compile(r"—+|(?<=\s)(?:--|–)(?=\s)|(?<=\w)--(?=\w)"),
    ";": re.compile(r"[;；]"),
    "…": re.compile(r"…+|\.{3,}"),
}
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_HAN = re.compile(r"[\u3400-\u9fff]")
_ADVERB = {
    "en": re.compile(r"\b[a-z]{3,}ly\b"),
    "zh": re.compile(r"[\u3400-\u9fff]{2}地(?=[\u3400-\u9fff])"),
}
_LIKE_ADVERBS = """
    only early daily family reply supply apply imply italy july ugly lonely lovely lively holy belly fly rely jelly
    bully ally rally silly friendly likely elderly assembly anomaly deadly cowardly weekly monthly yearly multiply
    chilly hilly woolly curly burly surly comply butterfly homely sickly orderly melancholy monopoly
"""
_NO_ADVERB = frozenset(_LIKE_ADVERBS.split())
_GROUND = re.compile(
    r"[土大天草场基工陆平空各当本外内原此该产领境墓圣余田耕营阵园宅旱湿腹洼坡林山雪沙绿高低盆殖禁要]地|目的地|所在地|根据地"
)
_SIMILE = {
    "en": re.compile(r"\blike an? [a-z]|\bas if\b|\bas though\b|\bas [a-z]+ as an?\b", re.IGNORECASE),
    "zh": re.compile(r"仿佛|宛如|宛若|犹如|如同|好似|好像|像[^，。！？；\n]{1,14}(?:一样|一般|似的)"),
}
_FIRST = {"en": re.compile(r"\b(?:I|me|my|myself|mine)\b"), "zh": re.compile(r"(?<![自忘])我(?![国党军])")}
_THIRD = {
    "en": re.compile(r"\b(?:he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE),
    "zh": re.compile(r"(?<![其吉])[他她](?![人乡日])"),
}
_PAST = re.compile(r"\b(?:was|were|had|did|said|went|came|took|saw|knew|thought|felt|stood|[a-z]{2,}ed)\b")
_PRESENT = re.compile(r"\b(?:is|are|has|does|says|goes|comes|takes|sees|knows|thinks|feels|stands|looks|turns|asks)\b")
_SAYING_LITTLE = """
    that this with from they them their there then than when where which while were have been would could should
    will what into your about over after before upon under again because until through between himself herself
    themselves itself those these each every some other another such here said says still yours ours being
    does doing done having more most much many both either neither whose whom without within
"""
_PLAIN = frozenset(_SAYING_LITTLE.split())


class Traits:
    """One text, as its habits show; everything is worked out when first asked for."""

    def __init__(self, text: str, language: Language) -> None:
        self.text = text[:MOST]
        self.language = language

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Its words, as they follow one another."""
        if self.language == "zh":
            return tuple(word.lower() for word in _segmented(self.text) if any(map(str.isalnum, word)))
        return tuple(word.lower() for word in _WORD.findall(self.text))

    def pairs(self) -> Counter[tuple[str, str]]:
        """Its words two by two: what two texts share of these, one was taken over from the other."""
        return Counter(pairwise(("", *self.tokens, "")))

    @cached_property
    def marks(self) -> dict[str, int]:
        """How often each mark stands in it."""
        return {mark: len(pattern.findall(self.text)) for mark, pattern in _MARKS.items()}

    @cached_property
    def sentences(self) -> tuple[int, ...]:
        """How long its sentences are, in words or 字."""
        return tuple(size for said in self._sentences() if (size := self._size(said)))

    @cached_property
    def paragraphs(self) -> tuple[int, ...]:
        """How long its paragraphs are."""
        return tuple(size for line in self.text.split("\n") if (size := self._size(line)))

    @cached_property
    def told(self) -> str:
        """What stands outside quotation marks."""
        return told(self.text)

    @cached_property
    def spoken(self) -> float:
        """The share of it that is spoken."""
        return spoken(self.text)

    @cached_property
    def person(self) -> str:
        """In which person it is told, where that is plain."""
        first, third = (len(found[self.language].findall(self.told)) for found in (_FIRST, _THIRD))
        if first >= 3 and first * 2 >= third:
            return "first"
        return "third" if third >= 3 and not first else ""

    @cached_property
    def tense(self) -> str:
        """In which tense it is told, where that is plain; Chinese has none."""
        if self.language == "zh":
            return ""
        past, present = len(_PAST.findall(self.told)), len(_PRESENT.findall(self.told))
        if past >= 4 and past >= 4 * present:
            return "past"
        return "present" if present >= 4 and present >= 2 * past else ""

    @cached_property
    def adverbs(self) -> frozenset[str]:
        """Its adverbs: those in -ly, those with 地."""
        found = set(_ADVERB[self.language].findall(self.text.lower()))
        return frozenset(word for word in found - _NO_ADVERB if not _GROUND.search(word))

    @cached_property
    def similes(self) -> int:
        """How many similes it has."""
        return len(_SIMILE[self.language].findall(self.text))

    @cached_property
    def words(self) -> Counter[str]:
        """Words that say something, names left out."""
        names = self._names()
        return Counter(word for word in self.tokens if self._says(word) and word not in names)

    @cached_property
    def phrases(self) -> Counter[str]:
        """A few words in a row, of which one at least says something."""
        names, tokens, gap = self._names(), self.tokens, "" if self.language == "zh" else " "
        return Counter(
            gap.join(some)
            for some in zip(*(tokens[at:] for at in range(PHRASE)), strict=False)
            if any(map(self._says, some)) and names.isdisjoint(some)
        )

    def sentence_with(self, words: str) -> str:
        """The sentence in which some words first stand, for a quotation."""
        return next((said.strip() for said in self._sentences() if words in said.lower()), "")

    def _sentences(self) -> Iterator[str]:
        for line in self.text.split("\n"):
            starts = sentence_starts(line)
            yield from (line[start:end] for start, end in pairwise([*starts, len(line)]))

    def _size(self, text: str) -> int:
        return len(_HAN.findall(text)) if self.language == "zh" else len(_WORD.findall(text))

    def _says(self, word: str) -> bool:
        if self.language == "zh":
            return len(word) > 1 and _HAN.match(word) is not None
        return len(word) > 3 and word not in _PLAIN

    def _names(self) -> frozenset[str]:
        """Words with a capital letter inside a sentence."""
        found = (re.findall(r"(?<=[a-z,;] )[A-Z][\w'’-]+", said) for said in self._sentences())
        return frozenset(word.lower() for words in found for word in words)


def mean(sizes: tuple[int, ...]) -> float:
    """The mean of some sizes; 0 of none."""
    return fmean(sizes) if sizes else 0.0


def _segmented(text: str) -> list[str]:
    return list(_segmenter().cut(text, False))


@lru_cache(maxsize=1)
def _segmenter() -> Jieba:
    return Jieba()
