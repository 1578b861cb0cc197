"""Synopses of chapters made by jobs: from a save to a synopsis."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.jobs import leases
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import JobState
from fabula.manuscript import documents
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.tables import documents as rows
from fabula.search.index import disk_cache as cache
from fabula.store.store import Store
from fabula.workspace.handlers.job_kinds import job_kinds
from fabula.workspace.views import ProjectViews
from tests.workspace.handlers.background import TEXT, list_jobs, make_due, run_due


def _import(store: Store) -> None:
    """A book, all at once."""
    with store.write(project="p") as tx:
        for number in range(30):
            text = f"On day {number} the sea was calm. " * 400
            documents.add(tx, str(number), document_id=f"d{number}", text=text)


def _states(store: Store) -> dict[str, str]:
    with store.read(project="p") as reading:
        return {kept.document_id: kept.state for kept in synopses.list_synopses(reading)}


def test_a_saved_chapter_is_told_in_short_in_the_background(store: Store, library: ProjectViews) -> None:
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT)
        documents.add(tx, "Two", document_id="two", text=TEXT * 2)
    assert set(list_jobs(store)) == {"synopsis:one", "synopsis:two"}
    assert all(one.state is JobState.QUEUED and one.due_at > one.queued_at for one in list_jobs(store).values())
    run_due(store, library)
    assert _states(store) == {"one": "fresh", "two": "fresh"}
    assert {one.state for one in list_jobs(store).values()} == {JobState.DONE}, "a synopsis queues no job"

    with store.write(project="p") as tx:
        documents.write(tx, "one", TEXT + "Then the storm came.")
    assert _states(store) == {"one": "stale", "two": "fresh"}
    run_due(store, library)
    assert _states(store) == {"one": "fresh", "two": "fresh"}


def test_a_scene_brings_its_whole_chapter_up_to_date(store: Store, library: ProjectViews) -> None:
    with store.write(project="p") as tx:
        documents.add(tx, "Chapter", document_id="chapter")
        documents.add(tx, "Scene", document_id="scene", parent="chapter", kind=DocumentKind.SCENE, text=TEXT)
    run_due(store, library)
    assert _states(store)["chapter"] == "fresh"


def test_many_documents_at_once_are_one_job_and_an_index(store: Store, library: ProjectViews) -> None:
    _import(store)
    assert set(list_jobs(store)) == {"synopsis:all", "index:search"}
    run_due(store, library)
    assert set(_states(store).values()) == {"fresh"}
    assert {one.state for one in list_jobs(store).values()} == {JobState.DONE}
    assert cache.index_file("p").exists()


def test_a_document_of_an_odd_name_is_saved_all_the_same(store: Store, library: ProjectViews) -> None:
    with store.write(project="p") as tx:
        tx.insert(rows, {"id": "odd\n" * 100, "title": "Odd", "text": TEXT})
    assert set(list_jobs(store)) == {"synopsis:all", "index:search"}


def test_what_was_written_by_hand_stays(store: Store, library: ProjectViews) -> None:
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT)
        synopses.write_synopsis(tx, "one", "In my words.")
        documents.write(tx, "one", TEXT * 3)
    run_due(store, library)
    with store.read(project="p") as reading:
        (kept,) = synopses.list_synopses(reading)
    assert (kept.text, kept.state) == ("In my words.", "stale")


def test_a_document_that_is_gone_again_is_nobodys_work(store: Store, library: ProjectViews) -> None:
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT)
    with store.write(project="p") as tx:
        documents.remove(tx, "one")
    run_due(store, library)
    assert list_jobs(store)["synopsis:one"].state is JobState.DONE


@pytest.mark.parametrize("kind", ["synopsis", "index"])
def test_a_job_stops_when_it_is_asked_to(store: Store, library: ProjectViews, kind: str) -> None:
    _import(store)
    make_due(store)
    kinds = job_kinds(library)
    lease = leases.take_job(store, {kind: kinds[kind]}, seconds=30)
    assert lease is not None
    job, stop = lease, CancellationToken()
    stop.cancel(Code.JOB_CANCELLED)
    with pytest.raises(FabulaError) as refused:
        kinds[kind].handler(job, stop)
    assert refused.value.code is Code.JOB_CANCELLED
