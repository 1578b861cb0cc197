"""The background work of the house, from a save to a synopsis."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.background import kinds_of
from fabula.core.errors import Code, FabulaError
from fabula.jobs import leases, service
from fabula.jobs.after_saving import follow
from fabula.jobs.model import Card, State
from fabula.jobs.stop import Stop
from fabula.jobs.tables import jobs
from fabula.jobs.worker import Worker
from fabula.library import Library
from fabula.manuscript import documents, projects, synopses
from fabula.manuscript.draft import Kind
from fabula.manuscript.tables import documents as rows
from fabula.search import cache
from fabula.store.store import Store

TEXT = (
    "Mira climbed the lighthouse stairs before dawn. The lamp had gone out in the night.\n\n"
    "She found the keeper's letter under the oil can, and read it twice. He had sailed for the outer reef.\n"
)


@pytest.fixture
def library(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setenv("FABULA_CACHE", str(tmp_path / "cache"))
    follow(store)
    follow(store)
    projects.create(store, "Followed", project_id="p")
    return Library(store)


def _import(store: Store) -> None:
    """A book, all at once."""
    with store.write(project="p") as tx:
        for number in range(30):
            text = f"On day {number} the sea was calm. " * 400
            documents.add(tx, str(number), document_id=f"d{number}", text=text)


def _jobs(store: Store) -> dict[str, Card]:
    with store.read(project="p") as reading:
        return {one.key: one for one in service.listed(reading)}


def _due(store: Store) -> None:
    """As if the pause after a save had passed."""
    with store.write(project="p") as tx:
        tx.change(jobs, {"due": tx.clock()}, jobs.c.state == State.QUEUED.value)


def _run(store: Store, library: Library) -> None:
    _due(store)
    Worker(store, kinds_of(library), poll=0.02).drain()


def _states(store: Store) -> dict[str, str]:
    with store.read(project="p") as reading:
        return {kept.document_id: kept.state for kept in synopses.listed(reading)}


def test_a_saved_chapter_is_told_in_short_in_the_background(store: Store, library: Library) -> None:
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT)
        documents.add(tx, "Two", document_id="two", text=TEXT * 2)
    assert set(_jobs(store)) == {"synopsis:one", "synopsis:two"}
    assert all(one.state is State.QUEUED and one.due > one.queued for one in _jobs(store).values())
    _run(store, library)
    assert _states(store) == {"one": "fresh", "two": "fresh"}
    assert {one.state for one in _jobs(store).values()} == {State.DONE}, "telling it was no change to follow"

    with store.write(project="p") as tx:
        documents.write(tx, "one", TEXT + "Then the storm came.")
    assert _states(store) == {"one": "stale", "two": "fresh"}
    _run(store, library)
    assert _states(store) == {"one": "fresh", "two": "fresh"}


def test_a_scene_brings_its_whole_chapter_up_to_date(store: Store, library: Library) -> None:
    with store.write(project="p") as tx:
        documents.add(tx, "Chapter", document_id="chapter")
        documents.add(tx, "Scene", document_id="scene", parent="chapter", kind=Kind.SCENE, text=TEXT)
    _run(store, library)
    assert _states(store)["chapter"] == "fresh"


def test_many_documents_at_once_are_one_job_and_an_index(store: Store, library: Library) -> None:
    _import(store)
    assert set(_jobs(store)) == {"synopsis:all", "index:search"}
    _run(store, library)
    assert set(_states(store).values()) == {"fresh"}
    assert {one.state for one in _jobs(store).values()} == {State.DONE}
    assert cache.file_of("p").exists()


def test_a_document_of_an_odd_name_is_saved_all_the_same(store: Store, library: Library) -> None:
    with store.write(project="p") as tx:
        tx.add(rows, {"id": "odd\n" * 100, "title": "Odd", "text": TEXT})
    assert set(_jobs(store)) == {"synopsis:all", "index:search"}


def test_what_was_written_by_hand_stays(store: Store, library: Library) -> None:
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT)
        synopses.write(tx, "one", "In my words.")
        documents.write(tx, "one", TEXT * 3)
    _run(store, library)
    with store.read(project="p") as reading:
        (kept,) = synopses.listed(reading)
    assert (kept.text, kept.state) == ("In my words.", "stale")


def test_a_document_that_is_gone_again_is_nobodys_work(store: Store, library: Library) -> None:
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT)
    with store.write(project="p") as tx:
        documents.remove(tx, "one")
    _run(store, library)
    assert _jobs(store)["synopsis:one"].state is State.DONE


@pytest.mark.parametrize("kind", ["synopsis", "index"])
def test_a_job_of_the_house_stops_when_it_is_asked_to(store: Store, library: Library, kind: str) -> None:
    _import(store)
    _due(store)
    kinds = kinds_of(library)
    lease = leases.take(store, {kind: kinds[kind]}, seconds=30)
    assert lease is not None
    job, stop = lease.job, Stop()
    stop.ask(Code.JOB_CANCELLED)
    with pytest.raises(FabulaError) as refused:
        kinds[kind].handler(job, stop)
    assert refused.value.code is Code.JOB_CANCELLED
