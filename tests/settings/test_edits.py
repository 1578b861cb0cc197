"""Budgets and settings in the store, each with its version (bud-7)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from fabula.context.budget import BudgetProfile, Limits, Share
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import show
from fabula.manuscript import projects
from fabula.settings import edits as service
from fabula.settings.registry import SettingScope
from fabula.settings.tables import settings
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

P = "coast"
STORED: tuple[SettingScope, ...] = ("project", "person")
LEAN = BudgetProfile(rules=Share(0.05, 100), reply_most=1000)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project in it."""
    projects.create(store, "The Coast", project_id=P)
    return store


def refuse(store: Store, act: Callable[[WriteTransaction], object]) -> FabulaError:
    """The refusal of something; nothing may have moved."""
    before = store.versions(project=P, user="ada")
    with pytest.raises(FabulaError) as refused, store.write(project=P, user="ada") as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P, user="ada") == before
    return refused.value


def refusal(store: Store, act: Callable[[WriteTransaction], object]) -> Code:
    """The code with which something is refused."""
    return refuse(store, act).code


def test_a_project_has_the_default_budget_until_it_gets_its_own(coast: Store) -> None:
    with coast.write(project=P) as tx:
        assert service.read_budget(tx) == service.StoredBudget()
        assert service.update_budget(tx, LEAN, expected=0) == 1
        assert service.read_budget(tx).profile == LEAN
        assert service.update_budget(tx, BudgetProfile(), expected=1, limits=Limits(retrieved_chunks=2)) == 2
        assert service.update_budget(tx, LEAN, expected=2) == 3
        kept = service.read_budget(tx)
    assert (kept.profile, kept.limits, kept.version) == (LEAN, Limits(retrieved_chunks=2), 3)


def test_a_stale_budget_changes_nothing(coast: Store) -> None:
    assert refusal(coast, lambda tx: service.update_budget(tx, LEAN, expected=1)) is Code.BUDGET_CONFLICT
    with coast.write(project=P) as tx:
        service.update_budget(tx, LEAN, expected=0)
    assert refusal(coast, lambda tx: service.update_budget(tx, BudgetProfile(), expected=0)) is Code.BUDGET_CONFLICT
    assert refusal(coast, lambda tx: service.update_budget(tx, BudgetProfile(), expected=7)) is Code.BUDGET_CONFLICT
    with coast.read(project=P) as reading:
        assert service.read_budget(reading).profile == LEAN


def test_shares_that_cannot_be_meant_are_refused(coast: Store) -> None:
    bad = BudgetProfile(rules=Share(0.9, 0))
    assert refusal(coast, lambda tx: service.update_budget(tx, bad, expected=0)) is Code.BUDGET_INVALID_RATIO
    odd = BudgetProfile(rules=Share(cast("float", "much"), 0))
    assert refusal(coast, lambda tx: service.update_budget(tx, odd, expected=0)) is Code.BUDGET_INVALID_RATIO
    low = BudgetProfile(rules=Share(0.1, -1))
    assert refusal(coast, lambda tx: service.update_budget(tx, low, expected=0)) is Code.BUDGET_INVALID_MINIMUM


@pytest.mark.parametrize(
    "limits",
    [
        Limits(retrieved_chunks=0),
        Limits(input_tokens=-5),
        Limits(source_seconds=float("nan")),
        Limits(waiting=True),
        Limits(at_once=2),
    ],
)
def test_limits_that_cannot_be_meant_or_are_the_machines_are_refused(coast: Store, limits: Limits) -> None:
    act = partial(service.update_budget, profile=LEAN, expected=0, limits=limits)
    assert refusal(coast, act) is Code.SETTING_INVALID


def test_shares_and_limits_are_set_and_reset_by_name(coast: Store) -> None:
    with coast.write(project=P) as tx:
        assert service.set_value(tx, "limits.retrievedChunks", 2, expected=0) == 1
        assert service.set_value(tx, "budget.rules.share", 0.1, expected=1) == 2
        assert service.read_budget(tx).limits == Limits(retrieved_chunks=2)
        assert service.read_budget(tx).profile == BudgetProfile(rules=Share(0.1, 500))
        service.reset(tx, "limits.retrievedChunks")
        assert service.read_budget(tx).limits == Limits()
    stale = partial(service.set_value, name="limits.retrievedChunks", value=3, expected=1)
    assert refusal(coast, stale) is Code.BUDGET_CONFLICT
    too_much = partial(service.set_value, name="budget.immediate.share", value=0.9)
    assert refusal(coast, too_much) is Code.BUDGET_INVALID_RATIO
    assert refusal(coast, partial(service.reset, name="limits.inputTokens")) is Code.STORE_NOT_FOUND


@pytest.mark.parametrize("scope", STORED)
def test_a_setting_is_set_changed_listed_and_reset(coast: Store, scope: SettingScope) -> None:
    with coast.write(project=P, user="ada") as tx:
        assert service.read_stored(tx, "judge.tries", scope=scope) is None
        assert service.set_value(tx, "judge.tries", 1, scope=scope, expected=0) == 1
        assert service.set_value(tx, "judge.tries", 3, scope=scope, expected=1) == 2
        assert service.set_value(tx, "lateJoiners", True, scope=scope) == 1
        found = service.read_stored(tx, "judge.tries", scope=scope)
        assert found is not None
        assert (found.value, found.version) == (3, 2)
        assert [one.name for one in service.list_stored(tx, scope=scope)] == ["judge.tries", "lateJoiners"]
        other: SettingScope = "person" if scope == "project" else "project"
        assert service.list_stored(tx, scope=other) == []
        service.reset(tx, "lateJoiners", scope=scope)
        assert len(service.list_stored(tx, scope=scope)) == 1
    stale = partial(service.set_value, name="judge.tries", value=1, scope=scope, expected=1)
    assert refusal(coast, stale) is Code.STORE_CONFLICT
    gone = partial(service.set_value, name="lateJoiners", value=False, scope=scope, expected=1)
    assert refusal(coast, gone) is Code.STORE_CONFLICT
    assert refusal(coast, partial(service.reset, name="lateJoiners", scope=scope)) is Code.STORE_NOT_FOUND


def test_a_former_name_sets_and_resets_the_present_one(coast: Store) -> None:
    with coast.write(project=P, user="ada") as tx:
        service.set_value(tx, "history.recapMaxEntries", 7)
        service.set_value(tx, "jobs.monthlyBudget", 2, scope="person")
        assert [one.name for one in service.list_stored(tx)] == ["History.RecapDictMaxEntries"]
        assert [one.name for one in service.list_stored(tx, scope="person")] == ["History.Budget.MonthlyBudgetUSD"]
        service.reset(tx, "history.recapMaxEntries")
        assert service.list_stored(tx) == []


@pytest.mark.parametrize(
    ("name", "value", "scope", "command"),
    [
        ("llm.provider", "openai", "project", "fabula setting set --user llm.provider VALUE"),
        ("jobs.monthlyBudget", 9, "project", "--user History.Budget.MonthlyBudgetUSD"),
        ("History.RecapMaxChars", 900, "person", "fabula setting set PROJECT History.RecapMaxChars VALUE"),
        ("limits.assembliesAtOnce", 8, "project", "FABULA_ASSEMBLIES_AT_ONCE"),
        ("limits.assembliesAtOnce", 8, "person", "FABULA_ASSEMBLIES_AT_ONCE"),
    ],
)
def test_a_scope_that_may_not_set_it_is_refused_with_the_right_command(
    coast: Store, name: str, value: object, scope: SettingScope, command: str
) -> None:
    error = refuse(coast, partial(service.set_value, name=name, value=value, scope=scope))
    assert error.code is Code.SETTING_INVALID
    assert command in show(error.message, "en", on_command_line=True)
    assert "fabula " not in error.sentence


@pytest.mark.parametrize("name", ["lateJoinrs", "History.PageSize", "theme"])
def test_what_is_no_setting_is_refused(coast: Store, name: str) -> None:
    assert refusal(coast, partial(service.set_value, name=name, value=True)) is Code.SETTING_INVALID
    assert refusal(coast, partial(service.reset, name=name)) is Code.SETTING_INVALID


def test_a_stored_row_that_is_no_setting_any_more_can_be_removed(coast: Store) -> None:
    with coast.write(project=P) as tx:
        tx.insert(settings, {"name": "theme", "value": "dark"})
        service.reset(tx, "theme")
        assert service.list_stored(tx) == []


def test_reserved_names_keep_any_value_for_other_packages(coast: Store) -> None:
    value = {"rows": [1, None, "二"]}
    with coast.write(project=P) as tx:
        assert service.set_value(tx, "extract.dismissed", value) == 1
        found = service.read_stored(tx, "extract.dismissed")
        assert found is not None
        assert found.value == value


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "OPENAI_API_KEY",
        "openai.apikey",
        "token",
        "accessToken",
        "access_tokens",
        "Password",
        "db-password",
        "clientSecret",
        "credentials",
        "HTTPToken",
    ],
)
def test_a_name_that_says_it_is_a_secret_is_refused(coast: Store, name: str) -> None:
    with pytest.raises(FabulaError, match="keyring or the environment") as refused, coast.write(project=P) as tx:
        service.set_value(tx, name, "sk-1234")
    assert refused.value.code is Code.SETTING_INVALID
    assert "sk-1234" not in str(refused.value)
    deep = {"providers": [{"name": "x", name: "sk-1234"}]}
    error = refuse(coast, lambda tx: service.set_value(tx, "llm.prices", deep, scope="person"))
    assert "looks like a secret" in error.sentence


@pytest.mark.parametrize("name", ["maxHistoryTokens", "token_count", "tokenizer", "conv_key", "keyboard", "secretary"])
def test_a_name_that_only_looks_a_little_like_one_is_not(coast: Store, name: str) -> None:
    with coast.write(project=P) as tx:
        assert service.set_value(tx, f"extract.{name}", {name: 4000}) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", 1),
        ("a b", 1),
        ("1st", 1),
        ("x" * 101, 1),
        ("extract.nothing", None),
        ("extract.odd", object()),
        ("extract.half", "\ud800"),
        ("extract.long", "x" * 200_000),
        ("lateJoiners", None),
    ],
)
def test_what_cannot_be_a_setting_is_refused(coast: Store, name: str, value: Any) -> None:
    assert refusal(coast, lambda tx: service.set_value(tx, name, value)) is Code.SETTING_INVALID


def test_the_store_keeps_settings_of_projects_and_persons(coast: Store) -> None:
    team = cast("SettingScope", "team")
    for name in ("judge.tries", "extract.x"):
        assert refusal(coast, partial(service.set_value, name=name, value=1, scope=team)) is Code.SETTING_INVALID
