"""Transactions: whose rows, which version, what changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import bindparam, exists, or_, select, text, true

from fabula.constraints.tables import constraints
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.manuscript.tables import documents
from fabula.memory.tables import profiles, user_memories
from fabula.store.precondition import collect_versions
from fabula.store.queries import RowQuery
from fabula.store.store import Store
from fabula.store.tables import owner_versions
from fabula.store.transaction import FEED_LENGTH, Change, WriteTransaction


@pytest.fixture
def two(store: Store) -> Store:
    """A store with two projects, one document each."""
    for name in ("mine", "theirs"):
        projects.create(store, name.title(), project_id=name)
        with store.write(project=name) as tx:
            tx.insert(documents, {"id": "d", "title": f"{name}'s secret", "text": f"Only {name} may read this."})
    return store


def test_a_write_moves_the_version_by_one_and_leaves_a_line_in_the_feed(two: Store) -> None:
    before, _ = two.versions(project="mine")
    with two.write(project="mine") as tx:
        tx.update_row(documents, {"id": "d"}, {"title": "One"})
        tx.update_row(documents, {"id": "d"}, {"title": "Two"})
    assert tx.versions == {"project": before + 1}
    assert two.versions(project="mine") == (before + 1, 0)
    with two.read(project="mine") as reading:
        assert reading.changes("project", before) == [Change(before + 1, "manuscript", "d")]
        assert reading.changes("project", before + 1) == []


def test_the_versions_of_a_change_are_known_until_somebody_else_changes_something(two: Store) -> None:
    with collect_versions() as made, two.write(project="mine") as tx:
        tx.update_row(documents, {"id": "d"}, {"title": "One"})
    assert made == {"project:mine": two.versions(project="mine")[0]}
    with two.write(project="theirs") as tx:
        tx.update_row(documents, {"id": "d"}, {"title": "Other"})
    assert two.has_versions(made)
    with two.write(project="mine") as tx:
        tx.update_row(documents, {"id": "d"}, {"title": "Two"})
    assert not two.has_versions(made)


def test_a_write_that_fails_changes_nothing(two: Store) -> None:
    before = two.versions(project="mine")
    with pytest.raises(FabulaError), two.write(project="mine") as tx:
        _half(tx)
    assert two.versions(project="mine") == before
    with two.read(project="mine") as reading:
        assert reading.require(documents, id="d").title == "mine's secret"


def _half(tx: WriteTransaction) -> None:
    tx.update_row(documents, {"id": "d"}, {"title": "Half done"})
    tx.update_row(documents, {"id": "nobody"}, {"title": "The other half"})


def test_a_write_that_touches_nothing_moves_no_version(two: Store) -> None:
    before = two.versions(project="mine")
    with two.write(project="mine") as tx:
        assert tx.count(documents) == 1
    assert two.versions(project="mine") == before


def test_a_stale_edit_is_refused_and_changes_nothing(two: Store) -> None:
    with two.write(project="mine") as tx:
        assert tx.update_row(documents, {"id": "d"}, {"title": "First"}, expected=1) == 2
    with pytest.raises(FabulaError) as refused, two.write(project="mine") as tx:
        tx.update_row(documents, {"id": "d"}, {"title": "Second"}, expected=1)
    assert refused.value.code is Code.DOCUMENT_STALE
    assert refused.value.details == {"current": 2, "expected": 1}
    with two.read(project="mine") as reading:
        row = reading.require(documents, id="d")
        assert (row.title, row.version) == ("First", 2)


def test_an_edit_of_something_gone_says_so(two: Store) -> None:
    with pytest.raises(FabulaError) as refused, two.write(project="mine") as tx:
        tx.update_row(constraints, {"id": "none"}, {"text": "x"}, expected=1)
    assert refused.value.code is Code.CONSTRAINT_NOT_FOUND


def test_the_same_id_twice_is_refused(two: Store) -> None:
    with pytest.raises(FabulaError) as refused, two.write(project="mine") as tx:
        tx.insert(documents, {"id": "d"})
    assert refused.value.code is Code.STORE_DUPLICATE


def test_a_row_that_belongs_to_nothing_is_refused(two: Store) -> None:
    with pytest.raises(FabulaError) as refused, two.write(project="mine") as tx:
        tx.insert(documents, {"id": "child", "parent_id": "nobody"})
    assert refused.value.code is Code.STORE_NOT_FOUND


def test_no_query_reaches_another_projects_rows(two: Store) -> None:
    foreign = documents.c.project_id == "theirs"
    with two.read(project="mine") as reading:
        assert reading.rows(documents, foreign) == []
        assert [row.project_id for row in reading.rows(documents, or_(foreign, true()))] == ["mine"]
        assert reading.count(documents, or_(foreign, true())) == 1
        assert reading.row(documents, project_id="theirs", id="d") is None
        prepared = RowQuery(documents, or_(documents.c.project_id == bindparam("project"), true()))
        assert [row.project_id for row in reading.query(prepared, project="theirs")] == ["mine"]
        assert [row.project_id for row in reading.query(prepared, project="x", owner_of_rows="theirs")] == ["mine"]


def test_a_row_is_changed_by_its_key_and_the_change_is_in_the_feed(two: Store) -> None:
    before, _ = two.versions(project="mine")
    with two.write(project="mine") as tx:
        assert tx.change_row(documents, {"id": "d"}, {"title": "One"})
        assert not tx.change_row(documents, {"id": "nobody"}, {"title": "Two"})
        assert not tx.change_row(documents, {"id": "d", "project_id": "theirs"}, {"title": "stolen"})
    with two.read(project="mine") as reading:
        assert reading.changes("project", before) == [Change(before + 1, "manuscript", "d")]
        assert reading.require(documents, id="d").title == "One"
    with two.read(project="theirs") as reading:
        assert reading.require(documents, id="d").title == "theirs's secret"


def test_no_change_reaches_another_projects_rows(two: Store) -> None:
    anything = or_(documents.c.project_id == "theirs", true())
    with two.write(project="mine") as tx:
        assert tx.update_rows(documents, {"title": "mine again"}, anything) == 1
        with pytest.raises(FabulaError):
            tx.update_row(documents, {"id": "d", "project_id": "theirs"}, {"title": "stolen"})
    with two.write(project="mine") as tx:
        assert tx.delete_rows(documents, anything) == 1
    with two.read(project="theirs") as reading:
        assert reading.require(documents, id="d").title == "theirs's secret"


def test_a_row_of_another_project_cannot_be_added(two: Store) -> None:
    with pytest.raises(FabulaError) as refused, two.write(project="mine") as tx:
        tx.insert(documents, {"project_id": "theirs", "id": "planted"})
    assert refused.value.code is Code.SCOPE_VIOLATION
    with two.read(project="theirs") as reading:
        assert reading.count(documents) == 1


def test_a_row_cannot_be_given_to_another_project(two: Store) -> None:
    attempts: tuple[Callable[[WriteTransaction], object], ...] = (
        lambda tx: tx.update_row(documents, {"id": "d"}, {"project_id": "theirs"}),
        lambda tx: tx.update_rows(documents, {"project_id": "theirs", "id": "e"}),
        lambda tx: tx.change_row(documents, {"id": "d"}, {"project_id": "theirs"}),
    )
    for attempt in attempts:
        with pytest.raises(FabulaError) as refused, two.write(project="mine") as tx:
            attempt(tx)
        assert refused.value.code is Code.SCOPE_VIOLATION


def test_a_query_may_not_speak_of_other_tables(two: Store) -> None:
    clauses: tuple[Any, ...] = (
        constraints.c.id == "x",
        exists(select(constraints.c.id)),
        documents.c.id.in_(select(constraints.c.id)),
        text("1 = 1) OR (1 = 1"),
        documents.alias().c.id == "d",
    )
    for clause in clauses:
        with pytest.raises(FabulaError) as refused, two.read(project="mine") as reading:
            reading.rows(documents, clause)
        assert refused.value.code is Code.SCOPE_VIOLATION
        with pytest.raises(FabulaError) as refused:
            RowQuery(documents, clause)
        assert refused.value.code is Code.SCOPE_VIOLATION
    with pytest.raises(FabulaError), two.read(project="mine") as reading:
        reading.rows(documents, order=(constraints.c.id,))


def test_no_value_is_drawn_from_elsewhere(two: Store) -> None:
    stolen = select(documents.c.text).where(documents.c.project_id == "theirs").scalar_subquery()
    attempts: tuple[Callable[[WriteTransaction], object], ...] = (
        lambda tx: tx.update_row(documents, {"id": "d"}, {"title": stolen}),
        lambda tx: tx.update_rows(documents, {"title": stolen}),
        lambda tx: tx.insert(documents, {"id": "e", "title": stolen}),
        lambda tx: tx.row(documents, title=stolen),
        lambda tx: tx.change_row(documents, {"id": "d"}, {"title": stolen}),
        lambda tx: tx.change_row(documents, {"title": stolen}, {"title": "One"}),
    )
    for attempt in attempts:
        with pytest.raises(FabulaError) as refused, two.write(project="mine") as tx:
            attempt(tx)
        assert refused.value.code is Code.SCOPE_VIOLATION


def test_a_transaction_without_an_owner_reaches_nothing(two: Store) -> None:
    with pytest.raises(FabulaError) as refused, two.read(project="mine") as reading:
        reading.rows(user_memories)
    assert refused.value.code is Code.SCOPE_VIOLATION


def test_what_belongs_to_a_person_has_its_own_version(two: Store) -> None:
    before = two.versions(project="mine", user="ada")
    with two.write(project="mine", user="ada") as tx:
        tx.insert(profiles, {"text": "Writes at night."})
    after = two.versions(project="mine", user="ada")
    assert after == (before[0], before[1] + 1)
    with two.read(user="bob") as reading:
        assert reading.rows(profiles) == []


def test_text_that_cannot_be_kept_is_refused(two: Store) -> None:
    for bad in ("a\x00b", "half \ud800 a pair"):
        with pytest.raises(FabulaError) as refused, two.write(project="mine") as tx:
            tx.update_row(documents, {"id": "d"}, {"text": bad})
        assert refused.value.code is Code.TEXT_INVALID
    with pytest.raises(FabulaError) as refused, two.write(project="mine") as tx:
        tx.update_row(documents, {"id": "d"}, {"known_to": ["half \ud800 a pair"]})
    assert refused.value.code is Code.TEXT_INVALID


def test_a_number_too_large_for_the_store_is_refused(two: Store) -> None:
    with pytest.raises(FabulaError) as refused, two.write(project="mine") as tx:
        tx.update_row(documents, {"id": "d"}, {"place": 2**64})
    assert refused.value.code is Code.REQUEST_INVALID
    assert two.versions(project="mine") == (2, 0)


def test_the_feed_has_a_bound_and_says_when_it_does_not_reach_back(two: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.store.transaction.FEED_LENGTH", 5)
    monkeypatch.setattr("fabula.store.transaction._PRUNE_EVERY", 10)
    monkeypatch.setattr("fabula.store.transaction.MAX_LATEST", 100)
    start, _ = two.versions(project="mine")
    for number in range(25):
        with two.write(project="mine") as tx:
            tx.update_row(documents, {"id": "d"}, {"title": str(number)})
    now, _ = two.versions(project="mine")
    with two.read(project="mine") as reading:
        assert reading.changes("project", start) is None
        recent = reading.changes("project", now - 3)
        assert recent is not None
        assert [change.version for change in recent] == [now - 2, now - 1, now]
    assert FEED_LENGTH > 100


@pytest.mark.parametrize("kept", [0, 100, 300, 100_000])
def test_the_feed_says_what_changed_however_much_of_it_stands_beside_the_version(
    two: Store, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr("fabula.store.transaction.MAX_LATEST", kept)
    start, _ = two.versions(project="mine")
    titles = ["plain", "two\nlines\u2028and more", '"quoted"', *map(str, range(9))]
    for title in titles:
        with two.write(project="mine") as tx:
            tx.insert(documents, {"id": title})
            tx.record_change("project", "codex", title)
    now, _ = two.versions(project="mine")
    assert now == start + len(titles)
    with two.read(project="mine") as reading:
        for after in range(start, now + 1):
            found = reading.changes("project", after)
            expected = [
                (start + number, area, title)
                for number, title in enumerate(titles, start=1)
                for area in ("manuscript", "codex")
                if start + number > after
            ]
            assert found is not None
            assert sorted((one.version, one.area, one.item) for one in found) == sorted(expected)
        assert reading.changes("project", now + 1) is None
    last = two.last_changes()["mine"]
    with two.write(project="mine") as tx:
        tx.record_change("project", "codex", "later")
    assert two.last_changes()["mine"] > last


def test_a_change_of_very_many_things_is_told_whole(two: Store) -> None:
    start, _ = two.versions(project="mine")
    many = [{"id": f"document {number}"} for number in range(500)]
    with two.write(project="mine") as tx:
        tx.insert(documents, *many)
    with two.read(project="mine") as reading:
        found = reading.changes("project", start)
    assert found is not None
    assert {one.item for one in found} == {row["id"] for row in many}
    with two.engine.connect() as connection:
        latest = connection.execute(select(owner_versions.c.latest).where(owner_versions.c.owner == "project:mine"))
        assert latest.scalar_one() == ""


def test_a_project_that_goes_takes_everything_with_it(two: Store) -> None:
    version, _ = two.versions(project="mine")
    projects.remove(two, "mine")
    assert two.project_ids() == ["theirs"]
    with two.read(project="mine") as reading:
        assert reading.count(documents) == 0
    assert two.versions(project="mine")[0] == version + 1, "whoever holds a view must notice"
