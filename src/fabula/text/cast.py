"""The cast: whom a text is mostly about, and who of them a shorter telling forgot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from fabula.text.names import Names

MOST = 4  # main characters of a text
OFTEN = 3  # times a main character is named at the least
SHARE = 0.3  # and so often as the one who is named most
READ = 200_000  # characters of a text that are looked at


class Cast:
    """The people of a story, each with all they are called."""

    def __init__(self, people: Mapping[str, Sequence[str]]) -> None:
        self._names = Names({name: tuple(dict.fromkeys((name, *called))) for name, called in people.items()})

    def main(self, text: str) -> dict[str, str]:
        """Those named most, the most often named first, each with what this text mostly calls them."""
        counted: Counter[str] = Counter()
        called: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for hit in self._names.find(text[:READ]):
            counted[hit.owner] += 1
            called[hit.owner][hit.surface] += 1
        ranked = sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:MOST]
        least = max(OFTEN, SHARE * ranked[0][1]) if ranked else OFTEN
        return {name: _mostly(called[name]) for name, many in ranked if many >= least}

    def lost(self, main: Mapping[str, str], synopsis: str) -> tuple[str, ...]:
        """Which of these a synopsis does not name."""
        if not main:
            return ()
        told = {hit.owner for hit in self._names.find(synopsis)}
        return tuple(name for name in main if name not in told)


def _mostly(surfaces: Counter[str]) -> str:
    return min(surfaces, key=lambda surface: (-surfaces[surface], surface))


NOBODY = Cast({})
