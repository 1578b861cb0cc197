"""Who writes, and how: what is asked for, what project and person say, what this machine has."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.settings import edits as settings
from fabula.store.store import OWNER, Store
from fabula.workspace.writing_options import CAUTIOUS, chosen, for_background, sized

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
    with store.write(project="p", user=OWNER) as tx:
        settings.put(tx, name, value, scope="user" if person else "project")


def test_what_is_asked_for_comes_first_then_the_project_then_the_person(
    store: Store, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-test")
    assert chosen(store, project).place.name == "deepseek"
    said(store, "llm.provider", "ollama", person=True)
    said(store, "llm.model", "llama3.1:8b", person=True)
    assert (chosen(store, project).place.name, chosen(store, project).model) == ("ollama", "llama3.1:8b")
    said(store, "llm.provider", "anthropic")
    assert chosen(store, project).place.name == "anthropic"
    assert chosen(store, project).model == "claude-sonnet-4-5", "the person's model is not at home there"
    assert chosen(store, project, provider="ollama").model == "llama3.1:8b"
    assert chosen(store, project, provider="openai").model == "gpt-4o"
    assert chosen(store, project, provider="openai", model="gpt-4.1").model == "gpt-4.1"
    assert chosen(provider="clipboard").place.speaks == "clipboard"


def test_a_model_without_a_provider_is_meant_for_whoever_there_is(
    store: Store, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    said(store, "llm.model", "gpt-4.1", person=True)
    assert chosen(store, project).model == "gpt-4.1"
    assert chosen(store, project, provider="openai").model == "gpt-4.1"
    assert chosen(store, project, provider="anthropic").model == "claude-sonnet-4-5"
    assert chosen(store, project, base_url="http://127.0.0.1:1/v1").model == "gpt-4.1"
    said(store, "llm.model", "gpt-4.1-mini")
    assert chosen(store, project).model == "gpt-4.1-mini"


def test_a_project_says_neither_where_prompts_go_nor_what_they_cost_nor_who_works_unasked(
    store: Store, project: str
) -> None:
    said(store, "llm.places", {"openai": {"base_url": "http://elsewhere.example/v1"}})
    said(store, "llm.prices", {"gpt-4o": {"input": 0, "output": 0}})
    said(store, "llm.provider", "openai")
    who = chosen(store, project)
    assert who.place.base_url == "https://api.openai.com/v1"
    assert who.terms.prices["gpt-4o"].input == 2.5
    assert for_background(store, project) is None


def test_prices_are_the_persons(store: Store, project: str) -> None:
    said(store, "llm.prices", {"gpt-4o": BOTH}, person=True)
    assert chosen(store, project, provider="openai").terms.prices["gpt-4o"].output == 2.0


def test_this_machine_names_who_works_in_the_background(store: Store, project: str, machine: Path) -> None:
    machine.write_text('background = "vllm"\n[places.vllm]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "qwen3-8b"\n')
    who = for_background(store, project)
    assert who is not None
    assert (who.place.name, who.model) == ("vllm", "qwen3-8b")


def test_a_model_that_no_table_knows_gets_a_cautious_window_on_a_server_of_ones_own(machine: Path) -> None:
    request = Request(project_id="p")
    unknown = sized(request, chosen(provider="ollama", model="my-own-model"))
    assert (unknown.window, unknown.encoding, unknown.model) == (CAUTIOUS, "o200k_base", "my-own-model")
    assert sized(request, chosen(provider="ollama", model="qwen3-8b")).window is None
    assert sized(Request(project_id="p", window=999), chosen(provider="ollama", model="mine")).window == 999
    assert sized(request, chosen(provider="openai", model="gpt-99")).window is None, "a vendor's models are known"


@pytest.mark.parametrize(
    ("name", "value"),
    [("judge.policy", "harsh"), ("judge.tries", "many"), ("runs.keepPrompts", 7), ("llm.model", 7)],
)
def test_a_setting_that_makes_no_sense_is_refused(store: Store, project: str, name: str, value: object) -> None:
    said(store, name, value)
    with pytest.raises(FabulaError) as refused:
        chosen(store, project, provider="openai")
    assert refused.value.code is Code.SETTING_INVALID


def test_a_price_that_makes_no_sense_is_refused(store: Store, project: str) -> None:
    said(store, "llm.prices", {"gpt-4o": {"input": -1, "output": 2}}, person=True)
    with pytest.raises(FabulaError) as refused:
        chosen(store, project, provider="openai")
    assert refused.value.code is Code.SETTING_INVALID
