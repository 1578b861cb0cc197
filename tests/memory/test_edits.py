"""Memories of a project and of a user in the store, and the writer's profile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import projects
from fabula.memory import edits
from fabula.memory.confidence import STATED_CONFIDENCE, compute_strength
from fabula.memory.model import (
    Memory,
    MemoryItem,
    MemoryKind,
    MemoryNote,
    MemoryOrigin,
    MemoryScope,
    MemoryState,
    Preference,
)
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

P = "coast"
LIKES = MemoryItem(id="fog", text="Likes fog.", confidence=0.9, evidence=("said so", "twice"))
SCOPES = tuple(MemoryScope)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project, which remembers one thing; its writer is known by one thing too."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P, user="ada") as tx:
        for scope in SCOPES:
            edits.add_memory(tx, LIKES, scope=scope)
    return store


def refusal(store: Store, act: Callable[[WriteTransaction], object]) -> Code:
    """The code with which something is refused; nothing may have moved."""
    before = store.versions(project=P, user="ada")
    with pytest.raises(FabulaError) as refused, store.write(project=P, user="ada") as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P, user="ada") == before
    return refused.value.code


@pytest.mark.parametrize("scope", SCOPES)
def test_what_is_remembered_is_listed_edited_and_forgotten(coast: Store, scope: MemoryScope) -> None:
    with coast.write(project=P, user="ada") as tx:
        (fog,) = edits.list_memories(tx, scope=scope)
        assert (fog.text, fog.evidence, fog.version) == ("Likes fog.", ("said so", "twice"), 1)
        edited = edits.edit_memory(tx, "fog", {"text": "Likes mist.", "state": "dismissed"}, scope=scope, expected=1)
        assert edited.version == 2
        assert edits.list_memories(tx, scope=scope, state=MemoryState.CONFIRMED) == []
        assert [one.text for one in edits.list_memories(tx, scope=scope, kind=MemoryKind.PREFERENCE)] == ["Likes mist."]
        edits.forget_memory(tx, "fog", scope=scope, expected=2)
        assert edits.list_memories(tx, scope=scope) == []
        other = MemoryScope.USER if scope is MemoryScope.PROJECT else MemoryScope.PROJECT
        assert len(edits.list_memories(tx, scope=other)) == 1


def test_another_person_is_another_person(coast: Store) -> None:
    with coast.read(project=P, user="bob") as reading:
        assert edits.list_memories(reading, scope=MemoryScope.USER) == []


@pytest.mark.parametrize("scope", SCOPES)
def test_a_stale_edit_is_refused(coast: Store, scope: MemoryScope) -> None:
    with coast.write(project=P, user="ada") as tx:
        edits.edit_memory(tx, "fog", {"confidence": 1}, scope=scope, expected=1)
    stale = partial(edits.edit_memory, memory_id="fog", values={"text": "x"}, scope=scope, expected=1)
    assert refusal(coast, stale) is Code.STORE_CONFLICT
    assert refusal(coast, partial(edits.forget_memory, memory_id="fog", scope=scope, expected=1)) is Code.STORE_CONFLICT


def test_what_is_not_there_is_not_found(coast: Store) -> None:
    assert refusal(coast, lambda tx: edits.edit_memory(tx, "none", {"text": "x"})) is Code.STORE_NOT_FOUND
    assert refusal(coast, lambda tx: edits.forget_memory(tx, "none", scope=MemoryScope.USER)) is Code.STORE_NOT_FOUND


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"text": "  "}, Code.TEXT_INVALID),
        ({"text": 7}, Code.REQUEST_INVALID),
        ({"kind": "dream"}, Code.REQUEST_INVALID),
        ({"state": "perhaps"}, Code.REQUEST_INVALID),
        ({"confidence": 1.1}, Code.REQUEST_INVALID),
        ({"confidence": float("nan")}, Code.REQUEST_INVALID),
        ({"evidence": ["half \ud800"]}, Code.TEXT_INVALID),
        ({"since": {"document": "", "offset": 0}}, Code.REQUEST_INVALID),
        ({"id": "x"}, Code.REQUEST_INVALID),
        ({"mood": "x"}, Code.REQUEST_INVALID),
        ({"origin": "dreamt"}, Code.REQUEST_INVALID),
        ({"votes_for": -1}, Code.REQUEST_INVALID),
    ],
)
def test_what_makes_no_sense_is_refused(coast: Store, values: dict[str, Any], code: Code) -> None:
    assert refusal(coast, lambda tx: edits.edit_memory(tx, "fog", values)) is code


def test_a_memory_made_wrong_in_python_is_refused(coast: Store) -> None:
    odd = MemoryItem(text="x", kind=cast("MemoryKind", "dream"))
    assert refusal(coast, lambda tx: edits.add_memory(tx, odd)) is Code.REQUEST_INVALID
    assert refusal(coast, lambda tx: edits.add_memory(tx, MemoryItem(id="a b", text="x"))) is Code.REQUEST_INVALID
    nowhere = cast("MemoryScope", "team")
    assert refusal(coast, lambda tx: edits.add_memory(tx, LIKES, scope=nowhere)) is Code.REQUEST_INVALID


def test_what_a_person_likes_has_no_place_in_a_story(coast: Store) -> None:
    placed = MemoryItem(text="x", since=Position("ch-1"))
    assert refusal(coast, lambda tx: edits.add_memory(tx, placed, scope=MemoryScope.USER)) is Code.REQUEST_INVALID


def test_a_snapshot_is_copied_in_with_an_id_for_each_thing(coast: Store) -> None:
    memory = Memory(
        P,
        preferences=[Preference("fog", "Likes fog.", 0.9), Preference("1", "Likes sea.", 0.7, Position("ch-2"))],
        style_samples=[MemoryNote("1", "The lamp.")],
        episodes=[MemoryNote("e", "Once.", Position("ch-1", 4))],
        working_notes=[
            MemoryNote("1", "Open."),
            MemoryNote("2", "  "),
            MemoryNote("10", "Edited."),
            MemoryNote("3", "Closed."),
        ],
    )
    with coast.write(project=P) as tx:
        assert edits.save_snapshot(tx, memory) == 6
        assert edits.save_snapshot(tx, memory) == 0
        found = edits.list_memories(tx)
    assert [(one.id, one.kind.value) for one in found] == [
        ("fog", "preference"),
        ("1", "preference"),
        ("style_sample-1", "style_sample"),
        ("e", "episode"),
        ("working-1", "working"),
        ("10", "working"),
        ("3", "working"),
    ]
    assert found[0].evidence == LIKES.evidence
    assert (found[1].since, found[3].since) == (Position("ch-2"), Position("ch-1", 4))


def test_a_profile_is_written_and_rewritten_with_its_version(coast: Store) -> None:
    with coast.read(user="ada") as reading:
        assert (edits.get_profile(reading).text, edits.get_profile(reading).version) == ("", 0)
    with coast.write(user="ada") as tx:
        assert edits.write_profile(tx, " Writes at night. ", expected=0) == 1
        assert edits.write_profile(tx, "Writes at dawn.", expected=1) == 2
        assert edits.get_profile(tx).text == "Writes at dawn."
    assert refusal(coast, lambda tx: edits.write_profile(tx, "x", expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: edits.write_profile(tx, "x", expected=0)) is Code.STORE_CONFLICT


def test_a_profile_that_is_not_there_cannot_be_at_a_version(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    assert refusal(store, lambda tx: edits.write_profile(tx, "x", expected=3)) is Code.STORE_CONFLICT


@pytest.mark.parametrize("scope", SCOPES)
def test_remember_this_is_sure_and_joins_what_says_the_same(coast: Store, scope: MemoryScope) -> None:
    with coast.write(project=P, user="ada") as tx:
        first = edits.remember(tx, " No exclamation marks. ", scope=scope)
        assert (first.text, first.origin, first.confidence) == (
            "No exclamation marks.",
            MemoryOrigin.STATED,
            STATED_CONFIDENCE,
        )
        again = edits.remember(tx, "不要使用感叹号。", scope=scope)
        assert (again.id, again.text) == (first.id, "不要使用感叹号。")
        edits.dismiss_memory(tx, first.id, scope=scope)
        assert edits.remember(tx, "Avoid exclamation points!", scope=scope).state is MemoryState.CONFIRMED
        other = edits.remember(tx, "Use exclamation marks more freely.", scope=scope)
        assert other.id != first.id
        assert len(edits.list_memories(tx, scope=scope)) == 3
        assert edits.find_contradictions(edits.list_memories(tx, scope=scope)) == {
            first.id: [other.id],
            other.id: [first.id],
        }


def test_what_a_dismissed_memory_says_contradicts_nobody(coast: Store) -> None:
    with coast.write(project=P, user="ada") as tx:
        one, other = (edits.remember(tx, text) for text in ("Prefers short sentences.", "Prefers long sentences."))
        assert set(edits.find_contradictions(edits.list_memories(tx))) == {one.id, other.id}
        edits.dismiss_memory(tx, other.id)
        assert edits.find_contradictions(edits.list_memories(tx)) == {}


def test_memories_of_different_places_stay_apart(coast: Store) -> None:
    with coast.write(project=P, user="ada") as tx:
        here, there = (edits.remember(tx, "Likes rain.", since=since) for since in (None, Position("ch-2")))
        assert here.id != there.id


def test_what_is_reworded_is_the_writers_own(coast: Store) -> None:
    learnt = MemoryItem(
        id="l",
        text="Avoid dashes.",
        origin=MemoryOrigin.LEARNED,
        state=MemoryState.PROPOSED,
        votes_for=4,
        confidence=0.6,
    )
    with coast.write(project=P) as tx:
        edits.add_memory(tx, learnt)
        edits.edit_memory(tx, "l", {"evidence": ["a dash"]})
        assert edits.get_memory(tx, "l").origin is MemoryOrigin.LEARNED
        edits.edit_memory(tx, "l", {"text": "Few dashes."})
        found = edits.get_memory(tx, "l")
    assert (found.origin, found.confidence, found.evidence) == (MemoryOrigin.STATED, STATED_CONFIDENCE, ("a dash",))


def test_a_yes_counts_and_is_dated(coast: Store) -> None:
    learnt = MemoryItem(
        id="l", text="Avoid dashes.", origin=MemoryOrigin.LEARNED, state=MemoryState.PROPOSED, votes_for=4
    )
    with coast.write(project=P) as tx:
        edits.add_memory(tx, learnt)
        found = edits.confirm_memory(tx, "l", today="2026-03-01T00:00:00Z")
    assert (found.state, found.last_vote_at) == (MemoryState.CONFIRMED, "2026-03-01T00:00:00Z")
    assert found.confidence == round(compute_strength(4, 0, confirmed=True), 4)


def test_what_holds_in_one_book_can_hold_in_all(coast: Store) -> None:
    with coast.write(project=P, user="ada") as tx:
        edits.add_memory(tx, MemoryItem(id="d", text="Avoid dashes.", evidence=("a line of the book",), votes_for=4))
        given = edits.move_to_user(tx, "d")
        assert (given.id, given.evidence, given.votes_for) == ("d", (), 4)
        assert [one.id for one in edits.list_memories(tx)] == ["fog"]
        joined = edits.move_to_user(tx, "fog")
        assert (joined.id, joined.evidence) == ("fog", LIKES.evidence), "it was known of the person already"
        edits.add_memory(tx, MemoryItem(id="d", text="Likes rain at dusk."))
        assert edits.move_to_user(tx, "d").id != "d", "that id was taken"
    placed = MemoryItem(id="placed", text="x y", since=Position("ch-1"))
    with coast.write(project=P, user="ada") as tx:
        edits.add_memory(tx, placed)
    assert refusal(coast, lambda tx: edits.move_to_user(tx, "placed")) is Code.REQUEST_INVALID


def test_there_is_an_end_to_what_is_remembered(coast: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(coast, lambda tx: edits.remember(tx, "x" * (edits.MAX_CHARS + 1))) is Code.REQUEST_INVALID
    assert refusal(coast, lambda tx: edits.remember(tx, " \n ")) is Code.TEXT_INVALID
    assert refusal(coast, lambda tx: edits.remember(tx, "half \ud800")) is Code.TEXT_INVALID
    monkeypatch.setattr(edits, "MAX_MEMORIES", 1)
    assert refusal(coast, lambda tx: edits.remember(tx, "One more.")) is Code.REQUEST_INVALID
