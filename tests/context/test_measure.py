"""What a measure remembers: shapes that come again stay, and one-off ones make way."""

from __future__ import annotations

from fabula.context.measure import SHAPED, Measure
from fabula.context.phrases import WORDS
from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.tokens.models import find_model
from fabula.text.tokens.tokenizer import Cautious
from tests.context.builders import chunk

LONG = "word " * 2000
ROUND = SHAPED // len(LONG) + 1  # as many as there is room for


def measure() -> Measure:
    return Measure(Cautious(), WORDS["en"], find_model("gpt-4o"))


def once(number: int) -> Fragment:
    return chunk(f"{LONG}{number}", 0.5)


def test_what_is_asked_for_again_and_again_is_shaped_once() -> None:
    house, standing = measure(), chunk("The lamp is out.", 0.5)
    first = house.piece_of(standing, marked=False)
    for n in range(3 * ROUND):
        house.piece_of(once(n), marked=False)
        if n % (ROUND // 2) == 0:
            assert (house.shaped.young.get(id(standing)) or house.piece_of(standing, marked=False)) is first
    assert len(house.shaped.young) <= ROUND + 1


def test_what_nobody_asks_for_is_forgotten() -> None:
    house, standing = measure(), chunk("The lamp is out.", 0.5)
    first = house.piece_of(standing, marked=False)
    for n in range(2 * ROUND):
        house.piece_of(once(n), marked=False)
    assert house.piece_of(standing, marked=False) is not first


def test_what_follows_the_cursor_is_not_remembered() -> None:
    house = measure()
    after = Fragment(source="editor:after", layer=Layer.IMMEDIATE, text="And so on.", project_id="p", part=Part.AFTER)
    assert house.piece_of(after, marked=False).text == "And so on."
    assert not house.shaped.young


def test_a_mark_is_not_remembered() -> None:
    house, fact = measure(), chunk("The lamp is out.", 0.5)
    plain = house.piece_of(fact, marked=False)
    assert house.piece_of(fact, marked=True).text != plain.text
    assert house.shaped.young[id(fact)] is plain
