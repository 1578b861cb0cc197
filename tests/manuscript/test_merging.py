"""Merging and splitting documents: what belongs to a text goes with it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.constraints.tables import constraints
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.manuscript import documents, merging, outline, projects
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.tables import beats, marks
from fabula.manuscript.tables import documents as rows
from fabula.manuscript.tables import synopses as synopsis_rows
from fabula.store import undo
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction

ONE, TWO = "She lit the lamp.\n", "The gulls came. Nobody slept."


@pytest.fixture
def book(store: Store) -> Store:
    projects.create(store, "Book", project_id="p")
    with store.write(project="p") as tx:
        documents.add(tx, "One", text=ONE, document_id="one")
        documents.add(tx, "Two", text=TWO, document_id="two", pov="mara")
        documents.add(tx, "Scene", text="Below.", parent="two", document_id="scene")
        for name, document, text, words in (("a", "one", ONE, "lamp"), ("b", "two", TWO, "Nobody")):
            place = {
                f"{end}_{part}": value
                for end in ("since", "until")
                for part, value in (("document", document), ("offset", text.index(words)))
            }
            tx.insert(constraints, {"id": name, **place})
            outline.add_beat(tx, document, f"Beat of {document}")
        documents.mark_accepted(tx, "two", 0, TWO.index(" Nobody"))
    return store


def words_at(reading: ReadTransaction, constraint: str, end: str = "since") -> str:
    row = reading.require(constraints, id=constraint)
    document = reading.require(rows, id=getattr(row, f"{end}_document"))
    return str(document.text[getattr(row, f"{end}_offset") :].split()[0].strip("."))


def test_a_merge_takes_positions_marks_beats_and_children_along(book: Store) -> None:
    with book.write(project="p") as tx:
        merging.merge(tx, "one", "two")
    with book.read(project="p") as reading:
        text = reading.require(rows, id="one").text
        assert text == "She lit the lamp.\n\nThe gulls came. Nobody slept."
        assert [words_at(reading, name, end) for name in "ab" for end in ("since", "until")] == [
            "lamp",
            "lamp",
            "Nobody",
            "Nobody",
        ]
        (mark,) = reading.rows(marks)
        assert text[mark.start : mark.end] == "The gulls came."
        assert [row.text for row in reading.rows(beats, order=(beats.c.place,))] == ["Beat of one", "Beat of two"]
        assert reading.require(rows, id="scene").parent_id == "one"
        assert reading.row(rows, id="two") is None


def test_a_synopsis_by_hand_survives_a_merge_and_one_by_a_program_is_made_anew(book: Store) -> None:
    with book.write(project="p") as tx:
        synopses.write_synopsis(tx, "one", "A lamp.", origin="extract")
        synopses.write_synopsis(tx, "two", "Gulls.")
        merging.merge(tx, "one", "two")
        (row,) = tx.rows(synopsis_rows)
        assert (row.text, row.origin, row.made_from) == ("A lamp.\n\nGulls.", "hand", "")


def test_a_split_takes_what_lies_after_it_along(book: Store) -> None:
    with book.write(project="p") as tx:
        new = merging.split(tx, "two", TWO.index("came.") + len("came."), "Three")
        assert [row.title for row in tx.rows(rows, rows.c.parent_id.is_(None), order=(rows.c.place,))] == [
            "One",
            "Two",
            "Three",
        ]
        assert (tx.require(rows, id="two").text, tx.require(rows, id=new).text) == ("The gulls came.", "Nobody slept.")
        assert tx.require(rows, id=new).pov == "mara"
        assert words_at(tx, "b") == "Nobody"
        assert tx.require(constraints, id="b").since_document == new
        (mark,) = tx.rows(marks)
        assert (mark.document_id, mark.start, mark.end) == ("two", 0, len("The gulls came."))


def test_a_mark_across_the_cut_becomes_two(book: Store) -> None:
    with book.write(project="p") as tx:
        tx.delete_rows(marks)
        documents.mark_accepted(tx, "two", 4, len(TWO), run_id="run")
        new = merging.split(tx, "two", TWO.index(" Nobody"), "Three")
        found = {row.document_id: (row.start, row.end, row.run_id) for row in tx.rows(marks)}
        assert found == {"two": (4, 15, "run"), new: (0, 13, "run")}


def test_a_place_outside_the_words_and_a_merge_with_itself_are_refused(book: Store) -> None:
    for change in (
        lambda tx: merging.split(tx, "two", 0, "Three"),
        lambda tx: merging.split(tx, "two", len(TWO), "Three"),
        lambda tx: merging.merge(tx, "one", "one"),
        lambda tx: merging.merge(tx, "scene", "two"),
    ):
        with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
            change(tx)
        assert refused.value.code in (Code.TEXT_INVALID, Code.TREE_INVALID)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.sampled_from(["rain", "她", "sea,", "lamp"]), min_size=2, max_size=9), data=st.data())
def test_no_position_leaves_its_word_when_a_chapter_is_split_and_merged_again(
    book: Store, words: list[str], data: st.DataObject
) -> None:
    numbered = [f"{word}{number}" for number, word in enumerate(words)]
    text = " ".join(numbered)
    cut = data.draw(st.integers(1, len(words) - 1))
    with book.write(project="p", undo_label=message("chapter")) as tx:
        document = documents.add(tx, "Words", text=text)
        for word in numbered:
            place = {"since_document": document, "since_offset": text.index(word)}
            tx.insert(constraints, {"id": f"{document}-{word}", **place})
        new = merging.split(tx, document, text.index(numbered[cut]), "Rest")
        for word in numbered:
            assert words_at(tx, f"{document}-{word}") == word
        merging.merge(tx, document, new)
        for word in numbered:
            assert words_at(tx, f"{document}-{word}") == word
    with book.write(project="p") as tx:
        undo.undo(tx)
        assert tx.row(rows, id=document) is None
