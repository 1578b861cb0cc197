"""Documents: a tree with an order, texts with revisions, and the marks of what a model wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft
from fabula.manuscript.snapshot import sort_in_reading_order
from fabula.manuscript.tables import documents as rows
from fabula.manuscript.tables import marks
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction, WriteTransaction

WITHIN = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


class RolledBackError(Exception):
    """Ends a transaction without a trace."""


class Node(Struct):
    """The plainest tree there is."""

    id: str
    below: list[Node] = []

    def walk(self, depth: int = 0) -> Iterator[tuple[int, str]]:
        """Itself and everything below, with depths."""
        yield depth, self.id
        for node in self.below:
            yield from node.walk(depth + 1)

    def find(self, ident: str) -> Node:
        """Itself or one below."""
        return next(node for node in self.nodes() if node.id == ident)

    def nodes(self) -> Iterator[Node]:
        """Itself and everything below."""
        yield self
        for node in self.below:
            yield from node.nodes()

    def put(self, node: Node, place: int | None) -> None:
        """Below this one, at a place among the others."""
        self.below.insert(len(self.below) if place is None else max(place, 0), node)

    def take(self, ident: str) -> Node:
        """Out of the tree, with everything below."""
        above = next(node for node in self.nodes() if any(child.id == ident for child in node.below))
        found = next(child for child in above.below if child.id == ident)
        above.below.remove(found)
        return found

    def height(self) -> int:
        """How many levels it has."""
        return 1 + max((node.height() for node in self.below), default=0)


IMPOSSIBLE: tuple[tuple[Callable[[WriteTransaction], object], Code], ...] = (
    (lambda tx: documents.add(tx, "X", parent="nobody"), Code.DOCUMENT_UNKNOWN),
    (lambda tx: documents.add(tx, "X", document_id="a b"), Code.TREE_INVALID),
    (lambda tx: documents.add(tx, "X", document_id="one"), Code.STORE_DUPLICATE),
    (lambda tx: documents.add(tx, "X", kind=cast("Any", "poem")), Code.TREE_INVALID),
    (lambda tx: documents.add(tx, "X", colour="red"), Code.TREE_INVALID),
    (lambda tx: documents.update(tx, "one", {"kind": "poem"}), Code.TREE_INVALID),
    (lambda tx: documents.update(tx, "one", {"text": "by the back door"}), Code.TREE_INVALID),
    (lambda tx: documents.update(tx, "one", {"parent_id": "one"}), Code.TREE_INVALID),
    (lambda tx: documents.update(tx, "nobody", {"title": "X"}), Code.DOCUMENT_UNKNOWN),
    (lambda tx: documents.move(tx, "one", parent="one"), Code.TREE_INVALID),
    (lambda tx: documents.move(tx, "one", parent="nobody"), Code.DOCUMENT_UNKNOWN),
    (lambda tx: documents.move(tx, "nobody", parent=None), Code.DOCUMENT_UNKNOWN),
    (lambda tx: documents.remove(tx, "nobody"), Code.DOCUMENT_UNKNOWN),
    (lambda tx: documents.write(tx, "nobody", "X"), Code.DOCUMENT_UNKNOWN),
    (lambda tx: documents.write(tx, "null \x00", "X"), Code.TEXT_INVALID),
    (lambda tx: documents.write(tx, "half \ud800", "X"), Code.TEXT_INVALID),
    (lambda tx: documents.write(tx, "one", "null \x00"), Code.TEXT_INVALID),
    (lambda tx: documents.mark_accepted(tx, "one", 3, 3), Code.TEXT_INVALID),
    (lambda tx: documents.mark_accepted(tx, "one", 0, 99), Code.TEXT_INVALID),
)


@pytest.fixture
def book(store: Store) -> Store:
    """A store with an empty project."""
    projects.create(store, "The Lantern Coast", project_id="p")
    return store


steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "move", "move", "remove"]),
        st.integers(0, 20),
        st.integers(0, 20),
        st.none() | st.integers(-1, 5),
    ),
    min_size=1,
    max_size=14,
)


@WITHIN
@given(steps=steps)
@example(
    steps=[("add", 0, 0, None), ("add", 0, 1, None), ("add", 0, 0, None), ("move", 0, 3, 0), ("remove", 1, 0, None)]
)
def test_the_tree_is_the_one_a_plain_list_would_be(book: Store, steps: list[tuple[str, int, int, int | None]]) -> None:
    model, names = Node("top"), count()
    with _forgotten(book) as tx:
        for what, first, second, place in steps:
            known = [node.id for node in model.nodes()]
            parent = known[second % len(known)]
            above = None if parent == "top" else parent
            if what == "add":
                ident = f"d{next(names)}"
                documents.add(tx, ident, document_id=ident, parent=above, index=place)
                model.find(parent).put(Node(ident, []), place)
            elif len(known) > 1:
                ident = known[1 + first % (len(known) - 1)]
                if what == "remove":
                    assert documents.remove(tx, ident) == len(list(model.take(ident).nodes()))
                elif any(node.id == parent for node in model.find(ident).nodes()):
                    with pytest.raises(FabulaError) as refused:
                        documents.move(tx, ident, parent=above, index=place)
                    assert refused.value.code is Code.TREE_INVALID
                else:
                    documents.move(tx, ident, parent=above, index=place)
                    moving = model.take(ident)
                    model.find(parent).put(moving, place)
            assert _tree(tx) == list(model.walk())[1:]


@WITHIN
@given(steps=steps)
def test_no_document_ever_stands_too_deep(
    book: Store, steps: list[tuple[str, int, int, int | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_DEPTH", 3)
    model, names = Node("top"), count()
    with _forgotten(book) as tx:
        for what, first, second, _ in steps:
            known = [node.id for node in model.nodes()]
            parent = known[second % len(known)]
            above = None if parent == "top" else parent
            depth = next(depth for depth, ident in model.walk() if ident == parent)
            if what == "add":
                ident, moving = f"d{next(names)}", Node("new", [])
            elif what == "move" and len(known) > 1:
                ident = known[1 + first % (len(known) - 1)]
                moving = model.find(ident)
                if any(node.id == parent for node in moving.nodes()):
                    continue
            else:
                continue
            if depth + moving.height() > 3:
                with pytest.raises(FabulaError) as refused:
                    _put(tx, what, ident, above)
                assert refused.value.code is Code.TREE_INVALID
            else:
                _put(tx, what, ident, above)
                model.find(parent).put(model.take(ident) if what == "move" else Node(ident, []), None)
        assert max((depth for depth, _ in _tree(tx)), default=0) <= 3


def test_documents_may_stand_sixteen_deep_and_no_deeper(book: Store) -> None:
    with book.write(project="p") as tx:
        above = None
        for _ in range(documents.MAX_DEPTH):
            above = documents.add(tx, "Deeper", parent=above)
    for attempt in (
        lambda tx: documents.add(tx, "Too deep", parent=above),
        lambda tx: documents.add_draft(tx, ManuscriptDraft(drafts=(DocumentDraft(title="Too deep"),)), parent=above),
    ):
        with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
            attempt(tx)
        assert refused.value.code is Code.TREE_INVALID


def test_a_book_is_added_below_a_document_only_as_deep_as_documents_may_stand(
    book: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_DEPTH", 3)
    part = DocumentDraft(title="Part", kind=DocumentKind.PART, children=(DocumentDraft(title="Chapter"),))
    with book.write(project="p") as tx:
        top = documents.add(tx, "Book", kind=DocumentKind.BOOK)
        documents.add_draft(tx, ManuscriptDraft(drafts=(part,)), parent=top)
        assert [depth for depth, _ in _tree(tx)] == [1, 2, 3]
    with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
        documents.add_draft(tx, ManuscriptDraft(drafts=(DocumentDraft(title="Volume", children=(part,)),)), parent=top)
    assert refused.value.code is Code.TREE_INVALID
    with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
        documents.add_draft(tx, ManuscriptDraft(drafts=(part,)), parent="nobody")
    assert refused.value.code is Code.DOCUMENT_UNKNOWN


def test_a_book_goes_in_and_comes_out_as_it_was(book: Store) -> None:
    scene = DocumentDraft(title="Scene", kind=DocumentKind.SCENE, text="It rained.", notes="Check the tide.")
    drafts = (
        DocumentDraft(
            title="Part One",
            kind=DocumentKind.PART,
            children=(DocumentDraft(title="One", beats=("a", "b"), children=(scene,)),),
        ),
        DocumentDraft(title="Two", text="Later.", synopsis="They part."),
        DocumentDraft(title="Ideas", kind=DocumentKind.NOTE),
    )
    with book.write(project="p") as tx:
        documents.add(tx, "Zero")
        documents.add_draft(tx, ManuscriptDraft(drafts=drafts))
    with book.read(project="p") as reading:
        found = documents.make_draft(reading, title="T", language="en")
    assert found == ManuscriptDraft(title="T", language="en", drafts=(DocumentDraft(title="Zero"), *drafts))


def test_what_cannot_be_is_refused_in_words_and_changes_nothing(book: Store) -> None:
    with book.write(project="p") as tx:
        documents.add(tx, "One", text="Once.", document_id="one")
    before = _everything(book), book.versions(project="p")
    for attempt, code in IMPOSSIBLE:
        with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
            attempt(tx)
        assert refused.value.code is code
        assert (_everything(book), book.versions(project="p")) == before


def test_what_is_said_about_a_document_can_be_changed(book: Store) -> None:
    with book.write(project="p") as tx:
        documents.add(tx, "One", text="Once.", document_id="one")
        values = {"kind": DocumentKind.SCENE, "pov": "mara", "happens": 2.5, "known_to": ["ines"], "status": "draft"}
        assert documents.update(tx, "one", values, expected=1) == 2
    with book.read(project="p") as reading:
        row = reading.require(rows, id="one")
        assert (row.kind, row.pov, row.happens, row.known_to, row.status) == ("scene", "mara", 2.5, ["ines"], "draft")
        assert row.text == "Once."


def test_a_text_is_written_from_the_revision_it_was_made_from(book: Store) -> None:
    with book.write(project="p") as tx:
        documents.add(tx, "One", text="Once.\r\nUpon", document_id="one")
        assert documents.write(tx, "one", "Once.\nUpon", expected=1) == 1, "the same text is no change"
        assert documents.write(tx, "one", "Once.\r\nUpon a", expected=1) == 2
    for stale in ("Mine", "Once.\nUpon a"):
        with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
            documents.write(tx, "one", stale, expected=1)
        assert refused.value.code is Code.DOCUMENT_STALE
        assert refused.value.details["current"] == 2
    with book.read(project="p") as reading:
        assert reading.require(rows, id="one").text == "Once.\nUpon a"


def test_what_stands_below_a_document_goes_with_it_and_with_all_that_belongs_to_it(book: Store) -> None:
    with book.write(project="p") as tx:
        part = documents.add(tx, "Part", kind=DocumentKind.PART)
        chapter = documents.add(tx, "Chapter", text="Words here.", parent=part)
        scene = documents.add(tx, "Scene", kind=DocumentKind.SCENE, parent=chapter)
        other = documents.add(tx, "Other")
        documents.mark_accepted(tx, chapter, 0, 5)
    version, _ = book.versions(project="p")
    with book.write(project="p") as tx:
        assert documents.remove(tx, part) == 3
    with book.read(project="p") as reading:
        assert [row.id for row in reading.rows(rows)] == [other]
        assert reading.count(marks) == 0
        found = reading.changes("project", version)
        assert found is not None
        assert {change.item for change in found} == {part, chapter, scene}


edits = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 5)), min_size=1, max_size=4)


@WITHIN
@given(start=st.integers(0, 9), size=st.integers(1, 10), steps=edits)
@example(start=2, size=4, steps=[(2, 0, 3)])  # written right before it
@example(start=2, size=4, steps=[(6, 0, 3)])  # and right behind it
@example(start=2, size=4, steps=[(2, 2, 3)])  # its first words rewritten
@example(start=2, size=4, steps=[(4, 2, 3)])  # its last words
@example(start=2, size=4, steps=[(2, 4, 4)])  # all of it
@example(start=2, size=4, steps=[(3, 2, 0), (3, 0, 2)])  # words inside it
def test_what_a_model_wrote_stays_marked_and_what_the_writer_wrote_does_not(
    book: Store, start: int, size: int, steps: list[tuple[int, int, int]]
) -> None:
    fresh = (chr(0x4E00 + number) for number in count())  # no character twice
    text = [next(fresh) for _ in range(10)]
    end = min(start + size, 10)
    marked = set(text[start:end])
    with _forgotten(book) as tx:
        documents.add(tx, "One", text="".join(text), document_id="d")
        documents.mark_accepted(tx, "d", start, end, run_id="run")
        for first, gone, more in steps:
            at = min(first, len(text))
            before, behind = text[:at], text[at + gone :]
            words = [next(fresh) for _ in range(more)]
            if before and behind and before[-1] in marked and behind[0] in marked:
                marked |= set(words)  # a word changed inside it
            text = [*before, *words, *behind]
            marked &= set(text)
            documents.write(tx, "d", "".join(text))
            found = [text[row.start : row.end] for row in tx.rows(marks)]
            assert found == ([[letter for letter in text if letter in marked]] if marked else [])


def _put(tx: WriteTransaction, what: str, ident: str, above: str | None) -> None:
    if what == "add":
        documents.add(tx, ident, document_id=ident, parent=above)
    else:
        documents.move(tx, ident, parent=above)


@contextmanager
def _forgotten(store: Store) -> Iterator[WriteTransaction]:
    """A change that leaves no trace, however often it is made."""
    with suppress(RolledBackError), store.write(project="p") as tx:
        yield tx
        raise RolledBackError


def _tree(tx: ReadTransaction) -> list[tuple[int, str]]:
    """Ids with depths, in reading order."""
    depths: dict[str | None, int] = {None: 0}
    for row in sort_in_reading_order(tx.rows(rows)):
        depths[row.id] = depths[row.parent_id] + 1
    return [(depth, ident) for ident, depth in depths.items() if ident is not None]


def _everything(store: Store) -> list[tuple[Any, ...]]:
    with store.read(project="p") as reading:
        return [tuple(row) for table in (rows, marks) for row in reading.rows(table)]
