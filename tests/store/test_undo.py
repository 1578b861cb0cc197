"""Undo: the last change is taken back exactly, made again, and refused where something was changed since."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.codex.tables import entries, progressions
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.manuscript import documents, outline, projects
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.tables import beats, marks
from fabula.manuscript.tables import documents as document_rows
from fabula.store import undo
from fabula.store.schema import all_tables
from fabula.store.store import Store
from fabula.store.tables import undo_steps
from fabula.store.transaction import WriteTransaction

LABEL = message("text of {name!r} changed", name="One")


@pytest.fixture
def book(store: Store) -> Store:
    """A store with a project of two chapters and an entry."""
    projects.create(store, "Book", project_id="p")
    with store.write(project="p") as tx:
        documents.add(tx, "Part", kind=DocumentKind.PART, document_id="part")
        for name in ("One", "Two"):
            documents.add(tx, name, text=f"{name} was dark.", parent="part", document_id=name)
        outline.add_beat(tx, "One", "It rains.")
        documents.mark_accepted(tx, "One", 0, 3)
        place = {"since_document": "One", "since_offset": 8}
        tx.insert(entries, {"id": "mara", "name": "Mara", "type": "character"})
        tx.insert(progressions, {"id": "later", "entry_id": "mara", "text": "gone", **place})
    return store


def contents(store: Store, *, versions: bool = False) -> dict[str, list[dict[str, Any]]]:
    """Every row of the project, without what differs whenever it is written."""
    without = {"changed"} if versions else {"changed", "version"}
    with store.read(project="p") as reading:
        return {
            table.name: [
                {name: value for name, value in row._mapping.items() if name not in without}
                for row in reading.rows(table, order=[*table.primary_key])
            ]
            for table in all_tables()
            if "table_info" in table.info and "project_id" in table.c and table is not undo_steps
        }


def test_a_change_of_a_text_is_undone_with_its_positions_and_made_again(book: Store) -> None:
    before = contents(book)
    with book.write(project="p", undo_label=LABEL) as tx:
        documents.write(tx, "One", "Very early, One was not dark.")
    after = contents(book)
    with book.write(project="p") as tx:
        assert undo.undo(tx).label == LABEL
    assert contents(book) == before
    with book.write(project="p") as tx:
        assert undo.redo(tx).label == LABEL
    assert contents(book) == after


def test_a_chapter_of_more_than_a_million_characters_can_be_changed_and_the_change_undone(book: Store) -> None:
    long = "The lamp went out over the water.\n" * 32_000
    with book.write(project="p", undo_label=LABEL) as tx:
        documents.write(tx, "One", long)
    with book.write(project="p", undo_label=LABEL) as tx:
        documents.write(tx, "One", "Short.")
    with book.write(project="p") as tx:
        undo.undo(tx)
        assert [row.text for row in tx.rows(document_rows, document_rows.c.id == "One")] == [long]


def test_what_a_delete_takes_along_comes_back_with_it(book: Store) -> None:
    before = contents(book)
    with book.write(project="p", undo_label=LABEL) as tx:
        tx.delete_rows(document_rows, document_rows.c.id == "part")  # cascades to chapters, beats and marks
    with book.read(project="p") as reading:
        assert (reading.count(document_rows), reading.count(beats), reading.count(marks)) == (0, 0, 0)
    with book.write(project="p") as tx:
        undo.undo(tx)
    assert contents(book) == before


def test_undo_refuses_what_was_changed_since_and_names_it(book: Store) -> None:
    with book.write(project="p", undo_label=LABEL) as tx:
        documents.write(tx, "One", "One was bright.")
    with book.write(project="p") as tx:
        documents.write(tx, "One", "One was blue.")
    before = contents(book, versions=True)
    with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
        undo.undo(tx)
    assert refused.value.code is Code.STORE_CONFLICT
    assert "One" in str(refused.value.message)
    assert contents(book, versions=True) == before


def test_a_change_of_other_columns_does_not_stop_an_undo(book: Store) -> None:
    with book.write(project="p", undo_label=LABEL) as tx:
        documents.write(tx, "One", "One was bright.")
    with book.write(project="p") as tx:
        documents.update(tx, "One", {"title": "First"})
    with book.write(project="p") as tx:
        undo.undo(tx)
    with book.read(project="p") as reading:
        row = reading.require(document_rows, id="One")
        assert (row.title, row.text) == ("First", "One was dark.")


def test_an_editor_with_an_older_text_is_refused_after_an_undo(book: Store) -> None:
    with book.write(project="p", undo_label=LABEL) as tx:
        revision = documents.write(tx, "One", "One was bright.")
    with book.write(project="p") as tx:
        undo.undo(tx)
    with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
        documents.write(tx, "One", "One was bright, really.", expected=revision)
    assert refused.value.code is Code.DOCUMENT_STALE


def test_a_new_change_ends_what_can_be_redone(book: Store) -> None:
    for text in ("One was bright.", "One was blue."):
        with book.write(project="p", undo_label=LABEL) as tx:
            documents.write(tx, "One", text)
        with book.write(project="p") as tx:
            if text != "One was blue.":
                undo.undo(tx)
    with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
        undo.redo(tx)
    assert refused.value.code is Code.STORE_NOT_FOUND


def test_an_undo_is_in_the_change_feed_and_its_steps_are_not(book: Store) -> None:
    with book.write(project="p", undo_label=LABEL) as tx:
        documents.write(tx, "One", "One was bright.")
    version, _ = book.versions(project="p")
    with book.write(project="p") as tx:
        undo.undo(tx)
    with book.read(project="p") as reading:
        found = reading.changes("project", version)
        assert found is not None
        assert {change.area for change in found} >= {"manuscript"}
        assert not any(change.area == "undo" for change in found)


def test_steps_are_bounded_by_number_and_size(book: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "MAX_STEPS", 3)
    for number in range(5):
        with book.write(project="p", undo_label=LABEL) as tx:
            documents.write(tx, "One", f"Text {number}")
    with book.read(project="p") as reading:
        assert len(undo.list_steps(reading)) == 3
    monkeypatch.setattr(undo, "MAX_CHARACTERS", 100)
    with book.write(project="p", undo_label=LABEL) as tx:
        documents.write(tx, "One", "Another text")
    with pytest.raises(FabulaError, match="too much"), book.write(project="p") as tx:
        undo.undo(tx)


def test_a_change_without_effect_leaves_no_step(book: Store) -> None:
    with book.write(project="p", undo_label=LABEL) as tx:
        documents.write(tx, "One", "One was dark.")
    with book.read(project="p") as reading:
        assert undo.list_steps(reading) == []


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["add", "write", "move", "remove", "beat"]), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=6,
)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(OPERATIONS, min_size=1, max_size=4))
def test_any_series_of_changes_is_undone_and_redone_exactly(
    book: Store, changes: list[list[tuple[str, int, int]]]
) -> None:
    with book.write(project="p") as tx:
        tx.delete_rows(undo_steps)
    states = [contents(book)]
    steps = 0
    for change in changes:
        with book.write(project="p", undo_label=LABEL) as tx:
            for operation in change:
                _apply(tx, *operation)
        with book.read(project="p") as reading:
            if reading.count(undo_steps) > steps:
                steps += 1
                states.append(contents(book))
    for expected in reversed(states[:-1]):
        with book.write(project="p") as tx:
            undo.undo(tx)
        assert contents(book) == expected
    for expected in states[1:]:
        with book.write(project="p") as tx:
            undo.redo(tx)
        assert contents(book) == expected


def _apply(tx: WriteTransaction, operation: str, first: int, second: int) -> None:
    rows = tx.rows(document_rows, order=(document_rows.c.id,))
    ids: list[str] = [row.id for row in rows] or [documents.add(tx, "New", text="Nothing yet.")]
    one, other = ids[first % len(ids)], ids[second % len(ids)]
    match operation:
        case "add":
            documents.add(tx, f"Number {first}", text="Some words.", parent=other, index=0)
        case "write":
            documents.write(tx, one, f"{'word ' * second}dark.", cause="restored")
        case "move":
            documents.move(tx, one, parent=None, index=second)
        case "remove":
            documents.remove(tx, one)
        case _:
            outline.add_beat(tx, one, "Something happens.")
