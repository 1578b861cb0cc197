"""What a measure remembers: shapes that come again stay, and one-off ones make way."""

from __future__ import annotations

from fabula.context.measure import _SHAPED, Measure
from fabula.context.words import WORDS
from fabula.text.models import find_model
from fabula.text.tokens import Cautious
from tests.context.builders import chunk


def measure() -> Measure:
    return Measure(Cautious(), WORDS["en"], find_model("gpt-4o"))


def test_what_is_asked_for_again_and_again_is_shaped_once() -> None:
    house, standing = measure(), chunk("The lamp is out.", 0.5)
    first = house.piece_of(standing, marked=False)
    for n in range(3 * _SHAPED):
        house.piece_of(chunk(f"Once only {n}.", 0.5), marked=False)
        if n % (_SHAPED // 2) == 0:
            assert (house.shaped.get(id(standing)) or house.piece_of(standing, marked=False)) is first
    assert len(house.shaped) <= _SHAPED


def test_what_nobody_asks_for_is_forgotten() -> None:
    house, once = measure(), chunk("The lamp is out.", 0.5)
    first = house.piece_of(once, marked=False)
    for n in range(2 * _SHAPED):
        house.piece_of(chunk(f"Once only {n}.", 0.5), marked=False)
    assert house.piece_of(once, marked=False) is not first


def test_a_mark_is_not_remembered() -> None:
    house, fact = measure(), chunk("The lamp is out.", 0.5)
    plain = house.piece_of(fact, marked=False)
    assert house.piece_of(fact, marked=True).text != plain.text
    assert house.shaped[id(fact)] is plain
