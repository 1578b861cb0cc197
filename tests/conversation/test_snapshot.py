"""Conversations from their rows: the newest of the active path, and no more than was said since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Row, Table

from fabula.conversation import edits as service
from fabula.conversation import snapshot as rows
from fabula.conversation.model import MOST, Conversations, Kind, Message
from fabula.conversation.tables import messages
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.store.transaction import Reading
from fabula.workspace.project import Fabula
from tests.conversation.test_edits import P, reply, user

BOTH = frozenset({"talk", "other"})


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and two conversations."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        for name in BOTH:
            service.start(tx, name)
            service.say_all(tx, name, [user("One?", f"{name}-1"), reply("Two.", f"{name}-2")])
    return store


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages each query read."""
    counts: list[int] = []
    plain = Reading.rows

    def counting(self: Reading, table: Table, *where: Any, **how: Any) -> Sequence[Row[Any]]:
        found = plain(self, table, *where, **how)
        if table is messages:
            counts.append(len(found))
        return found

    monkeypatch.setattr(Reading, "rows", counting)
    return counts


def load(store: Store, before: Conversations | None = None, since: int | None = None) -> Conversations:
    """A snapshot of both, with what the feed says has moved."""
    with store.read(project=P) as reading:
        moved = None
        if since is not None:
            changes = reading.changes("project", since)
            assert changes is not None
            moved = frozenset(change.item for change in changes)
        return rows.load(reading, P, BOTH, before, moved)


def texts(snapshot: Conversations, name: str = "talk") -> list[str]:
    return [fragment.text for fragment in snapshot.fragments[name]]


def say(store: Store, *said: Message) -> int:
    """Say something; the version the project stood at before."""
    at, _ = store.versions(project=P)
    with store.write(project=P) as tx:
        service.say_all(tx, "talk", said)
    return at


def test_conversations_come_with_their_messages_and_those_that_are_not_there_do_not(coast: Store) -> None:
    with coast.read(project=P) as reading:
        snapshot = rows.load(reading, P, {"talk", "nobody's"})
    assert texts(snapshot) == ["One?", "Two."]
    assert set(snapshot.fragments) == set(snapshot.messages) == {"talk"}
    first, second = snapshot.messages["talk"]
    assert (first.kind, second.kind, second.parent_id) == (Kind.USER, Kind.REPLY, "talk-1")


def test_only_what_is_final_is_history(coast: Store) -> None:
    before = load(coast)
    at = say(coast, reply("I plan.", "p", kind=Kind.PLAN, final=False), reply("Done.", "d"))
    for snapshot in (load(coast, before, at), load(coast)):
        assert texts(snapshot) == ["One?", "Two.", "Done."]
        assert [message.id for message in snapshot.messages["talk"]] == ["talk-1", "talk-2", "p", "d"]


def test_only_what_was_said_since_is_read(coast: Store, read: list[int]) -> None:
    before = load(coast)
    at = say(coast, user("Three?"))
    read.clear()
    after = load(coast, before, at)
    assert read == [1]
    assert texts(after) == ["One?", "Two.", "Three?"]
    assert after.fragments["talk"][0] is before.fragments["talk"][0]
    assert after.messages["talk"][1] is before.messages["talk"][1]
    assert after.fragments["other"] is before.fragments["other"]


def test_where_nothing_moved_nothing_is_read(coast: Store, read: list[int]) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    read.clear()
    for after in (load(coast, before, at), load(coast, before)):
        assert after.messages == before.messages
        assert after.fragments["talk"] is before.fragments["talk"]
    assert read == []


def test_a_branch_is_followed_and_left_again(coast: Store) -> None:
    before = load(coast)
    at = say(coast, reply("Or this.", "or", parent_id="talk-1"))
    branched = load(coast, before, at)
    assert texts(branched) == ["One?", "Or this."]
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        service.follow(tx, "talk", "talk-2")
    assert texts(load(coast, branched, at)) == ["One?", "Two."]
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        service.say(tx, "talk", user("Anew."), afresh=True)
    assert texts(load(coast, branched, at)) == ["Anew."]


def test_a_correction_is_seen(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        service.correct(tx, "talk-1", "Eins?")
        service.say(tx, "talk", user("Three?"))
    assert texts(load(coast, before, at)) == ["Eins?", "Two.", "Three?"]


def test_a_conversation_that_was_made_anew_is_read_anew(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        service.remove(tx, "talk")
        service.start(tx, "talk")
        service.say_all(tx, "talk", [user("Other?", "talk-1"), reply("Yes.", "talk-2"), user("So?")])
    assert texts(load(coast, before, at)) == ["Other?", "Yes.", "So?"]
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        service.remove(tx, "talk")
    assert "talk" not in load(coast, before, at).fragments


def test_the_newest_are_held_and_the_oldest_leave(coast: Store) -> None:
    say(coast, *(user(f"{n}") for n in range(MOST - 3)))
    before = load(coast)
    assert len(before.messages["talk"]) == MOST - 1
    at = say(coast, user("a"), reply("hm", final=False), user("b"))
    grown, whole = load(coast, before, at), load(coast)
    assert grown.messages == whole.messages
    assert grown.fragments == whole.fragments
    assert (len(grown.messages["talk"]), len(grown.fragments["talk"])) == (MOST, MOST - 1)
    assert texts(grown)[0] == "0"
    assert grown.fragments["talk"][5] is before.fragments["talk"][7]


def test_of_a_long_conversation_only_the_end_is_read(coast: Store, read: list[int]) -> None:
    say(coast, *(user(f"{n}") for n in range(6_000)))
    read.clear()
    snapshot = load(coast)
    assert texts(snapshot) == [f"{n}" for n in range(5_000, 6_000)]
    assert sum(read) < 2_000


def test_a_path_among_many_branches_is_found_without_reading_them_all(coast: Store, read: list[int]) -> None:
    said = [user("Root.", "root")]
    for turn in range(8):
        parent = "root" if turn == 0 else f"a{turn - 1}-299"
        said += [reply(f"{turn}-{n}", f"a{turn}-{n}", parent_id=parent) for n in range(300)]
    say(coast, *said)
    read.clear()
    snapshot = load(coast)
    assert texts(snapshot) == ["One?", "Two.", "Root.", *(f"{turn}-299" for turn in range(8))]
    assert sum(read) < 700


def test_a_sample_story_comes_back_from_the_store_as_it_was(store: Store) -> None:
    for name in ("lantern_coast", "wugang"):
        view = Fabula.open(f"sample:{name}").view
        talks = view.room(Conversations) or Conversations(
            view.project.id, {"desk": [user("Hm?", "a", timestamp="2026-01-01"), reply("Hm.", "b")]}
        )
        projects.create(store, name, project_id=view.project.id)
        with store.write(project=view.project.id) as tx:
            service.put(tx, talks)
        with store.read(project=view.project.id) as reading:
            assert rows.load(reading, view.project.id, {"desk"}).fragments == talks.fragments
