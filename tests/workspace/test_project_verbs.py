"""Verbs on jobs, runs, writing, memory and recaps, as every interface calls them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from fabula.context.request import Principal
from fabula.core.errors import Code, FabulaError
from fabula.jobs import queue
from fabula.jobs.model import JobState
from fabula.llm.runs import GenerationRun, record_run
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only, read_view
from fabula.workspace.workspace import Workspace
from fabula.workspace.writing import Completed

SAMPLE = "sample:lantern_coast"


@pytest.fixture
def workspace(store: Store) -> Iterator[Workspace]:
    opened = Workspace(store)
    opened.copy_project(read_view(SAMPLE), title="Coast")
    yield opened
    opened.close()


@pytest.fixture
def project(workspace: Workspace) -> ProjectHandle:
    return workspace.project("Coast")


def add_run(project: ProjectHandle, run_id: str, answer: str = "") -> str:
    assert project.store is not None
    with project.store.write(project=project.id) as tx:
        return record_run(tx, GenerationRun(id=run_id, model="gpt-4o", skill_id="continue", answer=answer))


def test_jobs_are_listed_run_cancelled_and_retried(workspace: Workspace, project: ProjectHandle) -> None:
    with workspace.store.write(project=project.id) as tx:
        queue.enqueue(tx, "of.tomorrow", "mine")
    (listed,) = workspace.list_jobs("Coast", states=["queued"])
    assert "mine" in [job.key for job in listed.jobs]
    assert project.jobs.cancel("mine") == {"mine": JobState.CANCELLED}
    assert project.jobs.retry("mine") == ["mine"]
    cancelled = project.jobs.cancel(unfinished=True)
    assert set(cancelled) == {job.key for job in listed.jobs}
    assert +workspace.run_jobs() == {}, "what ended before does not count"
    assert project.jobs.retry("mine") == ["mine"]
    assert (+workspace.run_jobs())[JobState.QUEUED] == 1, "nobody here does jobs of this kind"
    assert project.jobs.retry(failed=True) == []


def test_the_monthly_budget_is_the_persons(workspace: Workspace, project: ProjectHandle) -> None:
    assert project.jobs.set_monthly_budget(2.5).budget == 2_500_000
    alice = workspace.project("Coast", Principal(user="alice"))
    assert alice.jobs.read_spending().budget == 5_000_000


def test_a_run_is_found_by_the_beginning_of_its_id_or_as_the_last(project: ProjectHandle) -> None:
    add_run(project, "abc-1", "One.")
    add_run(project, "abd-2", "Two.")
    assert project.runs.find("abc").answer == "One."
    assert project.runs.find("abd-2").answer == "Two."
    assert project.runs.find("last").id in ("abc-1", "abd-2")
    assert len(project.runs.list_runs(limit=1)) == 1
    assert project.runs.reject("abc").id == "abc-1"
    assert project.runs.find("abc").outcome == "rejected"


def test_the_clipboard_writes_without_a_network_and_is_recorded(project: ProjectHandle) -> None:
    async def write() -> list[Completed]:
        events = project.write(project.request(window=8192), project.choose_model(provider="clipboard"))
        return [event async for event in events if isinstance(event, Completed)]

    (answer,) = asyncio.run(write())
    assert answer.finish_reason == "handed_over"
    assert project.runs.find("last").id == answer.run_id
    project.runs.accept(answer.run_id, text="The lamp went out.")
    assert project.runs.find(answer.run_id).outcome == "edited"


def test_what_a_person_remembers_is_theirs_alone(workspace: Workspace, project: ProjectHandle) -> None:
    made = project.memory.remember("No exclamation marks.", of_user=True)
    assert [record.item.id for record in project.memory.list_memories(of_user=True)] == [made.item.id]
    alice = workspace.project("Coast", Principal(user="alice"))
    assert alice.memory.list_memories(of_user=True) == []
    assert workspace.write_profile("Writes at night.").text == "Writes at night."
    assert workspace.read_profile(principal=Principal(user="alice")).text == ""
    with pytest.raises(FabulaError) as refusal:
        workspace.write_profile("Writes at dawn.", expected_version=0)
    assert refusal.value.code is Code.STORE_CONFLICT


@pytest.mark.parametrize(
    ("verb", "code"),
    [
        (lambda project: project.jobs.cancel("nothing"), Code.JOB_NOT_FOUND),
        (lambda project: project.jobs.cancel(), Code.JOB_INVALID),
        (lambda project: project.jobs.retry("mine", failed=True), Code.JOB_INVALID),
        (lambda project: project.runs.find("nothing"), Code.STORE_NOT_FOUND),
        (lambda project: project.runs.find("a"), Code.STORE_NOT_FOUND),
        (lambda project: project.runs.read_prompt("ab1"), Code.REQUEST_INVALID),
        (lambda project: project.runs.sum_spending(month="november"), Code.REQUEST_INVALID),
        (lambda project: project.runs.sum_spending(by="moon"), Code.REQUEST_INVALID),
        (lambda project: project.runs.check_acceptable(variants=2), Code.REQUEST_INVALID),
        (lambda project: project.choose_model(judge="harsh"), Code.REQUEST_INVALID),
        (lambda project: project.memory.remember("x", kind="working"), Code.REQUEST_INVALID),
        (lambda project: project.memory.confirm("no such memory"), Code.STORE_NOT_FOUND),
        (lambda project: project.memory.add_sample("nowhere", first="a", last="b"), Code.TREE_INVALID),
        (lambda project: project.recaps.list_recaps("nowhere"), Code.STORE_NOT_FOUND),
        (lambda project: project.recaps.rebuild("nowhere"), Code.STORE_NOT_FOUND),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_code(
    project: ProjectHandle, verb: Callable[[ProjectHandle], object], code: Code
) -> None:
    add_run(project, "ab1")
    add_run(project, "ac2")
    with pytest.raises(FabulaError) as refusal:
        verb(project)
    assert refusal.value.code is code


@pytest.mark.parametrize(
    "verb",
    [
        lambda project: project.jobs.cancel(unfinished=True),
        lambda project: project.jobs.set_monthly_budget(1),
        lambda project: project.runs.accept("last"),
        lambda project: project.runs.request_again("last"),
        lambda project: project.runs.check_acceptable(variants=1),
        lambda project: project.memory.remember("Likes bells."),
        lambda project: project.recaps.rebuild("talk"),
    ],
)
def test_a_project_outside_the_store_is_not_changed(verb: Callable[[ProjectHandle], object]) -> None:
    with pytest.raises(FabulaError) as refusal:
        verb(open_read_only(SAMPLE))
    assert refusal.value.code is Code.PROJECT_READ_ONLY
