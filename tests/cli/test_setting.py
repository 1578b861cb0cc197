"""Settings on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabula.codex.model import Codex
from fabula.context.options import AssemblyOptions
from fabula.core.errors import Code
from fabula.manuscript import projects
from fabula.search.embeddings import embedder as dense
from fabula.settings.registry import GROUPS, SETTINGS
from fabula.settings.tables import settings as settings_table
from fabula.store.store import Store
from fabula.workspace.workspace import Workspace
from tests.cli.test_projects import Desk
from tests.search.embeddings.test_semantic_search import Thesaurus


@pytest.fixture
def desk(tmp_path: Path, prepared: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A desk for each engine, with a sample story in its store."""
    made = Desk(tmp_path, prepared, monkeypatch, capsys)
    made.run("new", "Coast", "--from", "sample:lantern_coast")
    return made


def report(desk: Desk, name: str, *project: str) -> tuple[object, str]:
    """The value of a setting and where it comes from."""
    found = json.loads(desk.run("setting", "get", *project, name, "--json"))
    return found["value"], found["origin"]


def test_settings_of_project_and_person_are_set_listed_and_reset(desk: Desk) -> None:
    assert report(desk, "codex.relationDepth", "Coast") == (1, "default")
    assert "is set for this project" in desk.run("setting", "set", "Coast", "search.embedding", "off")
    assert desk.run("setting", "set", "--user", "codex.relationDepth", "2") == "codex.relationDepth is set for you.\n"
    desk.run("setting", "set", "Coast", "judge.tries", "3", "--user")
    assert report(desk, "codex.relationDepth", "Coast") == (2, "person")
    desk.run("setting", "set", "Coast", "codex.relationDepth", "0")
    assert report(desk, "codex.relationDepth", "Coast") == (0, "project")
    assert report(desk, "CODEX.relationdepth") == (2, "person")
    desk.run("setting", "set", "Coast", "History.RecapDictMaxEntries", "-1")
    assert report(desk, "history.recapMaxEntries", "Coast") == (-1, "project")
    assert desk.run("setting", "list", "Nowhere", code=3).startswith(Code.PROJECT_NOT_FOUND.value)
    desk.run("setting", "reset", "Coast", "codex.relationDepth")
    desk.run("setting", "reset", "codex.relationDepth", "--user")
    assert report(desk, "codex.relationDepth", "Coast") == (1, "default")
    assert "at its default again" in desk.run("setting", "reset", "Coast", "search.embedding")
    assert desk.run("setting", "reset", "Coast", "search.embedding", code=2).startswith("STORE_NOT_FOUND")


def test_the_list_shows_every_setting_in_groups_with_its_value_origin_default_and_sentence(desk: Desk) -> None:
    desk.run("setting", "set", "Coast", "History.SummaryEveryNRounds", "4")
    desk.run("setting", "set", "Coast", "limits.retrievedChunks", "2")
    lines = desk.run("setting", "list", "Coast").splitlines()
    assert lines[0] == "History and recaps"
    at = next(number for number, line in enumerate(lines) if "History.SummaryEveryNRounds" in line)
    assert lines[at].split() == ["History.SummaryEveryNRounds", "4", "(project;", "default", "5)"]
    assert lines[at + 1].strip() == SETTINGS["History.SummaryEveryNRounds"].sentence.render()
    assert all(any(line.split()[:1] == [name] for line in lines) for name in SETTINGS)
    assert any("as the recipe says" in line for line in lines if "lateJoiners" in line)
    found = json.loads(desk.run("setting", "list", "Coast", "--json"))
    assert [one["name"] for one in found["settings"]] == list(SETTINGS)
    chunks = next(one for one in found["settings"] if one["name"] == "limits.retrievedChunks")
    assert (chunks["value"], chunks["origin"], chunks["default"], chunks["minimum"]) == (2, "project", 200, 1)
    mine = json.loads(desk.run("setting", "list", "--json"))
    assert {one["origin"] for one in mine["settings"]} == {"default"}


def test_a_chinese_project_reads_about_its_settings_in_chinese(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FABULA_LANGUAGE")
    desk.run("new", "雾港", "--from", "sample:wugang")
    said = desk.run("setting", "list", "雾港")
    assert said.startswith(GROUPS["history"].render("zh"))
    assert SETTINGS["lateJoiners"].sentence.render("zh") in said


def test_what_is_stored_but_cannot_be_used_is_said(desk: Desk) -> None:
    store = Store.open(desk.store)
    project = projects.find_project(store, "Coast").id
    with store.write(project=project) as tx:
        tx.insert(settings_table, {"name": "codex.relationDepth", "value": 99}, {"name": "theme", "value": "dark"})
    store.close()
    said = desk.run("setting", "list", "Coast")
    assert (
        "! 99 is stored for the project and has no effect: codex.relationDepth is a whole number from 0 to 5." in said
    )
    assert "! theme (project) is no setting" in said
    desk.run("setting", "reset", "Coast", "theme")
    assert "theme" not in desk.run("setting", "list", "Coast")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["set", "Coast", "lateJoiner", "true"], "lateJoiners"),
        (["set", "Coast", "maxHistoryToken", "4000"], "maxHistoryTokens"),
        (["set", "Coast", "codex.relationDepth", "99"], "from 0 to 5, not 99"),
        (["set", "Coast", "maxHistoryTokens", "-3"], "from 0 to 1,000,000"),
        (["set", "Coast", "lateJoiners", "sometimes"], "true or false"),
        (["get", "Coast", "history.recap"], "History.Recaps"),
        (["set", "Coast", "llm.prices", '{"gpt-4o": {"input": 0, "output": 0}}'], "set --user llm.prices VALUE"),
        (["set", "Coast", "jobs.monthlyBudget", "50"], "set --user History.Budget.MonthlyBudgetUSD VALUE"),
        (["set", "History.RecapMaxChars", "50", "--user"], "set PROJECT History.RecapMaxChars VALUE"),
        (["set", "Coast", "limits.assembliesAtOnce", "50"], "FABULA_ASSEMBLIES_AT_ONCE"),
        (["set", "Coast", "search.api_key", "abc"], "keyring"),
    ],
)
def test_a_refusal_says_what_would_be_right(desk: Desk, words: list[str], expected: str) -> None:
    said = desk.run("setting", *words, code=2)
    assert said.startswith(Code.SETTING_INVALID.value)
    assert expected in said


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["set", "Coast", "9", "abc"], Code.SETTING_INVALID),
        (["set", "Coast", "search.embedding", "null"], Code.SETTING_INVALID),
        (["reset", "Coast", "search.embedding"], Code.STORE_NOT_FOUND),
        (["unset", "Coast", "search.embedding"], Code.STORE_NOT_FOUND),
        (["set", "Coast", "judge.policy", "harsh"], Code.SETTING_INVALID),
        (["set", "Coast", "judge.polcy", "flag"], Code.SETTING_INVALID),
        (["set", "runs.keepPrompts", "sometimes", "--user"], Code.SETTING_INVALID),
        (["set", "Coast", "llm.model", "7"], Code.SETTING_INVALID),
        (["set", "llm.provider", "nobody", "--user"], Code.SETTING_INVALID),
        (["set", "Coast", "llm.prices", '{"gpt-4o": 1}', "--user"], Code.SETTING_INVALID),
        (["set", "Coast", "skill.sing", "answer ="], Code.SKILL_INVALID),
        (["set", "Coast", "extract.dismissed", "[]"], Code.SETTING_INVALID),
        (["set", "lateJoiners", "true"], Code.REQUEST_INVALID),
        (["set", "Coast", "llm.model", "two", "words"], Code.REQUEST_INVALID),
        (["set", "Coast", "llm.model", "x", "--usr"], Code.REQUEST_INVALID),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, words: list[str], code: Code) -> None:
    assert desk.run("setting", *words, code=2).startswith(code.value)


@pytest.mark.parametrize(
    ("name", "value"), [("lateJoiners", "true"), ("maxHistoryTokens", "500"), ("codex.relationDepth", "5")]
)
def test_what_is_set_is_carried_by_the_next_view(desk: Desk, name: str, value: str) -> None:
    desk.run("setting", "set", "Coast", name, value)
    with Workspace.open(desk.store) as workspace:
        view = workspace.project("Coast").view
    options, codex = view.snapshot(AssemblyOptions) or AssemblyOptions(), view.snapshot(Codex)
    found = {
        "lateJoiners": options.late_joiners,
        "maxHistoryTokens": options.max_history_tokens,
        "codex.relationDepth": codex.relation_depth if codex is not None else None,
    }
    assert found.pop(name) == json.loads(value)
    assert set(found.values()) == {None}


def test_the_setting_decides_how_commands_search(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "load_local_model", Thesaurus)
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
