"""What a character who speaks is told: nothing of how the book is written or planned (ctx-3, ctx-12)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabula.context.result import Result
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace


@pytest.fixture
def workspace(store: Store) -> Iterator[Workspace]:
    with Workspace(store) as opened:
        yield opened


@pytest.fixture
def coast(workspace: Workspace) -> ProjectHandle:
    """The English sample with a conversation of the player, Mara and Hope."""
    project = workspace.copy_sample("lantern_coast")
    project.participants.ensure_player("Ann")
    for key, name in (("mara", "Mara Venn"), ("hope", "Hope Tarn")):
        project.participants.add(name, namespace="pawn", key=key)
    project.participants.add("Unit", namespace="agent", persona="A careful reviewer.")
    project.conversations.start(("Ann", "Mara Venn", "Hope Tarn", "Unit"), title="Quay")
    project.conversations.record("Quay", "Good evening.", speaker="Ann")
    return project


def ask(project: ProjectHandle, speaker: str, document: str | None = None, cursor: int | None = None) -> Result:
    request = project.request(
        conversation_id="Quay",
        speaker_id=speaker,
        recipe="character-chat",
        skill_id="",
        document_id=document,
        cursor=cursor,
        additional_input="What do you know of the lamp?",
    )
    return project.inspect(request)


@pytest.mark.parametrize("document", [None, "ch-01"])
def test_a_character_is_told_its_world_and_nothing_of_how_the_book_is_written(
    coast: ProjectHandle, document: str | None
) -> None:
    prompt = ask(coast, "Mara Venn", document, 900 if document else None).prompt
    assert "There is no magic and nothing supernatural" in prompt
    for words in (
        "Kind of work",
        "Third person limited",
        "One point of view to a chapter",
        "Plain, dry and exact",
        "End on an action or a thing seen",
        "The cursor stands",
    ):
        assert words not in prompt, words
    writing = coast.inspect(coast.request(document_id="ch-01", cursor=900, skill_id="continue")).prompt
    for words in ("Third person limited", "Plain, dry and exact", "End on an action", "The cursor stands"):
        assert words in writing, words


def test_an_agent_works_for_the_writer_and_is_told_how_the_book_is_written(coast: ProjectHandle) -> None:
    assert "Plain, dry and exact" in ask(coast, "Unit").prompt


def test_a_character_is_told_no_text_behind_the_cursor(coast: ProjectHandle) -> None:
    behind = " ".join(coast.chapters.read("ch-01").text[2000:2060].split())
    assert behind in coast.inspect(coast.request(document_id="ch-01", cursor=2000, skill_id="continue")).prompt
    assert behind not in ask(coast, "Mara Venn", "ch-01", 2000).prompt


def test_the_reason_why_a_character_is_not_told_the_style_says_so(coast: ProjectHandle) -> None:
    (verdict,) = (one for one in ask(coast, "Mara Venn").trace if one.source == "project:style")
    assert verdict.sentence == "it says how you write, and a character speaks here"


@pytest.mark.parametrize("speaker", ["Mara Venn", "Hope Tarn", "Unit"])
def test_nobody_who_speaks_is_told_what_the_author_plans(coast: ProjectHandle, speaker: str) -> None:
    coast.constraints.add("Nobody finds the skiff before the last chapter.", kind="plot")
    coast.constraints.add("The harbour master is deaf.", kind="world")
    told = ask(coast, speaker, "ch-01")
    for plan in ("finds the skiff", "does not drink", "what Grace found in the clock case", "why the lamp went dark;"):
        assert plan not in told.prompt, plan
    assert "The harbour master is deaf." in told.prompt
    (verdict,) = (one for one in told.trace if "finds the skiff" in one.text)
    assert verdict.sentence == "it is what you plan for the plot, and whoever speaks is not told it"
    writing = coast.inspect(coast.request(document_id="ch-01", skill_id="continue")).prompt
    for plan in ("finds the skiff", "does not drink", "what Grace found in the clock case", "why the lamp went dark;"):
        assert plan in writing, plan
