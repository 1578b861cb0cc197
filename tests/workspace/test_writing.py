"""Writing: from a request to text on the page, against a server that speaks as models do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from fabula.codex import Codex, Entry, Progression
from fabula.codex import edits as codex_service
from fabula.context import View
from fabula.continuity import edits as continuity_service
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.llm import runs
from fabula.llm.provider_config import ProviderConfig, RetryPolicy
from fabula.llm.providers import make_provider
from fabula.manuscript import documents as document_service
from fabula.manuscript.tables import documents, marks, synopses
from fabula.memory.outcomes import list_outcomes
from fabula.store.store import Store
from fabula.workspace.read_only import open_read_only
from fabula.workspace.view_copies import copy_view
from fabula.workspace.workspace import Workspace
from fabula.workspace.writing import Completed, Failed, Retry, TextDelta, Writer, WritingEvent
from fabula.workspace.writing_options import JudgeOptions, WritingOptions
from tests.llm.server import Exchange, ModelServer, chunk, error_answer, openai_answer, run_server

QUICK = RetryPolicy(silence_seconds=5, max_attempts=2, first_delay=0.01)
PLAIN = WritingOptions(retry_policy=QUICK)


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("TEST_KEY", "sk-test")
    with run_server() as running:
        yield running


class StoredSample:
    """A stored copy of the English sample, and a model at its side."""

    def __init__(self, store: Store, server: ModelServer) -> None:
        self.store, self.server = store, server
        self.project = copy_view(store, _sample(), title="Sample")
        self.workspace = Workspace(store)
        self.handle = self.workspace.project(self.project)

    def write(self, terms: WritingOptions = PLAIN, variants: int = 1, **wishes: Any) -> list[WritingEvent]:
        async def run() -> list[WritingEvent]:
            place = ProviderConfig(name="openai", base_url=self.server.url, key_variable="TEST_KEY", retry_policy=QUICK)
            provider = make_provider(place)
            writer = Writer(self.handle, provider, options=terms)
            request = self.handle.request(**{"model": "gpt-4o", "window": 8192, **wishes})
            try:
                return [step async for step in writer.write(request, variants=variants)]
            finally:
                await provider.aclose()

        return asyncio.run(run())

    def runs(self) -> list[runs.GenerationRun]:
        with self.store.read(project=self.project) as reading:
            return runs.list_runs(reading)

    def text(self, document: str) -> str:
        with self.store.read(project=self.project) as reading:
            return str(reading.require(documents, id=document).text)


@cache
def _sample() -> View:
    return open_read_only("sample:lantern_coast").view


@pytest.fixture
def sample(store: Store, model_server: ModelServer) -> StoredSample:
    return StoredSample(store, model_server)


def finished(steps: list[WritingEvent]) -> Completed:
    last = steps[-1]
    assert isinstance(last, Completed)
    return last


def test_text_streams_and_the_run_is_on_record_with_what_it_cost_and_saw(sample: StoredSample) -> None:
    usage = {"prompt_tokens": 4000, "completion_tokens": 4, "total_tokens": 4004}
    sample.server.script = openai_answer("The sea ", "was quiet.", usage=usage)
    steps = sample.write()
    assert [step.text for step in steps if isinstance(step, TextDelta)] == ["The sea ", "was quiet."]
    end = finished(steps)
    assert end.text == "The sea was quiet."
    assert end.cost.micros == 4000 * 2.5 + 4 * 10
    kept = sample.runs()[0]
    assert (kept.id, kept.answer, kept.outcome, kept.model) == (end.run_id, end.text, "open", "openai/gpt-4o")
    assert kept.prompt is None
    assert kept.prefix_hash
    assert kept.assembly_summary["layers"]["immediate"] > 0
    assert any(source.startswith("constraint:") for source in kept.assembly_summary["sources"])
    assert "lantern" not in json.dumps(kept.assembly_summary).lower().replace("codex:entity:", "").split("sources")[0]


def test_an_answer_counts_though_many_other_prompts_were_made_meanwhile(
    sample: StoredSample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuity_service, "MAX_ASSEMBLIES", 1)
    answer = openai_answer("The tide turned.")

    async def answer_late(exchange: Exchange) -> None:
        for document in ("ch-01", "ch-02"):
            sample.handle.assemble(sample.handle.request(document_id=document, window=8192))
        sample.workspace.flush()
        await answer(exchange)

    sample.server.script = answer_late
    assert isinstance(sample.write()[-1], Completed)


def test_the_text_so_far_is_on_record_while_it_is_written_and_only_its_id_accepts_it(
    sample: StoredSample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.workspace.writing.KEEP_SECONDS", 0.01)
    seen: list[runs.GenerationRun] = []

    async def wait_for_text(exchange: Exchange) -> None:
        await exchange.send_head()
        await exchange.send_event(chunk("The sea "))
        for _ in range(2_000):
            seen[:] = await asyncio.to_thread(sample.runs)
            if seen[0].answer:
                break
            await asyncio.sleep(0.01)
        await exchange.send_event(chunk("was quiet."))
        await exchange.send_event(chunk(why="stop"))
        await exchange.send_event("[DONE]")

    sample.server.script = wait_for_text
    end = finished(sample.write())
    assert (seen[0].id, seen[0].answer, seen[0].outcome) == (end.run_id, "The sea ", "begun")
    assert (sample.runs()[0].answer, sample.runs()[0].outcome) == ("The sea was quiet.", "open")


def test_the_text_of_a_run_whose_process_was_killed_stays_and_reaches_the_chapter_if_it_is_accepted(
    sample: StoredSample,
) -> None:
    sample.server.script = openai_answer("The sea was quiet.")
    ended = finished(sample.write()).run_id
    document = sample.runs()[0].document_id
    begun = replace(sample.runs()[0], id="", answer="The tide fell", outcome="begun")
    with sample.store.write(project=sample.project) as tx:  # as a process leaves it that is killed
        killed = runs.record_run(tx, begun)
    assert (sample.runs()[0].id, sample.runs()[0].answer) == (killed, "The tide fell")
    assert "The tide fell" not in sample.handle.assemble(sample.handle.request(document_id=document)).prompt
    assert sample.handle.runs.reject("last").id == ended
    sample.handle.runs.accept(killed)
    assert "The tide fell" in sample.text(document)
    with sample.store.write(project=sample.project) as tx:  # it was being written after all
        runs.record_run(tx, replace(begun, id=killed, answer="The tide fell slowly.", outcome="open"))
    assert (sample.runs()[0].answer, sample.runs()[0].outcome) == ("The tide fell", "accepted")


def test_prompts_are_kept_only_where_that_was_turned_on(sample: StoredSample) -> None:
    sample.write(WritingOptions(retry_policy=QUICK, keep_prompts=True))
    assert "Continue the text" in (sample.runs()[0].prompt or "")


def test_accepting_puts_the_text_at_the_cursor_marks_it_and_tells_memory(sample: StoredSample) -> None:
    sample.server.script = openai_answer("The sea was quiet.")
    document = sample.handle.request().document_id
    with sample.store.write(project=sample.project) as tx:
        document_service.write(tx, document, sample.text(document).rstrip() + "\n\n")
    before = sample.text(document)
    run_id = finished(sample.write(cursor=len(before))).run_id
    sample.handle.runs.accept(run_id)
    assert sample.text(document) == before + "The sea was quiet."
    with sample.store.read(project=sample.project) as reading:
        mark = reading.rows(marks)[0]
        assert (mark.start, mark.end, mark.run_id) == (len(before), len(before) + 18, run_id)
        assert [outcome.decision.value for outcome in list_outcomes(reading)] == ["accepted"]
        assert runs.get_run(reading, run_id).outcome == "accepted"
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.reject(run_id)
    assert refusal.value.code is Code.STORE_CONFLICT


def test_an_edited_answer_goes_in_as_edited_and_memory_sees_both(sample: StoredSample) -> None:
    sample.server.script = openai_answer("The sea was quiet!")
    run_id = finished(sample.write()).run_id
    sample.handle.runs.accept(run_id, text="The sea was quiet.")
    with sample.store.read(project=sample.project) as reading:
        outcome = list_outcomes(reading)[0]
        assert (outcome.suggestion, outcome.rewritten_text) == ("The sea was quiet!", "The sea was quiet.")
        assert runs.get_run(reading, run_id).outcome == "edited"


def test_a_selection_is_replaced(sample: StoredSample) -> None:
    sample.server.script = openai_answer("Dusk.")
    document = sample.handle.request().document_id
    before = sample.text(document)
    run_id = finished(sample.write(skill_id="rewrite", selection=(0, 10), cursor=10)).run_id
    sample.handle.runs.accept(run_id)
    assert sample.text(document) == "Dusk." + before[10:]


def test_a_synopsis_becomes_the_documents_own(sample: StoredSample) -> None:
    sample.server.script = openai_answer("They meet by the sea.")
    run_id = finished(sample.write(skill_id="synopsis")).run_id
    sample.handle.runs.accept(run_id)
    with sample.store.read(project=sample.project) as reading:
        row = reading.require(synopses, document_id=sample.handle.request().document_id)
        assert (row.text, row.origin) == ("They meet by the sea.", "model")


def test_a_document_changed_meanwhile_is_left_as_it_is(sample: StoredSample) -> None:
    sample.server.script = openai_answer("Late.")
    document = sample.handle.request().document_id
    run_id = finished(sample.write()).run_id
    with sample.store.write(project=sample.project) as tx:
        document_service.write(tx, document, "Somebody else was here.")
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.accept(run_id)
    assert refusal.value.code is Code.DOCUMENT_STALE
    assert sample.text(document) == "Somebody else was here."
    assert sample.runs()[0].outcome == "open"


def test_rejecting_and_retrying_are_recorded(sample: StoredSample) -> None:
    first = finished(sample.write()).run_id
    second = finished(sample.write()).run_id
    sample.handle.runs.reject(first)
    sample.handle.runs.request_again(second)
    assert {run.id: run.outcome for run in sample.runs()} == {first: "rejected", second: "retried"}
    with sample.store.read(project=sample.project) as reading:
        assert [outcome.decision.value for outcome in list_outcomes(reading)] == ["rejected", "rejected"]


def test_several_variants_stream_side_by_side_from_one_prompt(sample: StoredSample) -> None:
    async def script(exchange: Exchange) -> None:
        await openai_answer(f"Answer {sample.server.exchanges.index(exchange)}.")(exchange)

    sample.server.script = script
    ends = [step for step in sample.write(variants=3) if isinstance(step, Completed)]
    assert {end.variant for end in ends} == {0, 1, 2}
    assert len({end.text for end in ends}) == 3
    assert len({exchange.body for exchange in sample.server.exchanges}) == 1
    assert len(sample.runs()) == 3


def test_a_failure_keeps_what_came_and_names_its_code(sample: StoredSample) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        await exchange.send_event(chunk("So far so"))

    sample.server.script = script
    last = sample.write()[-1]
    assert isinstance(last, Failed)
    assert (last.text, last.error.code) == ("So far so", Code.LLM_GONE)
    kept = sample.runs()[0]
    assert (kept.answer, kept.outcome, kept.assembly_summary["ended"]) == ("So far so", "failed", "LLM_GONE")
    assert kept.usage.input_tokens == kept.assembly_summary["tokens"], "what was read costs, whatever came of it"
    assert (kept.usage.reported_by_provider, last.cost.micros) == (False, kept.cost.micros)
    assert kept.cost.micros > 0
    sample.handle.runs.accept(kept.id)  # half an answer is still the writer's to take


def test_a_refusal_is_on_record_too(sample: StoredSample) -> None:
    sample.server.script = error_answer(401)
    last = sample.write()[-1]
    assert isinstance(last, Failed)
    assert last.error.code is Code.LLM_REFUSED
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.accept(last.run_id)
    assert refusal.value.code is Code.TEXT_INVALID


def test_stopping_keeps_what_came(sample: StoredSample) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        while True:
            await exchange.send_event(chunk("word "))
            await asyncio.sleep(0.01)

    sample.server.script = script

    async def run() -> None:
        place = ProviderConfig(name="openai", base_url=sample.server.url, key_variable="TEST_KEY", retry_policy=QUICK)
        provider = make_provider(place)
        writer = Writer(sample.handle, provider, options=WritingOptions(retry_policy=QUICK))
        steps = writer.write(sample.handle.request(window=8192))
        await anext(steps)
        await anext(steps)
        await steps.aclose()
        await provider.aclose()

    asyncio.run(run())
    assert sample.server.client_left.wait(5)
    kept = sample.runs()[0]
    assert kept.outcome == "stopped"
    assert kept.answer.startswith("word word ")


BROKEN_RULE = "She never said “unicorn”, not once."


def with_rule(sample: StoredSample) -> None:
    from fabula.constraints import edits as service
    from fabula.constraints.model import BannedWords, Constraint

    with sample.store.write(project=sample.project) as tx:
        service.create(tx, Constraint(id="unicorns", text="No unicorns.", check=BannedWords(words=("unicorn",))))


def test_a_broken_rule_is_flagged_with_its_place(sample: StoredSample) -> None:
    with_rule(sample)
    sample.server.script = openai_answer(BROKEN_RULE)
    end = finished(sample.write())
    assert [finding.quote for finding in end.verdict.violations] == ["unicorn"]
    assert len(sample.server.exchanges) == 1
    assert sample.runs()[0].verdicts[0]["findings"][0]["words"] == "unicorn"


def test_regenerating_states_the_complaint_behind_the_same_prompt_and_stops(sample: StoredSample) -> None:
    with_rule(sample)

    async def script(exchange: Exchange) -> None:
        await openai_answer(BROKEN_RULE if len(sample.server.exchanges) == 1 else "She said nothing.")(exchange)

    sample.server.script = script
    steps = sample.write(WritingOptions(retry_policy=QUICK, judge=JudgeOptions(policy="regenerate", tries=3)))
    assert finished(steps).text == "She said nothing."
    assert sum(isinstance(step, Retry) for step in steps) == 1
    first, second = (exchange.request["messages"] for exchange in sample.server.exchanges)
    assert second[: len(first)] == first
    assert "unicorn" in second[-1]["content"]
    assert len(sample.runs()[0].verdicts) == 2


def test_regenerating_never_loops(sample: StoredSample) -> None:
    with_rule(sample)
    sample.server.script = openai_answer(BROKEN_RULE)
    steps = sample.write(WritingOptions(retry_policy=QUICK, judge=JudgeOptions(policy="regenerate", tries=2)))
    assert len(sample.server.exchanges) == 3
    end = finished(steps)
    assert end.verdict.violations
    assert len(sample.runs()[0].verdicts) == 3


def judged_by(server: ModelServer, answer: str) -> None:
    async def script(exchange: Exchange) -> None:
        judging = "response_format" in exchange.request
        await openai_answer(answer if judging else "It was Mara who lit the lamp.")(exchange)

    server.script = script


def test_the_model_judges_from_the_authors_side(sample: StoredSample) -> None:
    row = {"constraint": "1", "quote": "who lit the lamp", "reason": "Told too early."}
    judged_by(sample.server, json.dumps({"violations": [row]}))
    end = finished(sample.write(WritingOptions(retry_policy=QUICK, judge=JudgeOptions(with_model=True))))
    assert [finding.quote for finding in end.verdict.findings if finding.checked_by == "model"] == ["who lit the lamp"]
    judging = sample.server.exchanges[1].request
    assert "It was Mara who lit the lamp." in judging["messages"][-1]["content"]
    assert judging["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("rubbish", ["All fine!", "{}", '{"violations": 7}', "", "<html>"])
def test_a_judge_who_answers_rubbish_is_said_to_have_judged_nothing(sample: StoredSample, rubbish: str) -> None:
    judged_by(sample.server, rubbish)
    end = finished(
        sample.write(WritingOptions(retry_policy=QUICK, judge=JudgeOptions(policy="regenerate", with_model=True)))
    )
    assert end.text == "It was Mara who lit the lamp."
    assert end.verdict.problem
    assert len(sample.server.exchanges) == 2


def test_a_judge_who_is_away_does_not_stand_in_the_way(sample: StoredSample) -> None:
    async def script(exchange: Exchange) -> None:
        judging = "response_format" in exchange.request
        await (error_answer(400) if judging else openai_answer("Fine text."))(exchange)

    sample.server.script = script
    end = finished(sample.write(WritingOptions(retry_policy=QUICK, judge=JudgeOptions(with_model=True))))
    assert end.text == "Fine text."
    assert "LLM_REFUSED" in end.verdict.problem


def test_what_was_spent_adds_up_by_model_and_month(sample: StoredSample) -> None:
    usage = {"prompt_tokens": 4000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 3000}}
    sample.server.script = openai_answer("One.", usage=usage)
    sample.write()
    sample.write()
    with sample.store.read(project=sample.project) as reading:
        month = runs.list_runs(reading)[0].created_at[:7]
        spent = runs.sum_spending(reading, month=month)
        assert runs.sum_spending(reading, month="1999-01") == []
        days = runs.sum_spending(reading, month=month, by="day")
        assert [one.name[:7] for one in days] == [month] * len(days)
        assert [one.name for one in days] == sorted(one.name for one in days)
        assert sum(one.micros for one in days) == sum(one.micros for one in spent)
    assert [(one.name, one.run_count, one.cached_share) for one in spent] == [("openai/gpt-4o", 2, 0.75)]
    assert spent[0].micros == 2 * (1000 * 2.5 + 3000 * 1.25 + 10 * 10)
    assert runs.total_by_currency(spent) == {"USD": spent[0].micros}


FOUND = {
    "entries": [
        {"type": "item", "name": "brass", "aliases": [], "description": "What the lamp is made of."},
        {"type": "character", "name": "Nobody At All", "aliases": [], "description": "Not in the text."},
    ]
}


def test_entries_that_stand_in_the_text_come_into_the_codex_from_where_they_stand(sample: StoredSample) -> None:
    document = sample.handle.request().document_id
    word = next(word for word in sample.text(document).split() if word.isalpha() and word.istitle() and len(word) > 3)
    rows = {"entries": [{**FOUND["entries"][0], "name": word}, FOUND["entries"][1]]}
    sample.server.script = openai_answer("Here:\n```json\n", json.dumps(rows), "\n```")
    end = finished(sample.write(skill_id="extract"))
    assert end.verdict.findings == (), "a list of entries is no text of the story"
    assert sample.server.exchanges[0].request["response_format"]["type"] == "json_schema"
    made = sample.handle.runs.accept(end.run_id).entries
    assert [entry.name for entry in made] == [word]
    since = made[0].since
    assert since is not None
    assert (since.document, since.offset) == (document, sample.text(document).index(word))
    codex = sample.handle.view.snapshot(Codex)
    assert codex is not None
    assert codex.find_entries(word)[0].description == "What the lamp is made of."
    with sample.store.read(project=sample.project) as reading:
        assert list_outcomes(reading) == [], "memory learns from prose alone"


@pytest.mark.parametrize("answer", ["They are all there.", '{"entries": 7}', json.dumps(FOUND), '{"entries": []}'])
def test_entries_that_cannot_be_read_or_stand_nowhere_change_nothing(sample: StoredSample, answer: str) -> None:
    sample.server.script = openai_answer(answer.replace("brass", "Zzyzx"))
    run_id = finished(sample.write(skill_id="extract")).run_id
    before = sample.handle.view.snapshot(Codex)
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.accept(run_id)
    assert refusal.value.code in (Code.LLM_ANSWER_INVALID, Code.TEXT_INVALID)
    assert sample.handle.view.snapshot(Codex) is before
    assert sample.runs()[0].outcome == "open"


def test_a_skill_for_selections_wants_one_and_one_for_documents_looks_from_the_end(sample: StoredSample) -> None:
    with pytest.raises(FabulaError) as refusal:
        sample.write(skill_id="rewrite")
    assert refusal.value.code is Code.REQUEST_INVALID
    assert sample.server.exchanges == []
    sample.write(skill_id="synopsis", cursor=10)
    assert sample.runs()[0].assembly_summary["place"]["cursor"] == len(sample.text(sample.handle.request().document_id))


def test_another_answer_is_asked_for_at_the_same_place_in_the_same_words(sample: StoredSample) -> None:
    first = finished(sample.write(cursor=30, additional_input="Slower.")).run_id
    request = sample.handle.runs.request_again(first)
    assert (request.cursor, request.additional_input, request.skill_id) == (30, "Slower.", "continue")
    assert sample.runs()[0].outcome == "retried"
    assert sample.handle.runs.request_again(first) == request, "what was left is left"
    with sample.store.write(project=sample.project) as tx:
        document_service.write(tx, request.document_id, "Somebody else was here.")
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.request_again(first)
    assert refusal.value.code is Code.DOCUMENT_STALE


def test_an_answer_of_many_pages_can_be_taken(sample: StoredSample) -> None:
    sample.server.script = openai_answer("All the long night it rained. " * 1000)
    run_id = finished(
        sample.write(WritingOptions(retry_policy=QUICK, judge=JudgeOptions(policy="off")), reply_tokens=4000)
    ).run_id
    sample.handle.runs.accept(run_id)
    with sample.store.read(project=sample.project) as reading:
        assert len(list_outcomes(reading)[0].suggestion) < 30_000


def test_the_judge_is_told_what_is_so_of_whoever_the_text_names(sample: StoredSample) -> None:
    with sample.store.write(project=sample.project) as tx:
        at = Position(sample.handle.request().document_id, 0)
        entry = Entry(id="", type="character", name="Quillon", description="A ferryman.")
        codex_service.create(tx, replace(entry, progressions=(Progression("Quillon lost his left hand.", at),)))
    sample.server.script = openai_answer("Quillon clapped both his hands.")
    sample.write(WritingOptions(retry_policy=QUICK, judge=JudgeOptions(with_model=True)))
    writing, judging = ("\n".join(m["content"] for m in one.request["messages"]) for one in sample.server.exchanges)
    assert "left hand" not in writing
    assert "Quillon lost his left hand." in judging


def test_no_longer_answer_is_asked_for_than_the_window_has_room_for(sample: StoredSample) -> None:
    sample.write(skill_id="extract", window=3000)
    asked = sample.server.exchanges[0].request
    limit = asked.get("max_tokens") or asked["max_completion_tokens"]
    assert limit + sample.runs()[0].assembly_summary["tokens"] <= 3000
    assert limit < 2000


def test_the_demo_makes_no_synopsis_no_entries_and_no_critique(sample: StoredSample) -> None:
    async def ask(skill: str) -> list[WritingEvent]:
        choice = sample.handle.choose_model(provider="demo")
        request = sample.handle.request(document_id="ch-06", skill_id=skill)
        return [event async for event in sample.handle.write(request, choice=choice)]

    for skill in ("synopsis", "extract", "critique"):
        with pytest.raises(FabulaError) as caught:
            asyncio.run(ask(skill))
        assert caught.value.code is Code.LLM_REFUSED
    assert any(isinstance(event, Completed) for event in asyncio.run(ask("continue")))
    assert len(sample.runs()) == 1


def test_an_empty_answer_has_failed(sample: StoredSample) -> None:
    sample.server.script = openai_answer(" \n")
    (end,) = [step for step in sample.write() if isinstance(step, Completed | Failed)]
    assert isinstance(end, Failed)
    assert end.error.code is Code.LLM_ANSWER_EMPTY
    assert [run.outcome for run in sample.runs()] == ["failed"]
