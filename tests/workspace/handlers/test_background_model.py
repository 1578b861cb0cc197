"""A model at work in the background: what it is told, what it costs, and what becomes of its failures."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path

import pytest

from fabula.context.recipes import RECIPES
from fabula.core.errors import Code, FabulaError
from fabula.jobs import guards
from fabula.jobs.cancellation import Stop
from fabula.jobs.model import State
from fabula.llm import runs
from fabula.manuscript import documents
from fabula.manuscript.synopses import editing as synopses
from fabula.settings import edits as settings
from fabula.store.store import Store
from fabula.workspace.handlers.background_model import Assistant, assistant_for
from fabula.workspace.views import Library
from tests.llm.server import Exchange, Script, Server, chunk, fails, openai_says
from tests.workspace.handlers.background import TEXT, employ, jobs_of, run_due

USAGE = {"prompt_tokens": 400, "completion_tokens": 10, "total_tokens": 410}


def _told(store: Store) -> dict[str, tuple[str, str | None]]:
    with store.read(project="p") as reading:
        return {kept.document_id: (kept.text, kept.origin) for kept in synopses.listed(reading)}


def _write(store: Store, *names: str, text: str = TEXT) -> None:
    with store.write(project="p") as tx:
        for name in names:
            documents.add(tx, name.title(), document_id=name, text=text)


def test_a_chapter_is_told_by_the_model_that_works_for_the_project(
    store: Store, library: Library, model_server: Server
) -> None:
    model_server.script = openai_says("Mira finds ", "the letter.", usage=USAGE)
    _write(store, "one")
    run_due(store, library)
    assert _told(store) == {"one": ("Mira finds the letter.", "model")}
    (asked,) = [one.asked for one in model_server.seen]
    said = "\n".join(message["content"] for message in asked["messages"])
    assert "the keeper's letter" in said
    assert "In about" in said
    with store.read(project="p") as reading:
        (run,) = runs.listed(reading)
        assert (run.skill_id, run.outcome, run.answer) == ("digest", "used", "Mira finds the letter.")
        assert run.cost.micros == 400 * 2.5 + 10 * 10
        assert guards.money(reading, reading.clock()).spent == run.cost.micros
    run_due(store, library)
    assert len(model_server.seen) == 1, "what is told of its present text is not told again"


def test_many_chapters_are_told_in_sentences_first_and_by_the_model_one_by_one(
    store: Store, library: Library, model_server: Server
) -> None:
    model_server.script = openai_says("Told.")
    _write(store, *(f"c{number}" for number in range(25)))
    assert set(jobs_of(store)) == {"synopsis:all", "index:search"}
    run_due(store, library)
    assert set(_told(store).values()) == {("Told.", "model")}
    assert len([key for key in jobs_of(store) if key.startswith("synopsis:c")]) == 25


@pytest.mark.parametrize("said", ["", 'background = "clipboard"', 'background = "local"'])
def test_nobody_works_for_the_house_unless_its_machine_says_so(
    said: str, store: Store, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    file = tmp_path / "models.toml"
    file.write_text(said)
    monkeypatch.setenv("FABULA_MODELS", str(file))
    with store.write(project="p") as tx:
        settings.put(tx, "llm.provider", "openai")
    assert assistant_for(library, "p", Stop()) is None


def test_a_model_that_fails_leaves_sentences_and_a_job_that_says_why(
    store: Store, library: Library, model_server: Server
) -> None:
    model_server.script = fails(401)
    _write(store, "one")
    run_due(store, library)
    assert _told(store)["one"][1] == "extract"
    card = jobs_of(store)["synopsis:one"]
    assert (card.state, card.why) == (State.FAILED, "LLM_REFUSED")


def test_a_month_without_money_left_is_a_month_of_sentences(
    store: Store, library: Library, model_server: Server
) -> None:
    with store.write(project="p") as tx:
        guards.set_budget(tx, 0)
    _write(store, "one")
    run_due(store, library)
    assert _told(store)["one"][1] == "extract"
    assert model_server.seen == []
    assert jobs_of(store)["synopsis:one"].state is State.DONE


def test_an_answer_that_was_cut_off_is_not_kept(store: Store, library: Library, model_server: Server) -> None:
    model_server.script = openai_says("Mira finds the", why="length")
    _write(store, "one")
    run_due(store, library)
    assert _told(store)["one"][1] == "extract"
    assert jobs_of(store)["synopsis:one"].why == "LLM_ANSWER_INVALID"


def test_a_chapter_longer_than_the_window_is_told_in_pieces_and_these_together(
    store: Store, library: Library, model_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    employ(model_server, tmp_path, monkeypatch, model="gpt-4")
    model_server.script = openai_says("A piece of it.")
    _write(store, "one", text="\n\n".join(f"On day {number} the sea was as calm as before." for number in range(1000)))
    run_due(store, library)
    assert _told(store)["one"] == ("A piece of it.", "model")
    sent = ["\n".join(message["content"] for message in one.asked["messages"]) for one in model_server.seen]
    assert len(sent) > 3
    assert all(any(f"On day {number} the sea" in text for text in sent) for number in range(1000))
    assert sent[-1].count("A piece of it.") == len(sent) - 1


def test_whoever_cancels_the_job_stops_the_request(store: Store, library: Library, model_server: Server) -> None:
    begun = threading.Event()

    async def never_ends(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(chunk("And "))
        begun.set()
        await asyncio.sleep(60)

    model_server.script = never_ends
    stop = Stop()
    assistant = assistant_for(library, "p", stop)
    assert isinstance(assistant, Assistant)
    errors: list[FabulaError] = []

    def ask() -> None:
        try:
            assistant.answer("digest", "Something long.")
        except FabulaError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert begun.wait(30)
    stop.ask(Code.JOB_CANCELLED)
    thread.join(30)
    assert [error.code for error in errors] == [Code.JOB_CANCELLED]
    assert model_server.gone.wait(10)
    with store.read(project="p") as reading:
        (run,) = runs.listed(reading)
    assert (run.outcome, run.answer) == ("stopped", "And ")
    assert stop.spent == run.cost.micros > 0, "what was stopped has cost something, too"


def test_the_months_money_is_looked_at_before_each_answer(store: Store, library: Library, model_server: Server) -> None:
    model_server.script = openai_says("Told.", usage=USAGE)
    with store.write(project="p") as tx:
        guards.set_budget(tx, 0.001)
    stop = Stop()
    assistant = assistant_for(library, "p", stop)
    assert isinstance(assistant, Assistant)
    assistant.answer("digest", "Something long.")
    with pytest.raises(FabulaError) as refused:
        assistant.answer("digest", "Something else.")
    assert refused.value.code is Code.JOB_BUDGET
    assert len(model_server.seen) == 1


def test_a_vendors_model_without_a_price_is_not_asked_behind_anybodys_back(
    store: Store, library: Library, model_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    employ(model_server, tmp_path, monkeypatch, model="qwen3-8b")
    file = tmp_path / "models.toml"
    file.write_text(file.read_text().replace("needs_key = false", 'needs_key = true\nkey_variable = "TEST_KEY"'))
    monkeypatch.setenv("TEST_KEY", "sk-test")
    _write(store, "one")
    run_due(store, library)
    assert model_server.seen == []
    assert _told(store)["one"][1] == "extract"
    card = jobs_of(store)["synopsis:one"]
    assert (card.state, card.why) == (State.FAILED, "SETTING_INVALID")
    assert "llm.prices" in card.note


def test_a_digest_begins_as_every_prompt_of_the_project_does(
    store: Store, library: Library, model_server: Server
) -> None:
    _write(store, "one")
    run_due(store, library)
    from fabula.workspace.project import Fabula

    house = Fabula.open("p", library=library)
    written = house.assemble(house.request(skill_id="continue"))
    digest = house.assemble(house.request(skill_id="digest", additional_input="Text."))
    assert written.stable_prefix_hash == digest.stable_prefix_hash
    assert "editor" not in RECIPES["digest"].sources


@pytest.mark.parametrize("script", [openai_says("Mira finds the letter."), fails(500, "the keeper's letter")])
def test_background_logs_hold_no_text_of_the_story(
    script: Script, store: Store, library: Library, model_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    model_server.script = script
    _write(store, "one")
    with caplog.at_level(logging.DEBUG, logger="fabula"):
        run_due(store, library)
    assert model_server.seen
    for words in ("keeper", "Mira", "lighthouse"):
        assert words not in caplog.text
