"""When recaps are written, from what, and which answers are not stored."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, cast

import pytest
from msgspec.structs import replace
from sqlalchemy import Row

from fabula.conversation import edits, participants
from fabula.conversation.model import Message, MessageKind
from fabula.conversation.participants import Participant
from fabula.conversation.recaps import editing
from fabula.conversation.recaps import update as recaps
from fabula.conversation.recaps.model import RecapInput, RecapRules
from fabula.conversation.recaps.schedule import RecapSchedule
from fabula.conversation.recaps.update import refresh_recaps
from fabula.conversation.tables import conversations, messages
from fabula.conversation.tables import recaps as recap_rows
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.store.queries import RowQuery
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction
from tests.conversation.recap_fixtures import (
    CONVERSATION,
    SMALL,
    FakeWriter,
    P,
    add_rounds,
    create_conversation,
    fail_to_write,
    list_entries,
    list_freshness,
    name_rounds,
    refresh,
)

FAR = "2199-01-01T00:00:00.000000Z"


def correct(store: Store, ident: str, content: str) -> None:
    with store.write(project=P) as tx:
        edits.correct_message(tx, ident, content)


def select_branch(store: Store, ident: str) -> None:
    with store.write(project=P) as tx:
        edits.select_branch(tx, CONVERSATION, ident)


def get_recap_due(store: Store) -> int:
    """The round at which somebody should look again."""
    with store.read(project=P) as reading:
        return int(reading.require(conversations, id=CONVERSATION).recap_due)


def test_five_rounds_make_a_summary_and_ten_a_recap(store: Store) -> None:
    create_conversation(store)
    teller = FakeWriter()
    add_rounds(store, *name_rounds(1, 4))
    assert refresh(store, teller, RecapRules()).entries == []
    add_rounds(store, "5")
    done = refresh(store, teller, RecapRules())
    assert [(one.kind, one.first_round, one.last_round, one.version) for one in done.entries] == [("summary", 1, 5, 1)]
    add_rounds(store, *name_rounds(6, 10))
    assert [one.kind for one in refresh(store, teller, RecapRules()).entries] == ["summary", "recap"]
    (recap,) = list_entries(store, "recap")
    assert (recap.first_round, recap.last_round, recap.freshness, recap.origin) == (1, 10, "fresh", "model")
    assert recap.id
    assert recap.created_at
    assert recap.text.endswith("of 2 lines.")
    assert [len(one.lines) for one in teller.inputs] == [10, 10, 2]


def test_telling_again_makes_nothing_twice(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 9))
    first = refresh(store)
    assert [one.rounds for one in first.entries] == [(1, 2), (3, 4), (5, 6), (7, 8), (1, 2, 3, 4), (5, 6, 7, 8)]
    before, version = list_entries(store), store.versions(project=P)
    teller = FakeWriter()
    assert refresh(store, teller).entries == []
    assert (list_entries(store), teller.inputs, store.versions(project=P)) == (before, [], version)


def test_a_round_that_is_not_answered_yet_waits(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, "1")
    with store.write(project=P) as tx:
        edits.add_message(tx, CONVERSATION, Message(id="q2", role="user", content="Ask 2?"))
    assert refresh(store).entries == []
    with store.write(project=P) as tx:
        step = Message(id="s2", role="assistant", content="I look.", kind=MessageKind.ACTION, final=False)
        edits.add_message(tx, CONVERSATION, step)
    assert refresh(store).entries == []
    with store.write(project=P) as tx:
        edits.add_message(tx, CONVERSATION, Message(id="a2", role="assistant", content="Answer 2."))
    assert [one.rounds for one in refresh(store).entries] == [(1, 2)]


def test_a_digest_is_given_who_said_what_in_which_language_and_how_long(store: Store) -> None:
    create_conversation(store)
    with store.write(project=P) as tx:
        participants.save_participant(tx, Participant(id="pawn:mara", name="Mara Venn"))
        participants.save_participant(tx, Participant(id="persona:guide", name="The Guide"))
        for number in (1, 2):
            edits.add_messages(
                tx,
                CONVERSATION,
                [
                    Message(id="", role="user", content=f"Where {number}?", speaker="player:1"),
                    Message(id="", role="assistant", content="Here. ", speaker="pawn:mara"),
                    Message(id="", role="assistant", content="Thinking.", kind=MessageKind.PLAN, final=False),
                    Message(id="", role="assistant", content="There.", speaker="persona:guide#3"),
                    Message(id="", role="assistant", content="A secret.", speaker="pawn:mara", audience=("player:1",)),
                    Message(id="", role="assistant", content="All.", speaker="Narrator"),
                    Message(id="", role="assistant", content="Bare."),
                ],
            )
    teller = FakeWriter()
    refresh_recaps(store, P, CONVERSATION, write_recap=teller, language="zh", rules=replace(SMALL, timeout=2.5))
    (material,) = teller.inputs
    assert material.text.split("\n")[:5] == [
        "1：Where 1?",
        "Mara Venn：Here.",
        "The Guide：There.",
        "Narrator：All.",
        "助手：Bare.",
    ]
    assert (material.kind, material.language, material.max_chars, material.timeout) == ("summary", "zh", 200, 2.5)
    assert material.previous_recap == ""


def test_a_recap_is_made_of_summaries_and_knows_the_one_before_it(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 8))
    teller = FakeWriter()
    refresh(store, teller)
    first, second = (one for one in teller.inputs if one.kind == "recap")
    summaries = [one.text for one in list_entries(store, "summary")]
    assert [line.render("en") for line in first.lines] == summaries[:2]
    assert [line.render("en") for line in second.lines] == summaries[2:]
    assert (first.previous_recap, second.previous_recap) == ("", list_entries(store, "recap")[0].text)


def test_only_so_many_recaps_are_kept_and_the_oldest_go_first(store: Store) -> None:
    create_conversation(store)
    for last in range(4, 33, 4):
        add_rounds(store, *name_rounds(last - 3, last))
        refresh(store)
        assert len(list_entries(store, "recap")) <= 3
    assert [one.rounds[0] for one in list_entries(store, "recap")] == [21, 25, 29]
    assert len(list_entries(store, "summary")) == 16, "summaries stay"
    add_rounds(store, *name_rounds(33, 36))
    refresh(store, rules=replace(SMALL, max_recaps=1))
    assert [one.rounds[0] for one in list_entries(store, "recap")] == [33]
    for last in range(40, 61, 4):
        add_rounds(store, *name_rounds(last - 3, last))
        refresh(store, rules=replace(SMALL, max_recaps=0))
    assert len(list_entries(store, "recap")) == 7


def test_recaps_that_would_go_at_once_are_not_made(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 24))
    teller = FakeWriter()
    while refresh(store, teller, replace(SMALL, max_recaps=2)).has_more:
        pass
    assert [one.rounds[0] for one in list_entries(store, "recap")] == [17, 21]
    assert len([one for one in teller.inputs if one.kind == "recap"]) == 2


def test_a_refresh_takes_only_so_much_upon_itself(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 30))
    teller = FakeWriter()
    assert refresh(store, teller).has_more
    assert len(teller.inputs) == recaps.MAX_CALLS
    assert get_recap_due(store) == 0, "there is more to do"
    while refresh(store, teller).has_more:
        pass
    assert len(list_entries(store, "summary")) == 15
    assert get_recap_due(store) == 32


@pytest.mark.parametrize(
    "answer", ["", "  \n", "…", "Ask 1?", "ask 2?  ANSWER 1.", "User: Ask 1?\nAssistant: Answer 1."]
)
def test_raw_text_and_nothing_are_never_stored(store: Store, answer: str) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 2))
    done = refresh(store, lambda material: answer)
    assert [(one.code, one.rounds) for one in done.failures] == [(Code.LLM_ANSWER_INVALID, (1, 2))]
    assert list_entries(store) == []


@pytest.mark.parametrize("answer", ["a\x00b", None, 7])
def test_what_is_no_text_is_refused(store: Store, answer: object) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 2))
    done = refresh(store, lambda material: cast("str", answer))
    assert [one.code for one in done.failures] == [Code.LLM_ANSWER_INVALID]
    assert list_entries(store) == []


def test_a_recap_that_repeats_the_one_before_is_refused(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 8))

    def repeating(material: RecapInput) -> str:
        return "It went on." if material.kind == "recap" else f"They spoke, of {material.lines[0].text[4:-1]}."

    done = refresh(store, repeating)
    assert [one.rounds for one in done.failures] == [(5, 6, 7, 8)]
    assert [one.rounds for one in list_entries(store, "recap")] == [(1, 2, 3, 4)]


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
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 2))
    refresh(store, lambda material: answer, replace(SMALL, max_chars=50))
    assert [one.text for one in list_entries(store)] == [stored]
    assert len(stored) <= 50


def test_a_failure_skips_these_rounds_and_the_next_refresh_tries_again(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 4))
    calls = FakeWriter()

    def second_fails(material: RecapInput) -> str:
        if material.lines[0].text == "Ask 3?":
            raise FabulaError(Code.LLM_FILTERED, message("It was withheld."))
        return calls(material)

    done = refresh(store, second_fails)
    assert [(one.rounds, one.code, str(one.sentence)) for one in done.failures] == [
        ((3, 4), Code.LLM_FILTERED, "It was withheld.")
    ]
    assert list_freshness(store, "summary") == [((1, 2), "fresh")]
    assert get_recap_due(store) == 0
    add_rounds(store, "5")
    assert [one.rounds for one in refresh(store).entries] == [(3, 4), (1, 2, 3, 4)]
    assert get_recap_due(store) == 6


def test_what_was_corrected_while_it_was_told_is_not_written(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 2))
    teller = FakeWriter(lambda: correct(store, "a1", "Quite another answer."))
    done = refresh(store, teller)
    assert (done.superseded, [one.rounds for one in done.entries]) == ([(1, 2)], [(1, 2)])
    assert list_freshness(store, "summary") == [((1, 2), "fresh")]
    assert [one.lines[1].text for one in teller.inputs] == ["Answer 1.", "Quite another answer."]


def test_what_is_said_meanwhile_does_not_stand_in_the_way(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 2))
    done = refresh(store, FakeWriter(lambda: add_rounds(store, "3", "4", "5")))
    assert done.superseded == []
    assert [one.rounds for one in done.entries] == [(1, 2), (3, 4), (1, 2, 3, 4)]
    assert get_recap_due(store) == 6


def test_texts_are_stored_though_a_message_comes_whenever_the_rounds_were_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 4))
    names, load = iter(range(5, 100)), recaps._Refresh.load_schedule

    def load_and_talk(own: recaps._Refresh) -> RecapSchedule:
        schedule = load(own)
        add_rounds(store, str(next(names)))
        return schedule

    monkeypatch.setattr(recaps._Refresh, "load_schedule", load_and_talk)
    done = refresh(store)
    assert done.superseded == []
    assert [one.rounds for one in done.entries][:3] == [(1, 2), (3, 4), (5, 6)]
    assert (1, 2, 3, 4) in [one.rounds for one in done.entries]


def test_a_conversation_that_is_gone_meanwhile_is_left_alone(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 2))

    def gone() -> None:
        with store.write(project=P) as tx:
            edits.remove_conversation(tx, CONVERSATION)

    with pytest.raises(FabulaError) as refused:
        refresh(store, FakeWriter(gone))
    assert refused.value.code is Code.STORE_NOT_FOUND
    with store.read(project=P) as reading:
        assert reading.count(recap_rows) == 0


def test_many_at_once_make_nothing_twice(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 8))
    ready = threading.Barrier(4)

    def together() -> None:
        ready.wait()
        refresh(store)

    threads = [threading.Thread(target=together) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    refresh(store)
    assert [one.rounds for one in list_entries(store, "summary")] == [(1, 2), (3, 4), (5, 6), (7, 8)]
    assert [one.rounds for one in list_entries(store, "recap")] == [(1, 2, 3, 4), (5, 6, 7, 8)]


def test_nothing_is_locked_while_a_model_thinks(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 2))

    def elsewhere() -> None:
        other = threading.Thread(target=add_rounds, args=(store, "3"))
        other.start()
        other.join(timeout=30)
        assert not other.is_alive()

    assert len(refresh(store, FakeWriter(elsewhere)).entries) == 1


def test_who_is_asked_to_stop_keeps_what_was_made(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 6))
    teller = FakeWriter()

    def check() -> None:
        if teller.inputs:
            raise FabulaError(Code.JOB_CANCELLED, message("Stop."))

    with pytest.raises(FabulaError):
        refresh_recaps(store, P, CONVERSATION, write_recap=teller, rules=SMALL, check=check)
    assert list_freshness(store, "summary") == [((1, 2), "fresh")]


def test_a_digest_that_fails_because_it_was_stopped_is_no_failure_of_the_round(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 2))
    stopped: list[bool] = []

    def check() -> None:
        if stopped:
            raise FabulaError(Code.JOB_CANCELLED, message("Stop."))

    def digest(material: RecapInput) -> str:
        stopped.append(True)
        return fail_to_write(material)

    with pytest.raises(FabulaError) as refused:
        refresh_recaps(store, P, CONVERSATION, write_recap=digest, rules=SMALL, check=check)
    assert refused.value.code is Code.JOB_CANCELLED


def test_switched_off_nothing_is_made_and_recording_goes_on(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 4))
    assert refresh(store, rules=replace(SMALL, enabled=False)).disabled
    assert list_entries(store) == []
    assert len(refresh(store).entries) == 3


def test_corrected_history_makes_stale_what_was_made_of_it_and_undo_makes_it_true_again(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 12))
    while refresh(store).has_more:
        pass
    correct(store, "a3", "It was never so.")
    assert [state for _, state in list_freshness(store, "summary")] == ["fresh", "stale", *["fresh"] * 4]
    assert [state for _, state in list_freshness(store, "recap")] == ["stale", "fresh", "fresh"]
    teller = FakeWriter()
    assert (refresh(store, teller).entries, teller.inputs) == ([], []), "what is old waits until somebody asks"
    with store.write(project=P) as tx:
        edits.undo_correction(tx, "a3")
    assert {one.freshness for one in list_entries(store)} == {"fresh"}


def test_a_late_reply_is_told_too(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 4))
    refresh(store)
    with store.write(project=P) as tx:
        edits.add_message(tx, CONVERSATION, Message(id="late", role="assistant", content="I was late."))
    assert [state for _, state in list_freshness(store, "summary")] == ["fresh", "stale"]
    assert [one.rounds for one in refresh(store).entries] == [(3, 4), (1, 2, 3, 4)]
    assert {(one.freshness, one.version > 1) for one in list_entries(store)} == {("fresh", True), ("fresh", False)}


def test_another_branch_has_rounds_of_its_own(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 5))
    refresh(store)
    add_rounds(store, "6", "7", parent="a3")
    assert list_freshness(store, "summary") == [((1, 2), "fresh"), ((3, 4), "stale")]
    assert list_freshness(store, "recap") == [((1, 2, 3, 4), "stale")]
    select_branch(store, "a5")
    assert {one.freshness for one in list_entries(store)} == {"fresh"}
    select_branch(store, "a7")
    assert [one.rounds for one in refresh(store).entries] == [(3,), (6, 7), (1, 2, 3)]
    assert {one.freshness for one in list_entries(store)} == {"fresh"}
    select_branch(store, "a5")
    assert list_freshness(store, "summary") == [((1, 2), "fresh"), ((3,), "fresh"), ((6, 7), "stale")]
    assert [one.rounds for one in refresh(store).entries] == [(4, 5)], "what this branch had has to be told again"


def test_rounds_said_to_some_only_are_not_told(store: Store) -> None:
    create_conversation(store)
    with store.write(project=P) as tx:
        for number in range(4):
            whisper = ("pawn:mara",)
            edits.add_message(
                tx, CONVERSATION, Message(id=f"q{number}", role="user", content="Psst?", audience=whisper)
            )
            edits.add_message(
                tx, CONVERSATION, Message(id=f"a{number}", role="assistant", content="Yes.", audience=whisper)
            )
    teller = FakeWriter()
    assert (refresh(store, teller).entries, teller.inputs, list_entries(store)) == ([], [], [])
    assert get_recap_due(store) == 6
    add_rounds(store, *name_rounds(5, 8))
    assert [one.rounds for one in refresh(store).entries] == [(5, 6), (7, 8), (5, 6, 7, 8)]


def test_long_messages_are_given_in_part(store: Store) -> None:
    create_conversation(store)
    with store.write(project=P) as tx:
        for number in range(2):
            edits.add_message(
                tx, CONVERSATION, Message(id=f"q{number}", role="user", content=f"first {'word ' * 5000} last")
            )
            many = [Message(id="", role="assistant", content="again and again") for _ in range(150)]
            edits.add_messages(tx, CONVERSATION, many)
    teller = FakeWriter()
    refresh(store, teller, replace(SMALL, max_messages=1000, max_tokens=100_000, window_tokens=100_000))
    (material,) = teller.inputs
    assert len(material.text) < 13_500
    assert material.lines[0].render("en").startswith("User: first word")
    assert material.lines[0].text.endswith("last")


def test_all_is_made_anew_when_somebody_asks(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 8))
    refresh(store)
    correct(store, "a1", "It was never so.")
    with store.write(project=P) as tx:
        mine = editing.edit_recap(tx, list_entries(store, "summary")[3].id, "In my words.")
        for gone in (list_entries(store, "summary")[1].id, list_entries(store, "recap")[1].id):
            editing.remove_recap(tx, gone)
        anew = tx.current_time()
    before = {one.id: one.text for one in list_entries(store)}
    teller = FakeWriter()
    done = refresh(store, teller, rebuild_before=anew)
    assert [one.rounds for one in done.entries] == [(1, 2), (3, 4), (5, 6), (1, 2, 3, 4), (5, 6, 7, 8)]
    assert {one.freshness for one in list_entries(store)} == {"fresh"}
    after = {one.id: one.text for one in list_entries(store)}
    assert [ident for ident in before if after[ident] == before[ident]] == [mine.id]
    assert (refresh(store, teller, rebuild_before=anew).entries, len(teller.inputs)) == ([], 5), "it is anew already"
    assert refresh(store, fail_to_write, rebuild_before=FAR).entries == []
    assert {one.id: one.text for one in list_entries(store)} == after, "who fails loses nothing"


def test_made_anew_what_belonged_to_other_branches_goes(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 6))
    refresh(store)
    add_rounds(store, *name_rounds(7, 10), parent="a2")
    refresh(store)
    assert [state for _, state in list_freshness(store, "summary")] == ["fresh", "stale", "stale", "fresh", "fresh"]
    refresh(store, rebuild_before=FAR)
    assert list_freshness(store, "summary") == [((1, 2), "fresh"), ((7, 8), "fresh"), ((9, 10), "fresh")]
    assert {state for _, state in list_freshness(store, "recap")} == {"fresh"}


def test_anew_goes_on_where_it_was_left(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 30))
    while refresh(store).has_more:
        pass
    with store.read(project=P) as reading:
        anew = reading.current_time()
    teller = FakeWriter()
    times = 1
    while refresh(store, teller, rebuild_before=anew).has_more:
        times += 1
    assert times == 2
    assert len(teller.inputs) == 15 + 3, "each once"


def test_a_recap_of_old_takes_its_place_before_the_later_ones(store: Store) -> None:
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 12))
    while refresh(store).has_more:
        pass
    with store.write(project=P) as tx:
        editing.remove_recap(tx, list_entries(store, "recap")[1].id)
    refresh(store, rebuild_before=FAR)
    assert [one.rounds[0] for one in list_entries(store, "recap")] == [1, 5, 9]


def test_a_look_that_finds_nothing_due_reads_the_newest_rounds_only(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_conversation(store)
    read: list[int] = []
    plain = ReadTransaction.query

    def count(self: ReadTransaction, prepared: RowQuery, **values: object) -> Sequence[Row[Any]]:
        rows = plain(self, prepared, **values)
        if prepared.table is messages:
            read.append(len(rows))
        return rows

    for first in range(1, 100, 4):
        add_rounds(store, *name_rounds(first, first + 3))
        assert refresh(store, FakeWriter(), SMALL).entries
    add_rounds(store, "101")
    monkeypatch.setattr(ReadTransaction, "query", count)
    assert refresh(store, FakeWriter(), SMALL).entries == []
    assert len(read) == 1
    assert sum(read) < 100, "of 202 messages"


def test_a_look_at_the_newest_rounds_finds_a_correction_and_another_branch(store: Store) -> None:
    create_conversation(store)
    for first in range(1, 40, 4):
        add_rounds(store, *name_rounds(first, first + 3))
        refresh(store, FakeWriter(), SMALL)
    assert refresh(store, FakeWriter(), SMALL).entries == []
    correct(store, "q39", "Something else?")
    assert [one.kind for one in refresh(store, FakeWriter(), SMALL).entries] == ["summary", "recap"]
    assert refresh(store, FakeWriter(), SMALL).entries == []
    add_rounds(store, "b1", parent="a20")
    assert refresh(store, FakeWriter(), SMALL).entries == [], "one round is too few"
    add_rounds(store, "b2")
    assert [one.rounds for one in refresh(store, FakeWriter(), SMALL).entries] == [(41, 42)]
