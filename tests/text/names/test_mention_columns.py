"""The nearest mention of everybody, against looking at each of them."""

from __future__ import annotations

from random import Random

from fabula.text.names.matcher import Hit
from fabula.text.names.mention_columns import Sightings


def some_hits(chance: Random, size: int) -> list[Hit]:
    """Hits in their order, none inside another; one name may be that of two."""
    hits: list[Hit] = []
    at = 0
    while (at := at + chance.randint(0, 9)) + 4 <= size:
        end = at + chance.randint(1, 4)
        hits += [Hit(owner, "x", at, end) for owner in chance.sample("abcd", chance.randint(1, 2))]
        at = end
    return hits


def test_the_nearest_is_what_looking_at_each_finds() -> None:
    chance = Random(5)
    for _ in range(500):
        sizes = [chance.randint(0, 60) for _ in range(chance.randint(1, 4))]
        blocks = [(sum(sizes[:n]), some_hits(chance, size)) for n, size in enumerate(sizes)]
        whole = sum(sizes)
        first, here, last = sorted(chance.randint(0, whole) for _ in range(3))
        split = chance.randint(0, len(blocks))
        before: dict[str, int] = {}
        after: dict[str, int] = {}
        for part in (blocks[:split], blocks[split:]):
            Sightings(part, 0, whole).note(first, here, last, before, after)

        near = [(hit.owner, at + hit.start, at + hit.end) for at, hits in blocks for hit in hits]
        near = [(owner, start, end) for owner, start, end in near if first <= start and end <= last]
        behind = [(owner, start) for owner, start, end in near if end > here]
        assert before == {owner: end for owner, _, end in near if end <= here}
        assert after == {owner: min(s for o, s in behind if o == owner) for owner, _ in behind}
        assert list(before) == list(dict.fromkeys(owner for owner, _, end in near if end <= here))
        assert list(after) == list(dict.fromkeys(owner for owner, _ in behind))


def test_a_hit_that_is_turned_down_is_not_seen() -> None:
    seen = Sightings([(10, [Hit("a", "x", 0, 1), Hit("b", "x", 2, 3), Hit("c", "x", 7, 8)])], 10, 20)
    asked: list[str] = []

    def means(hit: Hit) -> bool:
        asked.append(hit.owner)
        return hit.owner == "b"

    before: dict[str, int] = {}
    after: dict[str, int] = {}
    seen.note(10, 12, 15, before, after, means)
    assert (before, after) == ({}, {"b": 12})
    assert asked == ["a", "b"]  # nobody is asked about what is not near
