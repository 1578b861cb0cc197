"""Whole paragraphs around a place, and what is found in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

from fabula.text.names.matcher import Hit, Names
from fabula.text.names.mention_cache import LEAF, LONGEST
from fabula.text.names.mention_columns import Sightings
from fabula.text.tokens.paragraphs import Paragraphs

PLACES = {"mara": 4, "ines": 13}  # where they end in "Mara met Ines."
NAMES = Names({"mara": ["Mara"], "otto": ["Otto"]})
_BITS = ("word", " ", ".", "\n", "\n\n", "。", "他们", "Mr.", " Mara ", " Otto ")


def blocks(text: str, start: int, end: int) -> list[str]:
    edges = Paragraphs(text).readings.blocks(start, end)
    return [text[first:last] for first, last in pairwise(edges)]


@pytest.mark.parametrize(
    ("text", "inside", "expected"),
    [
        ("One came.\n\nTwo left.\n\nThree stayed.", "Two", ["Two left.\n\n"]),
        ("First, the captain.\nThen the mate.\nThen no one.", "Then the", ["Then the mate.\nThen no one."]),
        ("a line of Anna\nPavlovna goes on\n\nanother", "goes", ["a line of Anna\nPavlovna goes on\n\n"]),
        ("He met Mr.\nDarcy there.\n\nAnother.", "Darcy", ["He met Mr.\nDarcy there.\n\n"]),
        ("他来了。\n她走了。\n无人。", "她", ["她走了。\n"]),
        ("", "", [""]),
        ("\n\nalone", "alone", ["alone"]),
    ],
)
def test_a_block_is_a_paragraph_and_the_lines_it_goes_on_in(text: str, inside: str, expected: list[str]) -> None:
    start = text.index(inside)
    assert blocks(text, start, start + len(inside)) == expected


def test_blocks_hold_all_that_was_asked_for() -> None:
    chance = Random(9)
    for _ in range(300):
        text = "".join(chance.choice(_BITS) for _ in range(chance.randint(0, 400)))
        whole = Paragraphs(text)
        for _ in range(5):
            start = chance.randint(0, len(text))
            end = chance.randint(start, len(text))
            edges = whole.readings.blocks(start, end)
            assert len(edges) >= 2
            assert edges[0] <= max(start, whole.starts[0])
            assert edges[-1] >= min(end, len(text))
            assert list(edges) == sorted(set(edges)) or not text.strip()


def mentions(found: Sequence[Sightings] | None, start: int, end: int) -> tuple[dict[str, int], dict[str, int]] | None:
    """Who is mentioned from start to end: where last before the middle of it, and where first behind that."""
    if found is None:
        return None
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    for seen in found:
        seen.note(start, (start + end) // 2, end, before, after)
    return before, after


def test_what_is_found_is_the_same_however_often_it_is_looked_for() -> None:
    chance = Random(3)
    for _ in range(100):
        text = "".join(chance.choice(_BITS) for _ in range(chance.randint(1, 600)))
        whole = Paragraphs(text)
        for _ in range(12):
            start = chance.randint(0, len(text))
            end = chance.randint(start, len(text))
            fresh = mentions(Paragraphs(text).readings.found(NAMES.find, start, end), start, end)
            assert mentions(whole.readings.found(NAMES.find, start, end), start, end) == fresh


def test_a_leaf_is_read_whole_when_somebody_looks_again() -> None:
    text = "\n\n".join(f"Mara said {n}." for n in range(3 * LEAF))
    asked: list[str] = []

    def find(block: str) -> list[Hit]:
        asked.append(block)
        return [*NAMES.find(block)]

    readings, here = Paragraphs(text).readings, text.index("said 20.")
    readings.found(find, here, here + 1)
    assert len(asked) == 1
    readings.found(find, here, here + 1)
    assert len(asked) == 1  # it is known
    readings.found(find, text.index("said 21."), text.index("said 21.") + 1)
    assert len(asked) == LEAF
    for n in range(LEAF, 2 * LEAF):
        readings.found(find, text.index(f"said {n}."), text.index(f"said {n}.") + 1)
    assert len(asked) == LEAF


def test_other_names_are_looked_for_anew() -> None:
    others = Names({"ines": ["Ines"]})
    readings = Paragraphs("Mara met Ines.").readings
    for _ in range(2):
        for names, owner in ((NAMES, "mara"), (others, "ines")):
            assert mentions(readings.found(names.find, 0, 14), 0, 28) == ({owner: PLACES[owner]}, {})


def test_endless_paragraphs_are_not_read_whole() -> None:
    text = "Mara and on and on " * LONGEST
    assert Paragraphs(text).readings.found(NAMES.find, 100, 200) is None
