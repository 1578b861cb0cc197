"""Which value is in force: the project's before the person's, before the machine's, before the default."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.context.budget import BudgetProfile, Limits
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.settings.edits import set_value, update_budget
from fabula.settings.registry import SETTINGS
from fabula.settings.tables import settings, user_settings
from fabula.settings.values import (
    SettingValues,
    get_value,
    list_settings,
    list_unknown,
    parse_value,
    read_machine_limits,
    read_values,
)
from fabula.store.store import Store

P, USER = "coast", "ada"


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project in it."""
    projects.create(store, "The Coast", project_id=P)
    return store


def test_the_project_goes_before_the_person_before_the_machine_before_the_default() -> None:
    name, machine = "search.embedding", {"FABULA_EMBEDDING": "auto"}
    project, person = {name: "local"}, {name: "endpoint"}
    found = [
        SettingValues(project, person, machine),
        SettingValues({}, person, machine),
        SettingValues({}, {}, machine),
        SettingValues({}, {}, {}),
    ]
    assert [(one.resolve(name).value, one.resolve(name).origin) for one in found] == [
        ("local", "project"),
        ("endpoint", "person"),
        ("auto", "machine"),
        ("off", "default"),
    ]
    assert [one.get_override(name) for one in found] == ["local", "endpoint", "auto", None]


def test_a_scope_that_may_not_set_a_setting_is_never_obeyed() -> None:
    theirs = {"llm.provider": "elsewhere", "runs.keepPrompts": True, "History.Budget.MonthlyBudgetUSD": 1000}
    values = SettingValues(theirs, {"limits.inputTokens": 7}, {})
    assert values["llm.provider"] is None
    assert values["runs.keepPrompts"] is False
    assert values["History.Budget.MonthlyBudgetUSD"] == 5.0
    assert values["limits.inputTokens"] == 64_000


def test_a_stored_value_that_cannot_be_used_counts_as_not_set_and_is_reported() -> None:
    values = SettingValues({"codex.relationDepth": 99}, {"codex.relationDepth": 3}, {})
    found = values.resolve("codex.relationDepth")
    assert (found.value, found.origin, found.unusable) == (3, "person", {"project": 99})
    machine = SettingValues(environ={"FABULA_MONTHLY_BUDGET_USD": "lots"}).resolve("History.Budget.MonthlyBudgetUSD")
    assert (machine.value, machine.unusable) == (5.0, {"machine": "lots"})


def test_a_transaction_reads_what_its_owners_have(coast: Store) -> None:
    with coast.write(project=P, user=USER) as tx:
        set_value(tx, "codex.relationDepth", 2)
        set_value(tx, "codex.relationDepth", 4, scope="person")
        set_value(tx, "limits.retrievedChunks", 3)
    with coast.read(project=P, user=USER) as reading:
        assert get_value(reading, "codex.relationDepth") == 2
        assert read_values(reading)["limits.retrievedChunks"] == 3
    with coast.read(user=USER) as reading:
        assert get_value(reading, "codex.relationdepth") == 4
        assert get_value(reading, "limits.retrievedChunks") == 200
    with coast.read(project=P) as reading:
        assert get_value(reading, "codex.relationDepth") == 2
        with pytest.raises(FabulaError) as refused:
            get_value(reading, "codex.relationDeth")
    assert refused.value.code is Code.SETTING_INVALID
    with coast.read(project=P, user="bob") as reading:
        assert read_values(reading, environ={})["codex.relationDepth"] == 2


def test_limits_of_a_budget_are_settings_where_they_differ_from_the_default(coast: Store) -> None:
    with coast.write(project=P) as tx:
        update_budget(tx, BudgetProfile(), expected=0, limits=Limits(retrieved_chunks=2))
    with coast.read(project=P) as reading:
        values = read_values(reading)
    assert (values.resolve("limits.retrievedChunks").origin, values["limits.retrievedChunks"]) == ("project", 2)
    assert values.resolve("limits.inputTokens").origin == "default"
    assert values.resolve("budget.rules.share").origin == "default"


def test_every_setting_is_listed_with_its_value_and_origin(coast: Store) -> None:
    with coast.write(project=P, user=USER) as tx:
        set_value(tx, "History.RecapMaxChars", 800)
        tx.insert(settings, {"name": "judge.policy", "value": "harsh"}, {"name": "theme", "value": "dark"})
        tx.insert(settings, {"name": "skill.sing", "value": "…"}, {"name": "extract.dismissed", "value": []})
        tx.insert(user_settings, {"name": "font", "value": "Noto"})
    with coast.read(project=P, user=USER) as reading:
        reports = {one.name: one for one in list_settings(reading, language="zh", environ={})}
        assert list_unknown(reading) == {"project": ["theme"], "person": ["font"]}
    assert list(reports) == list(SETTINGS)
    recap = reports["History.RecapMaxChars"]
    assert (recap.value, recap.origin, recap.default, recap.minimum) == (800, "project", 1200, 40)
    assert recap.sentence == SETTINGS["History.RecapMaxChars"].sentence.render("zh")
    judge = reports["judge.policy"]
    assert (judge.value, judge.origin, judge.unusable) == ("flag", "default", {"project": "harsh"})


def test_the_limits_of_a_process_come_from_the_environment() -> None:
    assert read_machine_limits({}) == Limits()
    environ = {"FABULA_ASSEMBLIES_AT_ONCE": "2", "FABULA_SOURCE_SECONDS": "0.5", "FABULA_ASSEMBLIES_WAITING": "-3"}
    assert read_machine_limits(environ) == Limits(at_once=2, source_seconds=0.5)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("lateJoiners", "true", True),
        ("lateJoiners", "On", True),
        ("lateJoiners", "no", False),
        ("search.embedding", "off", "off"),
        ("codex.relationDepth", "2", 2),
        ("llm.model", "gpt-4o", "gpt-4o"),
        ("llm.prices", '{"x": {"input": 1}}', {"x": {"input": 1}}),
        ("judge.policy", "[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_read_from_text(name: str, text: str, value: Any) -> None:
    assert parse_value(SETTINGS[name], text) == value
