"""Where the texts stand."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.core.errors import FabulaError
from fabula.lorebook.model import DepthBlock, Example, Scene
from fabula.lorebook.rules import Rules
from tests.lorebook.books import BOTH, active, book, chat, constant, keyed, scan


def texts(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    return [constant(content=f"t{n}", **entry) for n, entry in enumerate(entries)]


@pytest.mark.parametrize("rules", BOTH)
def test_texts_read_by_ascending_order_and_ties_by_reverse_activation(rules: Rules) -> None:
    answer = scan(book(*texts({"order": 5}, {"order": 9}, {"order": 5}, {"order": 1})), rules=rules)
    assert answer.activated == (1, 0, 2, 3)
    assert answer.before == "t3\nt2\nt0\nt1"


def test_before_after_and_the_authors_note_have_their_places() -> None:
    entries = texts({"position": 0}, {"position": 1}, {"position": 2}, {"position": 3}, {"position": 9}, {})
    answer = scan(book(*entries))
    assert (answer.before, answer.after) == ("t5\nt0", "t1")
    assert (answer.an_top, answer.an_bottom) == (("t2",), ("t3",))
    off = scan(book(*entries), scene=Scene(note=False))
    assert (off.an_top, off.an_bottom) == ((), ())


def test_depth_blocks_are_merged_per_depth_and_role() -> None:
    answer = scan(
        book(
            *texts(
                {"position": 4, "depth": 2, "order": 9},
                {"position": 4, "depth": 4, "order": 8, "role": 1},
                {"position": 4, "depth": 2, "order": 7},
                {"position": 4, "depth": 2, "order": 6, "role": 2},
            )
        )
    )
    assert answer.depth == (
        DepthBlock(2, 0, ("t2", "t0")),
        DepthBlock(4, 1, ("t1",)),
        DepthBlock(2, 2, ("t3",)),
    )


def test_without_a_depth_an_entry_joins_depth_four_or_stands_by_itself() -> None:
    joins = texts({"position": 4, "depth": 4, "order": 2}, {"position": 4, "order": 1})
    assert scan(book(*joins)).depth == (DepthBlock(4, 0, ("t1", "t0")),)
    alone = texts({"position": 4, "order": 2}, {"position": 4, "depth": 4, "order": 1})
    assert scan(book(*alone)).depth == (DepthBlock(None, 0, ("t0",)), DepthBlock(4, 0, ("t1",)))


def test_examples_are_one_ascending_list() -> None:
    entries = texts({"position": 5, "order": 3}, {"position": 6, "order": 2}, {"position": 5, "order": 1})
    assert scan(book(*entries)).em == (Example(0, "t2"), Example(1, "t1"), Example(0, "t0"))


def test_outlets_read_descending_and_need_a_name() -> None:
    entries = texts(
        {"position": 7, "outletName": "out", "order": 1},
        {"position": 7, "outletName": "out", "order": 2},
        {"position": 7},
    )
    assert scan(book(*entries)).outlets == {"out": ("t1", "t0")}


def test_an_empty_text_is_active_but_stands_nowhere() -> None:
    answer = scan(book(constant(content=""), constant(content="x"), {"content": None, "constant": True}))
    assert answer.activated == (0, 1, 2)
    assert answer.before == "x"


def test_an_entry_without_an_order_ties_with_everybody() -> None:
    assert active(constant(order=10), constant(), constant(order=10)) == [0, 1, 2]
    assert active(constant(), constant(order=1), constant(order=2)) == [0, 2, 1]
    assert active(constant(order=1), constant(), constant(order=2)) == [0, 1, 2]
    many = [constant(order=n) if n % 3 else constant() for n in range(90)]
    assert sorted(active(*many)) == list(range(90))


def test_sources_come_one_after_the_other() -> None:
    books = [
        book(constant(order=1), name="w", source="global"),
        book(constant(order=9), name="c", source="character"),
        book(constant(order=0), name="p", source="persona"),
        book(constant(order=0), name="t", source="chat"),
    ]

    def names(**settings: Any) -> str:
        return "".join(ref.book for ref in scan(books, **settings).chosen)

    assert names() == "tpcw"
    assert names(character_strategy=2) == "tpwc"
    books[0] = book(constant(order=99), name="w", source="global")
    assert names() == "tpcw"
    assert names(character_strategy=0) == "tpwc"


def test_two_books_keep_their_entries_and_effects_apart() -> None:
    one, two = book(keyed("go", sticky=2), name="one"), book(keyed("no", sticky=2), name="two")
    answer = scan([one, two], chat("go"))
    assert [str(ref) for ref in answer.chosen] == ["one.0"]
    assert set(answer.timed.sticky) == {"one.0"}
    with pytest.raises(FabulaError, match="same name"):
        scan([one, one])
