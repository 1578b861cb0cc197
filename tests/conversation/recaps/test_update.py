"""Recaps: when they are made, what of, and what keeps a wrong one from being stored."""

from __future__ import annotations

import threading
from typing import cast

import pytest
from msgspec.structs import replace

from fabula.conversation import edits as service
from fabula.conversation import participants
from fabula.conversation.model import Kind, Message
from fabula.conversation.participants import Participant
from fabula.conversation.recaps import editing as kept_recaps
from fabula.conversation.recaps import update as recaps
from fabula.conversation.recaps.model import Material, Rules
from fabula.conversation.recaps.update import refresh
from fabula.conversation.tables import conversations
from fabula.conversation.tables import recaps as recap_rows
from fabula.core.errors import Code, FabulaError
from fabula.store.store import Store
from tests.conversation.talking import SMALL, TALK, P, Teller, begin, failing, kept, rounds, states, talk, tell

FAR = "2199-01-01T00:00:00.000000Z"


def correct(store: Store, ident: str, content: str) -> None:
    with store.write(project=P) as tx:
        service.correct(tx, ident, content)


def follow(store: Store, ident: str) -> None:
    with store.write(project=P) as tx:
        service.follow(tx, TALK, ident)


def due(store: Store) -> int:
    """The round at which somebody should look again."""
    with store.read(project=P) as reading:
        return int(reading.need(conversations, id=TALK).recap_due)


def test_five_rounds_make_a_summary_and_ten_a_recap(store: Store) -> None:
    begin(store)
    teller = Teller()
    talk(store, *rounds(1, 4))
    assert tell(store, teller, Rules()).made == []
    talk(store, "5")
    done = tell(store, teller, Rules())
    assert [(one.sort, one.first_round, one.last_round, one.version) for one in done.made] == [("summary", 1, 5, 1)]
    talk(store, *rounds(6, 10))
    assert [one.sort for one in tell(store, teller, Rules()).made] == ["summary", "recap"]
    (recap,) = kept(store, "recap")
    assert (recap.first_round, recap.last_round, recap.state, recap.origin) == (1, 10, "fresh", "model")
    assert recap.id
    assert recap.created_at
    assert recap.text.endswith("of 2 lines.")
    assert [len(one.lines) for one in teller.asked] == [10, 10, 2]


def test_telling_again_makes_nothing_twice(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 9))
    first = tell(store)
    assert [one.rounds for one in first.made] == [(1, 2), (3, 4), (5, 6), (7, 8), (1, 2, 3, 4), (5, 6, 7, 8)]
    before, version = kept(store), store.versions(project=P)
    teller = Teller()
    assert tell(store, teller).made == []
    assert (kept(store), teller.asked, store.versions(project=P)) == (before, [], version)


def test_a_round_that_is_not_answered_yet_waits(store: Store) -> None:
    begin(store)
    talk(store, "1")
    with store.write(project=P) as tx:
        service.say(tx, TALK, Message(id="q2", role="user", content="Ask 2?"))
    assert tell(store).made == []
    with store.write(project=P) as tx:
        step = Message(id="s2", role="assistant", content="I look.", kind=Kind.ACTION, final=False)
        service.say(tx, TALK, step)
    assert tell(store).made == []
    with store.write(project=P) as tx:
        service.say(tx, TALK, Message(id="a2", role="assistant", content="Answer 2."))
    assert [one.rounds for one in tell(store).made] == [(1, 2)]


def test_a_digest_is_given_who_said_what_in_which_language_and_how_long(store: Store) -> None:
    begin(store)
    with store.write(project=P) as tx:
        participants.put(tx, Participant(id="pawn:mara", name="Mara Venn"))
        participants.put(tx, Participant(id="persona:guide", name="The Guide"))
        for number in (1, 2):
            service.say_all(
                tx,
                TALK,
                [
                    Message(id="", role="user", content=f"Where {number}?", speaker="player:1"),
                    Message(id="", role="assistant", content="Here. ", speaker="pawn:mara"),
                    Message(id="", role="assistant", content="Thinking.", kind=Kind.PLAN, final=False),
                    Message(id="", role="assistant", content="There.", speaker="persona:guide#3"),
                    Message(id="", role="assistant", content="A secret.", speaker="pawn:mara", audience=("player:1",)),
                    Message(id="", role="assistant", content="All.", speaker="Narrator"),
                    Message(id="", role="assistant", content="Bare."),
                ],
            )
    teller = Teller()
    refresh(store, P, TALK, digest=teller, language="zh", rules=replace(SMALL, seconds=2.5))
    (material,) = teller.asked
    assert material.text.split("\n")[:5] == [
        "1: Where 1?",
        "Mara Venn: Here.",
        "The Guide: There.",
        "Narrator: All.",
        "助手: Bare.",
    ]
    assert (material.sort, material.language, material.length, material.seconds) == ("summary", "zh", 200, 2.5)
    assert material.earlier == ""


def test_a_recap_is_made_of_summaries_and_knows_the_one_before_it(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 8))
    teller = Teller()
    tell(store, teller)
    first, second = (one for one in teller.asked if one.sort == "recap")
    summaries = [one.text for one in kept(store, "summary")]
    assert [str(line) for line in first.lines] == summaries[:2]
    assert [str(line) for line in second.lines] == summaries[2:]
    assert (first.earlier, second.earlier) == ("", kept(store, "recap")[0].text)


def test_only_so_many_recaps_are_kept_and_the_oldest_go_first(store: Store) -> None:
    begin(store)
    for last in range(4, 33, 4):
        talk(store, *rounds(last - 3, last))
        tell(store)
        assert len(kept(store, "recap")) <= 3
    assert [one.rounds[0] for one in kept(store, "recap")] == [21, 25, 29]
    assert len(kept(store, "summary")) == 16, "summaries stay"
    talk(store, *rounds(33, 36))
    tell(store, rules=replace(SMALL, most=1))
    assert [one.rounds[0] for one in kept(store, "recap")] == [33]
    for last in range(40, 61, 4):
        talk(store, *rounds(last - 3, last))
        tell(store, rules=replace(SMALL, most=0))
    assert len(kept(store, "recap")) == 7


def test_recaps_that_would_go_at_once_are_not_made(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 24))
    teller = Teller()
    while tell(store, teller, replace(SMALL, most=2)).left:
        pass
    assert [one.rounds[0] for one in kept(store, "recap")] == [17, 21]
    assert len([one for one in teller.asked if one.sort == "recap"]) == 2


def test_a_refresh_takes_only_so_much_upon_itself(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 30))
    teller = Teller()
    assert tell(store, teller).left
    assert len(teller.asked) == recaps.AT_ONCE
    assert due(store) == 0, "there is more to do"
    while tell(store, teller).left:
        pass
    assert len(kept(store, "summary")) == 15
    assert due(store) == 32


@pytest.mark.parametrize(
    "answer", ["", "  \n", "…", "Ask 1?", "ask 2?  ANSWER 1.", "User: Ask 1?\nAssistant: Answer 1."]
)
def test_raw_text_and_nothing_are_never_stored(store: Store, answer: str) -> None:
    begin(store)
    talk(store, *rounds(1, 2))
    done = tell(store, lambda material: answer)
    assert [(one.code, one.rounds) for one in done.failed] == [(Code.LLM_ANSWER_INVALID, (1, 2))]
    assert kept(store) == []


@pytest.mark.parametrize("answer", ["a\x00b", None, 7])
def test_what_is_no_text_is_refused(store: Store, answer: object) -> None:
    begin(store)
    talk(store, *rounds(1, 2))
    done = tell(store, lambda material: cast("str", answer))
    assert [one.code for one in done.failed] == [Code.LLM_ANSWER_INVALID]
    assert kept(store) == []


def test_a_recap_that_repeats_the_one_before_is_refused(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 8))

    def repeating(material: Material) -> str:
        return "It went on." if material.sort == "recap" else f"They spoke, of {material.lines[0].text[4:-1]}."

    done = tell(store, repeating)
    assert [one.rounds for one in done.failed] == [(5, 6, 7, 8)]
    assert [one.rounds for one in kept(store, "recap")] == [(1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("answer", "stored"),
    [
        ("Short and good.", "Short and good."),
        ("She came to the shore. " * 3, "She came to the shore. She came to the shore."),
        ("她来到了海边，看见了灯。" * 6, "她来到了海边，看见了灯。" * 4),
        ("one-long-word " * 9, "one-long-word one-long-word one-long-word…"),
        ("x" * 80, "x" * 49 + "…"),
    ],
)
def test_a_long_answer_is_cut_where_a_sentence_ends(store: Store, answer: str, stored: str) -> None:
    begin(store)
    talk(store, *rounds(1, 2))
    tell(store, lambda material: answer, replace(SMALL, longest=50))
    assert [one.text for one in kept(store)] == [stored]
    assert len(stored) <= 50


def test_a_failure_skips_these_rounds_and_the_next_refresh_tries_again(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 4))
    calls = Teller()

    def second_fails(material: Material) -> str:
        if material.lines[0].text == "Ask 3?":
            raise FabulaError(Code.LLM_FILTERED, "It was withheld.")
        return calls(material)

    done = tell(store, second_fails)
    assert [(one.rounds, one.code, one.sentence) for one in done.failed] == [
        ((3, 4), Code.LLM_FILTERED, "It was withheld.")
    ]
    assert states(store, "summary") == [((1, 2), "fresh")]
    assert due(store) == 0
    talk(store, "5")
    assert [one.rounds for one in tell(store).made] == [(3, 4), (1, 2, 3, 4)]
    assert due(store) == 6


def test_what_was_corrected_while_it_was_told_is_not_written(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 2))
    teller = Teller(lambda: correct(store, "a1", "Quite another answer."))
    done = tell(store, teller)
    assert (done.overtaken, [one.rounds for one in done.made]) == ([(1, 2)], [(1, 2)])
    assert states(store, "summary") == [((1, 2), "fresh")]
    assert [one.lines[1].text for one in teller.asked] == ["Answer 1.", "Quite another answer."]


def test_what_is_said_meanwhile_does_not_stand_in_the_way(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 2))
    done = tell(store, Teller(lambda: talk(store, "3", "4", "5")))
    assert done.overtaken == []
    assert [one.rounds for one in done.made] == [(1, 2), (3, 4), (1, 2, 3, 4)]
    assert due(store) == 6


def test_a_conversation_that_is_gone_meanwhile_is_left_alone(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 2))

    def gone() -> None:
        with store.write(project=P) as tx:
            service.remove(tx, TALK)

    with pytest.raises(FabulaError) as refused:
        tell(store, Teller(gone))
    assert refused.value.code is Code.STORE_NOT_FOUND
    with store.read(project=P) as reading:
        assert reading.count(recap_rows) == 0


def test_many_at_once_make_nothing_twice(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 8))
    ready = threading.Barrier(4)

    def together() -> None:
        ready.wait()
        tell(store)

    threads = [threading.Thread(target=together) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    tell(store)
    assert [one.rounds for one in kept(store, "summary")] == [(1, 2), (3, 4), (5, 6), (7, 8)]
    assert [one.rounds for one in kept(store, "recap")] == [(1, 2, 3, 4), (5, 6, 7, 8)]


def test_nothing_is_locked_while_a_model_thinks(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 2))

    def elsewhere() -> None:
        other = threading.Thread(target=talk, args=(store, "3"))
        other.start()
        other.join(timeout=30)
        assert not other.is_alive()

    assert len(tell(store, Teller(elsewhere)).made) == 1


def test_who_is_asked_to_stop_keeps_what_was_made(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 6))
    teller = Teller()

    def check() -> None:
        if teller.asked:
            raise FabulaError(Code.JOB_CANCELLED, "Stop.")

    with pytest.raises(FabulaError):
        refresh(store, P, TALK, digest=teller, rules=SMALL, check=check)
    assert states(store, "summary") == [((1, 2), "fresh")]


def test_a_digest_that_fails_because_it_was_stopped_is_no_failure_of_the_round(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 2))
    stopped: list[bool] = []

    def check() -> None:
        if stopped:
            raise FabulaError(Code.JOB_CANCELLED, "Stop.")

    def digest(material: Material) -> str:
        stopped.append(True)
        return failing(material)

    with pytest.raises(FabulaError) as refused:
        refresh(store, P, TALK, digest=digest, rules=SMALL, check=check)
    assert refused.value.code is Code.JOB_CANCELLED


def test_switched_off_nothing_is_made_and_recording_goes_on(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 4))
    assert tell(store, rules=replace(SMALL, on=False)).off
    assert kept(store) == []
    assert len(tell(store).made) == 3


def test_corrected_history_makes_stale_what_was_made_of_it_and_undo_makes_it_true_again(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 12))
    while tell(store).left:
        pass
    correct(store, "a3", "It was never so.")
    assert [state for _, state in states(store, "summary")] == ["fresh", "stale", *["fresh"] * 4]
    assert [state for _, state in states(store, "recap")] == ["stale", "fresh", "fresh"]
    teller = Teller()
    assert (tell(store, teller).made, teller.asked) == ([], []), "what is old waits until somebody asks"
    with store.write(project=P) as tx:
        service.undo(tx, "a3")
    assert {one.state for one in kept(store)} == {"fresh"}


def test_a_late_reply_is_told_too(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 4))
    tell(store)
    with store.write(project=P) as tx:
        service.say(tx, TALK, Message(id="late", role="assistant", content="I was late."))
    assert [state for _, state in states(store, "summary")] == ["fresh", "stale"]
    assert [one.rounds for one in tell(store).made] == [(3, 4), (1, 2, 3, 4)]
    assert {(one.state, one.version > 1) for one in kept(store)} == {("fresh", True), ("fresh", False)}


def test_another_branch_has_rounds_of_its_own(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 5))
    tell(store)
    talk(store, "6", "7", parent="a3")
    assert states(store, "summary") == [((1, 2), "fresh"), ((3, 4), "stale")]
    assert states(store, "recap") == [((1, 2, 3, 4), "stale")]
    follow(store, "a5")
    assert {one.state for one in kept(store)} == {"fresh"}
    follow(store, "a7")
    assert [one.rounds for one in tell(store).made] == [(3,), (6, 7), (1, 2, 3)]
    assert {one.state for one in kept(store)} == {"fresh"}
    follow(store, "a5")
    assert states(store, "summary") == [((1, 2), "fresh"), ((3,), "fresh"), ((6, 7), "stale")]
    assert [one.rounds for one in tell(store).made] == [(4, 5)], "what this branch had has to be told again"


def test_rounds_said_to_some_only_are_not_told(store: Store) -> None:
    begin(store)
    with store.write(project=P) as tx:
        for number in range(4):
            whisper = ("pawn:mara",)
            service.say(tx, TALK, Message(id=f"q{number}", role="user", content="Psst?", audience=whisper))
            service.say(tx, TALK, Message(id=f"a{number}", role="assistant", content="Yes.", audience=whisper))
    teller = Teller()
    assert (tell(store, teller).made, teller.asked, kept(store)) == ([], [], [])
    assert due(store) == 6
    talk(store, *rounds(5, 8))
    assert [one.rounds for one in tell(store).made] == [(5, 6), (7, 8), (5, 6, 7, 8)]


def test_long_messages_are_given_in_part(store: Store) -> None:
    begin(store)
    with store.write(project=P) as tx:
        for number in range(2):
            service.say(tx, TALK, Message(id=f"q{number}", role="user", content=f"first {'word ' * 5000} last"))
            many = [Message(id="", role="assistant", content="again and again") for _ in range(150)]
            service.say_all(tx, TALK, many)
    teller = Teller()
    tell(store, teller)
    (material,) = teller.asked
    assert len(material.text) < 13_500
    assert str(material.lines[0]).startswith("User: first word")
    assert material.lines[0].text.endswith("last")


def test_all_is_made_anew_when_somebody_asks(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 8))
    tell(store)
    correct(store, "a1", "It was never so.")
    with store.write(project=P) as tx:
        mine = kept_recaps.edit(tx, kept(store, "summary")[3].id, "In my words.")
        for gone in (kept(store, "summary")[1].id, kept(store, "recap")[1].id):
            kept_recaps.remove(tx, gone)
        anew = tx.clock()
    before = {one.id: one.text for one in kept(store)}
    teller = Teller()
    done = tell(store, teller, anew=anew)
    assert [one.rounds for one in done.made] == [(1, 2), (3, 4), (5, 6), (1, 2, 3, 4), (5, 6, 7, 8)]
    assert {one.state for one in kept(store)} == {"fresh"}
    after = {one.id: one.text for one in kept(store)}
    assert [ident for ident in before if after[ident] == before[ident]] == [mine.id]
    assert (tell(store, teller, anew=anew).made, len(teller.asked)) == ([], 5), "it is anew already"
    assert tell(store, failing, anew=FAR).made == []
    assert {one.id: one.text for one in kept(store)} == after, "who fails loses nothing"


def test_made_anew_what_belonged_to_other_branches_goes(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 6))
    tell(store)
    talk(store, *rounds(7, 10), parent="a2")
    tell(store)
    assert [state for _, state in states(store, "summary")] == ["fresh", "stale", "stale", "fresh", "fresh"]
    tell(store, anew=FAR)
    assert states(store, "summary") == [((1, 2), "fresh"), ((7, 8), "fresh"), ((9, 10), "fresh")]
    assert {state for _, state in states(store, "recap")} == {"fresh"}


def test_anew_goes_on_where_it_was_left(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 30))
    while tell(store).left:
        pass
    with store.read(project=P) as reading:
        anew = reading.clock()
    teller = Teller()
    times = 1
    while tell(store, teller, anew=anew).left:
        times += 1
    assert times == 2
    assert len(teller.asked) == 15 + 3, "each once"


def test_a_recap_of_old_takes_its_place_before_the_later_ones(store: Store) -> None:
    begin(store)
    talk(store, *rounds(1, 12))
    while tell(store).left:
        pass
    with store.write(project=P) as tx:
        kept_recaps.remove(tx, kept(store, "recap")[1].id)
    tell(store, anew=FAR)
    assert [one.rounds[0] for one in kept(store, "recap")] == [1, 5, 9]
