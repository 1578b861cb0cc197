"""Which rules of the writer a character who speaks is told, and how a writer keeps one away from characters (ctx-3)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabula.context.recipes import Condition, Node, Preset
from fabula.presets import edits as presets
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

STYLE = "No exclamation marks."
PLAN = "Foreshadow the murder in the boathouse."


@pytest.fixture
def book(store: Store) -> Iterator[ProjectHandle]:
    """Two chapters, and somebody to talk to."""
    with Workspace(store) as workspace:
        project = workspace.create_project("The Coast")
        project.chapters.add("One", text="Mara came.")
        project.chapters.add("Two", text="Mara left.")
        project.participants.ensure_player("Ann")
        project.participants.add("Mara", persona="Mara is a sailor.")
        project.conversations.start(("Ann", "Mara"), title="Pier")
        yield project


def write(book: ProjectHandle) -> str:
    """The prompt for writing in the first chapter."""
    return book.assemble(book.request(document_id="One")).prompt


def talk(book: ProjectHandle, recipe: str = "character-chat") -> str:
    """The prompt of a character who speaks there."""
    request = book.request(
        conversation_id="Pier",
        speaker_id="Mara",
        additional_input="Hello.",
        recipe=recipe,
        skill_id="",
        document_id="One",
    )
    return book.assemble(request).prompt


@pytest.mark.parametrize("recipe", ["chat", "character-chat"])
def test_a_character_who_speaks_is_told_the_constraints_that_hold_there(book: ProjectHandle, recipe: str) -> None:
    book.constraints.add(STYLE)
    book.constraints.add(PLAN, since="Two")
    assert STYLE in write(book)
    assert STYLE in talk(book, recipe)
    assert PLAN not in talk(book, recipe)


@pytest.mark.parametrize("recipe", ["chat", "character-chat"])
def test_what_should_happen_in_a_chapter_is_told_to_whoever_writes_and_to_no_character(
    book: ProjectHandle, recipe: str
) -> None:
    book.outline.add("One", PLAN)
    assert PLAN.rstrip(".") in write(book)
    assert PLAN.rstrip(".") not in talk(book, recipe)


@pytest.mark.parametrize("recipe", ["chat", "character-chat"])
def test_a_message_of_a_preset_that_is_for_writing_reaches_no_character(book: ProjectHandle, recipe: str) -> None:
    node = Node(id="plan", content=PLAN, condition=Condition(modes=("novel",)))
    assert book.store is not None
    with book.store.write(project=book.id) as tx:
        presets.put(tx, "Mine", Preset(nodes=(node,)), active=True)
    assert PLAN in write(book)
    assert PLAN not in talk(book, recipe)
