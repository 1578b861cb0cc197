"""Conversations in the store: messages, corrections, branches and presence."""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import sha256
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, text

from fabula.conversation import edits, history, participant_texts, participants
from fabula.conversation.model import MAX_MESSAGE_CHARACTERS, Conversations, Message, MessageKind, hash_path
from fabula.conversation.participants import Participant, conv_key
from fabula.conversation.presence import Attendance, Presence, list_changes, load_attendance
from fabula.conversation.tables import messages
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

P = "coast"


def user_message(content: str, ident: str = "", **fields: Any) -> Message:
    return Message(id=ident, role="user", content=content, **fields)


def reply_message(content: str, ident: str = "", **fields: Any) -> Message:
    return Message(id=ident, role="assistant", content=content, **fields)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and one conversation of two."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.start_conversation(tx, "talk", participants=["player:1", "pawn:mara"], title=" A talk ")
    return store


def refusal(store: Store, act: Callable[[WriteTransaction], object]) -> Code:
    """The code with which something is refused; nothing may have moved."""
    before = store.versions(project=P)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P) == before
    return refused.value.code


def test_a_conversation_begins_with_its_people_and_nothing_said(coast: Store) -> None:
    with coast.read(project=P) as reading:
        talk = edits.get_conversation(reading, "talk")
        assert (talk.conv_key, talk.title, talk.message_count, talk.round_count, talk.leaf_id) == (
            "pawn:mara|player:1",
            "A talk",
            0,
            0,
            None,
        )
        assert [(seat.participant_id, seat.since, seat.until) for seat in load_attendance(reading, "talk").ranges] == [
            ("pawn:mara", 0, None),
            ("player:1", 0, None),
        ]


def test_what_is_said_stands_behind_what_was_said_before(coast: Store) -> None:
    with coast.write(project=P) as tx:
        first = edits.add_message(tx, "talk", user_message("Where?\r\nHere?", "m1", speaker="player:1"))
        second = edits.add_message(
            tx, "talk", reply_message("Under the stairs.", skill_id="chat", extra={"model": "x"})
        )
        talk = edits.get_conversation(tx, "talk")
        kept = edits.get_message(tx, second.id)
        row = tx.require(messages, id="m1")
    assert (first.number, first.parent_id, first.kind, first.content) == (0, None, MessageKind.USER, "Where?\nHere?")
    assert (second.number, second.parent_id, second.kind) == (1, "m1", MessageKind.REPLY)
    assert (talk.leaf_id, talk.message_count, talk.round_count) == (second.id, 2, 1)
    assert kept == second
    assert row.content_hash == sha256(b"Where?\nHere?").hexdigest()
    assert first.timestamp > "2026"


def test_a_round_begins_with_every_user_message(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.add_messages(
            tx,
            "talk",
            [
                user_message("One?"),
                reply_message("Thinking.", kind=MessageKind.PLAN, final=False),
                Message(id="", role="user", content="It rains.", kind=MessageKind.OBSERVATION, final=False),
                reply_message("Yes."),
                user_message("Two?"),
            ],
        )
        assert edits.get_conversation(tx, "talk").round_count == 2


def test_an_answer_given_again_is_another_branch(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.add_messages(tx, "talk", [user_message("One?", "u"), reply_message("No.", "no")])
        again = edits.add_message(tx, "talk", reply_message("Yes.", "yes", parent_id="u"))
        assert (again.parent_id, again.number) == ("u", 2)
        assert edits.get_conversation(tx, "talk").leaf_id == "yes"
        assert edits.select_branch(tx, "talk", "no", expected=1) == 2
        assert edits.get_conversation(tx, "talk").leaf_id == "no"
        first = edits.add_message(tx, "talk", user_message("Or else?", "else"), as_first=True)
        assert first.parent_id is None


def test_what_belongs_to_another_conversation_is_no_parent(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.start_conversation(tx, "other")
        edits.add_message(tx, "other", user_message("Hm.", "far"))
    assert (
        refusal(coast, lambda tx: edits.add_message(tx, "talk", reply_message("x", parent_id="far")))
        is Code.REQUEST_INVALID
    )
    assert (
        refusal(coast, lambda tx: edits.add_message(tx, "talk", reply_message("x", parent_id="none")))
        is Code.STORE_NOT_FOUND
    )
    assert refusal(coast, lambda tx: edits.select_branch(tx, "talk", "far")) is Code.REQUEST_INVALID


def test_what_cannot_be_said_is_refused(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.add_message(tx, "talk", user_message("Hm.", "m1"))
    acts: tuple[tuple[Callable[[WriteTransaction], object], Code], ...] = (
        (lambda tx: edits.add_message(tx, "talk", user_message(" \n")), Code.TEXT_INVALID),
        (lambda tx: edits.add_message(tx, "talk", user_message("a\x00b")), Code.TEXT_INVALID),
        (lambda tx: edits.add_message(tx, "none", user_message("x")), Code.STORE_NOT_FOUND),
        (lambda tx: edits.add_message(tx, "talk", user_message("x", "m1")), Code.STORE_DUPLICATE),
        (lambda tx: edits.add_message(tx, "talk", user_message("x", "a b")), Code.REQUEST_INVALID),
        (
            lambda tx: edits.add_message(tx, "talk", user_message("x", kind=cast("MessageKind", "song"))),
            Code.REQUEST_INVALID,
        ),
        (
            lambda tx: edits.add_message(tx, "talk", Message(id="", role=cast("Role", "bard"), content="x")),
            Code.REQUEST_INVALID,
        ),
        (lambda tx: edits.add_message(tx, "talk", user_message("x", extra={"a": object()})), Code.REQUEST_INVALID),
        (lambda tx: edits.add_message(tx, "talk", user_message("x", audience=("half \ud800",))), Code.TEXT_INVALID),
        (lambda tx: edits.start_conversation(tx, "talk"), Code.STORE_DUPLICATE),
        (lambda tx: edits.start_conversation(tx, "a|b"), Code.REQUEST_INVALID),
        (lambda tx: edits.start_conversation(tx, participants=["nobody"]), Code.REQUEST_INVALID),
        (lambda tx: edits.update_conversation(tx, "talk", {"said": 7}), Code.REQUEST_INVALID),
        (lambda tx: edits.update_conversation(tx, "talk", {"title": 7}), Code.REQUEST_INVALID),
        (lambda tx: edits.update_conversation(tx, "talk", {"title": "x"}, expected=9), Code.STORE_CONFLICT),
        (lambda tx: edits.remove_conversation(tx, "none"), Code.STORE_NOT_FOUND),
    )
    for act, code in acts:
        assert refusal(coast, act) is code


def test_saying_something_does_not_make_a_rename_stale(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.add_message(tx, "talk", user_message("Hm."))
        assert edits.update_conversation(tx, "talk", {"title": "Renamed", "mode_state": {"node": 1}}, expected=1) == 2
        assert edits.get_conversation(tx, "talk").mode_state == {"node": 1}


def test_a_correction_stays_in_place_and_can_be_taken_back(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.add_messages(tx, "talk", [user_message("Were?", "m1"), reply_message("Here.", "m2")])
        assert edits.correct_message(tx, "m1", "Where?", expected=1) == 2
        assert edits.correct_message(tx, "m1", "Where?", expected=2) == 2
        kept = edits.get_message(tx, "m1")
        assert (kept.content, kept.previous_content, kept.number) == ("Where?", "Were?", 0)
        assert tx.require(messages, id="m1").content_hash == sha256(b"Where?").hexdigest()
        assert edits.get_conversation(tx, "talk").leaf_id == "m2"
        assert edits.undo_correction(tx, "m1", expected=2) == 3
        assert edits.get_message(tx, "m1").content == "Were?"
        edits.undo_correction(tx, "m1")
        assert edits.get_message(tx, "m1").content == "Where?"
    assert refusal(coast, lambda tx: edits.correct_message(tx, "m1", "x", expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: edits.correct_message(tx, "m1", " ")) is Code.TEXT_INVALID
    assert refusal(coast, lambda tx: edits.correct_message(tx, "none", "x")) is Code.STORE_NOT_FOUND
    assert refusal(coast, lambda tx: edits.undo_correction(tx, "m2")) is Code.REQUEST_INVALID


def test_who_joins_hears_what_is_said_from_then_on(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.add_messages(tx, "talk", [user_message("One."), reply_message("Two.")])
        edits.join_conversation(tx, "talk", "persona:Bram#3")
        edits.join_conversation(tx, "talk", "persona:Bram#4")
        edits.add_message(tx, "talk", user_message("Three."))
        edits.leave_conversation(tx, "talk", "persona:Bram")
        edits.join_conversation(tx, "talk", "persona:Bram")
        edits.leave_conversation(tx, "talk", "pawn:mara")
        assert [(seat.participant_id, seat.since, seat.until) for seat in load_attendance(tx, "talk").ranges] == [
            ("pawn:mara", 0, 3),
            ("player:1", 0, None),
            ("persona:Bram", 2, None),
        ], "who left and came back, with nothing said between, was there all the time"
        edits.leave_conversation(tx, "talk", "persona:Bram")
        edits.join_conversation(tx, "talk", "persona:Bram")
        assert load_attendance(tx, "talk").ranges[-1].until is None
        talk = edits.get_conversation(tx, "talk")
    assert talk.conv_key == "pawn:mara|persona:Bram|player:1", "it stays the talk of everybody who took part"
    assert talk.version == 7, "every change of who is present is a change of the talk"
    assert refusal(coast, lambda tx: edits.leave_conversation(tx, "talk", "pawn:mara")) is Code.STORE_NOT_FOUND
    assert refusal(coast, lambda tx: edits.join_conversation(tx, "none", "pawn:mara")) is Code.STORE_NOT_FOUND


def test_a_key_is_sorted_by_code_point_and_knows_no_revisions() -> None:
    assert conv_key(["pawn:b", "persona:Ann#2", "pawn:B", "pawn:é", "persona:Ann#3"]) == (
        "pawn:B|pawn:b|pawn:é|persona:Ann"
    )
    assert conv_key([]) == ""
    for bad in ("pawn", "pawn:", ":x", "pawn:a|b", "pa wn:x", "pawn:a\nb"):
        with pytest.raises(FabulaError) as refused:
            conv_key([bad])
        assert refused.value.code is Code.REQUEST_INVALID


def test_conversations_are_found_by_exactly_their_people_the_latest_first(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.start_conversation(tx, "second", participants=["pawn:mara", "player:1"])
        edits.start_conversation(tx, "alone", participants=["player:1"])
        edits.add_message(tx, "talk", user_message("Hm."))
        found = history.find_conversations(tx, ["player:1", "pawn:mara"], "exact")
        assert [talk.id for talk in found] == ["talk", "second"]
        assert [talk.id for talk in edits.list_conversations(tx, limit=1)] == ["talk"]
        assert len(edits.list_conversations(tx)) == 3


def test_the_hash_of_a_path_covers_all_that_came_before() -> None:
    path = [user_message("One."), reply_message("Two."), user_message("Three.")]
    hashes = hash_path(path)
    assert len(set(hashes)) == 3
    assert hash_path(path[1:], hashes[0]) == hashes[1:]
    forked = hash_path([path[0], reply_message("Other."), path[2]])
    assert forked[0] == hashes[0]
    assert not set(forked[1:]) & set(hashes)


def test_a_conversation_goes_with_all_that_was_said(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.add_message(tx, "talk", user_message("Hm.", "m1"))
        edits.remove_conversation(tx, "talk", expected=1)
        assert tx.count(messages) == 0
        assert edits.list_conversations(tx) == []


def test_a_snapshot_is_copied_in_as_one_path(coast: Store) -> None:
    talk = [
        user_message("One.", "a"),
        reply_message("Two.", "b", speaker="Mara"),
        user_message("  ", "c"),
        reply_message("Hm.", "d", final=False),
    ]
    snapshot = Conversations("elsewhere", {"desk": talk, "empty": []})
    with coast.write(project=P) as tx:
        edits.save_conversations(tx, snapshot)
        assert [edits.get_message(tx, ident).parent_id for ident in "abcd"] == [None, "a", "b", "c"]
        desk = edits.get_conversation(tx, "desk")
        assert (desk.message_count, desk.round_count, desk.leaf_id) == (4, 2, "d")
        assert edits.get_conversation(tx, "empty").message_count == 0
    assert refusal(coast, lambda tx: edits.save_conversations(tx, snapshot)) is Code.STORE_DUPLICATE


def test_many_writers_at_once_lose_nothing(coast: Store) -> None:
    def write(name: str) -> None:
        for number in range(10):
            with coast.write(project=P) as tx:
                edits.add_message(tx, "talk", user_message(f"{name}{number}"))

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with coast.read(project=P) as reading:
        rows = reading.rows(messages, order=(messages.c.number,))
        assert [row.number for row in rows] == list(range(40))
        assert [row.parent_id for row in rows] == [None, *(row.id for row in rows[:-1])]
        assert edits.get_conversation(reading, "talk").message_count == 40


@pytest.mark.parametrize("engine", ["sqlite"])  # a server looks through small tables as it likes
def test_saying_something_looks_through_no_table(coast: Store) -> None:
    asked: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        asked.append((statement, parameters))

    event.listen(coast.engine, "before_cursor_execute", note)
    with coast.write(project=P) as tx:
        first = edits.add_message(tx, "talk", user_message("One."))
        edits.add_message(tx, "talk", user_message("Two."))
        edits.add_message(tx, "talk", user_message("Or.", parent_id=first.id))
    event.remove(coast.engine, "before_cursor_execute", note)
    looked = [(statement, values) for statement, values in asked if statement.startswith(("SELECT", "UPDATE"))]
    assert len(looked) < 15
    with coast.engine.connect() as connection:
        for statement, values in looked:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
            assert all("SCAN" not in str(line) for line in plan), (statement, plan)
        assert connection.execute(text("SELECT count(*) FROM messages")).scalar() == 3


def test_somebody_takes_part_under_an_id_that_stays(coast: Store) -> None:
    with coast.write(project=P) as tx:
        participants.save_participant(tx, Participant(id="pawn:mara", name=" Mara ", aliases=(" M. ", "", "M.")))
        kept = participants.save_participant(tx, Participant(id="pawn:mara", name="", is_gone=True), expected=1)
        assert (kept.name, kept.is_gone, kept.version, kept.revision) == ("Mara", True, 2, 1)
        assert kept.speaker == "pawn:mara"
        assert participants.list_participants(tx) == [kept]
    assert refusal(coast, lambda tx: participants.save_participant(tx, kept, expected=1)) is Code.STORE_CONFLICT
    new = Participant(id="pawn:new", name="x")
    assert refusal(coast, lambda tx: participants.save_participant(tx, new, expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: participants.save_participant(tx, Participant(id="mara"))) is Code.REQUEST_INVALID
    half = Participant(id="pawn:x", aliases=("\ud800",))
    assert refusal(coast, lambda tx: participants.save_participant(tx, half)) is Code.TEXT_INVALID
    assert refusal(coast, lambda tx: participants.get_participant(tx, "pawn:x")) is Code.STORE_NOT_FOUND


def test_a_persona_that_reads_otherwise_is_another_revision(coast: Store) -> None:
    with coast.write(project=P) as tx:
        first = participants.save_participant(tx, Participant(id="persona:Old Bram", name="Bram", persona="Grumpy."))
        same = participants.save_participant(tx, Participant(id="persona:Old Bram", name="Old Bram", persona="Grumpy."))
        other = participants.save_participant(tx, Participant(id="persona:Old Bram#1", name="Bram", persona="Kind."))
        assert participants.get_participant(tx, "persona:Old Bram#9") == other
    assert [one.speaker for one in (first, same, other)] == [
        "persona:Old Bram#1",
        "persona:Old Bram#1",
        "persona:Old Bram#2",
    ]


def test_a_conversation_has_a_bounded_number_of_participants(coast: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "MAX_PARTICIPANTS", 3)
    with coast.write(project=P) as tx:
        edits.join_conversation(tx, "talk", "pawn:bo")
        edits.leave_conversation(tx, "talk", "pawn:bo")
    assert refusal(coast, lambda tx: edits.join_conversation(tx, "talk", "pawn:ann")) is Code.REQUEST_INVALID
    many = [f"pawn:{number}" for number in range(4)]
    assert refusal(coast, lambda tx: edits.start_conversation(tx, participants=many)) is Code.REQUEST_INVALID


def test_a_message_is_not_corrected_to_more_than_can_be_said(coast: Store) -> None:
    with coast.write(project=P) as tx:
        said = edits.add_message(tx, "talk", user_message("Hello."))
    too_long = "x" * (MAX_MESSAGE_CHARACTERS + 1)
    assert refusal(coast, lambda tx: edits.correct_message(tx, said.id, too_long)) is Code.TEXT_INVALID


def test_fixed_prompts_of_one_participant_are_bounded(coast: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(participant_texts, "MAX_TEXTS", 2)
    with coast.write(project=P) as tx:
        participants.save_participant(tx, Participant(id="pawn:mara"))
        for number in range(2):
            participant_texts.add_text(tx, "prompt", "pawn:mara", f"Text {number}.")
    add = participant_texts.add_text
    assert refusal(coast, lambda tx: add(tx, "prompt", "pawn:mara", "Another.")) is Code.TEXT_INVALID


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 30), st.none() | st.integers(0, 30)), max_size=40),
    st.lists(st.integers(0, 31), max_size=40),
)
def test_who_was_present_is_what_the_ranges_say(found: list[tuple[str, int, int | None]], numbers: list[int]) -> None:
    ranges = [Presence(participant_id=who, since=since, until=until) for who, since, until in found]
    attendance = Attendance(list_changes(ranges))
    for number in numbers:
        expected = {who for who, since, until in found if since <= number and (until is None or number < until)}
        assert attendance.list_present_at(number) == expected


def test_who_was_present_is_looked_up_without_going_through_all_ranges() -> None:
    ranges = [Presence(participant_id=f"pawn:{n % 9}", since=n, until=n + 5) for n in range(20_000)]
    attendance = Attendance(list_changes(ranges))
    assert len(attendance.list_present_at(9_000)) == 5
    attendance.changes = ()  # they were gone through once
    assert len(attendance.list_present_at(10_000)) == 5
    assert attendance.list_present_at(10_000) is attendance.list_present_at(10_000)
