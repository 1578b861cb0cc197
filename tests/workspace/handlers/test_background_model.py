"""A model at work in the background: what it is told, what it costs, and what becomes of its failures."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path

import pytest

from fabula.codex import Entry, Level
from fabula.codex import edits as codex
from fabula.context.recipes import RECIPES
from fabula.core.errors import Code, FabulaError
from fabula.jobs import guards
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import JobState
from fabula.llm import runs
from fabula.manuscript import documents
from fabula.manuscript.synopses import editing as synopses
from fabula.settings import edits as settings
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace.handlers.background_model import BackgroundModel, find_background_model
from fabula.workspace.views import ProjectViews
from tests.llm.server import Exchange, ModelServer, Script, chunk, error_answer, openai_answer
from tests.workspace.handlers.background import TEXT, list_jobs, run_due, set_up_model

USAGE = {"prompt_tokens": 400, "completion_tokens": 10, "total_tokens": 410}


def _told(store: Store) -> dict[str, tuple[str, str | None]]:
    with store.read(project="p") as reading:
        return {kept.document_id: (kept.text, kept.origin) for kept in synopses.list_synopses(reading)}


def _write(store: Store, *names: str, text: str = TEXT) -> None:
    with store.write(project="p") as tx:
        for name in names:
            documents.add(tx, name.title(), document_id=name, text=text)


def test_a_chapter_is_told_by_the_model_that_works_for_the_project(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    model_server.script = openai_answer("Mira finds ", "the letter.", usage=USAGE)
    _write(store, "one")
    run_due(store, library)
    assert _told(store) == {"one": ("Mira finds the letter.", "model")}
    (asked,) = [one.request for one in model_server.exchanges]
    said = "\n".join(message["content"] for message in asked["messages"])
    assert "the keeper's letter" in said
    assert "In about" in said
    with store.read(project="p") as reading:
        (run,) = runs.list_runs(reading)
        assert (run.skill_id, run.outcome, run.answer) == ("digest", "used", "Mira finds the letter.")
        assert run.cost.micros == 400 * 2.5 + 10 * 10
        assert guards.read_spending(reading, reading.current_time(), 0).spent == run.cost.micros
    run_due(store, library)
    assert len(model_server.exchanges) == 1, "what is told of its present text is not told again"


def test_many_chapters_are_told_in_sentences_first_and_by_the_model_one_by_one(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    model_server.script = openai_answer("Told.")
    _write(store, *(f"c{number}" for number in range(25)))
    assert set(list_jobs(store)) == {"synopsis:all", "index:search"}
    run_due(store, library)
    assert set(_told(store).values()) == {("Told.", "model")}
    assert len([key for key in list_jobs(store) if key.startswith("synopsis:c")]) == 25


@pytest.mark.parametrize("said", ["", 'background = "clipboard"', 'background = "local"'])
def test_nobody_works_for_a_project_unless_its_machine_says_so(
    said: str, store: Store, library: ProjectViews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    file = tmp_path / "models.toml"
    file.write_text(said)
    monkeypatch.setenv("FABULA_MODELS", str(file))
    with store.write(user=LOCAL_USER) as tx:
        settings.set_value(tx, "llm.provider", "openai", scope="person")
    assert find_background_model(library, "p", CancellationToken()) is None


def test_a_model_that_fails_leaves_sentences_and_a_job_that_says_why(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    model_server.script = error_answer(401)
    _write(store, "one")
    run_due(store, library)
    assert _told(store)["one"][1] == "extract"
    card = list_jobs(store)["synopsis:one"]
    assert (card.state, card.reason) == (JobState.FAILED, "LLM_REFUSED")


def test_a_month_without_money_left_is_a_month_of_sentences(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    with store.write(user=LOCAL_USER) as tx:
        guards.set_monthly_budget(tx, 0)
    _write(store, "one")
    run_due(store, library)
    assert _told(store)["one"][1] == "extract"
    assert model_server.exchanges == []
    assert list_jobs(store)["synopsis:one"].state is JobState.DONE


def test_an_answer_that_was_cut_off_is_not_kept(store: Store, library: ProjectViews, model_server: ModelServer) -> None:
    model_server.script = openai_answer("Mira finds the", why="length")
    _write(store, "one")
    run_due(store, library)
    assert _told(store)["one"][1] == "extract"
    assert list_jobs(store)["synopsis:one"].reason == "LLM_ANSWER_INVALID"


def test_a_chapter_longer_than_the_window_is_told_in_pieces_and_these_together(
    store: Store, library: ProjectViews, model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up_model(model_server, tmp_path, monkeypatch, model="gpt-4")
    model_server.script = openai_answer("A piece of it.")
    _write(store, "one", text="\n\n".join(f"On day {number} the sea was as calm as before." for number in range(1000)))
    run_due(store, library)
    assert _told(store)["one"] == ("A piece of it.", "model")
    sent = ["\n".join(message["content"] for message in one.request["messages"]) for one in model_server.exchanges]
    assert len(sent) > 3
    assert all(any(f"On day {number} the sea" in text for text in sent) for number in range(1000))
    assert sent[-1].count("A piece of it.") == len(sent) - 1


def test_whoever_cancels_the_job_stops_the_request(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    begun = threading.Event()

    async def never_ends(exchange: Exchange) -> None:
        await exchange.send_head()
        await exchange.send_event(chunk("And "))
        begun.set()
        await asyncio.sleep(60)

    model_server.script = never_ends
    stop = CancellationToken()
    assistant = find_background_model(library, "p", stop)
    assert isinstance(assistant, BackgroundModel)
    errors: list[FabulaError] = []

    def ask() -> None:
        try:
            assistant.run_skill("digest", "Something long.")
        except FabulaError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert begun.wait(30)
    stop.cancel(Code.JOB_CANCELLED)
    thread.join(30)
    assert [error.code for error in errors] == [Code.JOB_CANCELLED]
    assert model_server.client_left.wait(10)
    with store.read(project="p") as reading:
        (run,) = runs.list_runs(reading)
    assert (run.outcome, run.answer) == ("stopped", "And ")
    assert stop.cost_micros == run.cost.micros > 0, "what was stopped has cost something, too"


def test_the_months_money_is_looked_at_before_each_answer(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    model_server.script = openai_answer("Told.", usage=USAGE)
    with store.write(user=LOCAL_USER) as tx:
        guards.set_monthly_budget(tx, 0.001)
    stop = CancellationToken()
    assistant = find_background_model(library, "p", stop)
    assert isinstance(assistant, BackgroundModel)
    assistant.run_skill("digest", "Something long.")
    with pytest.raises(FabulaError) as refused:
        assistant.run_skill("digest", "Something else.")
    assert refused.value.code is Code.JOB_BUDGET
    assert len(model_server.exchanges) == 1


def test_a_vendors_model_without_a_price_is_not_asked_behind_anybodys_back(
    store: Store, library: ProjectViews, model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up_model(model_server, tmp_path, monkeypatch, model="qwen3-8b")
    file = tmp_path / "models.toml"
    file.write_text(file.read_text().replace("needs_key = false", 'needs_key = true\nkey_variable = "TEST_KEY"'))
    monkeypatch.setenv("TEST_KEY", "sk-test")
    _write(store, "one")
    run_due(store, library)
    assert model_server.exchanges == []
    assert _told(store)["one"][1] == "extract"
    card = list_jobs(store)["synopsis:one"]
    assert (card.state, card.reason) == (JobState.FAILED, "SETTING_INVALID")
    assert "llm.prices" in card.note


def test_habits_are_looked_for_with_a_prompt_that_begins_as_every_prompt_of_the_project(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    _write(store, "one")
    run_due(store, library)
    from fabula.workspace.workspace import Workspace

    project = Workspace(library.store).project("p")
    written = project.assemble(project.request(skill_id="continue"))
    digest = project.assemble(project.request(skill_id="habits", additional_input="Text."))
    assert written.stable_prefix_hash == digest.stable_prefix_hash
    assert "editor" not in RECIPES["digest"].sources


@pytest.mark.parametrize("pov", [None, "mira"])
def test_a_synopsis_is_made_without_what_only_the_reader_or_its_viewpoint_knows(
    pov: str | None, store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    with store.write(project="p") as tx:
        for ident, only in (("reader", "reader"), ("viewpoint", "mira"), ("mira", "mira")):
            text = f"Coralword of the {ident}."
            known_to = frozenset({only})
            entry = Entry(id=ident, type="lore", name=ident, level=Level.ALWAYS, description=text, known_to=known_to)
            codex.put(tx, entry)
        documents.add(tx, "One", document_id="one", text=TEXT, pov=pov)
    model_server.script = openai_answer("Mira finds the letter.")
    run_due(store, library)
    prompts = ["\n".join(one["content"] for one in exchange.request["messages"]) for exchange in model_server.exchanges]
    assert any("the keeper's letter" in prompt for prompt in prompts)
    assert "Coralword" not in "\n".join(prompts)


@pytest.mark.parametrize("script", [openai_answer("Mira finds the letter."), error_answer(500, "the keeper's letter")])
def test_background_logs_hold_no_text_of_the_story(
    script: Script, store: Store, library: ProjectViews, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    model_server.script = script
    _write(store, "one")
    with caplog.at_level(logging.DEBUG, logger="fabula"):
        run_due(store, library)
    assert model_server.exchanges
    for words in ("keeper", "Mira", "lighthouse"):
        assert words not in caplog.text
