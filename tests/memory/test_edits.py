"""What is remembered, in the store: of a project, of a person, and in a person's own words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import projects
from fabula.memory import edits as service
from fabula.memory.confidence import SURE, strength
from fabula.memory.model import Kind, Memory, Note, Origin, Preference, Remembered, Scope, State
from fabula.store.store import Store
from fabula.store.transaction import Writing

P = "coast"
LIKES = Remembered(id="fog", text="Likes fog.", confidence=0.9, evidence=("said so", "twice"))
SCOPES = tuple(Scope)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project, which remembers one thing; its writer is known by one thing too."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P, user="ada") as tx:
        for scope in SCOPES:
            service.remember(tx, LIKES, scope=scope)
    return store


def refusal(store: Store, act: Callable[[Writing], object]) -> Code:
    """The code with which something is refused; nothing may have moved."""
    before = store.versions(project=P, user="ada")
    with pytest.raises(FabulaError) as refused, store.write(project=P, user="ada") as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P, user="ada") == before
    return refused.value.code


@pytest.mark.parametrize("scope", SCOPES)
def test_what_is_remembered_is_listed_edited_and_forgotten(coast: Store, scope: Scope) -> None:
    with coast.write(project=P, user="ada") as tx:
        (fog,) = service.listed(tx, scope=scope)
        assert (fog.text, fog.evidence, fog.version) == ("Likes fog.", ("said so", "twice"), 1)
        assert service.edit(tx, "fog", {"text": "Likes mist.", "state": "dismissed"}, scope=scope, expected=1) == 2
        assert service.listed(tx, scope=scope, state=State.CONFIRMED) == []
        assert [one.text for one in service.listed(tx, scope=scope, kind=Kind.PREFERENCE)] == ["Likes mist."]
        service.forget(tx, "fog", scope=scope, expected=2)
        assert service.listed(tx, scope=scope) == []
        other = Scope.USER if scope is Scope.PROJECT else Scope.PROJECT
        assert len(service.listed(tx, scope=other)) == 1


def test_another_person_is_another_person(coast: Store) -> None:
    with coast.read(project=P, user="bob") as reading:
        assert service.listed(reading, scope=Scope.USER) == []


@pytest.mark.parametrize("scope", SCOPES)
def test_a_stale_edit_is_refused(coast: Store, scope: Scope) -> None:
    with coast.write(project=P, user="ada") as tx:
        service.edit(tx, "fog", {"confidence": 1}, scope=scope, expected=1)
    stale = partial(service.edit, memory_id="fog", values={"text": "x"}, scope=scope, expected=1)
    assert refusal(coast, stale) is Code.STORE_CONFLICT
    assert refusal(coast, partial(service.forget, memory_id="fog", scope=scope, expected=1)) is Code.STORE_CONFLICT


def test_what_is_not_there_is_not_found(coast: Store) -> None:
    assert refusal(coast, lambda tx: service.edit(tx, "none", {"text": "x"})) is Code.STORE_NOT_FOUND
    assert refusal(coast, lambda tx: service.forget(tx, "none", scope=Scope.USER)) is Code.STORE_NOT_FOUND


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"text": "  "}, Code.TEXT_INVALID),
        ({"text": 7}, Code.REQUEST_INVALID),
        ({"kind": "dream"}, Code.REQUEST_INVALID),
        ({"state": "perhaps"}, Code.REQUEST_INVALID),
        ({"confidence": 1.1}, Code.REQUEST_INVALID),
        ({"confidence": float("nan")}, Code.REQUEST_INVALID),
        ({"evidence": ["half \ud800"]}, Code.REQUEST_INVALID),
        ({"since": {"document": "", "offset": 0}}, Code.REQUEST_INVALID),
        ({"id": "x"}, Code.REQUEST_INVALID),
        ({"mood": "x"}, Code.REQUEST_INVALID),
        ({"origin": "dreamt"}, Code.REQUEST_INVALID),
        ({"agreeing": -1}, Code.REQUEST_INVALID),
    ],
)
def test_what_makes_no_sense_is_refused(coast: Store, values: dict[str, Any], code: Code) -> None:
    assert refusal(coast, lambda tx: service.edit(tx, "fog", values)) is code


def test_a_memory_made_wrong_in_python_is_refused(coast: Store) -> None:
    odd = Remembered(text="x", kind=cast("Kind", "dream"))
    assert refusal(coast, lambda tx: service.remember(tx, odd)) is Code.REQUEST_INVALID
    assert refusal(coast, lambda tx: service.remember(tx, Remembered(id="a b", text="x"))) is Code.REQUEST_INVALID
    nowhere = cast("Scope", "team")
    assert refusal(coast, lambda tx: service.remember(tx, LIKES, scope=nowhere)) is Code.REQUEST_INVALID


def test_what_a_person_likes_has_no_place_in_a_story(coast: Store) -> None:
    placed = Remembered(text="x", since=Position("ch-1"))
    assert refusal(coast, lambda tx: service.remember(tx, placed, scope=Scope.USER)) is Code.REQUEST_INVALID


def test_a_snapshot_is_copied_in_with_an_id_for_each_thing(coast: Store) -> None:
    memory = Memory(
        P,
        preferences=[Preference("fog", "Likes fog.", 0.9), Preference("1", "Likes sea.", 0.7, Position("ch-2"))],
        style_samples=[Note("1", "The lamp.")],
        episodes=[Note("e", "Once.", Position("ch-1", 4))],
        recent=[Note("1", "Open."), Note("2", "  "), Note("10", "Edited."), Note("3", "Closed.")],
    )
    with coast.write(project=P) as tx:
        assert service.put(tx, memory) == 6
        assert service.put(tx, memory) == 0
        found = service.listed(tx)
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
        assert (service.profile(reading).text, service.profile(reading).version) == ("", 0)
    with coast.write(user="ada") as tx:
        assert service.write_profile(tx, " Writes at night. ", expected=0) == 1
        assert service.write_profile(tx, "Writes at dawn.", expected=1) == 2
        assert service.profile(tx).text == "Writes at dawn."
    assert refusal(coast, lambda tx: service.write_profile(tx, "x", expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: service.write_profile(tx, "x", expected=0)) is Code.STORE_CONFLICT


def test_a_profile_that_is_not_there_cannot_be_at_a_version(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    assert refusal(store, lambda tx: service.write_profile(tx, "x", expected=3)) is Code.STORE_CONFLICT


@pytest.mark.parametrize("scope", SCOPES)
def test_remember_this_is_sure_and_joins_what_says_the_same(coast: Store, scope: Scope) -> None:
    with coast.write(project=P, user="ada") as tx:
        first = service.said(tx, " No exclamation marks. ", scope=scope)
        assert (first.text, first.origin, first.confidence) == ("No exclamation marks.", Origin.SAID, SURE)
        again = service.said(tx, "不要使用感叹号。", scope=scope)
        assert (again.id, again.text) == (first.id, "不要使用感叹号。")
        service.dismiss(tx, first.id, scope=scope)
        assert service.said(tx, "Avoid exclamation points!", scope=scope).state is State.CONFIRMED
        other = service.said(tx, "Use exclamation marks more freely.", scope=scope)
        assert other.id != first.id
        assert len(service.listed(tx, scope=scope)) == 3
        assert service.contradictions(service.listed(tx, scope=scope)) == {first.id: [other.id], other.id: [first.id]}


def test_what_a_dismissed_memory_says_contradicts_nobody(coast: Store) -> None:
    with coast.write(project=P, user="ada") as tx:
        one, other = (service.said(tx, text) for text in ("Prefers short sentences.", "Prefers long sentences."))
        assert set(service.contradictions(service.listed(tx))) == {one.id, other.id}
        service.dismiss(tx, other.id)
        assert service.contradictions(service.listed(tx)) == {}


def test_memories_of_different_places_stay_apart(coast: Store) -> None:
    with coast.write(project=P, user="ada") as tx:
        here, there = (service.said(tx, "Likes rain.", since=since) for since in (None, Position("ch-2")))
        assert here.id != there.id


def test_what_is_reworded_is_the_writers_own(coast: Store) -> None:
    learnt = Remembered(
        id="l", text="Avoid dashes.", origin=Origin.LEARNED, state=State.PROPOSED, agreeing=4, confidence=0.6
    )
    with coast.write(project=P) as tx:
        service.remember(tx, learnt)
        service.edit(tx, "l", {"evidence": ["a dash"]})
        assert service.get(tx, "l").origin is Origin.LEARNED
        service.edit(tx, "l", {"text": "Few dashes."})
        found = service.get(tx, "l")
    assert (found.origin, found.confidence, found.evidence) == (Origin.SAID, SURE, ("a dash",))


def test_a_yes_counts_and_is_dated(coast: Store) -> None:
    learnt = Remembered(id="l", text="Avoid dashes.", origin=Origin.LEARNED, state=State.PROPOSED, agreeing=4)
    with coast.write(project=P) as tx:
        service.remember(tx, learnt)
        found = service.confirm(tx, "l", today="2026-03-01T00:00:00Z")
    assert (found.state, found.seen) == (State.CONFIRMED, "2026-03-01T00:00:00Z")
    assert found.confidence == round(strength(4, 0, confirmed=True), 4)


def test_what_holds_in_one_book_can_hold_in_all(coast: Store) -> None:
    with coast.write(project=P, user="ada") as tx:
        service.remember(tx, Remembered(id="d", text="Avoid dashes.", evidence=("a line of the book",), agreeing=4))
        given = service.give_to_person(tx, "d")
        assert (given.id, given.evidence, given.agreeing) == ("d", (), 4)
        assert [one.id for one in service.listed(tx)] == ["fog"]
        joined = service.give_to_person(tx, "fog")
        assert (joined.id, joined.evidence) == ("fog", LIKES.evidence), "it was known of the person already"
        service.remember(tx, Remembered(id="d", text="Likes rain at dusk."))
        assert service.give_to_person(tx, "d").id != "d", "that id was taken"
    placed = Remembered(id="placed", text="x y", since=Position("ch-1"))
    with coast.write(project=P, user="ada") as tx:
        service.remember(tx, placed)
    assert refusal(coast, lambda tx: service.give_to_person(tx, "placed")) is Code.REQUEST_INVALID


def test_there_is_an_end_to_what_is_remembered(coast: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(coast, lambda tx: service.said(tx, "x" * (service.LONGEST + 1))) is Code.REQUEST_INVALID
    assert refusal(coast, lambda tx: service.said(tx, " \n ")) is Code.TEXT_INVALID
    assert refusal(coast, lambda tx: service.said(tx, "half \ud800")) is Code.TEXT_INVALID
    monkeypatch.setattr(service, "MOST", 1)
    assert refusal(coast, lambda tx: service.said(tx, "One more.")) is Code.REQUEST_INVALID
