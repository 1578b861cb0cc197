"""The snapshot of conversations: the newest messages of the active path, and only new rows are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Row, Table

from fabula.conversation import edits
from fabula.conversation.model import MAX_SNAPSHOT_MESSAGES, Conversations, Message, MessageKind
from fabula.conversation.snapshot import load_conversations, load_newest_messages
from fabula.conversation.tables import conversations, messages
from fabula.manuscript import projects
from fabula.store.queries import RowQuery
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction
from fabula.workspace.read_only import open_read_only
from tests.conversation.test_edits import P, reply_message, user_message

BOTH = frozenset({"talk", "other"})


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and two conversations."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        for name in BOTH:
            edits.start_conversation(tx, name)
            edits.add_messages(tx, name, [user_message("One?", f"{name}-1"), reply_message("Two.", f"{name}-2")])
    return store


@pytest.fixture
def read_counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages each query read."""
    counts: list[int] = []
    plain, prepared = ReadTransaction.rows, ReadTransaction.query

    def counting(self: ReadTransaction, table: Table, *where: Any, **how: Any) -> Sequence[Row[Any]]:
        found = plain(self, table, *where, **how)
        if table is messages:
            counts.append(len(found))
        return found

    def counting_prepared(self: ReadTransaction, query: RowQuery, **values: object) -> Sequence[Row[Any]]:
        found = prepared(self, query, **values)
        if query.table is messages:
            counts.append(len(found))
        return found

    monkeypatch.setattr(ReadTransaction, "rows", counting)
    monkeypatch.setattr(ReadTransaction, "query", counting_prepared)
    return counts


def load(store: Store, before: Conversations | None = None, since: int | None = None) -> Conversations:
    """A snapshot of both, with what the feed says has moved."""
    with store.read(project=P) as reading:
        moved = None
        if since is not None:
            changes = reading.changes("project", since)
            assert changes is not None
            moved = frozenset(change.item for change in changes)
        return load_conversations(reading, P, BOTH, before, moved)


def list_texts(snapshot: Conversations, name: str = "talk") -> list[str]:
    return [fragment.text for fragment in snapshot.fragments[name]]


def add_messages(store: Store, *said: Message) -> int:
    """Say something; the version the project stood at before."""
    at, _ = store.versions(project=P)
    with store.write(project=P) as tx:
        edits.add_messages(tx, "talk", said)
    return at


def test_conversations_come_with_their_messages_and_those_that_are_not_there_do_not(coast: Store) -> None:
    with coast.read(project=P) as reading:
        snapshot = load_conversations(reading, P, {"talk", "nobody's"})
    assert list_texts(snapshot) == ["One?", "Two."]
    assert set(snapshot.fragments) == set(snapshot.messages) == {"talk"}
    first, second = snapshot.messages["talk"]
    assert (first.kind, second.kind, second.parent_id) == (MessageKind.USER, MessageKind.REPLY, "talk-1")


def test_only_what_is_final_is_history(coast: Store) -> None:
    before = load(coast)
    at = add_messages(
        coast, reply_message("I plan.", "p", kind=MessageKind.PLAN, final=False), reply_message("Done.", "d")
    )
    for snapshot in (load(coast, before, at), load(coast)):
        assert list_texts(snapshot) == ["One?", "Two.", "Done."]
        assert [message.id for message in snapshot.messages["talk"]] == ["talk-1", "talk-2", "p", "d"]


def test_only_what_was_said_since_is_read(coast: Store, read_counts: list[int]) -> None:
    before = load(coast)
    at = add_messages(coast, user_message("Three?"))
    read_counts.clear()
    after = load(coast, before, at)
    assert read_counts == [1]
    assert list_texts(after) == ["One?", "Two.", "Three?"]
    assert after.fragments["talk"][0] is before.fragments["talk"][0]
    assert after.messages["talk"][1] is before.messages["talk"][1]
    assert after.fragments["other"] is before.fragments["other"]


def test_where_nothing_moved_nothing_is_read(coast: Store, read_counts: list[int]) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    read_counts.clear()
    for after in (load(coast, before, at), load(coast, before)):
        assert after.messages == before.messages
        assert after.fragments["talk"] is before.fragments["talk"]
    assert read_counts == []


def test_a_branch_is_followed_and_left_again(coast: Store) -> None:
    before = load(coast)
    at = add_messages(coast, reply_message("Or this.", "or", parent_id="talk-1"))
    branched = load(coast, before, at)
    assert list_texts(branched) == ["One?", "Or this."]
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.select_branch(tx, "talk", "talk-2")
    assert list_texts(load(coast, branched, at)) == ["One?", "Two."]
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.add_message(tx, "talk", user_message("Anew."), as_first=True)
    assert list_texts(load(coast, branched, at)) == ["Anew."]


def test_a_correction_is_seen(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.correct_message(tx, "talk-1", "Eins?")
        edits.add_message(tx, "talk", user_message("Three?"))
    assert list_texts(load(coast, before, at)) == ["Eins?", "Two.", "Three?"]


def test_a_conversation_that_was_made_anew_is_read_anew(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.remove_conversation(tx, "talk")
        edits.start_conversation(tx, "talk")
        edits.add_messages(
            tx, "talk", [user_message("Other?", "talk-1"), reply_message("Yes.", "talk-2"), user_message("So?")]
        )
    assert list_texts(load(coast, before, at)) == ["Other?", "Yes.", "So?"]
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.remove_conversation(tx, "talk")
    assert "talk" not in load(coast, before, at).fragments


def test_the_newest_are_held_and_the_oldest_leave(coast: Store) -> None:
    add_messages(coast, *(user_message(f"{n}") for n in range(MAX_SNAPSHOT_MESSAGES - 3)))
    before = load(coast)
    assert len(before.messages["talk"]) == MAX_SNAPSHOT_MESSAGES - 1
    at = add_messages(coast, user_message("a"), reply_message("hm", final=False), user_message("b"))
    grown, whole = load(coast, before, at), load(coast)
    assert grown.messages == whole.messages
    assert grown.fragments == whole.fragments
    assert (len(grown.messages["talk"]), len(grown.fragments["talk"])) == (
        MAX_SNAPSHOT_MESSAGES,
        MAX_SNAPSHOT_MESSAGES - 1,
    )
    assert list_texts(grown)[0] == "0"
    assert grown.fragments["talk"][5] is before.fragments["talk"][7]


def test_of_a_long_conversation_only_the_end_is_read(coast: Store, read_counts: list[int]) -> None:
    add_messages(coast, *(user_message(f"{n}") for n in range(6_000)))
    read_counts.clear()
    snapshot = load(coast)
    assert list_texts(snapshot) == [f"{n}" for n in range(5_000, 6_000)]
    assert sum(read_counts) < 2_000


def test_all_of_a_long_conversation_is_read_in_parts(coast: Store, read_counts: list[int]) -> None:
    add_messages(coast, *(user_message(f"{n}") for n in range(3_000)))
    read_counts.clear()
    with coast.read(project=P) as reading:
        (row,) = reading.rows(conversations, conversations.c.id == "talk")
        path = load_newest_messages(reading, "talk", row.leaf_id, 20_000)
    assert [message.content for message in path][2:] == [f"{n}" for n in range(3_000)]
    assert max(read_counts) <= 1_000


def test_a_path_among_many_branches_is_found_without_reading_them_all(coast: Store, read_counts: list[int]) -> None:
    said = [user_message("Root.", "root")]
    for turn in range(8):
        parent = "root" if turn == 0 else f"a{turn - 1}-299"
        said += [reply_message(f"{turn}-{n}", f"a{turn}-{n}", parent_id=parent) for n in range(300)]
    add_messages(coast, *said)
    read_counts.clear()
    snapshot = load(coast)
    assert list_texts(snapshot) == ["One?", "Two.", "Root.", *(f"{turn}-299" for turn in range(8))]
    assert sum(read_counts) < 700


def test_a_sample_story_comes_back_from_the_store_as_it_was(store: Store) -> None:
    for name in ("lantern_coast", "wugang"):
        view = open_read_only(f"sample:{name}").view
        talks = view.snapshot(Conversations) or Conversations(
            view.project.id, {"desk": [user_message("Hm?", "a", timestamp="2026-01-01"), reply_message("Hm.", "b")]}
        )
        projects.create(store, name, project_id=view.project.id)
        with store.write(project=view.project.id) as tx:
            edits.save_conversations(tx, talks)
        with store.read(project=view.project.id) as reading:
            assert load_conversations(reading, view.project.id, {"desk"}).fragments == talks.fragments
