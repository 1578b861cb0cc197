"""Who writes, and how: what is asked for, what project and person say, what this machine has."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.settings import edits as settings
from fabula.settings.registry import SettingScope
from fabula.settings.tables import settings as settings_table
from fabula.store.store import LOCAL_USER, Store
from fabula.text.tokens.models import ESTIMATE
from fabula.workspace.settings import SettingVerbs
from fabula.workspace.writing_options import (
    DEMO_ENCODING,
    UNKNOWN_MODEL_WINDOW,
    JudgeOptions,
    choose_background_model,
    choose_model,
    size_request,
)

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY")
BOTH = {"input": 1.0, "output": 2.0}


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without keys, whose models stand in this file."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "models.toml"
    monkeypatch.setenv("FABULA_MODELS", str(file))
    return file


@pytest.fixture
def project(store: Store) -> str:
    return projects.create(store, "Terms", project_id="p")


def said(store: Store, name: str, value: object, *, person: bool = False) -> None:
    with store.write(project="p", user=LOCAL_USER) as tx:
        settings.set_value(tx, name, value, scope="person" if person else "project")


def test_what_is_asked_for_comes_first_then_the_person_then_what_is_there(
    store: Store, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-test")
    assert choose_model(store, project).provider.name == "deepseek"
    said(store, "llm.provider", "ollama", person=True)
    said(store, "llm.model", "llama3.1:8b", person=True)
    choice = choose_model(store, project)
    assert (choice.provider.name, choice.model) == ("ollama", "llama3.1:8b")
    assert choose_model(store, project, provider="anthropic").model == "claude-sonnet-4-5", "it is not at home there"
    assert choose_model(store, project, provider="ollama").model == "llama3.1:8b"
    assert choose_model(store, project, provider="openai").model == "gpt-4o"
    assert choose_model(store, project, provider="openai", model="gpt-4.1").model == "gpt-4.1"
    assert choose_model(provider="clipboard").provider.api_style == "clipboard"


def test_a_model_without_a_provider_is_meant_for_whoever_there_is(
    store: Store, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    said(store, "llm.model", "gpt-4.1", person=True)
    assert choose_model(store, project).model == "gpt-4.1"
    assert choose_model(store, project, provider="openai").model == "gpt-4.1"
    assert choose_model(store, project, provider="anthropic").model == "claude-sonnet-4-5"
    assert choose_model(store, project, base_url="http://127.0.0.1:1/v1").model == "gpt-4.1"
    said(store, "llm.model", "gpt-4.1-mini")
    assert choose_model(store, project).model == "gpt-4.1-mini"


def test_a_project_says_neither_where_prompts_go_nor_what_they_cost_nor_who_works_unasked(
    store: Store, project: str
) -> None:
    theirs = {
        "llm.places": {"openai": {"base_url": "http://elsewhere.example/v1"}},
        "llm.prices": {"gpt-4o": {"input": 0, "output": 0}},
        "llm.provider": "openrouter",
        "runs.keepPrompts": True,
    }
    with store.write(project="p") as tx:
        tx.insert(settings_table, *({"name": name, "value": value} for name, value in theirs.items()))
    assert choose_model(store, project).provider.name != "openrouter"
    choice = choose_model(store, project, provider="openai")
    assert choice.provider.base_url == "https://api.openai.com/v1"
    assert choice.options.prices["gpt-4o"].input == 2.5
    assert not choice.options.keep_prompts
    assert choose_background_model(store, project) is None


def test_prices_are_the_persons(store: Store, project: str) -> None:
    said(store, "llm.prices", {"gpt-4o": BOTH}, person=True)
    assert choose_model(store, project, provider="openai").options.prices["gpt-4o"].output == 2.0


def test_this_machine_names_who_works_in_the_background(store: Store, project: str, machine: Path) -> None:
    machine.write_text('background = "vllm"\n[places.vllm]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "qwen3-8b"\n')
    who = choose_background_model(store, project)
    assert who is not None
    assert (who.provider.name, who.model) == ("vllm", "qwen3-8b")


def test_a_model_that_no_table_knows_gets_a_cautious_window_on_a_server_of_ones_own(machine: Path) -> None:
    request = Request(project_id="p")
    unknown = size_request(request, choose_model(provider="ollama", model="my-own-model"))
    assert (unknown.window, unknown.encoding, unknown.model) == (UNKNOWN_MODEL_WINDOW, ESTIMATE, "my-own-model")
    assert size_request(request, choose_model(provider="ollama", model="qwen3-8b")).window is None
    given = Request(project_id="p", window=999)
    assert size_request(given, choose_model(provider="ollama", model="mine")).window == 999
    demo = size_request(request, choose_model(provider="demo"))
    assert (demo.window, demo.encoding) == (UNKNOWN_MODEL_WINDOW, DEMO_ENCODING), "no model reads it: no caution"
    vendor = choose_model(provider="openai", model="gpt-99")
    assert size_request(request, vendor).window is None, "a vendor's models are known"


def test_the_project_says_how_answers_are_judged_and_else_the_person(store: Store, project: str) -> None:
    said(store, "judge.policy", "regenerate", person=True)
    said(store, "judge.tries", 4, person=True)
    said(store, "judge.tries", 1)
    said(store, "runs.keepPrompts", True, person=True)
    options = choose_model(store, project, provider="openai").options
    assert options.judge == JudgeOptions(policy="regenerate", tries=1)
    assert options.keep_prompts


def test_a_stored_setting_that_cannot_be_used_counts_as_not_set(store: Store, project: str) -> None:
    odd = {"judge.policy": "harsh", "judge.tries": "many", "judge.withModel": 7, "llm.model": 7}
    with store.write(project="p") as tx:
        tx.insert(settings_table, *({"name": name, "value": value} for name, value in odd.items()))
    choice = choose_model(store, project, provider="openai")
    assert (choice.model, choice.options.judge) == ("gpt-4o", JudgeOptions())


def test_a_price_that_makes_no_sense_is_refused(store: Store, project: str) -> None:
    said(store, "llm.prices", {"gpt-4o": {"input": -1, "output": 2}}, person=True)
    with pytest.raises(FabulaError) as refused:
        choose_model(store, project, provider="openai")
    assert refused.value.code is Code.SETTING_INVALID


@pytest.mark.parametrize(
    ("name", "value", "scope", "code"),
    [
        ("llm.provider", "nobody", "person", Code.SETTING_INVALID),
        ("llm.prices", {"gpt-4o": 1}, "person", Code.SETTING_INVALID),
        ("skill.sing", "answer =", "project", Code.SKILL_INVALID),
        ("extract.dismissed", ["Mara"], "project", Code.SETTING_INVALID),
        ("judge.policy", "harsh", "project", Code.SETTING_INVALID),
    ],
)
def test_what_could_not_be_followed_is_refused_when_it_is_set(
    store: Store, project: str, name: str, value: object, scope: SettingScope, code: Code
) -> None:
    verbs = SettingVerbs(store, project)
    with pytest.raises(FabulaError) as refused:
        verbs.set(name, value, scope=scope)
    assert refused.value.code is code
    verbs.set("llm.provider", "ollama", scope="person")
    assert verbs.get("llm.provider").value == "ollama"
