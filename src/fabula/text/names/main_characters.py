"""The cast: whom a text is mostly about, and who of them a shorter telling forgot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from fabula.text.names.matcher import Names

MOST = 4  # main characters of a text
OFTEN = 3  # times a main character is named at the least
SHARE = 0.3  # and so often as the one who is named most
READ = 200_000  # characters of a text that are looked at


class Cast:
    """The people of a story, known by all they are called."""

    def __init__(self, names: Names, who: Callable[[str], str | None]) -> None:
        """`who` says what the owner of a name is called, or None for what is nobody."""
        self._names = names
        self._who = who

    @classmethod
    def of(cls, people: Mapping[str, Sequence[str]]) -> Cast:
        """People by their names, each with all they are called."""
        return cls(Names({name: tuple(dict.fromkeys((name, *called))) for name, called in people.items()}), str)

    def same(self, other: Cast) -> bool:
        """Are these the same people, called the same?"""
        return self._names is other._names

    def main(self, text: str) -> dict[str, str]:
        """Those named most, the most often named first, each with what this text mostly calls them."""
        counted: Counter[str] = Counter()
        called: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for hit in self._names.find(text[:READ]):
            name = self._who(hit.owner)
            if name is not None:
                counted[name] += 1
                called[name][hit.surface] += 1
        ranked = sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:MOST]
        least = max(OFTEN, SHARE * ranked[0][1]) if ranked else OFTEN
        return {name: _mostly(called[name]) for name, many in ranked if many >= least}

    def lost(self, main: Mapping[str, str], synopsis: str) -> tuple[str, ...]:
        """Which of these a synopsis does not name."""
        if not main:
            return ()
        told = {self._who(hit.owner) for hit in self._names.find(synopsis)}
        return tuple(name for name in main if name not in told)


def _mostly(surfaces: Counter[str]) -> str:
    return min(surfaces, key=lambda surface: (-surfaces[surface], surface))


NOBODY = Cast.of({})
