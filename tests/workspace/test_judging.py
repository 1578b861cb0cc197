"""The judge beside the writer: nothing that was written is lost, hidden, or judged by the wrong rule."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from fabula.constraints import edits as constraints
from fabula.constraints.model import BannedWords, Constraint
from fabula.core.errors import Code
from fabula.core.story import Position
from fabula.llm.provider_config import ProviderConfig
from fabula.llm.providers import make_provider
from fabula.manuscript import documents, projects
from fabula.workspace.writing import Completed, Failed, Retry, TextDelta, Writer
from fabula.workspace.writing_options import JudgeOptions, WritingOptions
from tests.llm.server import Exchange, Script, chunk, error_answer, openai_answer
from tests.workspace.test_writing import BROKEN_RULE, QUICK, StoredSample, finished, model_server, sample, with_rule

__all__ = ["model_server", "sample"]

ANEW = WritingOptions(retry_policy=QUICK, judge=JudgeOptions(policy="regenerate", tries=2))
JUDGED = WritingOptions(retry_policy=QUICK, judge=JudgeOptions(with_model=True))


def in_turn(sample: StoredSample, *scripts: Script) -> None:
    """Answer one request after the other."""

    async def script(exchange: Exchange) -> None:
        await scripts[min(sample.server.exchanges.index(exchange), len(scripts) - 1)](exchange)

    sample.server.script = script


async def half(exchange: Exchange) -> None:
    await exchange.send_head()
    await exchange.send_event(chunk("She sa"))


def test_every_text_that_was_left_is_on_record_with_what_it_broke(sample: StoredSample) -> None:
    with_rule(sample)
    in_turn(sample, openai_answer(BROKEN_RULE), openai_answer("She said nothing."))
    sample.write(ANEW)
    kept = sample.runs()[0]
    assert kept.answer == "She said nothing."
    assert [one.get("text") for one in kept.verdicts] == [BROKEN_RULE, None]
    assert kept.verdicts[0]["findings"][0]["words"] == "unicorn"


@pytest.mark.parametrize(("script", "came"), [(error_answer(401), ""), (half, "She sa")])
def test_writing_anew_in_vain_takes_nothing_away(sample: StoredSample, script: Script, came: str) -> None:
    with_rule(sample)
    in_turn(sample, openai_answer(BROKEN_RULE), script)
    steps = sample.write(ANEW)
    end = finished(steps)
    assert end.text == BROKEN_RULE
    assert "could not be written again" in end.verdict.problem
    assert [finding.quote for finding in end.verdict.violations] == ["unicorn"]
    assert sum(isinstance(step, Retry) for step in steps) == 1
    kept = sample.runs()[0]
    assert (kept.answer, kept.outcome) == (BROKEN_RULE, "open")
    assert kept.verdicts[1]["text"] == came
    assert kept.verdicts[1]["problem"]


def test_whoever_stops_while_it_is_written_anew_keeps_what_was_there(sample: StoredSample) -> None:
    with_rule(sample)

    async def silent(exchange: Exchange) -> None:
        await exchange.send_head()
        await asyncio.sleep(30)

    in_turn(sample, openai_answer(BROKEN_RULE), silent)

    async def run() -> None:
        place = ProviderConfig(name="openai", base_url=sample.server.url, key_variable="TEST_KEY", retry_policy=QUICK)
        provider = make_provider(place)
        steps = Writer(sample.handle, provider, options=ANEW).write(sample.handle.request(window=8192))
        async for step in steps:
            if isinstance(step, Retry):
                break
        await steps.aclose()
        await provider.aclose()

    asyncio.run(run())
    (kept,) = sample.runs()
    assert (kept.answer, kept.outcome) == (BROKEN_RULE, "stopped")


def test_nothing_is_written_anew_for_which_the_window_has_no_room(sample: StoredSample) -> None:
    with_rule(sample)
    sample.server.script = openai_answer(BROKEN_RULE + " Not even then." * 490)
    end = finished(sample.write(ANEW, window=3000, reply_tokens=2000))
    assert len(sample.server.exchanges) == 1
    assert "no room" in end.verdict.problem
    for exchange in sample.server.exchanges:
        asked = exchange.request
        assert asked.get("max_tokens", 0) + asked.get("max_completion_tokens", 0) < 3000


def test_one_variant_that_fails_leaves_the_others_alone(sample: StoredSample) -> None:
    in_turn(sample, openai_answer("One."), error_answer(400), openai_answer("Three."))
    steps = sample.write(variants=3)
    ends = [step for step in steps if isinstance(step, Completed)]
    (broken,) = [step for step in steps if isinstance(step, Failed)]
    assert sorted(end.text for end in ends) == ["One.", "Three."]
    assert broken.error.code is Code.LLM_REFUSED
    assert sorted(run.outcome for run in sample.runs()) == ["failed", "open", "open"]


def test_what_cannot_be_put_on_record_is_told_all_the_same(sample: StoredSample) -> None:
    async def script(exchange: Exchange) -> None:
        projects.remove(sample.store, sample.project)
        await openai_answer("Kept in your hands.")(exchange)

    sample.server.script = script
    end = finished(sample.write(WritingOptions(retry_policy=QUICK, judge=JudgeOptions(policy="off"))))
    assert end.text == "Kept in your hands."
    assert (end.run_id, end.record_error is not None) == ("", True)


def judging(sample: StoredSample, *rows: dict[str, str]) -> None:
    in_turn(sample, openai_answer("It was Mara who lit the lamp."), openai_answer(json.dumps({"violations": rows})))


def test_a_constraint_is_meant_by_the_number_it_has_in_the_judges_own_prompt(sample: StoredSample) -> None:
    document = sample.handle.request().document_id
    with sample.store.write(project=sample.project) as tx:
        later = Constraint(id="later", text="Nobody speaks of the war.", priority=100, since=Position(document, 10))
        constraints.create(tx, later)
        constraints.create(tx, Constraint(id="lamp", text="Nobody says who lit the lamp.", priority=99))
    judging(sample)
    sample.write(JUDGED, cursor=5)
    prompt = "\n".join(message["content"] for message in sample.server.exchanges[1].request["messages"])
    number = next(line.split(".")[0] for line in prompt.splitlines() if line.endswith("Nobody says who lit the lamp."))
    war = next(line.split(".")[0] for line in prompt.splitlines() if "Nobody speaks of the war." in line)
    sample.server.exchanges.clear()
    rows = [
        {"constraint": number, "quote": "who lit the lamp", "reason": "Told."},
        {"constraint": war, "quote": "Mara", "reason": "It is not so yet."},
    ]
    judging(sample, *rows)
    end = finished(sample.write(JUDGED, cursor=5))
    assert [(one.rule_id, one.is_hint) for one in end.verdict.findings if one.checked_by == "model"] == [
        ("lamp", False),
        ("later", True),
    ]


def test_the_judge_holds_an_answer_against_what_the_book_says_of_those_it_names(sample: StoredSample) -> None:
    fact = "Mara was a woman of thirty with blue eyes and her father's long hands."
    with sample.store.write(project=sample.project) as tx:
        documents.write(tx, "ch-02", f"The wind rose.\n\n{fact}\n\nNobody came.")
    text = "Mara looked up with her brown eyes."
    row = {"constraint": "continuity", "quote": "brown eyes", "reason": "They are blue."}
    in_turn(sample, openai_answer(text), openai_answer(json.dumps({"violations": [row]})))
    end = finished(sample.write(JUDGED, document_id="ch-06"))
    prompt = "\n".join(message["content"] for message in sample.server.exchanges[1].request["messages"])
    assert f"Mara Venn (chapter 2): {fact}" in prompt
    assert "the sentences of the book beside them" in prompt
    assert [(one.rule_id, one.quote) for one in end.verdict.findings if one.checked_by == "model"] == [
        ("continuity", "brown eyes")
    ]


def test_a_constraint_the_judge_could_not_be_told_is_said_to_be_unjudged(sample: StoredSample) -> None:
    from fabula.constraints import ConstraintOrigin

    with sample.store.write(project=sample.project) as tx:
        for number in range(60):
            text = f"Learned rule {number}: " + "the weather is never told before the people are. " * 3
            constraints.create(tx, Constraint(id=f"l{number}", text=text, origin=ConstraintOrigin.LEARNED))
    judging(sample)
    end = finished(sample.write(JUDGED))
    assert "did not judge" in end.verdict.problem


def test_logs_hold_no_text_of_the_story(sample: StoredSample, caplog: pytest.LogCaptureFixture) -> None:
    with_rule(sample)
    in_turn(sample, openai_answer(BROKEN_RULE), half, error_answer(500))
    with caplog.at_level(logging.DEBUG, logger="fabula"):
        steps = sample.write(ANEW, additional_input="A secret wish.")
    assert [step for step in steps if isinstance(step, TextDelta)]
    said = caplog.text
    for words in ("unicorn", "She sa", "A secret wish", sample.text(sample.handle.request().document_id)[:30]):
        assert words not in said


def test_a_rule_that_a_program_checks_comes_before_hints(sample: StoredSample) -> None:
    with sample.store.write(project=sample.project) as tx:
        constraints.create(tx, Constraint(id="x", text="No unicorns.", check=BannedWords(words=("unicorn",))))
    strange = " ".join(f"He met {chr(65 + n % 26)}arl{chr(97 + n // 26)}ion there." for n in range(60))
    sample.server.script = openai_answer(f"{strange} A unicorn stood there.")
    end = finished(sample.write(reply_tokens=2000))
    assert [finding.quote for finding in end.verdict.violations] == ["unicorn"]
