"""Style metrics: features of an English or Chinese text that can be counted (mem-2).

These are punctuation marks, the lengths of sentences and paragraphs, the share of dialogue, narrative person and
tense, adverbs, similes and words. `proposals` decides what a difference between two texts means.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from fabula.core.view import Language
from fabula.text.sentences import find_sentence_starts

if TYPE_CHECKING:
    from rjieba import Jieba

MAX_CHARS = 6_000  # of a text
PHRASE_WORDS = 3
_MARKS = {
    "!": re.compile(r"[!！]+"),
    "—": re.compile(r"—+|(?<=\s)(?:--|–)(?=\s)|(?<=\w)--(?=\w)"),
    ";": re.compile(r"[;；]"),
    "…": re.compile(r"…+|\.{3,}"),
}
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CAPITALISED = re.compile(r"(?<=[a-z,;] )[A-Z][\w'’-]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_ADVERB = {
    "en": re.compile(r"\b[a-z]{3,}ly\b"),
    "zh": re.compile(r"[\u3400-\u9fff]{2}地(?=[\u3400-\u9fff])"),
}
_NO_ADVERBS = """
    only early daily family reply supply apply imply italy july ugly lonely lovely lively holy belly fly rely jelly
    bully ally rally silly friendly likely elderly assembly anomaly deadly cowardly weekly monthly yearly multiply
    chilly hilly woolly curly burly surly comply butterfly homely sickly orderly melancholy monopoly
"""
_NO_ADVERB = frozenset(_NO_ADVERBS.split())
_GROUND_NOUNS = re.compile(
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
_FREQUENT_WORDS = """
    that this with from they them their there then than when where which while were have been would could should
    will what into your about over after before upon under again because until through between himself herself
    themselves itself those these each every some other another such here said says still yours ours being
    does doing done having more most much many both either neither whose whom without within
"""
_STOP_WORDS = frozenset(_FREQUENT_WORDS.split())
MIN_DIALOGUE_SHARE = 0.3  # of a scene that counts as dialogue
_DIALOGUE = re.compile(r"“[^”\n]*(?:”|$)|「[^」\n]*(?:」|$)|『[^』\n]*(?:』|$)|\"[^\"\n]*(?:\"|$)", re.MULTILINE)


def remove_dialogue(text: str) -> str:
    """Return the text outside quotation marks; an unclosed mark ends with its paragraph."""
    return _DIALOGUE.sub(" ", text)


def get_dialogue_share(text: str) -> float:
    """Return the share of a text that is dialogue."""
    return 1 - len(remove_dialogue(text).replace(" ", "")) / max(len(text.replace(" ", "")), 1)


class StyleMetrics:
    """The metrics of one text, computed when they are first used."""

    def __init__(self, text: str, language: Language) -> None:
        self.text = text[:MAX_CHARS]
        self.language = language

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The words in order, in lower case."""
        if self.language == "zh":
            return tuple(word.lower() for word in _segmenter().cut(self.text, False) if any(map(str.isalnum, word)))
        return tuple(word.lower() for word in _WORD.findall(self.text))

    def count_word_pairs(self) -> Counter[tuple[str, str]]:
        """Count pairs of adjacent words; common pairs show which part of a text was kept."""
        return Counter(pairwise(("", *self.tokens, "")))

    @cached_property
    def marks(self) -> dict[str, int]:
        """The count of each punctuation mark."""
        return {mark: len(pattern.findall(self.text)) for mark, pattern in _MARKS.items()}

    @cached_property
    def sentence_lengths(self) -> tuple[int, ...]:
        """The lengths of the sentences, in words or Chinese characters."""
        return tuple(length for sentence in self._split_sentences() if (length := self._measure(sentence)))

    @cached_property
    def paragraph_lengths(self) -> tuple[int, ...]:
        """The lengths of the paragraphs, in words or Chinese characters."""
        return tuple(length for line in self.text.split("\n") if (length := self._measure(line)))

    @cached_property
    def narration(self) -> str:
        """The text outside quotation marks."""
        return remove_dialogue(self.text)

    @cached_property
    def dialogue_share(self) -> float:
        """The share of dialogue."""
        return get_dialogue_share(self.text)

    @cached_property
    def person(self) -> str:
        """The narrative person, "first" or "third"; empty if unclear."""
        first, third = (len(found[self.language].findall(self.narration)) for found in (_FIRST, _THIRD))
        if first >= 3 and first * 2 >= third:
            return "first"
        return "third" if third >= 3 and not first else ""

    @cached_property
    def tense(self) -> str:
        """The tense, "past" or "present"; empty if unclear or Chinese."""
        if self.language == "zh":
            return ""
        past, present = len(_PAST.findall(self.narration)), len(_PRESENT.findall(self.narration))
        if past >= 4 and past >= 4 * present:
            return "past"
        return "present" if present >= 4 and present >= 2 * past else ""

    @cached_property
    def adverbs(self) -> frozenset[str]:
        """The adverbs with -ly or 地."""
        found = set(_ADVERB[self.language].findall(self.text.lower()))
        return frozenset(word for word in found - _NO_ADVERB if not _GROUND_NOUNS.search(word))

    @cached_property
    def similes(self) -> int:
        """The number of similes."""
        return len(_SIMILE[self.language].findall(self.text))

    @cached_property
    def words(self) -> Counter[str]:
        """The counts of words, without stop words and names."""
        names = self._find_names()
        return Counter(word for word in self.tokens if self._is_content_word(word) and word not in names)

    @cached_property
    def phrases(self) -> Counter[str]:
        """The counts of phrases that have at least one word besides stop words, and no names."""
        names, tokens, gap = self._find_names(), self.tokens, "" if self.language == "zh" else " "
        return Counter(
            gap.join(words)
            for words in zip(*(tokens[start:] for start in range(PHRASE_WORDS)), strict=False)
            if any(map(self._is_content_word, words)) and names.isdisjoint(words)
        )

    def find_sentence(self, words: str) -> str:
        """Return the first sentence that contains some words."""
        return next((found.strip() for found in self._split_sentences() if words in found.lower()), "")

    def _split_sentences(self) -> Iterator[str]:
        for line in self.text.split("\n"):
            starts = find_sentence_starts(line)
            yield from (line[start:end] for start, end in pairwise([*starts, len(line)]))

    def _measure(self, text: str) -> int:
        return len(_HAN.findall(text)) if self.language == "zh" else len(_WORD.findall(text))

    def _is_content_word(self, word: str) -> bool:
        if self.language == "zh":
            return len(word) > 1 and _HAN.match(word) is not None
        return len(word) > 3 and word not in _STOP_WORDS

    def _find_names(self) -> frozenset[str]:
        """Find words with a capital letter inside a sentence."""
        return frozenset(
            name.lower() for sentence in self._split_sentences() for name in _CAPITALISED.findall(sentence)
        )


def compute_mean(lengths: tuple[int, ...]) -> float:
    """Return the mean, 0 if there are no values."""
    return fmean(lengths) if lengths else 0.0


@lru_cache(maxsize=1)
def _segmenter() -> Jieba:
    from rjieba import Jieba  # it takes memory and time, and English stories never need it

    return Jieba()
