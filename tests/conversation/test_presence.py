"""Presence is part of the tree of messages: who comes or leaves does so on one branch, and no other hears of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from fabula.conversation import edits, history
from fabula.conversation.model import Message
from fabula.conversation.presence import Attendance, Presence, PresenceChange, list_changes, load_attendance, load_end
from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence
from fabula.manuscript import projects
from fabula.store import undo
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

P, TALK = "coast", "talk"
ANN, BO, CY = "pawn:ann", "pawn:bo", "pawn:cy"


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one conversation of Ann and Bo, in which two things were said."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.start_conversation(tx, TALK, participants=[ANN, BO])
        for ident in ("m0", "m1"):
            say(tx, ident)
    return store


def say(tx: WriteTransaction, ident: str, speaker: str = ANN, parent: str | None = None) -> Message:
    new = Message(id=ident, role="assistant", content=f"{ident}.", speaker=speaker, parent_id=parent)
    return history.record_message(tx, TALK, new)


def hearers(tx: WriteTransaction, ident: str) -> set[str]:
    return set(load_attendance(tx, TALK).find_listeners(edits.get_message(tx, ident)) or ())


def present(tx: WriteTransaction) -> set[str]:
    return set(load_attendance(tx, TALK).present)


def test_who_left_or_came_on_one_branch_did_neither_on_another(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.leave_conversation(tx, TALK, BO)
        edits.join_conversation(tx, TALK, CY)
        say(tx, "m2")
        edits.select_branch(tx, TALK, "m0")
        assert present(tx) == {ANN, BO}
        assert load_attendance(tx, TALK).find_absent() == set(), "nobody there has met Cy"
        say(tx, "n1", BO)
        say(tx, "n2")
        assert [hearers(tx, one) for one in ("m1", "m2", "n1", "n2")] == [{ANN, BO}, {ANN, CY}, {ANN, BO}, {ANN, BO}]
        edits.select_branch(tx, TALK, "m2")
        assert present(tx) == {ANN, CY}
        say(tx, "m3")
        assert hearers(tx, "m3") == {ANN, CY}
        assert edits.get_conversation(tx, TALK).conv_key == f"{ANN}|{BO}|{CY}", "the key has everybody of all branches"


def test_a_leave_behind_the_newest_message_is_there_when_its_branch_comes_back(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.leave_conversation(tx, TALK, BO)
        edits.select_branch(tx, TALK, "m0")
        edits.join_conversation(tx, TALK, CY)
        assert present(tx) == {ANN, BO, CY}
        edits.select_branch(tx, TALK, "m1")
        assert present(tx) == {ANN}
        say(tx, "m2")
        edits.select_branch(tx, TALK, "m0")
        assert present(tx) == {ANN, BO, CY}
        edits.select_branch(tx, TALK, None)
        assert present(tx) == {ANN, BO}, "before the first message nobody has come or left"
        edits.leave_conversation(tx, TALK, ANN)
        say(tx, "other", BO)
        assert [hearers(tx, one) for one in ("m0", "m1", "m2", "other")] == [{ANN, BO}, {ANN, BO}, {ANN}, {BO}]


def test_what_was_said_before_a_leave_at_the_same_place_stays_heard(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.select_branch(tx, TALK, "m0")
        edits.leave_conversation(tx, TALK, BO)
        assert hearers(tx, "m1") == {ANN, BO}, "it followed on from there before"
        say(tx, "n1")
        edits.select_branch(tx, TALK, "m1")
        say(tx, "m2", BO)
        assert [hearers(tx, one) for one in ("n1", "m2")] == [{ANN}, {ANN, BO}]


def test_a_message_behind_another_one_is_said_by_whoever_is_there(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.leave_conversation(tx, TALK, BO)
        edits.join_conversation(tx, TALK, CY)
        say(tx, "m2", CY)
        say(tx, "n1", BO, parent="m0")
        assert present(tx) == {ANN, BO}
    with pytest.raises(FabulaError) as refused, coast.write(project=P) as tx:
        say(tx, "n2", CY)
    assert refused.value.code is Code.REQUEST_INVALID
    with coast.write(project=P) as tx:
        say(tx, "m3", CY, parent="m2")
        assert hearers(tx, "m3") == {ANN, CY}


def test_who_left_before_a_message_was_deleted_stays_away(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.leave_conversation(tx, TALK, BO)
        history.delete_message(tx, "m1")
        assert present(tx) == {ANN}
        say(tx, "m2")
        assert hearers(tx, "m2") == {ANN}
        history.delete_message(tx, "m0")
        assert hearers(tx, "m2") == {ANN}
        history.delete_message(tx, "m2")
        say(tx, "m3")
        assert hearers(tx, "m3") == {ANN}, "also where nothing is left"
        edits.select_branch(tx, TALK, None)
        assert present(tx) == {ANN, BO}


def count_statements(store: Store, speaker: str) -> list[str]:
    asked: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        asked.append(statement.split()[0])

    event.listen(store.engine, "before_cursor_execute", note)
    with store.write(project=P) as tx:
        end = load_end(tx, TALK)
        new = Message(id="", role="assistant", content="Next.", speaker=speaker)
        history.record_message(tx, TALK, new, load_attendance(tx, TALK, end), end)
    event.remove(store.engine, "before_cursor_execute", note)
    return asked


def test_a_message_is_recorded_with_as_many_statements_whoever_came_or_left(coast: Store) -> None:
    before = count_statements(coast, ANN)
    with coast.write(project=P) as tx:
        for ident in (CY, "pawn:dov"):
            edits.join_conversation(tx, TALK, ident)
            edits.add_message(tx, TALK, Message(id="", role="assistant", content="Word.", speaker=ident))
        edits.leave_conversation(tx, TALK, BO)
    assert count_statements(coast, CY) == before
    with coast.write(project=P) as tx:
        edits.select_branch(tx, TALK, "m0")
    count_statements(coast, ANN)
    assert len(count_statements(coast, ANN)) == len(before) + 1, "where there are branches, these are read"


@pytest.mark.parametrize("engine", ["sqlite"])  # a server looks through small tables as it likes
def test_branches_are_read_from_their_index_alone(coast: Store) -> None:
    asked: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        asked.append((statement, parameters))

    with coast.write(project=P) as tx:
        edits.leave_conversation(tx, TALK, BO)
        say(tx, "n1", ANN, parent="m0")
    event.listen(coast.engine, "before_cursor_execute", note)
    with coast.read(project=P) as reading:
        assert load_attendance(reading, TALK).present == {ANN, BO}
    event.remove(coast.engine, "before_cursor_execute", note)
    with coast.engine.connect() as connection:
        plans = [
            str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all())
            for statement, values in asked
            if "conversation" in statement
        ]
    assert any("COVERING INDEX ix_messages_branches" in plan for plan in plans), plans
    assert not any("SCAN" in plan for plan in plans)


def test_ranges_say_who_heard_what_on_the_active_branch(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.leave_conversation(tx, TALK, BO)
        say(tx, "m2")
        edits.join_conversation(tx, TALK, BO)
        edits.join_conversation(tx, TALK, CY)
        found = load_attendance(tx, TALK)
        assert found.ranges == (
            Presence(participant_id=ANN),
            Presence(participant_id=BO, until=2),
            Presence(participant_id=BO, since=3),
            Presence(participant_id=CY, since=3),
        )
        assert found.go_beside(2).ranges == (Presence(participant_id=ANN), Presence(participant_id=BO, until=2))
        assert found.go_to(1).ranges == (Presence(participant_id=ANN), Presence(participant_id=BO))
        assert found.go_to(0).ranges == (Presence(participant_id=ANN), Presence(participant_id=BO))
        assert found.go_to(0).participants == {ANN, BO}
        assert found.everybody == {ANN, BO, CY}
        assert Attendance(list_changes(found.ranges)).ranges == found.ranges


Act = tuple[str, int]
ACTS = st.lists(st.tuples(st.sampled_from(["say", "say", "join", "leave", "go"]), st.integers(0, 30)), max_size=60)


@given(ACTS)
@settings(max_examples=300)
def test_everybody_hears_what_follows_on_from_where_they_came(acts: list[Act]) -> None:
    """A tree in which comings and goings are nodes like messages is the same rule, told without numbers."""
    people = ("a", "b", "c")
    changes = [PresenceChange(participant_id="a")]
    branches: dict[int, int] = {}
    heard: list[frozenset[str]] = []  # by number
    there: dict[int, frozenset[str]] = {-1: frozenset("a")}  # who is present behind each message by now
    began: dict[int, frozenset[str]] = dict(there)  # who was when it had just been said
    at = -1
    for act, value in acts:
        who = people[value % 3]
        number = len(heard)
        if act == "say":
            heard.append(there[at])
            there[number] = began[number] = there[at]
            there[at] = began[at]  # who came or left there did so for this branch
            if at != number - 1:
                branches[number] = at
            at = number
        elif act == "go":
            at = value % (number + 1) - 1
        else:
            there[at] = there[at] | {who} if act == "join" else there[at] - {who}
            if not heard:
                began[at] = there[at]  # before anything was said: that holds for every beginning
            new = PresenceChange(participant_id=who, number=number, after=at, leaves=act == "leave")
            same = (who, number, at)
            changes = [one for one in changes if (one.participant_id, one.number, one.after) != same] + [new]
    said = len(heard)
    attendance = Attendance(changes, branches, None if at == said - 1 else at, said)
    assert [attendance.list_present_at(number) for number in range(len(heard))] == heard
    assert attendance.present == there[at]
    for place, expected in there.items():
        assert attendance.go_to(place).present == expected
    for number in range(said):
        assert attendance.go_beside(number).present == heard[number]
    first = min((one.number for one in changes if not one.is_at_beginning), default=0)
    later = {number: after for number, after in branches.items() if number >= first}
    assert Attendance(changes, later, attendance.end, said).present == there[at], "earlier branches need not be read"


def test_a_branch_whose_first_message_was_deleted_still_begins_where_it_did(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.leave_conversation(tx, TALK, BO)
        edits.join_conversation(tx, TALK, CY)
        say(tx, "m2")
        say(tx, "n1", BO, parent="m0")
        say(tx, "n2")
        history.delete_message(tx, "n1")
        assert [hearers(tx, one) for one in ("m2", "n2")] == [{ANN, CY}, {ANN, BO}]
        assert present(tx) == {ANN, BO}
        say(tx, "n3", BO)
        edits.select_branch(tx, TALK, "m2")
        assert present(tx) == {ANN, CY}
        edits.select_branch(tx, TALK, "n3")
        assert (present(tx), hearers(tx, "n3")) == ({ANN, BO}, {ANN, BO})


def test_a_branch_of_which_nothing_is_left_goes_on_where_it_began(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.leave_conversation(tx, TALK, BO)
        say(tx, "m2")
        say(tx, "n1", BO, parent="m0")
        history.delete_message(tx, "n1")
        assert present(tx) == {ANN, BO}
        say(tx, "n2", BO)
        history.delete_message(tx, "n2")
        edits.join_conversation(tx, TALK, CY)
        say(tx, "n3")
        assert hearers(tx, "n3") == {ANN, BO, CY}
        assert [one.id for one in history.read_page(tx, TALK, before=None, limit=9).messages] == ["m0", "n3"]


def test_a_deletion_that_is_undone_leaves_the_branch_as_it_was(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.leave_conversation(tx, TALK, BO)
        say(tx, "m2")
        say(tx, "n1", BO, parent="m0")
        say(tx, "n2")
    with coast.write(project=P, undo_label=Sentence("deleted")) as tx:
        history.delete_message(tx, "n1")
    for act in (undo.undo, undo.redo, undo.undo):
        with coast.write(project=P) as tx:
            act(tx)
            assert (hearers(tx, "n2"), present(tx)) == ({ANN, BO}, {ANN, BO})
    with coast.read(project=P) as reading:
        assert load_attendance(reading, TALK).branches == {3: 0}
        assert reading.require(conversations, id=TALK).deleted_branches is None
