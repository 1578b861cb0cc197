"""What only the narrator tells is known to those whom the chapter names (cdx-8, ctx-12)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from fabula.codex.entry import Level
from fabula.context.recipes import Node, Preset
from fabula.context.recipes.conditions import Condition
from fabula.context.request import Grants, Principal
from fabula.context.trace import Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective
from fabula.manuscript import documents, projects
from fabula.presets import edits as presets
from fabula.store.store import Store
from fabula.workspace.grants import limit_to_character
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

DINNER = "Mara and the butler Bo laid the table. A fennel soup was served."
NIGHT = "At night Mara took the knife down to Grimshaw. The butler's sister never saw the quince tree again."
SECRET = "never saw the quince tree again"
MORNING = "In the morning Bo carried the tea."
WORDS = "the knife and the quince tree"


@pytest.fixture
def house(store: Store) -> Iterator[ProjectHandle]:
    """A house with a murderer and a butler, who is not in the chapter of the murder."""
    projects.create(store, "The House", project_id="house")
    with store.write(project="house") as tx:
        for ident, text in (("dinner", DINNER), ("night", NIGHT), ("morning", MORNING)):
            documents.add(tx, ident.title(), text=text, document_id=ident)
    with Workspace(store) as workspace:
        project = workspace.project("house")
        for name in ("Mara", "Bo"):
            project.codex.add(name, kind="character", description=f"{name} lives here.")
        yield project


def see(project: ProjectHandle, character: str | None, document: str = "morning") -> str:
    """The prompt of a writer through somebody's eyes."""
    perspective = "reader" if character is None else "character"
    request = project.request(
        document_id=document, character=character, perspective=perspective, additional_input=f"What of {WORDS}?"
    )
    return project.assemble(request).prompt


def hear(project: ProjectHandle, speaker: str, document: str = "morning") -> str:
    """The prompt of somebody who speaks in a chat that takes place in a chapter."""
    request = project.request(
        conversation_id="talk",
        speaker_id=speaker,
        document_id=document,
        additional_input=f"What of {WORDS}?",
    )
    return project.assemble(request).prompt


def start_talk(project: ProjectHandle, *others: str) -> None:
    project.participants.ensure_player("Ann")
    project.chat.start(["Mara", "Bo", *others], title="talk")


def test_a_character_knows_of_a_chapter_without_a_viewpoint_only_where_it_is_named(house: ProjectHandle) -> None:
    assert SECRET in see(house, None)
    assert SECRET in see(house, "Mara")
    bo = see(house, "Bo")
    assert SECRET not in bo
    assert "[Night" not in bo, "neither as a synopsis"
    assert "fennel soup" in bo


def test_a_speaker_is_told_nothing_of_a_chapter_that_does_not_name_them(house: ProjectHandle) -> None:
    start_talk(house)
    assert SECRET in hear(house, "Mara")
    assert "fennel soup" in hear(house, "Bo")
    assert SECRET not in hear(house, "Bo")
    assert SECRET in hear(house, "Mara", "night"), "its text, where the scene is played there"
    elsewhere = hear(house, "Bo", "night")
    assert SECRET not in elsewhere
    assert "[Scene]" not in elsewhere, "neither its title"


def test_a_writer_is_told_the_chapter_that_is_being_written_through_any_eyes(house: ProjectHandle) -> None:
    assert SECRET in see(house, "Bo", "night")


def test_a_viewpoint_or_a_list_of_those_who_know_it_decides_before_names(store: Store, house: ProjectHandle) -> None:
    house.chapters.set_viewpoint("night", "Bo")
    assert SECRET in see(house, "Bo")
    assert SECRET not in see(house, "Mara"), "though it names her"
    house.chapters.set_viewpoint("night")
    assert SECRET not in see(house, "Bo")
    bo = house.codex.find("Bo").id
    with store.write(project="house") as tx:
        documents.update(tx, "night", {"known_to": [bo]})
    assert SECRET in see(house, "Bo")
    assert SECRET not in see(house, "Mara")


def test_a_name_that_is_written_or_added_later_counts_from_then_on(store: Store, house: ProjectHandle) -> None:
    assert SECRET not in see(house, "Bo")
    house.codex.edit("Bo", aliases=["The butler"])
    assert SECRET in see(house, "Bo"), "by an alias"
    house.codex.edit("Bo", aliases=[])
    assert SECRET not in see(house, "Bo")
    with store.write(project="house") as tx:
        documents.update(tx, "night", {"title": "Bo sleeps"})
    assert SECRET in see(house, "Bo"), "by the title"


def test_an_entry_that_is_never_detected_and_a_participant_without_one_are_named_too(house: ProjectHandle) -> None:
    house.codex.edit("Mara", level=Level.MANUAL)
    assert SECRET in see(house, "Mara")
    house.participants.add("Ivy")
    house.chapters.add("Noon", "Ivy cut the quince tree down with a knife, beside the medlar.", after="night")
    start_talk(house, "Ivy")
    assert "medlar" in hear(house, "Ivy")
    assert SECRET not in hear(house, "Ivy")
    assert "medlar" not in hear(house, "Mara")


def test_an_agent_works_for_the_writer_and_is_no_character(house: ProjectHandle) -> None:
    agent = house.participants.add("Helper", namespace="agent")
    start_talk(house, "Helper")
    assert SECRET in hear(house, agent.id)


def test_the_trace_says_that_the_chapter_does_not_name_the_character(house: ProjectHandle) -> None:
    request = house.request(document_id="morning", character="Bo", perspective="character", additional_input=WORDS)
    hidden = [one for one in house.inspect(request).trace if one.reason is Reason.NOT_KNOWN]
    assert {one.source.partition("#")[0] for one in hidden} >= {"synopsis:night", "search:night"}
    assert all("does not name this character" in f"{one.detail}" for one in hidden)


def test_facts_of_a_chapter_are_known_to_those_it_names(house: ProjectHandle) -> None:
    house.chapters.write("night", "Mara had never sworn on it since the winter in which the father was buried.")
    asked = house.request(document_id="morning", include=("Mara",), additional_input="Mara and the father")
    for character, is_told in (("Mara", True), ("Bo", False)):
        request = replace(asked, perspective=Perspective.CHARACTER, character=house.codex.find(character).id)
        told = [one for one in house.inspect(request).trace if one.included and "#fact:" in one.source]
        assert bool(told) is is_told


def test_search_and_a_player_find_what_the_character_knows(house: ProjectHandle) -> None:
    assert [hit.document_id for hit in house.search("quince", character="Mara")] == ["night"]
    assert not house.search("quince", character="Bo")
    given = Grants(perspectives=frozenset({Perspective.CHARACTER}), characters=frozenset({house.codex.find("Bo").id}))
    player = house.with_principal(Principal("ben", grants=replace(given, documents=frozenset({"night"}))))
    assert [one.id for one in player.reading.list_chapters()] == ["night"], "what somebody was given"
    player = house.with_principal(limit_to_character(house, "Bo"))
    assert [one.id for one in player.reading.list_chapters()] == ["dinner", "morning"]
    with pytest.raises(FabulaError, match=Code.NOT_ALLOWED.value):
        player.assemble(player.request(document_id="night", unsaved_text="Bo was here."))


def test_what_one_speaker_was_told_of_a_chapter_does_not_lead_another_to_it(house: ProjectHandle) -> None:
    house.codex.add("Grimshaw", kind="location", description="Under the quarry.")
    start_talk(house)
    ask: dict[str, Any] = {"conversation_id": "talk", "document_id": "night", "recipe": "chat", "skill_id": ""}
    first = house.assemble(house.request(speaker_id="Mara", **ask))
    assert "Under the quarry." in first.prompt
    house.report_answer(first.assembly_id)
    assert "Under the quarry." not in house.assemble(house.request(speaker_id="Bo", **ask)).prompt


def test_a_condition_reacts_for_a_speaker_only_to_what_the_speaker_knows(store: Store, house: ProjectHandle) -> None:
    start_talk(house)
    nodes = tuple(
        Node(id=word, content=f"Hush, {word}!", condition=Condition(keywords=(word,))) for word in ("table", "fennel")
    )
    with store.write(project="house") as tx:
        presets.put(tx, "Own", Preset(nodes=nodes), active=True)
    ask: dict[str, Any] = {
        "conversation_id": "talk",
        "speaker_id": "Bo",
        "document_id": "dinner",
        "cursor": DINNER.index("fennel"),
    }
    prompt = house.assemble(house.request(**ask)).prompt
    assert "Hush, table!" in prompt
    assert "Hush, fennel!" not in prompt, "it stands behind the cursor"
    writer = house.request(document_id="dinner", cursor=DINNER.index("fennel"))
    assert "Hush, fennel!" in house.assemble(writer).prompt
