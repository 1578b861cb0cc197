"""Lorebooks in the store keep every field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabula.core.errors import Code, FabulaError
from fabula.lorebook import edits
from fabula.lorebook.edits import Lorebook
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

P = "coast"
BOOK = Lorebook(
    id="isles",
    name="The Isles",
    format="sillytavern",
    book={
        "entries": {
            "1": {"key": ["Mara", "马拉"], "order": 100, "probability": 0.5, "unknown": {"deep": [None, True]}}
        },
        "a": 1,
        "Z": "the order of fields stays",
    },
)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and one lorebook in it."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.save_lorebook(tx, BOOK)
    return store


def refusal(store: Store, act: Callable[[WriteTransaction], object]) -> Code:
    """The code with which something is refused; nothing may have moved."""
    before = store.versions(project=P)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P) == before
    return refused.value.code


def test_a_book_comes_back_whole(coast: Store) -> None:
    with coast.read(project=P) as reading:
        kept = edits.get_lorebook(reading, "isles")
        assert kept == BOOK
        assert list(kept.book) == list(BOOK.book)
        assert edits.list_lorebooks(reading) == [kept]


def test_a_book_is_replaced_and_removed_with_its_version(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.save_lorebook(tx, replace(BOOK, active=False, rules="fabula"), expected=1)
        kept = edits.get_lorebook(tx, "isles")
        assert (kept.active, kept.rules, kept.version) == (False, "fabula", 2)
        other = edits.save_lorebook(tx, replace(BOOK, id="", name="Another"))
        assert [one.id for one in edits.list_lorebooks(tx)] == [other, "isles"]
    assert refusal(coast, lambda tx: edits.save_lorebook(tx, BOOK, expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: edits.remove_lorebook(tx, "isles", expected=1)) is Code.STORE_CONFLICT
    with coast.write(project=P) as tx:
        edits.remove_lorebook(tx, "isles", expected=2)
    assert refusal(coast, lambda tx: edits.save_lorebook(tx, BOOK, expected=2)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: edits.remove_lorebook(tx, "isles")) is Code.STORE_NOT_FOUND


@pytest.mark.parametrize(
    "odd",
    [
        replace(BOOK, name=" "),
        replace(BOOK, id="a b"),
        replace(BOOK, rules=cast("Any", "loose")),
        replace(BOOK, book=cast("Any", [1])),
        replace(BOOK, book={"x": object()}),
        replace(BOOK, book={"x": "half \ud800"}),
    ],
)
def test_what_cannot_be_a_book_is_refused(coast: Store, odd: Lorebook) -> None:
    assert refusal(coast, lambda tx: edits.save_lorebook(tx, odd)) is Code.REQUEST_INVALID
