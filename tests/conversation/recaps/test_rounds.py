"""Rounds: their messages, their numbers, and when they are complete."""

from __future__ import annotations

from msgspec.structs import replace

from fabula.conversation import edits
from fabula.conversation.model import Message, MessageKind
from fabula.conversation.recaps.rounds import RoundHistory, hash_rounds, load_rounds
from fabula.store.store import Store
from tests.conversation.recap_fixtures import CONVERSATION, P, add_rounds, create_conversation, name_rounds


def load(store: Store) -> RoundHistory:
    with store.read(project=P) as reading:
        return load_rounds(reading, CONVERSATION)


def list_message_ids(store: Store) -> list[tuple[int, list[str]]]:
    return [(one.number, [said.id for said in one.messages]) for one in load(store).rounds]


def test_a_round_is_a_users_message_and_all_replies_to_it(store: Store) -> None:
    create_conversation(store)
    assert load(store).rounds == ()
    with store.write(project=P) as tx:
        edits.add_messages(
            tx,
            CONVERSATION,
            [
                Message(id="hello", role="assistant", content="Welcome."),
                Message(id="q1", role="user", content="Who is there?"),
                Message(id="plan", role="assistant", content="I look.", kind=MessageKind.PLAN, final=False),
                Message(id="a1", role="assistant", content="Mara.", speaker="pawn:mara"),
                Message(id="b1", role="assistant", content="And Will.", speaker="pawn:will"),
                Message(id="q2", role="user", content="Anybody else?"),
            ],
        )
    assert list_message_ids(store) == [(1, ["hello", "q1", "a1", "b1"]), (2, ["q2"])]


def test_a_round_is_over_when_it_is_answered_or_another_one_begins(store: Store) -> None:
    create_conversation(store)

    def after(said: Message) -> list[bool]:
        with store.write(project=P) as tx:
            edits.add_message(tx, CONVERSATION, said)
        return [one.is_complete for one in load(store).rounds]

    assert after(Message(id="q1", role="user", content="Who?")) == [False]
    step = Message(id="p1", role="assistant", content="I look.", kind=MessageKind.PLAN, final=False)
    assert after(step) == [False]
    assert after(Message(id="q2", role="user", content="Hello?")) == [True, False]
    assert after(Message(id="a2", role="assistant", content="Me.")) == [True, True]


def test_rounds_count_where_characters_speak_among_themselves(store: Store) -> None:
    create_conversation(store)

    def say(ident: str, speaker: str, parent: str | None = None, *, final: bool = True) -> None:
        with store.write(project=P) as tx:
            said = Message(id=ident, role="assistant", content=ident, speaker=speaker, parent_id=parent, final=final)
            edits.add_message(tx, CONVERSATION, said)

    for ident, speaker in (("m1", "pawn:mara"), ("b1", "persona:bo#1"), ("m2", "pawn:mara"), ("b2", "persona:bo#2")):
        say(ident, speaker)
    assert list_message_ids(store) == [(1, ["m1", "b1", "m2", "b2"])]
    say("b3", "persona:bo#2", "m2")  # another answer begins no round
    say("plan", "pawn:mara", final=False)
    for ident, speaker in (("m3", "pawn:mara"), ("b4", "persona:bo#2")):
        say(ident, speaker)
    assert list_message_ids(store) == [(1, ["m1", "b1", "m2", "b3"]), (2, ["m3", "b4"])]
    with store.write(project=P) as tx:
        edits.add_message(tx, CONVERSATION, Message(id="q1", role="user", content="May I?"))
    for ident in ("m4", "m5"):
        say(ident, "pawn:mara")  # answers to somebody are one round
    assert list_message_ids(store)[2:] == [(3, ["q1", "m4", "m5"])]
    with store.read(project=P) as reading:
        tree = [edits.get_message(reading, ident) for ident in ("m1", "b1", "m2", "b2", "b3", "m3", "b4", "q1", "m4")]
    with store.write(project=P) as tx:
        copies = [replace(one, id=f"x-{one.id}", parent_id=one.parent_id and f"x-{one.parent_id}") for one in tree]
        edits.save_tree(
            tx, "copy", [replace(one, parent_id="x-b3") if one.id == "x-m3" else one for one in copies], "x-m4"
        )
        assert [one.number for one in load_rounds(tx, "copy").rounds] == [1, 2, 3]


def test_numbers_never_rewind_and_never_come_twice(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 4))
    add_rounds(store, "5", "6", parent="a2")
    assert [number for number, _ in list_message_ids(store)] == [1, 2, 5, 6]
    with store.write(project=P) as tx:
        edits.select_branch(tx, CONVERSATION, "a4")
    assert [number for number, _ in list_message_ids(store)] == [1, 2, 3, 4]
    add_rounds(store, "7")
    assert [number for number, _ in list_message_ids(store)] == [1, 2, 3, 4, 7]
    with store.write(project=P) as tx:
        edits.add_message(tx, CONVERSATION, Message(id="q8", role="user", content="Begin again?"), as_first=True)
    assert list_message_ids(store) == [(8, ["q8"])]
    assert load(store).round_count == 8


def test_content_is_known_again_by_what_was_said_to_everybody(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, "1")
    before = hash_rounds(load(store).rounds)
    with store.write(project=P) as tx:
        edits.add_message(tx, CONVERSATION, Message(id="w", role="assistant", content="Psst.", audience=("pawn:mara",)))
    assert hash_rounds(load(store).rounds) == before
    with store.write(project=P) as tx:
        edits.correct_message(tx, "a1", "Another answer.")
    assert hash_rounds(load(store).rounds) != before
    with store.write(project=P) as tx:
        edits.undo_correction(tx, "a1")
    assert hash_rounds(load(store).rounds) == before
