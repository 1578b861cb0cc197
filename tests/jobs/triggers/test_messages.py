"""From something said to a recap: what is queued with it, and what becomes of that."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event

from fabula.conversation import edits as service
from fabula.conversation.model import Message
from fabula.conversation.model import MessageKind as MessageKind
from fabula.conversation.modes import ContextPolicy
from fabula.conversation.recaps import editing as kept_recaps
from fabula.conversation.recaps.model import RecapEntry, RecapInput, RecapRules, WriteRecap
from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.jobs import queue as jobs_service
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobKind, JobOutcome, JobState, JobSummary
from fabula.jobs.tables import jobs
from fabula.jobs.triggers import messages as after_saying
from fabula.jobs.triggers import recap_settings
from fabula.jobs.triggers.messages import RECAP_JOB
from fabula.jobs.worker import Worker
from fabula.manuscript import projects
from fabula.settings import edits as settings
from fabula.settings.tables import settings as settings_table
from fabula.store.store import Store
from fabula.workspace.handlers.recaps import update_with

P, TALK = "p", "talk"
KEY = f"{RECAP_JOB}:{TALK}"


@pytest.fixture
def house(store: Store) -> Store:
    """A store that is followed, with a conversation in it."""
    after_saying.connect(store)
    after_saying.connect(store)
    recap_settings.connect(store)
    projects.create(store, "Followed", project_id=P)
    with store.write(project=P) as tx:
        service.start_conversation(tx, TALK)
    return store


def say(store: Store, role: str, content: str, **more: Any) -> None:
    with store.write(project=P) as tx:
        service.add_message(
            tx, TALK, Message(id="", role="user" if role == "user" else "assistant", content=content, **more)
        )


def talk(store: Store, first: int, last: int) -> None:
    for number in range(first, last + 1):
        say(store, "user", f"Ask {number}?")
        say(store, "assistant", f"Answer {number}.")


def cards(store: Store) -> dict[str, JobSummary]:
    with store.read(project=P) as reading:
        return {one.key: one for one in jobs_service.list_jobs(reading)}


def set_to(store: Store, **values: object) -> None:
    with store.write(project=P) as tx:
        for name, value in values.items():
            former = f"budget.{name}" if name == "maxLatencyMs" else f"history.{name}"
            if value is None:
                settings.reset(tx, former)
            else:
                settings.set_value(tx, former, value)


def run(store: Store, digest: WriteRecap | None) -> None:
    """As if the pause had passed: what is queued is done."""

    def handler(job: Job, stop: CancellationToken) -> JobOutcome:
        return update_with(digest, store, job, stop, "en")

    with store.write(project=P) as tx:
        tx.update_rows(jobs, {"due": tx.current_time()}, jobs.c.state == JobState.QUEUED.value)
    Worker(
        store,
        {RECAP_JOB: JobKind(handler=handler, costs_money=True, max_tries=1, breaker_threshold=1000)},
        poll_seconds=0.02,
    ).drain()


def told(store: Store, sort: str = "") -> list[RecapEntry]:
    with store.read(project=P) as reading:
        return [one for one in kept_recaps.list_recaps(reading, TALK) if sort in ("", one.kind)]


class Teller:
    """Tells things in words of its own."""

    def __init__(self) -> None:
        self.asked: list[RecapInput] = []

    def __call__(self, material: RecapInput) -> str:
        self.asked.append(material)
        return f"Telling {len(self.asked)}."


def gone(material: RecapInput) -> str:
    raise FabulaError(Code.LLM_GONE, message("The provider is gone."))


def test_the_fifth_answer_queues_a_summary_and_the_tenth_a_recap(house: Store) -> None:
    talk(house, 1, 4)
    say(house, "user", "Ask 5?")
    assert cards(house) == {}, "nobody has answered yet"
    say(house, "assistant", "I look.", kind=MessageKind.ACTION, final=False)
    say(house, "assistant", "I saw.", kind=MessageKind.OBSERVATION)
    assert cards(house) == {}, "that was no final reply"
    say(house, "assistant", "Answer 5.")
    assert set(cards(house)) == {KEY}
    card = cards(house)[KEY]
    assert (card.kind, card.state, card.due_at > card.queued_at) == (RECAP_JOB, JobState.QUEUED, True)
    teller = Teller()
    run(house, teller)
    assert [one.kind for one in told(house)] == ["summary"]
    assert cards(house)[KEY].state is JobState.DONE, "telling it was nothing said"
    talk(house, 6, 9)
    assert cards(house)[KEY].state is JobState.DONE
    talk(house, 10, 10)
    run(house, teller)
    assert [one.rounds[-1] for one in told(house)] == [5, 10, 10]


def test_a_job_is_kept_with_what_was_said_or_not_at_all(house: Store) -> None:
    talk(house, 1, 4)
    say(house, "user", "Ask 5?")
    twice = [Message(id="one", role="assistant", content=f"Answer {number}.") for number in (5, 6)]
    with pytest.raises(FabulaError) as refused, house.write(project=P) as tx:
        service.add_messages(tx, TALK, twice)
    assert refused.value.code is Code.STORE_DUPLICATE
    assert cards(house) == {}


def test_a_whole_conversation_at_once_is_one_job_that_goes_on_until_all_is_told(house: Store) -> None:
    many = [
        Message(id="", role="user" if half == 0 else "assistant", content=f"Words {number} {half}.")
        for number in range(123)
        for half in (0, 1)
    ]
    with house.write(project=P) as tx:
        service.add_messages(tx, TALK, many)
    assert set(cards(house)) == {KEY}
    teller = Teller()
    run(house, teller)
    assert (len(told(house, "summary")), len(told(house, "recap"))) == (24, 12)
    assert len(teller.asked) == 36
    with house.read(project=P) as reading:
        assert reading.require(conversations, id=TALK).recap_due == 125


def test_a_failure_is_said_once_and_tried_again_when_the_next_round_comes(house: Store) -> None:
    talk(house, 1, 5)
    run(house, gone)
    card = cards(house)[KEY]
    assert (card.state, card.reason, card.tries) == (JobState.FAILED, "LLM_GONE", 1)
    assert card.note == "Rounds 1 to 5 have no recap: The provider is gone."
    assert told(house) == []
    talk(house, 6, 6)
    assert cards(house)[KEY].state is JobState.QUEUED
    run(house, Teller())
    assert [one.rounds for one in told(house)] == [(1, 2, 3, 4, 5)]
    talk(house, 7, 9)
    assert cards(house)[KEY].state is JobState.DONE


def test_without_a_model_nothing_is_made_and_the_job_says_why(house: Store) -> None:
    talk(house, 1, 5)
    run(house, None)
    assert (cards(house)[KEY].state, cards(house)[KEY].reason) == (JobState.FAILED, "RECAP_NO_MODEL")
    assert told(house) == []


def test_switched_off_nothing_is_queued_and_nothing_is_made(house: Store) -> None:
    talk(house, 1, 5)
    set_to(house, recaps=False)
    teller = Teller()
    run(house, teller)
    assert (teller.asked, told(house)) == ([], [])
    talk(house, 6, 11)
    assert cards(house)[KEY].state is JobState.DONE
    set_to(house, recaps=True)
    talk(house, 12, 12)
    run(house, teller)
    assert len(told(house, "summary")) == 2, "what was said meanwhile is told now"


def test_settings_take_effect_at_once(house: Store) -> None:
    set_to(house, summaryEveryNRounds=2, recapUpdateEveryRounds=2, recapMaxEntries=1, recapMaxChars=40)
    set_to(house, maxLatencyMs=1500)
    talk(house, 1, 2)
    teller = Teller()
    run(house, teller)
    assert [(one.kind, one.rounds) for one in told(house)] == [("summary", (1, 2)), ("recap", (1, 2))]
    assert (teller.asked[0].max_chars, teller.asked[0].timeout) == (40, 1.5)
    set_to(house, summaryEveryNRounds=None, recapUpdateEveryRounds=3)
    talk(house, 3, 6)
    run(house, teller)
    assert len(told(house)) == 2
    talk(house, 7, 7)
    run(house, teller)
    assert [one.rounds for one in told(house, "recap")] == [(3, 4, 5, 6, 7)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("history.recaps", "yes"),
        ("history.summaryEveryNRounds", 0),
        ("history.summaryEveryNRounds", True),
        ("history.summaryEveryNRounds", 2.5),
        ("history.recapUpdateEveryRounds", -1),
        ("history.recapMaxEntries", "20"),
        ("history.recapMaxChars", 3),
        ("budget.maxLatencyMs", 1e9),
        ("history.unheardOf", 1),
        ("history.unheardOf", None),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(house: Store, name: str, value: object) -> None:
    with pytest.raises(FabulaError) as refused, house.write(project=P) as tx:
        settings.set_value(tx, name, value)
    assert refused.value.code is Code.SETTING_INVALID
    assert "Nothing was changed" in refused.value.sentence


def test_a_setting_that_came_in_another_way_counts_as_not_set(house: Store, caplog: pytest.LogCaptureFixture) -> None:
    with house.write(project=P) as tx:
        tx.insert(settings_table, {"name": "History.SummaryEveryNRounds", "value": "often"})
        settings.set_value(tx, "History.RecapDictMaxEntries", 7)
        expected = (RecapRules(max_recaps=7), ("History.SummaryEveryNRounds",))
        assert recap_settings.read_recap_rules(tx) == expected
    talk(house, 1, 5)
    with caplog.at_level("WARNING", logger="fabula.jobs"):
        run(house, Teller())
    assert len(told(house, "summary")) == 1
    assert "History.SummaryEveryNRounds" in caplog.text
    assert "often" not in caplog.text


def test_another_branch_is_looked_at_with_its_first_answer(house: Store) -> None:
    talk(house, 1, 9)
    run(house, Teller())
    with house.write(project=P) as tx:
        fork = service.get_conversation(tx, TALK).leaf_id or ""
        service.add_message(tx, TALK, Message(id="", role="user", content="Elsewhere?"), as_first=True)
    talk(house, 11, 13)
    run(house, Teller())
    with house.write(project=P) as tx:
        service.select_branch(tx, TALK, fork)
    talk(house, 14, 14)
    assert cards(house)[KEY].state is JobState.QUEUED
    run(house, Teller())
    assert (6, 7, 8, 9, 14) in [one.rounds for one in told(house, "summary")]


def test_all_is_made_anew_by_a_job_of_its_own(house: Store) -> None:
    talk(house, 1, 10)
    run(house, Teller())
    before = told(house)
    with house.write(project=P) as tx:
        key = after_saying.queue_rebuild(tx, TALK)
    talk(house, 11, 15)
    assert {one: card.state for one, card in cards(house).items()} == {KEY: JobState.QUEUED, key: JobState.QUEUED}
    teller = Teller()
    teller.asked += [RecapInput(kind="recap", lines=(), previous_recap="", language="en", max_chars=1, timeout=1)] * 50
    run(house, teller)
    assert {card.state for card in cards(house).values()} == {JobState.DONE}
    after = {one.id: one.text for one in told(house)}
    assert all(after[one.id] != one.text for one in before)
    with pytest.raises(FabulaError) as refused, house.write(project=P) as tx:
        after_saying.queue_rebuild(tx, "nowhere")
    assert refused.value.code is Code.STORE_NOT_FOUND


def test_a_conversation_that_is_gone_is_nobodys_work(house: Store) -> None:
    talk(house, 1, 5)
    with house.write(project=P) as tx:
        service.remove_conversation(tx, TALK)
    run(house, gone)
    assert cards(house)[KEY].state is JobState.DONE


def test_a_job_that_is_told_to_stop_stops(house: Store) -> None:
    talk(house, 1, 5)
    stop = CancellationToken()
    stop.cancel(Code.JOB_CANCELLED)
    job = Job(project_id=P, key=KEY, kind=RECAP_JOB, work={"conversation": TALK}, tries=1)
    with pytest.raises(FabulaError) as refused:
        update_with(gone, house, job, stop, "en")
    assert refused.value.code is Code.JOB_CANCELLED


def test_neither_a_reply_nor_a_request_asks_a_question_more_however_much_was_said(house: Store, address: str) -> None:
    plain = Store.open(address)
    asked: list[str] = []

    def count(*what: Any) -> None:
        asked.append(str(what[2]))

    def questions(store: Store, role: str) -> int:
        asked.clear()
        say(store, role, "Words.")
        return len(asked)

    for store in (house, plain):
        event.listen(store.engine, "before_cursor_execute", count)
    with plain.write(project=P) as tx:
        due = {"recap_due": 1000, "said_due": 1000, "tokens_due": 10_000}
        tx.update_rows(conversations, due, conversations.c.id == TALK)
    for _ in range(2):
        for role in ("user", "assistant"):
            assert questions(house, role) == questions(plain, role)
        with plain.write(project=P) as tx:
            service.add_messages(
                tx, TALK, [Message(id="", role="user", content=f"More {number}.") for number in range(200)]
            )
    plain.close()


def test_a_mode_says_from_when_on_history_is_summarised_unless_the_project_does(
    house: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recap_settings, "read_policy", lambda *_: ContextPolicy(summary_messages=6))
    set_to(house, summaryEveryNRounds=100)
    talk(house, 1, 3)
    assert KEY not in cards(house)
    talk(house, 4, 4)
    assert KEY in cards(house)
    with house.read(project=P) as reading:
        assert recap_settings.read_recap_rules(reading, "free_chat")[0].max_messages == 6
    with house.write(project=P) as tx:
        settings.set_value(tx, "History.SummaryOverMessages", 40)
        assert recap_settings.read_recap_rules(tx, "free_chat")[0].max_messages == 40


def test_another_window_counts_at_once(house: Store) -> None:
    talk(house, 1, 5)
    run(house, Teller())
    talk(house, 6, 7)
    assert len(told(house, "summary")) == 1
    with house.write(project=P) as tx:
        settings.set_value(tx, "maxHistoryTokens", 10)
    talk(house, 8, 8)
    run(house, Teller())
    assert len(told(house, "summary")) > 1, "what the smaller window does not show"


def test_what_a_window_does_not_show_after_a_step_is_summarised(house: Store) -> None:
    with house.write(project=P) as tx:
        settings.set_value(tx, "maxHistoryTokens", 2000)
    with house.read(project=P) as reading:
        assert recap_settings.read_recap_rules(reading)[0].window_tokens == 500


def test_what_the_window_of_a_mode_does_not_show_is_summarised(house: Store) -> None:
    with house.read(project=P) as reading:
        rules = recap_settings.read_recap_rules(reading, "quiz")[0]
        assert rules.max_messages == 10, "half of the window stays when it steps"
        assert recap_settings.read_recap_rules(reading, "no such mode")[0].max_messages == 60


def test_the_conversation_of_a_chapter_is_never_summarised(house: Store) -> None:
    with house.write(project=P) as tx:
        service.start_conversation(tx, "document:ch-1")
        for _ in range(100):
            service.add_message(tx, "document:ch-1", Message(id="", role="user", content="Go on."))
            service.add_message(tx, "document:ch-1", Message(id="", role="assistant", content="It rained."))
    assert not cards(house)


def test_a_chat_that_comes_with_its_branches_is_followed_though_its_last_line_is_of_another_branch(
    house: Store,
) -> None:
    tree: list[Message] = []
    for number in range(12):
        parent = tree[-1].id if tree else None
        tree.append(Message(id=f"ask-{number}", role="user", content="Ask?", parent_id=parent))
        tree.append(Message(id=f"answer-{number}", role="assistant", content="So.", parent_id=f"ask-{number}"))
    other = Message(id="other", role="user", content="Or?", parent_id="answer-3")
    with house.write(project=P) as tx:
        service.save_tree(tx, "brought", [*tree, other], "answer-11")
    assert f"{RECAP_JOB}:brought" in cards(house)
