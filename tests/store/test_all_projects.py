"""Looking across owners is for the one table that allows it, and changes nothing that views are made of."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.jobs.tables import jobs
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as rows
from fabula.store.schema import METADATA, table_info
from fabula.store.store import Store


def _two(store: Store) -> None:
    for project in ("a", "b"):
        projects.create(store, project, project_id=project)
        with store.write(project=project) as tx:
            tx.insert(jobs, {"key": "one"}, {"key": "two"})


def test_no_other_table_can_be_looked_through() -> None:
    crossed = [
        table.name
        for table in METADATA.tables.values()
        if "table_info" in table.info and table_info(table).across_projects
    ]
    assert crossed == ["jobs", "request_keys"]


def test_a_table_of_owners_is_refused(store: Store) -> None:
    with pytest.raises(FabulaError) as refused, store.all_projects(rows):
        pass
    assert refused.value.code is Code.SCOPE_VIOLATION


def test_everybodys_rows_are_seen_and_changed_for_one_owner_at_a_time(store: Store) -> None:
    _two(store)
    before = store.versions(project="a"), store.versions(project="b")
    with store.all_projects(jobs, writable=True) as everybody:
        found = everybody.rows(jobs.c.state == "queued", order=(jobs.c.project_id, jobs.c.key), lock=True)
        assert [(row.project_id, row.key) for row in found] == [(p, k) for p in "ab" for k in ("one", "two")]
        assert everybody.owner_ids(jobs.c.key == "one") == ["a", "b"]
        assert everybody.for_owner("a").update_rows(jobs, {"why": "seen"}, jobs.c.key == "one") == 1
    with store.all_projects(jobs) as everybody:
        assert [row.project_id for row in everybody.rows(jobs.c.why == "seen", only=("project_id",))] == ["a"]
    assert (store.versions(project="a"), store.versions(project="b")) == before


def test_what_a_view_is_made_of_cannot_be_changed_out_of_turn(store: Store) -> None:
    _two(store)
    with pytest.raises(FabulaError) as refused, store.all_projects(jobs, writable=True) as everybody:
        documents.add(everybody.for_owner("a"), "Smuggled")
    assert refused.value.code is Code.SCOPE_VIOLATION
    with store.read(project="a") as reading:
        assert reading.rows(rows) == []


def test_clauses_that_speak_of_other_tables_are_refused(store: Store) -> None:
    with store.all_projects(jobs) as everybody, pytest.raises(FabulaError) as refused:
        everybody.rows(rows.c.title == "x")
    assert refused.value.code is Code.SCOPE_VIOLATION


def test_everybody_reads_the_same_clock(store: Store, address: str) -> None:
    other = Store.open(address)
    with store.all_projects(jobs) as everybody, other.read(project="a") as reading:
        first, second = everybody.current_time(), reading.current_time()
    other.close()
    assert first <= second
    assert len(first) == len(second) == len(current_timestamp())
    assert first[:10] <= current_timestamp()[:10]
