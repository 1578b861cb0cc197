"""Revisions: kept every ten minutes, before anything that is not typing, and under a name for good."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects, revisions
from fabula.manuscript.tables import revisions as rows
from fabula.store.store import Store

Pass = Callable[[float], None]


@pytest.fixture
def minutes(monkeypatch: pytest.MonkeyPatch) -> Pass:
    """Lets minutes pass."""
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]

    def wait(minutes: float) -> None:
        clock[0] += timedelta(minutes=minutes)

    for module in (revisions, documents):
        monkeypatch.setattr(module, "current_timestamp", lambda: clock[0].strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    return wait


@pytest.fixture
def book(store: Store) -> Store:
    """A store with one document."""
    projects.create(store, "Revised", project_id="p")
    with store.write(project="p") as tx:
        documents.add(tx, "One", text="First.", document_id="d")
    return store


def test_typing_keeps_a_revision_every_ten_minutes(book: Store, minutes: Pass) -> None:
    for number in range(41):  # one save a minute
        _write(book, f"Minute {number}.")
        minutes(1)
    kept = _history(book)
    assert [revision.revision for revision in kept] == [41, 31, 21, 11, 1]
    with book.read(project="p") as reading:
        assert [revisions.load_text(reading, "d", number) for number in (1, 11, 41)] == [
            "First.",
            "Minute 9.",
            "Minute 39.",
        ]


def test_revisions_go_on_when_the_clock_was_set_back(book: Store, minutes: Pass) -> None:
    _write(book, "While the clock was a year ahead.")
    minutes(-365 * 24 * 60)
    for number in range(40):
        _write(book, f"Number {number}.")
        minutes(11)
    assert len(_history(book)) == 41


def test_anything_but_typing_keeps_what_stood_before(book: Store, minutes: Pass) -> None:
    _write(book, "Typed.")
    _write(book, "Typed again.")
    _write(book, "A model's words.", cause="accepted")
    _write(book, "Imported.", cause="imported")
    assert [(kept.revision, kept.cause) for kept in _history(book)] == [(4, "imported"), (3, "accepted"), (1, "typed")]


def test_an_empty_text_is_not_worth_keeping(book: Store, minutes: Pass) -> None:
    with book.write(project="p") as tx:
        documents.add(tx, "Empty", document_id="e")
        documents.write(tx, "e", "Something.", cause="accepted")
        assert revisions.list_revisions(tx, "e") == []


def test_the_same_text_again_is_no_revision(book: Store, minutes: Pass) -> None:
    _write(book, "First.", cause="accepted")
    assert _history(book) == []


def test_a_text_under_a_label_can_be_written_over_at_any_time(book: Store, minutes: Pass) -> None:
    for number, (cause, later) in enumerate(product(("typed", "accepted", "restored"), (0, 11))):
        ident = f"d{number}"
        with book.write(project="p") as tx:
            documents.add(tx, "Labelled", text="First.", document_id=ident)
            assert revisions.label_current(tx, ident, "as sent to Ines") == 1
        minutes(later)
        with book.write(project="p") as tx:
            documents.write(tx, ident, "Second.", cause=cause)
            (kept,) = revisions.list_revisions(tx, ident)
        assert (kept.revision, kept.label, kept.length) == (1, "as sent to Ines", len("First."))
        minutes(11)
        with book.write(project="p") as tx:
            documents.write(tx, ident, "Third.")
            assert [kept.revision for kept in revisions.list_revisions(tx, ident)] == [2, 1]


def test_a_label_can_be_given_to_a_kept_text_and_changed(book: Store, minutes: Pass) -> None:
    with book.write(project="p") as tx:
        assert revisions.label_current(tx, "d", "one") == 1
        assert revisions.label_current(tx, "d", "two") == 1
    assert [kept.label for kept in _history(book)] == ["two"]


def test_an_earlier_text_is_put_back_and_what_stood_there_is_kept(book: Store, minutes: Pass) -> None:
    _write(book, "Second.")
    minutes(11)
    _write(book, "Third.")
    with book.write(project="p") as tx:
        assert documents.restore(tx, "d", 1, expected=3) == 4
    with book.read(project="p") as reading:
        assert revisions.load_text(reading, "d", 4) == "First."
        assert revisions.load_text(reading, "d", 3) == "Third."
    assert [(kept.revision, kept.cause) for kept in _history(book)] == [(3, "restored"), (2, "typed"), (1, "typed")]
    with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
        documents.restore(tx, "d", 1, expected=3)
    assert refused.value.code is Code.DOCUMENT_STALE


def test_a_revision_that_was_not_kept_is_said_to_be_gone(book: Store, minutes: Pass) -> None:
    _write(book, "Second.")
    _write(book, "Third.")
    with book.write(project="p") as tx:
        for ask in (
            lambda tx: revisions.load_text(tx, "d", 2),
            lambda tx: documents.restore(tx, "d", 2),
            lambda tx: revisions.compare(tx, "d", 1, 99),
        ):
            with pytest.raises(FabulaError) as refused:
                ask(tx)
            assert refused.value.code is Code.STORE_NOT_FOUND
        with pytest.raises(FabulaError) as refused:
            revisions.load_text(tx, "nobody", 1)
        assert refused.value.code is Code.DOCUMENT_UNKNOWN


def test_two_revisions_are_compared_word_by_word(book: Store, minutes: Pass) -> None:
    _write(book, "One.\nTwo.\nThree.\nFour.", cause="imported")
    _write(book, "One.\nTwo.\nThird.\nFour.", cause="imported")
    with book.read(project="p") as reading:
        (line,) = revisions.compare(reading, "d", 2, 3)
        assert (line.line, [(part.kind, part.text) for part in line.parts]) == (
            3,
            [("removed", "Three"), ("added", "Third"), ("same", ".")],
        )
        assert revisions.compare(reading, "d", 3, 3) == []


def test_of_many_revisions_the_latest_are_kept_and_those_with_a_label(
    book: Store, minutes: Pass, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revisions, "MAX_REVISIONS", 5)
    for number in range(2, 13):
        if number in (3, 7):
            with book.write(project="p") as tx:
                revisions.label_current(tx, "d", f"draft {number}")
        minutes(11)
        _write(book, f"Text {number}.")
    kept = _history(book)
    assert [revision.revision for revision in kept] == [11, 10, 9, 8, 7, 6, 2]
    assert [revision.label for revision in kept if revision.label] == ["draft 7", "draft 3"]


@pytest.mark.parametrize("at", ["", "long ago", "2020-01-01", "2020-01-01T00:00:00+08:00"])
def test_a_revision_whose_time_was_lost_does_not_stop_the_writing(store: Store, at: str) -> None:
    projects.create(store, "Old", project_id="old")
    with store.write(project="old") as tx:
        documents.add(tx, "One", text="First.", document_id="d")
        tx.insert(rows, {"document_id": "d", "revision": 0, "text": "Zeroth.", "at": at})
        documents.write(tx, "d", "Second.")
    with store.read(project="old") as reading:
        assert [kept.revision for kept in revisions.list_revisions(reading, "d")] == [1, 0]


def test_revisions_of_one_document_are_not_another_ones(book: Store, minutes: Pass) -> None:
    with book.write(project="p") as tx:
        documents.add(tx, "Two", text="Other.", document_id="e")
    _write(book, "Second.", cause="accepted")
    with book.write(project="p") as tx:
        documents.write(tx, "e", "Other words.")
        assert [kept.revision for kept in revisions.list_revisions(tx, "e")] == [1], "ten minutes are counted for each"
        documents.remove(tx, "e")
        assert tx.count(rows) == 1


def _write(store: Store, text: str, *, cause: str = "typed") -> None:
    with store.write(project="p") as tx:
        documents.write(tx, "d", text, cause=cause)


def _history(store: Store) -> list[revisions.Revision]:
    with store.read(project="p") as reading:
        return revisions.list_revisions(reading, "d")
