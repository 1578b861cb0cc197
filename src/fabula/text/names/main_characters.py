"""Find the main characters of a text, and which of them a synopsis leaves out (cdx-6)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from fabula.text.names.matcher import NameMatcher

MAX_CHARACTERS = 4  # main characters of a text
MIN_MENTIONS = 3  # of a main character
MIN_SHARE = 0.3  # of the mentions that the most mentioned character has
MAX_TEXT = 200_000  # characters of a text that are searched


class CharacterFinder:
    """Finds the characters of a story by all their names."""

    def __init__(self, names: NameMatcher, find_character: Callable[[str], str | None]) -> None:
        """`find_character` gives the character that owns a name, or None for an owner that is no character."""
        self._names = names
        self._find_character = find_character

    @classmethod
    def from_names(cls, names: Mapping[str, Sequence[str]]) -> CharacterFinder:
        """A finder for characters by their name, each with all other names they have."""
        return cls(NameMatcher({name: tuple(dict.fromkeys((name, *others))) for name, others in names.items()}), str)

    def has_same_names(self, other: CharacterFinder) -> bool:
        """Do both finders know the same characters by the same names?"""
        return self._names is other._names

    def find_main_characters(self, text: str) -> dict[str, str]:
        """The characters mentioned most, the most mentioned first, each with the name this text mostly uses."""
        mentions: Counter[str] = Counter()
        surfaces: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for match in self._names.find(text[:MAX_TEXT]):
            name = self._find_character(match.owner)
            if name is not None:
                mentions[name] += 1
                surfaces[name][match.surface] += 1
        ranked = sorted(mentions.items(), key=lambda item: (-item[1], item[0]))[:MAX_CHARACTERS]
        minimum = max(MIN_MENTIONS, MIN_SHARE * ranked[0][1]) if ranked else MIN_MENTIONS
        return {name: _most_frequent(surfaces[name]) for name, count in ranked if count >= minimum}

    def find_missing(self, characters: Mapping[str, str], synopsis: str) -> tuple[str, ...]:
        """Which of these characters a synopsis does not name."""
        if not characters:
            return ()
        named = {self._find_character(match.owner) for match in self._names.find(synopsis)}
        return tuple(name for name in characters if name not in named)


def _most_frequent(surfaces: Counter[str]) -> str:
    return min(surfaces, key=lambda surface: (-surfaces[surface], surface))


NO_CHARACTERS = CharacterFinder.from_names({})
