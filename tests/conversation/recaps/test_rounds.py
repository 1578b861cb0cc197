"""Rounds: which messages belong to one, what it is called, and when it is over."""

from __future__ import annotations

from fabula.conversation import edits as service
from fabula.conversation.model import Kind, Message
from fabula.conversation.recaps.rounds import History, content_of, history
from fabula.store.store import Store
from tests.conversation.talking import TALK, P, begin, rounds, talk


def read(store: Store) -> History:
    with store.read(project=P) as reading:
        return history(reading, TALK)


def ids(store: Store) -> list[tuple[int, list[str]]]:
    return [(one.number, [said.id for said in one.said]) for one in read(store).rounds]


def test_a_round_is_a_users_message_and_all_replies_to_it(store: Store) -> None:
    begin(store)
    assert read(store).rounds == ()
    with store.write(project=P) as tx:
        service.say_all(
            tx,
            TALK,
            [
                Message(id="hello", role="assistant", content="Welcome."),
                Message(id="q1", role="user", content="Who is there?"),
                Message(id="plan", role="assistant", content="I look.", kind=Kind.PLAN, final=False),
                Message(id="a1", role="assistant", content="Mara.", speaker="pawn:mara"),
                Message(id="b1", role="assistant", content="And Will.", speaker="pawn:will"),
                Message(id="q2", role="user", content="Anybody else?"),
            ],
        )
    assert ids(store) == [(1, ["hello", "q1", "a1", "b1"]), (2, ["q2"])]


def test_a_round_is_over_when_it_is_answered_or_another_one_begins(store: Store) -> None:
    begin(store)

    def after(said: Message) -> list[bool]:
        with store.write(project=P) as tx:
            service.say(tx, TALK, said)
        return [one.complete for one in read(store).rounds]

    assert after(Message(id="q1", role="user", content="Who?")) == [False]
    step = Message(id="p1", role="assistant", content="I look.", kind=Kind.PLAN, final=False)
    assert after(step) == [False]
    assert after(Message(id="q2", role="user", content="Hello?")) == [True, False]
    assert after(Message(id="a2", role="assistant", content="Me.")) == [True, True]


def test_numbers_never_rewind_and_never_come_twice(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 4))
    talk(store, "5", "6", parent="a2")
    assert [number for number, _ in ids(store)] == [1, 2, 5, 6]
    with store.write(project=P) as tx:
        service.follow(tx, TALK, "a4")
    assert [number for number, _ in ids(store)] == [1, 2, 3, 4]
    talk(store, "7")
    assert [number for number, _ in ids(store)] == [1, 2, 3, 4, 7]
    with store.write(project=P) as tx:
        service.say(tx, TALK, Message(id="q8", role="user", content="Begin again?"), afresh=True)
    assert ids(store) == [(8, ["q8"])]
    assert read(store).counted == 8


def test_content_is_known_again_by_what_was_said_to_everybody(store: Store) -> None:
    begin(store)
    talk(store, "1")
    before = content_of(read(store).rounds)
    with store.write(project=P) as tx:
        service.say(tx, TALK, Message(id="w", role="assistant", content="Psst.", audience=("pawn:mara",)))
    assert content_of(read(store).rounds) == before
    with store.write(project=P) as tx:
        service.correct(tx, "a1", "Another answer.")
    assert content_of(read(store).rounds) != before
    with store.write(project=P) as tx:
        service.undo(tx, "a1")
    assert content_of(read(store).rounds) == before
