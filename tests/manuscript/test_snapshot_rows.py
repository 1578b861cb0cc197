"""From rows to a snapshot: what did not change is the same object as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabula.manuscript import documents, outline, projects, snapshot
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Manuscript
from fabula.manuscript.synopses import editing as synopses
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

REARRANGED: tuple[tuple[Callable[[WriteTransaction], object], list[str]], ...] = (  # one after the other
    (lambda tx: documents.move(tx, "3", parent="I", index=0), ["I", "3", "1", "2", "2a", "2b", "II"]),
    (lambda tx: documents.move(tx, "II", parent=None, index=0), ["II", "I", "3", "1", "2", "2a", "2b"]),
    (lambda tx: documents.move(tx, "2a", parent="2"), ["II", "I", "3", "1", "2", "2b", "2a"]),
    (
        lambda tx: documents.add(tx, "New", parent="II", index=0, document_id="new"),
        ["II", "new", "I", "3", "1", "2", "2b", "2a"],
    ),
    (lambda tx: documents.update(tx, "2a", {"kind": DocumentKind.NOTE}), ["II", "new", "I", "3", "1", "2", "2b"]),
    (
        lambda tx: documents.update(tx, "ideas", {"kind": DocumentKind.SCENE}),
        ["II", "new", "ideas", "I", "3", "1", "2", "2b"],
    ),
    (lambda tx: documents.remove(tx, "2"), ["II", "new", "ideas", "I", "3", "1"]),
)


@pytest.fixture
def book(store: Store) -> Store:
    """Two parts with chapters and scenes, and a note."""
    projects.create(store, "Shared", project_id="p")
    with store.write(project="p") as tx:
        for part, chapters in (("I", ("1", "2")), ("II", ("3",))):
            documents.add(tx, f"Part {part}", kind=DocumentKind.PART, document_id=part)
            for chapter in chapters:
                documents.add(tx, chapter, text=f"Chapter {chapter}.", parent=part, document_id=chapter)
        for scene in ("2a", "2b"):
            documents.add(tx, scene, kind=DocumentKind.SCENE, text="A scene.", parent="2", document_id=scene)
        documents.add(tx, "Ideas", kind=DocumentKind.NOTE, text="What if?", document_id="ideas", index=0)
    return store


def test_documents_stand_in_reading_order_and_notes_apart(book: Store) -> None:
    seen = _load(book)
    assert _ids(seen) == ["I", "1", "2", "2a", "2b", "II", "3"]
    assert [note.id for note in seen.notes] == ["ideas"]
    assert seen.by_id["ideas"].text == "What if?"


def test_chapters_are_counted_through_all_parts_and_scenes_belong_to_their_chapter(book: Store) -> None:
    timeline = _load(book).timeline()
    assert [timeline.chapter_number(ident) for ident in ("1", "2", "2a", "2b", "3")] == [1, 2, 2, 2, 3]
    assert timeline.chapter_number("ideas") is None


def test_after_an_edit_every_other_document_is_the_same_object(book: Store) -> None:
    before = _load(book)
    after, moved = _after(book, before, lambda tx: documents.write(tx, "2", "Chapter 2, rewritten."))
    assert moved == {"2"}
    assert after.by_id["2"].text == "Chapter 2, rewritten."
    assert after.by_id["2"].revision == 2
    assert before.by_id["2"].text == "Chapter 2."
    assert _shared(before, after) == set(before.by_id) - {"2"}
    assert after == _load(book)


def test_what_is_planned_and_told_of_a_document_changes_that_document_alone(book: Store) -> None:
    before = _load(book)

    def plan(tx: WriteTransaction) -> None:
        beat = outline.add_beat(tx, "1", "They meet.")
        outline.add_beat(tx, "1", "They part.")
        outline.update_beat(tx, beat, {"done": 1})
        synopses.write_synopsis(tx, "3", "The end.")

    after, moved = _after(book, before, plan)
    assert moved == {"1", "3"}
    assert after.by_id["1"].beats == ("They part.",)
    assert after.by_id["3"].synopsis == "The end."
    assert _shared(before, after) == set(before.by_id) - {"1", "3"}
    assert after == _load(book)


def test_a_note_that_changes_stays_apart(book: Store) -> None:
    before = _load(book)
    after, _ = _after(book, before, lambda tx: documents.write(tx, "ideas", "What if not?"))
    assert [note.text for note in after.notes] == ["What if not?"]
    assert _ids(after) == _ids(before)
    assert _shared(before, after) == set(before.by_id) - {"ideas"}


def test_after_a_change_of_the_tree_the_order_is_right_and_what_stayed_is_shared(book: Store) -> None:
    before = _load(book)
    for change, order in REARRANGED:
        after, moved = _after(book, before, change)
        assert _ids(after) == order
        assert after == _load(book)
        assert _shared(before, after) >= (set(before.by_id) & set(after.by_id)) - moved
        before = after


def test_a_document_removed_and_made_again_is_a_new_one(book: Store) -> None:
    before = _load(book)

    def again(tx: WriteTransaction) -> None:
        documents.remove(tx, "3")
        documents.add(tx, "3", text="Another chapter.", parent="II", document_id="3")

    after, _ = _after(book, before, again)
    assert after.by_id["3"].text == "Another chapter."
    assert after == _load(book)


def test_a_mark_leaves_a_document_as_it_is(book: Store) -> None:
    before = _load(book)
    after, moved = _after(book, before, lambda tx: documents.mark_accepted(tx, "1", 0, 3))
    assert moved == {"1"}
    assert _shared(before, after) == set(before.by_id), "and the counts that hang off it are kept"


def _load(store: Store) -> Manuscript:
    with store.read(project="p") as reading:
        return snapshot.load_manuscript(reading)


def _after(store: Store, before: Manuscript, change: Callable[[WriteTransaction], Any]) -> tuple[Manuscript, set[str]]:
    """The snapshot after a change, made from the one before it and the feed; and what the feed said moved."""
    version, _ = store.versions(project="p")
    with store.write(project="p") as tx:
        change(tx)
    with store.read(project="p") as reading:
        found = reading.changes("project", version)
        assert found is not None
        moved = {change.item for change in found if change.area == "manuscript"}
        return snapshot.load_manuscript(reading, before, moved), moved


def _ids(manuscript: Manuscript) -> list[str]:
    return [document.id for document in manuscript.documents]


def _shared(before: Manuscript, after: Manuscript) -> set[str]:
    return {ident for ident, document in after.by_id.items() if before.by_id.get(ident) is document}
