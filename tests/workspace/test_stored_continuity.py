"""Continuity that waits to be written counts as what is stored, and a document is not kept waiting for the disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fabula.context import Engine, Request, Result, Vantage
from fabula.continuity import edits
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace import continuity as module
from fabula.workspace.continuity import ContinuityKeys, StoredContinuity, continuity_keys

REQUESTS = (
    *(Request(project_id="p", document_id=name, skill_id="continue") for name in ("a", "b")),
    Request(project_id="p", document_id="a", model="gpt-4", skill_id="continue"),
    *(Request(project_id="p", conversation_id=name, skill_id="chat", recipe="chat") for name in ("t", "u")),
)
BRANCHES: Sequence[Sequence[str]] = ((), ("1",), ("2", "1"), ("3", "1"))  # the newest message first
RESULT = Engine().assemble(REQUESTS[0])
PLACES = [(request, branch) for request in range(len(REQUESTS)) for branch in range(len(BRANCHES))]


def make_keys(place: tuple[int, int]) -> ContinuityKeys:
    asked = REQUESTS[place[0]]
    return continuity_keys(asked, Vantage(), BRANCHES[place[1]] if asked.conversation_id else ())


def make_result(number: int) -> Result:
    mark = replace(RESULT.continuity, prefix_hash=f"hash {number}", selection_count=number)
    return replace(RESULT, continuity=mark)


@pytest.fixture
def two_projects(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(module, "DELAY", 1_000.0)
    for project_id in ("p", "q"):
        projects.create(store, f"Story {project_id}", project_id=project_id)
    return store


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(st.tuples(st.sampled_from(PLACES), st.booleans()), max_size=6))
def test_what_waits_to_be_written_counts_as_what_is_stored(
    two_projects: Store, turns: list[tuple[tuple[int, int], bool]]
) -> None:
    for project_id in ("p", "q"):
        with two_projects.write(project=project_id) as tx:
            edits.clear(tx)
    stored, waiting = StoredContinuity(two_projects), StoredContinuity(two_projects)
    for number, (place, is_answered) in enumerate(turns, start=1):
        for kept, project_id in ((stored, "p"), (waiting, "q")):
            assembly_id = kept.record(project_id, make_keys(place), make_result(number))
            if is_answered:
                kept.commit(project_id, assembly_id)
        stored.flush()
    loaded = [waiting.load("q", make_keys(place)) for place in PLACES]
    assert loaded == [stored.load("p", make_keys(place)) for place in PLACES]
    for kept in (stored, waiting):
        kept.close()


def test_a_document_waits_for_no_answer_of_another_place_to_be_written(
    two_projects: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = StoredContinuity(two_projects)
    for place in ((1, 0), (3, 1)):
        kept.commit("p", kept.record("p", make_keys(place), make_result(1)))

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a warm prompt must not wait for the disk")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", refuse)
        assert kept.load("p", make_keys((0, 0))).selection_count == 1
    kept.close()


def test_an_answer_counts_though_the_process_that_asked_has_not_written_its_prompt_yet(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DELAY", 0.3)
    projects.create(store, "Story", project_id="p")
    here, elsewhere = StoredContinuity(store), StoredContinuity(store)
    place = make_keys((0, 0))
    elsewhere.commit("p", here.record("p", place, make_result(7)))
    assert elsewhere.load("p", place).selection_count == 7
    here.close()
