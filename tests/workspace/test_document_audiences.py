"""What comes from a document is known to whoever knows the document, and to nobody else (ctx-12)."""

from __future__ import annotations

import pytest

from fabula.codex import Entry
from fabula.codex import edits as codex
from fabula.core.story import Position
from fabula.manuscript import documents, outline, projects
from fabula.memory import edits as memory
from fabula.memory.model import MemoryItem, MemoryKind
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY
from fabula.store.store import Store
from fabula.workspace.workspace import Workspace

P = "coast"
SECRET = "astrolabe"
SESSION = EMPTY_WORKING_MEMORY.with_edit("ch-1", 10, f"She hid the {SECRET}.")


@pytest.fixture
def coast(store: Store) -> Workspace:
    """A first chapter that only Mara knows, with everything that can come from it."""
    projects.create(store, "The Coast", project_id=P)
    at = Position("ch-1", 5)
    with store.write(project=P) as tx:
        for name in ("mara", "bo"):
            codex.create(tx, Entry(id=name, type="character", name=name.title()))
        documents.add(tx, "Alone", text="Mara was alone.", document_id="ch-1", known_to=["mara"])
        documents.add(tx, "Supper", text=f"They ate. Nobody spoke of the {SECRET[:3]}.", document_id="ch-2")
        outline.add_beat(tx, "ch-1", f"She buries the {SECRET}.")
        for kind in (MemoryKind.STYLE_SAMPLE, MemoryKind.EPISODE):
            text = f"They ate, nobody spoke: the {SECRET} lay there ({kind})."
            memory.add_memory(tx, MemoryItem(text=text, kind=kind, since=at))
    return Workspace(store)


def prompt(coast: Workspace, *, perspective: str | None = None, character: str | None = None) -> str:
    project = coast.project(P)
    request = project.request(document_id="ch-2", perspective=perspective, character=character)
    return project.assemble(request, working_memory=SESSION).prompt


def test_working_memory_samples_and_episodes_of_a_chapter_reach_only_those_who_know_it(coast: Workspace) -> None:
    assert prompt(coast, character="mara").count(SECRET) == 3
    assert SECRET not in prompt(coast, character="bo")
    assert SECRET not in prompt(coast, perspective="reader")
    assert prompt(coast, perspective="author").count(SECRET) == 3


def test_beats_reach_no_speaker_who_does_not_know_the_chapter(coast: Workspace) -> None:
    coast.project(P).skills.add(
        "plan-next",
        'works_on = ["cursor"]\nanswer = "insert"\nrecipe = "chat"\n'
        '[template]\nen = "Next: {{ beat }}"\nzh = "接下来：{{ beat }}"\n',
    )
    project = coast.project(P)
    for speaker, knows in (("mara", True), ("bo", False)):
        request = project.request(document_id="ch-1", skill_id="plan-next", recipe="chat", speaker_id=speaker)
        assert ("buries the astrolabe" in project.assemble(request).prompt) == knows
