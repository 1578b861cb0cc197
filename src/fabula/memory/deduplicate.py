"""Deduplication: whether two memories say the same or contradict each other (mem-1).

If both have a topic, the topics are compared. Otherwise their words are: two memories say the same if they
share most words, have the same numbers, and are both positive or both negative. "Likes rain at night" and
"Dislikes rain at night" are opposites.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from fabula.memory.topics import are_opposite_topics, find_topic, get_subject
from fabula.text.terms import split_terms

MIN_OVERLAP = 0.8  # share of common words among all words of both
_NEGATIVE_WORDS = re.compile(
    r"\b(?:no|not|never|avoid(?:s|ed|ing)?|without|hardly|dislik(?:e|es|ed|ing)|hat(?:e|es|ed)|refus(?:e|es|ed)"
    r"|[a-z]+n['’]t)\b|不要|不得|不许|不喜欢|不爱|讨厌|不|没有?|勿|别|避免|禁止",
    re.IGNORECASE,
)
_POSITIVE_WORDS = re.compile(
    r"\b(?:like[sd]?|prefer(?:s|red)?|love[sd]?|want(?:s|ed)?|wish(?:es)?|enjoy(?:s|ed)?|please|always|the|an?|of|to"
    r"|in|and|or|is|are|be|do|does|i|my|me|writer|author|user|use[sd]?|using)\b|喜欢|偏好|作者|请|要|使用",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+")


class MemoryMeaning(Struct, frozen=True):
    """The features of a memory that are compared."""

    topic: str
    words: frozenset[str]
    numbers: tuple[str, ...]
    is_negative: bool
    normalised: str


@lru_cache(maxsize=8192)
def analyse_meaning(text: str) -> MemoryMeaning:
    """Return the features of a text that are compared."""
    rest = _POSITIVE_WORDS.sub(" ", _NEGATIVE_WORDS.sub(" ", text))
    return MemoryMeaning(
        find_topic(text),
        frozenset(split_terms(rest)),
        tuple(sorted(_NUMBERS.findall(text))),
        _NEGATIVE_WORDS.search(text) is not None,
        " ".join(text.casefold().split()).strip(" .。!！"),
    )


def is_same(one: MemoryMeaning, other: MemoryMeaning) -> bool:
    """Return whether two memories say the same."""
    if one.normalised == other.normalised:
        return True
    if one.topic and other.topic:
        return one.topic == other.topic
    return one.is_negative == other.is_negative and _share_most_words(one, other)


def is_opposite(one: MemoryMeaning, other: MemoryMeaning) -> bool:
    """Return whether two memories contradict each other."""
    if one.topic and other.topic:
        return are_opposite_topics(one.topic, other.topic)
    return one.is_negative != other.is_negative and _share_most_words(one, other)


def _share_most_words(one: MemoryMeaning, other: MemoryMeaning) -> bool:
    smaller, larger = sorted((len(one.words), len(other.words)))
    if not smaller or smaller < MIN_OVERLAP * larger or one.numbers != other.numbers:
        return False
    shared = len(one.words & other.words)
    return shared >= MIN_OVERLAP * (smaller + larger - shared)


class MeaningIndex:
    """An index of texts by their words, to find texts that say the same or the opposite."""

    def __init__(self, named_texts: Iterable[tuple[str, str]] = ()) -> None:
        self._meanings: list[tuple[str, MemoryMeaning]] = []
        self._by_key: dict[str, list[int]] = {}
        for name, text in named_texts:
            self.add(name, text)

    def add(self, name: str, text: str) -> None:
        """Add a text under a name."""
        meaning = analyse_meaning(text)
        for key in _list_keys(meaning):
            self._by_key.setdefault(key, []).append(len(self._meanings))
        self._meanings.append((name, meaning))

    def find_same(self, text: str) -> list[str]:
        """Return the names of the texts that say the same, in the order in which they were added."""
        meaning = analyse_meaning(text)
        return [name for name, other in self._find_similar(meaning) if is_same(meaning, other)]

    def find_opposite(self, text: str) -> list[str]:
        """Return the names of the texts that contradict it."""
        meaning = analyse_meaning(text)
        return [name for name, other in self._find_similar(meaning) if is_opposite(meaning, other)]

    def _find_similar(self, meaning: MemoryMeaning) -> Iterable[tuple[str, MemoryMeaning]]:
        indexes = {index for key in _list_keys(meaning) for index in self._by_key.get(key, ())}
        return (self._meanings[index] for index in sorted(indexes))


def _list_keys(meaning: MemoryMeaning) -> Sequence[str]:
    """List the index keys of a meaning; two texts that say the same or the opposite share at least one."""
    subject = get_subject(meaning.topic)
    return (*meaning.words, f"={meaning.normalised}", *((f"@{subject}",) if subject else ()))
