"""Sameness: when two memories say one thing, and when they contradict each other.

Where both have a topic, that decides. Otherwise their words do: most words shared, the same numbers, and
both for or both against it. "Likes rain at night" and "Dislikes rain at night" are not the same; they are
opposed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from fabula.memory.topics import opposite, topic_of
from fabula.text.terms import terms

ALIKE = 0.8  # of all words of both, so many are shared
_AGAINST = re.compile(
    r"\b(?:no|not|never|avoid(?:s|ed|ing)?|without|hardly|dislik(?:e|es|ed|ing)|hat(?:e|es|ed)|refus(?:e|es|ed)"
    r"|[a-z]+n['’]t)\b|不要|不得|不许|不喜欢|不爱|讨厌|不|没有?|勿|别|避免|禁止",
    re.IGNORECASE,
)
_FOR = re.compile(
    r"\b(?:like[sd]?|prefer(?:s|red)?|love[sd]?|want(?:s|ed)?|wish(?:es)?|enjoy(?:s|ed)?|please|always|the|an?|of|to"
    r"|in|and|or|is|are|be|do|does|i|my|me|writer|author|user|use[sd]?|using)\b|喜欢|偏好|作者|请|要|使用",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+")


class Meaning(Struct, frozen=True):
    """What is compared of a memory."""

    topic: str
    words: frozenset[str]
    numbers: tuple[str, ...]
    against: bool
    plain: str


@lru_cache(maxsize=8192)
def meaning(text: str) -> Meaning:
    """What is compared of a text."""
    rest = _FOR.sub(" ", _AGAINST.sub(" ", text))
    return Meaning(
        topic_of(text),
        frozenset(terms(rest)),
        tuple(sorted(_NUMBERS.findall(text))),
        _AGAINST.search(text) is not None,
        " ".join(text.casefold().split()).strip(" .。!！"),
    )


def same(one: Meaning, other: Meaning) -> bool:
    """Do two say one thing?"""
    if one.plain == other.plain:
        return True
    if one.topic and other.topic:
        return one.topic == other.topic
    return one.against == other.against and _alike(one, other)


def opposed(one: Meaning, other: Meaning) -> bool:
    """Do two contradict each other?"""
    if one.topic and other.topic:
        return opposite(one.topic, other.topic)
    return one.against != other.against and _alike(one, other)


def _alike(one: Meaning, other: Meaning) -> bool:
    few, many = sorted((len(one.words), len(other.words)))
    if not few or few < ALIKE * many or one.numbers != other.numbers:
        return False
    shared = len(one.words & other.words)
    return shared >= ALIKE * (few + many - shared)


class Meanings:
    """Texts of which one is looked for that says the same, without comparing all with all."""

    def __init__(self) -> None:
        self._all: list[tuple[str, Meaning]] = []
        self._by_word: dict[str, list[int]] = {}

    def add(self, name: str, text: str) -> None:
        """One more."""
        found = meaning(text)
        for key in _keys(found):
            self._by_word.setdefault(key, []).append(len(self._all))
        self._all.append((name, found))

    def saying(self, text: str) -> list[str]:
        """The names of those that say the same, in the order in which they came."""
        wanted = meaning(text)
        return [name for name, found in self._near(wanted) if same(wanted, found)]

    def denying(self, text: str) -> list[str]:
        """The names of those that contradict it."""
        wanted = meaning(text)
        return [name for name, found in self._near(wanted) if opposed(wanted, found)]

    def _near(self, wanted: Meaning) -> Iterable[tuple[str, Meaning]]:
        places = {place for key in _keys(wanted) for place in self._by_word.get(key, ())}
        return (self._all[place] for place in sorted(places))


def _keys(found: Meaning) -> Sequence[str]:
    """Two that say the same, or the opposite, share one of these."""
    subject = found.topic.rpartition("=")[0]
    return (*found.words, f"={found.plain}", *((f"@{subject}",) if subject else ()))
