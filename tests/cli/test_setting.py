"""Settings on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabula.core.errors import Code
from fabula.search.embeddings import dense
from tests.cli.test_projects import Desk
from tests.search.embeddings.test_embedder import Thesaurus


@pytest.fixture
def desk(tmp_path: Path, prepared: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A desk for each engine, with a sample story in its store."""
    made = Desk(tmp_path, prepared, monkeypatch, capsys)
    made.run("new", "Coast", "--from", "sample:lantern_coast")
    return made


def test_settings_of_project_and_person_are_set_listed_and_left_again(desk: Desk) -> None:
    assert "Nothing is set" in desk.run("setting", "list", "Coast")
    desk.run("setting", "set", "Coast", "search.embedding", "off")
    desk.run("setting", "set", "Coast", "codex.relationDepth", "2", "--user")
    said = desk.run("setting", "list", "Coast")
    assert "project  search.embedding" in said
    assert '"off"' in said
    found = json.loads(desk.run("setting", "list", "Coast", "--json"))
    assert [(one["name"], one["value"]) for one in found["project"]] == [("search.embedding", "off")]
    assert [(one["name"], one["value"]) for one in found["user"]] == [("codex.relationDepth", 2)]
    desk.run("setting", "unset", "Coast", "search.embedding")
    desk.run("setting", "unset", "Coast", "codex.relationDepth", "--user")
    assert "Nothing is set" in desk.run("setting", "list", "Coast")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["set", "Coast", "search.api_key", "abc"], Code.SETTING_INVALID),
        (["set", "Coast", "9", "abc"], Code.SETTING_INVALID),
        (["set", "Coast", "search.embedding", "null"], Code.SETTING_INVALID),
        (["unset", "Coast", "search.embedding"], Code.STORE_NOT_FOUND),
        (["set", "Coast", "judge.policy", "harsh"], Code.SETTING_INVALID),
        (["set", "Coast", "judge.polcy", "flag"], Code.SETTING_INVALID),
        (["set", "Coast", "runs.keepPrompts", "sometimes", "--user"], Code.SETTING_INVALID),
        (["set", "Coast", "llm.model", "7"], Code.SETTING_INVALID),
        (["set", "Coast", "llm.provider", "nobody"], Code.SETTING_INVALID),
        (["set", "Coast", "llm.prices", '{"gpt-4o": {"input": 0, "output": 0}}'], Code.SETTING_INVALID),
        (["set", "Coast", "llm.prices", '{"gpt-4o": 1}', "--user"], Code.SETTING_INVALID),
        (["set", "Coast", "skill.sing", "answer ="], Code.SKILL_INVALID),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, words: list[str], code: Code) -> None:
    assert desk.run("setting", *words, code=2).startswith(code.value)


def test_the_setting_decides_how_commands_search(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "local", Thesaurus)
    words = ("search", "Coast", "bird", "--json")
    plain = json.loads(desk.run(*words, "--words", code=1))["passages"]
    assert plain == json.loads(desk.run(*words, code=1))["passages"] == []
    desk.run("setting", "set", "Coast", "search.embedding", "local")
    found = json.loads(desk.run(*words))["passages"]
    assert "gull" in found[0]["text"].lower(), "a gull is a bird"
    assert json.loads(desk.run(*words, "--words", code=1))["passages"] == []


def test_weights_that_are_missing_cost_commands_a_warning(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "find_spec", lambda name: None)
    desk.run("setting", "set", "Coast", "search.embedding", "local")
    assembled = json.loads(desk.run("assemble", "Coast", "-d", "ch-06", "--json"))
    assert [warning.partition(":")[0] for warning in assembled["warnings"]] == [Code.EMBEDDING_UNAVAILABLE.value]
    found = json.loads(desk.run("search", "Coast", "lamp", "--json"))
    assert found["passages"]
    assert [warning.partition(":")[0] for warning in found["warnings"]] == [Code.EMBEDDING_UNAVAILABLE.value]
