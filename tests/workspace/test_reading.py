"""A principal reads of a story what it may know; the owner reads everything but what is for no model."""

from __future__ import annotations

import pytest

from fabula.codex import Entry, Progression, Relation, progressions
from fabula.codex import edits as codex
from fabula.codex.entry import Level
from fabula.context.request import Grants, Principal
from fabula.conversation import edits as talks
from fabula.conversation.model import Message, MessageKind
from fabula.conversation.participants import Participant, save_participant
from fabula.conversation.tables import summaries
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective, Position
from fabula.manuscript import documents, projects
from fabula.store.store import Store
from fabula.workspace.grants import limit_to_character
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

P = "coast"


@pytest.fixture
def owner(store: Store) -> ProjectHandle:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        documents.add(tx, "Arrival", text="Mara came to the harbour with Bo.", document_id="ch-1")
        documents.add(tx, "Alone", text="Bo hid the ledger.", document_id="ch-2", pov="bo")
        documents.add(tx, "Supper", text="Mara and Bo ate with the stranger.", document_id="ch-3")
        codex.create(
            tx, Entry(id="bo", type="character", name="Bo", description="A smuggler.", known_to=frozenset({"bo"}))
        )
        codex.create(
            tx,
            Entry(
                id="mara", type="character", name="Mara", description="A pilot.", relations=(Relation("bo", "trusts"),)
            ),
        )
        codex.create(tx, Entry(id="plan", type="lore", name="Plan", description="The end.", level=Level.NEVER))
        codex.create(tx, Entry(id="map", type="item", name="Map", description="By hand.", level=Level.MANUAL))
        codex.create(tx, Entry(id="man", type="character", name="Stranger", description="A guest."))
        secret = Progression("He is the owner's son.", Position("ch-3"), frozenset({"bo"}), ("Heir",))
        progressions.add(tx, "man", secret)
    workspace = Workspace(store)
    return workspace.project(P)


def look_as(owner: ProjectHandle, name: str) -> ProjectHandle:
    assert owner.store is not None
    return Workspace(owner.store).project(P, limit_to_character(owner, name))


def test_the_owner_reads_everything_except_entries_that_are_for_no_model(owner: ProjectHandle) -> None:
    assert [one.id for one in owner.reading.list_chapters()] == ["ch-1", "ch-2", "ch-3"]
    assert owner.reading.read_chapter("2").text == "Bo hid the ledger."
    assert {one.name for one in owner.reading.list_entries()} == {"Bo", "Mara", "Map", "Stranger"}
    assert "owner's son" in owner.reading.read_entry("Heir").text
    with pytest.raises(FabulaError) as refused:
        owner.reading.read_entry("Plan")
    assert refused.value.code is Code.STORE_NOT_FOUND


def test_a_character_reads_what_it_knows(owner: ProjectHandle) -> None:
    mara, bo = look_as(owner, "Mara"), look_as(owner, "bo")
    assert [one.name for one in mara.reading.list_chapters()] == ["Arrival", "Supper"]
    assert [one.name for one in bo.reading.list_chapters()] == ["Arrival", "Alone", "Supper"]
    assert {one.name for one in mara.reading.list_entries()} == {"Mara", "Stranger"}
    assert "son" not in mara.reading.read_entry("Stranger").text
    assert "smuggler" not in mara.reading.read_entry("Mara").text
    assert "Bo" not in mara.reading.read_entry("Mara").text
    assert "son" in bo.reading.read_entry("Heir").text
    assert [one.id for one in mara.reading.read_synopses()] == ["ch-1", "ch-3"]


HIDDEN = ("Bo", "Plan", "Map", "Heir", "Alone", "ch-2")


@pytest.mark.parametrize("name", [*HIDDEN, "Nobody"])
def test_a_refusal_names_nothing_that_is_hidden(owner: ProjectHandle, name: str) -> None:
    mara = look_as(owner, "Mara")
    for read, code in (
        (mara.reading.read_entry, Code.STORE_NOT_FOUND),
        (mara.reading.read_chapter, Code.DOCUMENT_UNKNOWN),
    ):
        with pytest.raises(FabulaError) as refused:
            read(name)
        assert refused.value.code is code
        assert not [one for one in HIDDEN if one in str(refused.value.message).replace(name, "")]


def test_a_character_finds_what_it_knows_and_by_names_that_it_knows(owner: ProjectHandle) -> None:
    mara = look_as(owner, "Mara")
    assert mara.search("ledger", until="ch-3", character="mara") == []
    assert [one.document_id for one in mara.search("stranger", until="ch-3", character="mara")] == ["ch-3"]
    assert mara.search("Heir", until="ch-3", character="mara") == []
    assert [one.document_id for one in owner.search("Heir", until="ch-3", character="Bo")] == ["ch-3"]
    with pytest.raises(FabulaError, match="Bo"):
        owner.search("Heir", character="Boo")
    for until, character, everything in (
        ("ch-3", "bo", False),
        ("ch-3", None, False),
        (None, "mara", False),
        ("ch-3", None, True),
    ):
        with pytest.raises(FabulaError) as refused:
            mara.search("ledger", until=until, character=character, everything=everything)
        assert refused.value.code is Code.NOT_ALLOWED


def test_recaps_are_read_by_those_who_heard_all_of_them(owner: ProjectHandle, store: Store) -> None:
    with store.write(project=P) as tx:
        for ident in ("character:mara", "character:bo"):
            save_participant(tx, Participant(id=ident, name=ident.rpartition(":")[2].title()))
        talks.start_conversation(tx, "quay", title="On the quay", participants=["character:bo"])
        for text in ("I hid it.", "Where?"):
            said = Message(id="", role="user", content=text, kind=MessageKind.USER, speaker="character:bo")
            talks.add_message(tx, "quay", said)
        talks.join_conversation(tx, "quay", "character:mara")
        row = {"conversation_id": "quay", "text": "Bo hid the ledger.", "rounds": [1], "heard": [0, 1]}
        tx.insert(summaries, {"id": "s1", "first_round": 1, "last_round": 1, "made": "2026", **row})
    assert [one.name for one in owner.reading.list_recaps()] == ["On the quay"]
    assert "ledger" in look_as(owner, "Bo").reading.read_recap("On the quay").text
    assert look_as(owner, "Mara").reading.list_recaps() == []
    assert look_as(owner, "Stranger").reading.list_recaps() == []


def test_a_flashback_at_the_end_does_not_take_away_what_is_known(owner: ProjectHandle, store: Store) -> None:
    with store.write(project=P) as tx:
        documents.add(tx, "Years ago", text="A child.", document_id="ch-4", happens=0.5)
    assert "son" in look_as(owner, "Bo").reading.read_entry("Stranger").text


def test_a_reader_with_one_chapter_reads_that_chapter(owner: ProjectHandle, store: Store) -> None:
    grants = Grants(perspectives=frozenset({Perspective.READER}), documents=frozenset({"ch-1"}))
    reader = Workspace(store).project(P, Principal("guest", grants=grants))
    assert [one.id for one in reader.reading.list_chapters()] == ["ch-1"]
    assert "son" not in reader.reading.read_entry("Stranger").text
    assert reader.reading.list_recaps() == []
