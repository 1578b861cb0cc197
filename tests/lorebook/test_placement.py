"""The positions of active texts."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.core.errors import FabulaError
from fabula.lorebook.model import DepthBlock, ExampleText, ScanContext
from fabula.lorebook.rules import ActivationRules
from tests.lorebook.books import (
    BOTH,
    constant_entry,
    find_active_uids,
    keyed_entry,
    make_book,
    make_messages,
    scan_books,
)


def number_texts(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    return [constant_entry(content=f"t{n}", **entry) for n, entry in enumerate(entries)]


@pytest.mark.parametrize("rules", BOTH)
def test_texts_read_by_ascending_order_and_ties_by_reverse_activation(rules: ActivationRules) -> None:
    answer = scan_books(make_book(*number_texts({"order": 5}, {"order": 9}, {"order": 5}, {"order": 1})), rules=rules)
    assert answer.active_uids == (1, 0, 2, 3)
    assert answer.texts.before == "t3\nt2\nt0\nt1"


def test_before_after_and_the_authors_note_have_their_places() -> None:
    entries = number_texts({"position": 0}, {"position": 1}, {"position": 2}, {"position": 3}, {"position": 9}, {})
    answer = scan_books(make_book(*entries))
    assert (answer.texts.before, answer.texts.after) == ("t5\nt0", "t1")
    assert (answer.texts.note_top, answer.texts.note_bottom) == (("t2",), ("t3",))
    off = scan_books(make_book(*entries), context=ScanContext(has_author_note=False))
    assert (off.texts.note_top, off.texts.note_bottom) == ((), ())


def test_depth_blocks_are_merged_per_depth_and_role() -> None:
    answer = scan_books(
        make_book(
            *number_texts(
                {"position": 4, "depth": 2, "order": 9},
                {"position": 4, "depth": 4, "order": 8, "role": 1},
                {"position": 4, "depth": 2, "order": 7},
                {"position": 4, "depth": 2, "order": 6, "role": 2},
            )
        )
    )
    assert answer.texts.depth == (
        DepthBlock(2, 0, ("t2", "t0")),
        DepthBlock(4, 1, ("t1",)),
        DepthBlock(2, 2, ("t3",)),
    )


def test_without_a_depth_an_entry_joins_depth_four_or_stands_by_itself() -> None:
    joins = number_texts({"position": 4, "depth": 4, "order": 2}, {"position": 4, "order": 1})
    assert scan_books(make_book(*joins)).texts.depth == (DepthBlock(4, 0, ("t1", "t0")),)
    alone = number_texts({"position": 4, "order": 2}, {"position": 4, "depth": 4, "order": 1})
    assert scan_books(make_book(*alone)).texts.depth == (DepthBlock(None, 0, ("t0",)), DepthBlock(4, 0, ("t1",)))


def test_examples_are_one_ascending_list() -> None:
    entries = number_texts({"position": 5, "order": 3}, {"position": 6, "order": 2}, {"position": 5, "order": 1})
    assert scan_books(make_book(*entries)).texts.examples == (
        ExampleText(0, "t2"),
        ExampleText(1, "t1"),
        ExampleText(0, "t0"),
    )


def test_outlets_read_descending_and_need_a_name() -> None:
    entries = number_texts(
        {"position": 7, "outletName": "out", "order": 1},
        {"position": 7, "outletName": "out", "order": 2},
        {"position": 7},
    )
    assert scan_books(make_book(*entries)).texts.outlets == {"out": ("t1", "t0")}


def test_an_empty_text_is_active_but_stands_nowhere() -> None:
    answer = scan_books(
        make_book(constant_entry(content=""), constant_entry(content="x"), {"content": None, "constant": True})
    )
    assert answer.active_uids == (0, 1, 2)
    assert answer.texts.before == "x"


def test_an_entry_without_an_order_ties_with_everybody() -> None:
    assert find_active_uids(constant_entry(order=10), constant_entry(), constant_entry(order=10)) == [0, 1, 2]
    assert find_active_uids(constant_entry(), constant_entry(order=1), constant_entry(order=2)) == [0, 2, 1]
    assert find_active_uids(constant_entry(order=1), constant_entry(), constant_entry(order=2)) == [0, 1, 2]
    many = [constant_entry(order=n) if n % 3 else constant_entry() for n in range(90)]
    assert sorted(find_active_uids(*many)) == list(range(90))


def test_sources_come_one_after_the_other() -> None:
    books = [
        make_book(constant_entry(order=1), name="w", source="global"),
        make_book(constant_entry(order=9), name="c", source="character"),
        make_book(constant_entry(order=0), name="p", source="persona"),
        make_book(constant_entry(order=0), name="t", source="chat"),
    ]

    def names(**settings: Any) -> str:
        return "".join(ref.book for ref in scan_books(books, **settings).active)

    assert names() == "tpcw"
    assert names(character_strategy=2) == "tpwc"
    books[0] = make_book(constant_entry(order=99), name="w", source="global")
    assert names() == "tpcw"
    assert names(character_strategy=0) == "tpwc"


def test_two_books_keep_their_entries_and_effects_apart() -> None:
    one, two = make_book(keyed_entry("go", sticky=2), name="one"), make_book(keyed_entry("no", sticky=2), name="two")
    answer = scan_books([one, two], make_messages("go"))
    assert [str(ref) for ref in answer.active] == ["one.0"]
    assert set(answer.timed_effects.sticky) == {"one.0"}
    with pytest.raises(FabulaError, match="same name"):
        scan_books([one, one])
