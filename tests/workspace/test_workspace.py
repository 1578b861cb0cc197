"""The workspace: opened once, asked for projects, and what it remembers between requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabula.context.request import Principal
from fabula.core.errors import Code, FabulaError
from fabula.jobs.tables import jobs
from fabula.manuscript import documents
from fabula.memory import edits as memory
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import read_view
from fabula.workspace.workspace import Workspace

SAMPLE = "sample:lantern_coast"


@pytest.fixture
def workspace(store: Store) -> Iterator[Workspace]:
    opened = Workspace(store)
    opened.copy_project(read_view(SAMPLE), title="Coast")
    yield opened
    opened.close()


def reopen(workspace: Workspace) -> Workspace:
    """Another process: another workspace on the same store, after the first has written what it had queued."""
    workspace.flush()
    return Workspace(workspace.store)


def test_a_project_is_opened_by_id_or_title_and_a_path_is_never_looked_at(workspace: Workspace, tmp_path: Path) -> None:
    project = workspace.project("Coast")
    assert workspace.project(project.id).id == project.id
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n\nNobody may read this.\n", encoding="utf-8")
    for path in (str(secret), str(tmp_path), SAMPLE, "nowhere"):
        with pytest.raises(FabulaError) as refusal:
            workspace.project(path)
        assert refusal.value.code is Code.PROJECT_NOT_FOUND


def test_a_change_queues_the_work_that_follows_from_it(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    with workspace.store.write(project=project.id) as tx:
        documents.write(tx, "ch-03", "Another text. " * 200)
    with workspace.store.read(project=project.id) as reading:
        assert reading.count(jobs) > 0


def test_an_unknown_argument_of_a_request_is_an_error(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    with pytest.raises(FabulaError, match="document_id"):
        project.request(documnet_id="ch-03")  # type: ignore[call-arg]
    with pytest.raises(FabulaError) as refusal:
        project.request(perspective="god")
    assert "author, reader, character" in refusal.value.sentence


def test_the_principal_decides_whose_profile_is_told(workspace: Workspace) -> None:
    with workspace.store.write(user="owner") as tx:
        memory.write_profile(tx, "The owner likes plain words.")
    with workspace.store.write(user="alice") as tx:
        memory.write_profile(tx, "Alice writes for children.")
    owner, alice = workspace.project("Coast"), workspace.project("Coast", Principal("alice"))
    prompts = [each.assemble(each.request(document_id="ch-03")).prompt for each in (owner, alice)]
    assert "plain words" in prompts[0]
    assert "for children" not in prompts[0]
    assert "for children" in prompts[1]
    assert "plain words" not in prompts[1]


def assemble(project: ProjectHandle, *, document: str = "ch-03", skill: str = "continue") -> tuple[bool, str]:
    result = project.assemble(project.request(document_id=document, skill_id=skill))
    return result.stable_prefix_unchanged, result.assembly_id


def test_the_prefix_hash_is_remembered_with_every_assembly_by_every_process(workspace: Workspace) -> None:
    assert not assemble(workspace.project("Coast"))[0]
    assert assemble(workspace.project("Coast"))[0]
    other = reopen(workspace)
    assert assemble(other.project("Coast"))[0]
    assert not assemble(other.project("Coast"), skill="describe")[0], "another skill asks for the first time"


def test_the_next_request_follows_on_from_an_answer_that_was_reported_in_another_process(
    workspace: Workspace,
) -> None:
    project = workspace.project("Coast")
    first = project.assemble(project.request(document_id="ch-06", window=8192))
    other = reopen(workspace).project("Coast")
    other.report_answer(first.assembly_id)
    request = other.request(document_id="ch-06", window=8192, cursor=2000)
    again = other.assemble(request)
    following = other.engine.assemble(request, other.view, continuity=first.continuity)
    alone = other.engine.assemble(request, other.view)
    assert again.prompt == following.prompt
    assert again.continuity == following.continuity
    assert again.continuity != alone.continuity, "without the report it would have begun anew"
    with pytest.raises(FabulaError) as refusal:
        other.report_answer(first.assembly_id)
    assert refusal.value.code is Code.ASSEMBLY_UNKNOWN


def test_an_unknown_assembly_is_refused(workspace: Workspace) -> None:
    with pytest.raises(FabulaError) as refusal:
        workspace.project("Coast").report_answer("no-such-assembly")
    assert refusal.value.code is Code.ASSEMBLY_UNKNOWN


def test_an_answer_reported_at_once_counts_before_it_is_on_the_disk(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    result = project.assemble(project.request(document_id="ch-06", window=8192))
    project.report_answer(result.assembly_id)
    follow = project.assemble(project.request(document_id="ch-06", window=8192))
    assert follow.stable_prefix_unchanged
    assert follow.prompt == result.prompt


def test_losing_the_continuity_of_a_removed_project_is_no_error(workspace: Workspace) -> None:
    from fabula.manuscript import projects

    project = workspace.project("Coast")
    project.assemble(project.request(document_id="ch-03"))
    projects.remove(workspace.store, project.id)
    workspace.flush()


def test_assemblies_of_many_threads_are_all_recorded(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    found: list[str] = []

    def work() -> None:
        found.extend(assemble(project)[1] for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 20
    for assembly_id in found:
        project.report_answer(assembly_id)


def test_verbs_run_beside_an_event_loop(workspace: Workspace) -> None:
    async def ask() -> str:
        project = await workspace.call(workspace.project, "Coast")
        request = await workspace.call(project.request, document_id="ch-03", window=8192)
        return (await workspace.call(project.assemble, request)).prompt

    project = workspace.project("Coast")
    assert asyncio.run(ask()) == project.assemble(project.request(document_id="ch-03", window=8192)).prompt
