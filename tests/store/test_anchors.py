"""Places in the story move with the words around them: tested against characters in a list."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fabula.codex.tables import entries, knowledge, progressions
from fabula.constraints.tables import constraints
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as documents_table
from fabula.manuscript.tables import marks
from fabula.memory.tables import memories
from fabula.search.tables import needs
from fabula.store.schema import all_tables
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction, WriteTransaction

End = Literal["since", "until"]
WITHIN = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])

steps = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=4)


class RolledBackError(Exception):
    """Ends a transaction without a trace."""


@pytest.fixture
def book(store: Store) -> Store:
    """A store with a project."""
    projects.create(store, "Marked", project_id="p")
    return store


@WITHIN
@given(length=st.integers(0, 12), steps=steps)
@example(length=10, steps=[(2, 3, 0)])  # shorter: a mark behind it moves to where the old words were
@example(length=10, steps=[(2, 3, 1), (0, 1, 0)])
@example(length=10, steps=[(0, 10, 4)])
@example(length=3, steps=[(3, 0, 2)])
def test_a_mark_moves_with_its_neighbours(book: Store, length: int, steps: list[tuple[int, int, int]]) -> None:
    fresh = (chr(0x4E00 + number) for number in count())  # no character twice: each can be told from all others
    text = [next(fresh) for _ in range(length)]
    with _forgotten(book) as tx:
        documents.add(tx, "One", text="".join(text), document_id="d")
        expected = {offset: {"since": offset, "until": offset} for offset in range(length + 1)}
        for offset in expected:
            _hold(tx, f"c{offset}", "d", offset)
        for start, size, more in steps:
            old, at = text, min(start, len(text))
            text = [*old[:at], *(next(fresh) for _ in range(more)), *old[at + size :]]
            documents.write(tx, "d", "".join(text))
            for moved in expected.values():
                moved["since"] = _where(old, text, moved["since"], "since")
                moved["until"] = _where(old, text, moved["until"], "until")
        assert _held(tx) == {f"c{offset}": (moved["since"], moved["until"]) for offset, moved in expected.items()}


def _where(old: list[str], new: list[str], offset: int, end: End) -> int:
    """Beside the neighbour that is left; with both gone, the beginning of what holds waits until after the change."""
    before, behind = old[:offset], old[offset:]
    if not before or before[-1] in new:
        return new.index(before[-1]) + 1 if before else 0
    if not behind or behind[0] in new:
        return new.index(behind[0]) if behind else len(new)
    if end == "since":
        return next((new.index(letter) for letter in behind if letter in new), len(new))
    return next((new.index(letter) + 1 for letter in reversed(before) if letter in new), 0)


@WITHIN
@given(length=st.integers(0, 30), steps=steps)
@example(length=20, steps=[(2, 1, 1), (12, 1, 1)])  # two typos
@example(length=20, steps=[(2, 1, 6), (9, 0, 3), (12, 6, 0)])
def test_places_keep_their_words_when_one_save_changes_many_places(
    book: Store, length: int, steps: list[tuple[int, int, int]]
) -> None:
    fresh = (chr(0x4E00 + number) for number in count())
    old = [next(fresh) for _ in range(length)]
    new = old
    for start, size, more in steps:
        at = min(start, len(new))
        new = [*new[:at], *(next(fresh) for _ in range(more)), *new[at + size :]]
    with _forgotten(book) as tx:
        documents.add(tx, "One", text="".join(old), document_id="d")
        for offset in range(length + 1):
            _hold(tx, f"c{offset}", "d", offset)
        revision = documents.write(tx, "d", "".join(new))
        moved = {at: (_where(old, new, at, "since"), _where(old, new, at, "until")) for at in range(length + 1)}
        assert _held(tx) == {f"c{offset}": places for offset, places in moved.items()}
        if new != old and old:
            documents.restore(tx, "d", 1, expected=revision)
            back = {at: (_where(new, old, s, "since"), _where(new, old, u, "until")) for at, (s, u) in moved.items()}
            assert _held(tx) == {f"c{offset}": places for offset, places in back.items()}


WORDS = st.sampled_from(["Mara", "waits", "knows", "the", "lamp", "rain,", "她", "灯塔。", "\n"])


@WITHIN
@given(words=st.lists(WORDS, max_size=40), replacement=st.sampled_from(["Eleanor", "M", "", "林远"]))
def test_find_and_replace_moves_no_place_relative_to_the_words_around_it(
    book: Store, words: list[str], replacement: str
) -> None:
    old = " ".join(["first", *words, "last"])
    with _forgotten(book) as tx:
        documents.add(tx, "One", text=old, document_id="d")
        for offset in range(len(old) + 1):
            _hold(tx, f"c{offset}", "d", offset)
        documents.write(tx, "d", new := old.replace("Mara", replacement))
        held = _held(tx)
        for offset in range(len(old) + 1):
            if not any(old.startswith("Mara", at) for at in range(max(offset - 4, 0), offset + 1)):
                expected = len(old[:offset].replace("Mara", replacement))
                assert held[f"c{offset}"] == (expected, expected), (old, new, offset)


def test_a_progression_and_a_mark_between_two_typos_stay_where_they_are(book: Store) -> None:
    text = "She lit teh lamp. Then the gulls came, and the harbour slept. He siad nothing."
    with book.write(project="p") as tx:
        documents.add(tx, "One", text=text, document_id="d")
        tx.insert(entries, {"id": "mara"})
        at = {"since_document": "d", "since_offset": text.index("the gulls")}
        tx.insert(progressions, {"id": "later", "entry_id": "mara", **at})
        tx.insert(constraints, {"id": "c", "until_document": "d", "until_offset": text.index("the harbour")})
        documents.mark_accepted(tx, "d", text.index("the gulls"), text.index(" He"))
    with book.write(project="p") as tx:
        documents.write(tx, "d", text.replace("teh", "the old").replace("siad", "said"))
    with book.read(project="p") as reading:
        changed = reading.require(documents_table, id="d").text
        assert changed[reading.rows(progressions)[0].since_offset :].startswith("the gulls")
        assert changed[reading.rows(constraints)[0].until_offset :].startswith("the harbour")
        (mark,) = reading.rows(marks)
        assert changed[mark.start : mark.end] == "the gulls came, and the harbour slept."


@WITHIN
@given(texts=st.lists(st.text("ab\n", max_size=8), min_size=2, max_size=6), data=st.data())
def test_a_mark_never_leaves_the_text(book: Store, texts: list[str], data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(texts[0])))
    with _forgotten(book) as tx:
        documents.add(tx, "One", text=texts[0], document_id="d")
        _hold(tx, "c", "d", offset)
        for text in texts[1:]:
            documents.write(tx, "d", text)
            since, until = _held(tx)["c"]
            assert 0 <= until <= since <= len(text)


def test_the_marks_of_every_room_are_carried(book: Store) -> None:
    with book.write(project="p") as tx:
        documents.add(tx, "One", text="Mara kept the secret.", document_id="d")
        place = {"since_document": "d", "since_offset": 9}
        tx.insert(entries, {"id": "mara", **place})
        tx.insert(progressions, {"id": "later", "entry_id": "mara", **place})
        tx.insert(knowledge, {"fact": "codex:mara", "knower": "ines", **place})
        tx.insert(constraints, {"id": "c", **place})
        tx.insert(memories, {"id": "m", **place})
        tx.insert(needs, {"id": "n", "questions": ["Who told her?"], **place})
    with book.write(project="p") as tx:
        documents.write(tx, "d", "Young Mara kept the secret.")
    marked = {table.name for table in all_tables() if "since_offset" in table.c and "project_id" in table.c}
    assert marked == {
        "codex_entries",
        "codex_progressions",
        "codex_relations",
        "knowledge",
        "constraints",
        "memories",
        "needs",
    }
    with book.read(project="p") as reading:
        for table in (entries, progressions, knowledge, constraints, memories, needs):
            assert [row.since_offset for row in reading.rows(table)] == [15], table.name


def test_rooms_that_nobody_has_imported_have_their_marks_carried_too() -> None:
    program = """
import sys
import fabula.manuscript.documents
from fabula.store.schema import all_tables
assert "fabula.codex.tables" not in sys.modules
print(*(table.name for table in all_tables()))
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert {"codex_entries", "constraints", "memories"} <= set(said.split())


def test_marks_elsewhere_stay_where_they_are(book: Store) -> None:
    projects.create(book, "Another", project_id="q")
    for project in ("p", "q"):
        with book.write(project=project) as tx:
            for document in ("d", "e"):
                documents.add(tx, document, text="0123456789", document_id=document)
                _hold(tx, f"in-{document}", document, 5)
            tx.insert(constraints, {"id": "always"})
    with book.write(project="p") as tx:
        documents.write(tx, "d", "Before 0123456789")
    with book.read(project="p") as reading:
        assert _held(reading) == {"in-d": (12, 12), "in-e": (5, 5), "always": (None, None)}
    with book.read(project="q") as reading:
        assert _held(reading) == {"in-d": (5, 5), "in-e": (5, 5), "always": (None, None)}


def test_a_mark_that_moved_is_in_the_feed_and_one_that_did_not_is_not(book: Store) -> None:
    with book.write(project="p") as tx:
        documents.add(tx, "One", text="0123456789", document_id="d")
        _hold(tx, "early", "d", 2)
        _hold(tx, "late", "d", 8)
    version, _ = book.versions(project="p")
    with book.write(project="p") as tx:
        documents.write(tx, "d", "01234x56789")
    with book.write(project="p") as tx:
        documents.write(tx, "d", "01234y56789")
    with book.read(project="p") as reading:
        found = reading.changes("project", version)
        assert found is not None
        assert [(change.version - version, change.item) for change in found if change.area == "constraints"] == [
            (1, "late")
        ]


@contextmanager
def _forgotten(store: Store) -> Iterator[WriteTransaction]:
    """A change that leaves no trace, however often it is made."""
    with suppress(RolledBackError), store.write(project="p") as tx:
        yield tx
        raise RolledBackError


def _hold(tx: WriteTransaction, ident: str, document: str, offset: int) -> None:
    place = {f"{end}_{what}": value for end in ("since", "until") for what, value in _place(document, offset)}
    tx.insert(constraints, {"id": ident, **place})


def _place(document: str, offset: int) -> tuple[tuple[str, object], ...]:
    return ("document", document), ("offset", offset)


def _held(reading: ReadTransaction) -> dict[str, tuple[int, int]]:
    return {row.id: (row.since_offset, row.until_offset) for row in reading.rows(constraints)}
