"""The outline: beats in order, ticked off."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, outline, projects, tables
from fabula.manuscript.synopses import editing as synopses
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

IMPOSSIBLE: tuple[tuple[Callable[[WriteTransaction, str], object], Code], ...] = (
    (lambda tx, beat: outline.add_beat(tx, "one", "  "), Code.TEXT_INVALID),
    (lambda tx, beat: outline.add_beat(tx, "nobody", "They meet."), Code.STORE_NOT_FOUND),
    (lambda tx, beat: outline.update_beat(tx, beat, {"colour": "red"}), Code.TEXT_INVALID),
    (lambda tx, beat: outline.update_beat(tx, beat, {"id": "mine"}), Code.TEXT_INVALID),
    (lambda tx, beat: outline.update_beat(tx, beat, {"text": "x"}, expected=9), Code.STORE_CONFLICT),
    (lambda tx, beat: outline.update_beat(tx, "nobody", {"text": "x"}), Code.STORE_NOT_FOUND),
    (lambda tx, beat: outline.remove_beat(tx, "nobody"), Code.STORE_NOT_FOUND),
)


@pytest.fixture
def book(store: Store) -> Store:
    """A store with two documents."""
    projects.create(store, "Planned", project_id="p")
    with store.write(project="p") as tx:
        for ident in ("one", "two"):
            documents.add(tx, ident, text=f"Text of {ident}.", document_id=ident)
    return store


def test_beats_stand_in_the_order_in_which_they_were_planned(book: Store) -> None:
    with book.write(project="p") as tx:
        first = [outline.add_beat(tx, "one", text) for text in (" They meet. ", "They part.", "They meet again.")]
        outline.add_beat(tx, "two", "The end.")
        outline.remove_beat(tx, first[1])
        outline.add_beat(tx, "one", "They stay.")
    with book.read(project="p") as reading:
        assert outline.load_beats(reading) == {
            "one": ["They meet.", "They meet again.", "They stay."],
            "two": ["The end."],
        }
        assert outline.load_beats(reading, ["two"]) == {"two": ["The end."]}


def test_a_beat_is_ticked_off_and_taken_up_again(book: Store) -> None:
    with book.write(project="p") as tx:
        beat = outline.add_beat(tx, "one", "They meet.")
        outline.add_beat(tx, "one", "They part.")
        assert outline.update_beat(tx, beat, {"done": True}, expected=1) == 2
        assert outline.load_beats(tx, open_only=True) == {"one": ["They part."]}
        assert outline.load_beats(tx) == {"one": ["They meet.", "They part."]}
        outline.update_beat(tx, beat, {"done": 0, "text": "They meet at last.", "place": 7})
        assert outline.load_beats(tx, open_only=True) == {"one": ["They part.", "They meet at last."]}


def test_what_cannot_be_is_refused_in_words(book: Store) -> None:
    with book.write(project="p") as tx:
        beat = outline.add_beat(tx, "one", "They meet.")
    for attempt, code in IMPOSSIBLE:
        with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
            attempt(tx, beat)
        assert refused.value.code is code
    with book.read(project="p") as reading:
        assert outline.load_beats(reading) == {"one": ["They meet."]}


def test_the_plan_of_a_document_goes_with_it(book: Store) -> None:
    with book.write(project="p") as tx:
        outline.add_beat(tx, "one", "They meet.")
        synopses.write_synopsis(tx, "one", "They meet.")
        documents.remove(tx, "one")
        assert (tx.count(tables.beats), tx.count(tables.synopses)) == (0, 0)
