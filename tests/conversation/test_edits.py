"""Conversations in the store: said, corrected, branched; who hears what."""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import sha256
from typing import Any, cast

import pytest
from sqlalchemy import event, text

from fabula.conversation import edits as service
from fabula.conversation import participants
from fabula.conversation.model import Conversations, Kind, Message, path_hashes
from fabula.conversation.participants import Participant, conv_key
from fabula.conversation.tables import messages
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.store.transaction import Writing

P = "coast"


def user(content: str, ident: str = "", **fields: Any) -> Message:
    return Message(id=ident, role="user", content=content, **fields)


def reply(content: str, ident: str = "", **fields: Any) -> Message:
    return Message(id=ident, role="assistant", content=content, **fields)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and one conversation of two."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        service.start(tx, "talk", participants=["player:1", "pawn:mara"], title=" A talk ")
    return store


def refusal(store: Store, act: Callable[[Writing], object]) -> Code:
    """The code with which something is refused; nothing may have moved."""
    before = store.versions(project=P)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P) == before
    return refused.value.code


def test_a_conversation_begins_with_its_people_and_nothing_said(coast: Store) -> None:
    with coast.read(project=P) as reading:
        talk = service.get(reading, "talk")
        assert (talk.key, talk.title, talk.said, talk.rounds, talk.leaf) == (
            "pawn:mara|player:1",
            "A talk",
            0,
            0,
            None,
        )
        assert [(seat.participant, seat.since, seat.until) for seat in service.attendance(reading, "talk")] == [
            ("pawn:mara", 0, None),
            ("player:1", 0, None),
        ]


def test_what_is_said_stands_behind_what_was_said_before(coast: Store) -> None:
    with coast.write(project=P) as tx:
        first = service.say(tx, "talk", user("Where?\r\nHere?", "m1", speaker="player:1"))
        second = service.say(tx, "talk", reply("Under the stairs.", skill_id="chat", extra={"model": "x"}))
        talk = service.get(tx, "talk")
        kept = service.message(tx, second.id)
        row = tx.need(messages, id="m1")
    assert (first.number, first.parent_id, first.kind, first.content) == (0, None, Kind.USER, "Where?\nHere?")
    assert (second.number, second.parent_id, second.kind) == (1, "m1", Kind.REPLY)
    assert (talk.leaf, talk.said, talk.rounds) == (second.id, 2, 1)
    assert kept == second
    assert row.content_hash == sha256(b"Where?\nHere?").hexdigest()
    assert first.timestamp > "2026"


def test_a_round_begins_with_every_user_message(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.say_all(
            tx,
            "talk",
            [
                user("One?"),
                reply("Thinking.", kind=Kind.PLAN, final=False),
                Message(id="", role="user", content="It rains.", kind=Kind.OBSERVATION, final=False),
                reply("Yes."),
                user("Two?"),
            ],
        )
        assert service.get(tx, "talk").rounds == 2


def test_an_answer_given_again_is_another_branch(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.say_all(tx, "talk", [user("One?", "u"), reply("No.", "no")])
        again = service.say(tx, "talk", reply("Yes.", "yes", parent_id="u"))
        assert (again.parent_id, again.number) == ("u", 2)
        assert service.get(tx, "talk").leaf == "yes"
        assert service.follow(tx, "talk", "no", expected=1) == 2
        assert service.get(tx, "talk").leaf == "no"
        first = service.say(tx, "talk", user("Or else?", "else"), afresh=True)
        assert first.parent_id is None


def test_what_belongs_to_another_conversation_is_no_parent(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.start(tx, "other")
        service.say(tx, "other", user("Hm.", "far"))
    assert refusal(coast, lambda tx: service.say(tx, "talk", reply("x", parent_id="far"))) is Code.REQUEST_INVALID
    assert refusal(coast, lambda tx: service.say(tx, "talk", reply("x", parent_id="none"))) is Code.STORE_NOT_FOUND
    assert refusal(coast, lambda tx: service.follow(tx, "talk", "far")) is Code.REQUEST_INVALID


def test_what_cannot_be_said_is_refused(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.say(tx, "talk", user("Hm.", "m1"))
    acts: tuple[tuple[Callable[[Writing], object], Code], ...] = (
        (lambda tx: service.say(tx, "talk", user(" \n")), Code.TEXT_INVALID),
        (lambda tx: service.say(tx, "talk", user("a\x00b")), Code.TEXT_INVALID),
        (lambda tx: service.say(tx, "none", user("x")), Code.STORE_NOT_FOUND),
        (lambda tx: service.say(tx, "talk", user("x", "m1")), Code.STORE_DUPLICATE),
        (lambda tx: service.say(tx, "talk", user("x", "a b")), Code.REQUEST_INVALID),
        (lambda tx: service.say(tx, "talk", user("x", kind=cast("Kind", "song"))), Code.REQUEST_INVALID),
        (
            lambda tx: service.say(tx, "talk", Message(id="", role=cast("Role", "bard"), content="x")),
            Code.REQUEST_INVALID,
        ),
        (lambda tx: service.say(tx, "talk", user("x", extra={"a": object()})), Code.REQUEST_INVALID),
        (lambda tx: service.say(tx, "talk", user("x", audience=("half \ud800",))), Code.REQUEST_INVALID),
        (lambda tx: service.start(tx, "talk"), Code.STORE_DUPLICATE),
        (lambda tx: service.start(tx, "a|b"), Code.REQUEST_INVALID),
        (lambda tx: service.start(tx, participants=["nobody"]), Code.REQUEST_INVALID),
        (lambda tx: service.update(tx, "talk", {"said": 7}), Code.REQUEST_INVALID),
        (lambda tx: service.update(tx, "talk", {"title": 7}), Code.REQUEST_INVALID),
        (lambda tx: service.update(tx, "talk", {"title": "x"}, expected=9), Code.STORE_CONFLICT),
        (lambda tx: service.remove(tx, "none"), Code.STORE_NOT_FOUND),
    )
    for act, code in acts:
        assert refusal(coast, act) is code


def test_saying_something_does_not_make_a_rename_stale(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.say(tx, "talk", user("Hm."))
        assert service.update(tx, "talk", {"title": "Renamed", "mode_state": {"node": 1}}, expected=1) == 2
        assert service.get(tx, "talk").mode_state == {"node": 1}


def test_a_correction_stays_in_place_and_can_be_taken_back(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.say_all(tx, "talk", [user("Were?", "m1"), reply("Here.", "m2")])
        assert service.correct(tx, "m1", "Where?", expected=1) == 2
        assert service.correct(tx, "m1", "Where?", expected=2) == 2
        kept = service.message(tx, "m1")
        assert (kept.content, kept.before, kept.number) == ("Where?", "Were?", 0)
        assert tx.need(messages, id="m1").content_hash == sha256(b"Where?").hexdigest()
        assert service.get(tx, "talk").leaf == "m2"
        assert service.undo(tx, "m1", expected=2) == 3
        assert service.message(tx, "m1").content == "Were?"
        service.undo(tx, "m1")
        assert service.message(tx, "m1").content == "Where?"
    assert refusal(coast, lambda tx: service.correct(tx, "m1", "x", expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: service.correct(tx, "m1", " ")) is Code.TEXT_INVALID
    assert refusal(coast, lambda tx: service.correct(tx, "none", "x")) is Code.STORE_NOT_FOUND
    assert refusal(coast, lambda tx: service.undo(tx, "m2")) is Code.REQUEST_INVALID


def test_who_joins_hears_what_is_said_from_then_on(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.say_all(tx, "talk", [user("One."), reply("Two.")])
        service.join(tx, "talk", "persona:Bram#3")
        service.join(tx, "talk", "persona:Bram#4")
        service.say(tx, "talk", user("Three."))
        service.leave(tx, "talk", "persona:Bram")
        service.join(tx, "talk", "persona:Bram")
        service.leave(tx, "talk", "pawn:mara")
        assert [(seat.participant, seat.since, seat.until) for seat in service.attendance(tx, "talk")] == [
            ("pawn:mara", 0, 3),
            ("player:1", 0, None),
            ("persona:Bram", 2, 3),
            ("persona:Bram", 3, None),
        ]
        service.leave(tx, "talk", "persona:Bram")
        service.join(tx, "talk", "persona:Bram")
        assert service.attendance(tx, "talk")[-1].until is None
        talk = service.get(tx, "talk")
    assert talk.key == "pawn:mara|persona:Bram|player:1", "it stays the talk of everybody who took part"
    assert talk.version == 1
    assert refusal(coast, lambda tx: service.leave(tx, "talk", "pawn:mara")) is Code.STORE_NOT_FOUND
    assert refusal(coast, lambda tx: service.join(tx, "none", "pawn:mara")) is Code.STORE_NOT_FOUND


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
        service.start(tx, "second", participants=["pawn:mara", "player:1"])
        service.start(tx, "alone", participants=["player:1"])
        service.say(tx, "talk", user("Hm."))
        assert [talk.id for talk in service.listed(tx, key=conv_key(["player:1", "pawn:mara"]))] == ["talk", "second"]
        assert [talk.id for talk in service.listed(tx, limit=1)] == ["talk"]
        assert len(service.listed(tx)) == 3


def test_the_hash_of_a_path_covers_all_that_came_before() -> None:
    path = [user("One."), reply("Two."), user("Three.")]
    hashes = path_hashes(path)
    assert len(set(hashes)) == 3
    assert path_hashes(path[1:], hashes[0]) == hashes[1:]
    forked = path_hashes([path[0], reply("Other."), path[2]])
    assert forked[0] == hashes[0]
    assert not set(forked[1:]) & set(hashes)


def test_a_conversation_goes_with_all_that_was_said(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.say(tx, "talk", user("Hm.", "m1"))
        service.remove(tx, "talk", expected=1)
        assert tx.count(messages) == 0
        assert service.listed(tx) == []


def test_a_snapshot_is_copied_in_as_one_path(coast: Store) -> None:
    talk = [user("One.", "a"), reply("Two.", "b", speaker="Mara"), user("  ", "c"), reply("Hm.", "d", final=False)]
    snapshot = Conversations("elsewhere", {"desk": talk, "empty": []})
    with coast.write(project=P) as tx:
        service.put(tx, snapshot)
        assert [service.message(tx, ident).parent_id for ident in "abcd"] == [None, "a", "b", "c"]
        desk = service.get(tx, "desk")
        assert (desk.said, desk.rounds, desk.leaf) == (4, 2, "d")
        assert service.get(tx, "empty").said == 0
    assert refusal(coast, lambda tx: service.put(tx, snapshot)) is Code.STORE_DUPLICATE


def test_many_writers_at_once_lose_nothing(coast: Store) -> None:
    def write(name: str) -> None:
        for number in range(10):
            with coast.write(project=P) as tx:
                service.say(tx, "talk", user(f"{name}{number}"))

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with coast.read(project=P) as reading:
        rows = reading.rows(messages, order=(messages.c.number,))
        assert [row.number for row in rows] == list(range(40))
        assert [row.parent_id for row in rows] == [None, *(row.id for row in rows[:-1])]
        assert service.get(reading, "talk").said == 40


@pytest.mark.parametrize("engine", ["sqlite"])  # a server looks through small tables as it likes
def test_saying_something_looks_through_no_table(coast: Store) -> None:
    asked: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        asked.append((statement, parameters))

    event.listen(coast.engine, "before_cursor_execute", note)
    with coast.write(project=P) as tx:
        first = service.say(tx, "talk", user("One."))
        service.say(tx, "talk", user("Two."))
        service.say(tx, "talk", user("Or.", parent_id=first.id))
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
        participants.put(tx, Participant(id="pawn:mara", name=" Mara ", aliases=(" M. ", "", "M.")))
        kept = participants.put(tx, Participant(id="pawn:mara", name="", gone=True), expected=1)
        assert (kept.name, kept.gone, kept.version, kept.revision) == ("Mara", True, 2, 1)
        assert kept.speaker == "pawn:mara"
        assert participants.listed(tx) == [kept]
    assert refusal(coast, lambda tx: participants.put(tx, kept, expected=1)) is Code.STORE_CONFLICT
    new = Participant(id="pawn:new", name="x")
    assert refusal(coast, lambda tx: participants.put(tx, new, expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: participants.put(tx, Participant(id="mara"))) is Code.REQUEST_INVALID
    half = Participant(id="pawn:x", aliases=("\ud800",))
    assert refusal(coast, lambda tx: participants.put(tx, half)) is Code.TEXT_INVALID
    assert refusal(coast, lambda tx: participants.get(tx, "pawn:x")) is Code.STORE_NOT_FOUND


def test_a_persona_that_reads_otherwise_is_another_revision(coast: Store) -> None:
    with coast.write(project=P) as tx:
        first = participants.put(tx, Participant(id="persona:Old Bram", name="Bram", persona="Grumpy."))
        same = participants.put(tx, Participant(id="persona:Old Bram", name="Old Bram", persona="Grumpy."))
        other = participants.put(tx, Participant(id="persona:Old Bram#1", name="Bram", persona="Kind."))
        assert participants.get(tx, "persona:Old Bram#9") == other
    assert [one.speaker for one in (first, same, other)] == [
        "persona:Old Bram#1",
        "persona:Old Bram#1",
        "persona:Old Bram#2",
    ]
