"""What comes from a document is known to whoever knows the document, and to nobody else (ctx-12)."""

from __future__ import annotations

import pytest

from fabula.codex import Entry
from fabula.codex import edits as codex
from fabula.conversation.participants import Participant, save_participant
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
            save_participant(tx, Participant(id=f"pawn:{name}", name=name.title()))
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


def test_what_a_chapter_brought_in_is_not_held_over_for_a_character_who_does_not_know_it(coast: Workspace) -> None:
    with coast.store.write(project=P) as tx:
        documents.write(tx, "ch-1", "Mara was alone at Gull Rock.")
        codex.create(tx, Entry(id="rock", type="location", name="Gull Rock", description="White with salt."))
    project = coast.project(P)
    held = {}
    for character in ("mara", "bo"):
        first = project.assemble(project.request(document_id="ch-1", character=character))
        assert "White with salt" in first.prompt, "the writer sees the chapter that is being written"
        project.report_answer(first.assembly_id)
        then = project.assemble(project.request(document_id="ch-2", character=character))
        held[character] = "White with salt" in then.prompt
    assert held == {"mara": True, "bo": False}


@pytest.mark.parametrize("recipe", ["novel", "digest"])
def test_words_just_typed_move_no_request_past_a_revelation(coast: Workspace, recipe: str) -> None:
    with coast.store.write(project=P) as tx:
        item = MemoryItem(text="Prefers to see the astrolabe named.", since=Position("ch-2", 9), confidence=0.9)
        memory.add_memory(tx, item)
    project = coast.project(P)
    text = "They ate. Nobody spoke of it."
    for cursor, knows in ((5, False), (5 + len("at last "), False), (9 + len("at last "), True)):
        unsaved = f"{text[:5]}at last {text[5:]}"
        request = project.request(document_id="ch-2", cursor=cursor, unsaved_text=unsaved, recipe=recipe)
        assert ("astrolabe named" in project.assemble(request).prompt) is knows, cursor
