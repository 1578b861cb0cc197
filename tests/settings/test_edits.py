"""Budgets and settings in the store, each with its version (bud-7)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from fabula.context.budget import Limits, Profile, Share
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.settings import edits as service
from fabula.settings.edits import Scope
from fabula.store.store import Store
from fabula.store.transaction import Writing

P = "coast"
SCOPES: tuple[Scope, ...] = ("project", "user")
LEAN = Profile(rules=Share(0.05, 100), reply_most=1000)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project in it."""
    projects.create(store, "The Coast", project_id=P)
    return store


def refusal(store: Store, act: Callable[[Writing], object]) -> Code:
    """The code with which something is refused; nothing may have moved."""
    before = store.versions(project=P, user="ada")
    with pytest.raises(FabulaError) as refused, store.write(project=P, user="ada") as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P, user="ada") == before
    return refused.value.code


def test_a_project_has_the_budget_of_the_house_until_it_gets_its_own(coast: Store) -> None:
    with coast.write(project=P) as tx:
        assert service.budget(tx) == service.Budget()
        assert service.update_budget(tx, LEAN, expected=0) == 1
        assert service.budget(tx).profile == LEAN
        assert service.update_budget(tx, Profile(), expected=1, limits=Limits(at_once=2)) == 2
        assert service.update_budget(tx, LEAN, expected=2) == 3
        kept = service.budget(tx)
    assert (kept.profile, kept.limits, kept.version) == (LEAN, Limits(at_once=2), 3)


def test_a_stale_budget_changes_nothing(coast: Store) -> None:
    assert refusal(coast, lambda tx: service.update_budget(tx, LEAN, expected=1)) is Code.BUDGET_CONFLICT
    with coast.write(project=P) as tx:
        service.update_budget(tx, LEAN, expected=0)
    assert refusal(coast, lambda tx: service.update_budget(tx, Profile(), expected=0)) is Code.BUDGET_CONFLICT
    assert refusal(coast, lambda tx: service.update_budget(tx, Profile(), expected=7)) is Code.BUDGET_CONFLICT
    with coast.read(project=P) as reading:
        assert service.budget(reading).profile == LEAN


def test_shares_that_cannot_be_meant_are_refused(coast: Store) -> None:
    bad = Profile(rules=Share(0.9, 0))
    assert refusal(coast, lambda tx: service.update_budget(tx, bad, expected=0)) is Code.BUDGET_INVALID_RATIO
    odd = Profile(rules=Share(cast("float", "much"), 0))
    assert refusal(coast, lambda tx: service.update_budget(tx, odd, expected=0)) is Code.BUDGET_INVALID_RATIO
    low = Profile(rules=Share(0.1, -1))
    assert refusal(coast, lambda tx: service.update_budget(tx, low, expected=0)) is Code.BUDGET_INVALID_MINIMUM


@pytest.mark.parametrize(
    "limits", [Limits(at_once=0), Limits(input_tokens=-5), Limits(source_seconds=float("nan")), Limits(waiting=True)]
)
def test_limits_that_cannot_be_meant_are_refused(coast: Store, limits: Limits) -> None:
    act = partial(service.update_budget, profile=LEAN, expected=0, limits=limits)
    assert refusal(coast, act) is Code.SETTING_INVALID


@pytest.mark.parametrize("scope", SCOPES)
def test_a_setting_is_set_changed_listed_and_unset(coast: Store, scope: Scope) -> None:
    with coast.write(project=P, user="ada") as tx:
        assert service.get(tx, "History.PageSize", scope=scope) is None
        assert service.put(tx, "History.PageSize", 100, scope=scope, expected=0) == 1
        assert service.put(tx, "History.PageSize", {"rows": [1, None, "二"]}, scope=scope, expected=1) == 2
        assert service.put(tx, "dark", True, scope=scope) == 1
        found = service.get(tx, "History.PageSize", scope=scope)
        assert found is not None
        assert (found.value, found.version) == ({"rows": [1, None, "二"]}, 2)
        assert [one.name for one in sorted(service.listed(tx, scope=scope), key=lambda one: one.name)] == [
            "History.PageSize",
            "dark",
        ]
        other: Scope = "user" if scope == "project" else "project"
        assert service.listed(tx, scope=other) == []
        service.unset(tx, "dark", scope=scope)
        assert len(service.listed(tx, scope=scope)) == 1
    stale = partial(service.put, name="History.PageSize", value=1, scope=scope, expected=1)
    assert refusal(coast, stale) is Code.STORE_CONFLICT
    gone = partial(service.put, name="dark", value=1, scope=scope, expected=1)
    assert refusal(coast, gone) is Code.STORE_CONFLICT
    assert refusal(coast, partial(service.unset, name="dark", scope=scope)) is Code.STORE_NOT_FOUND


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
        service.put(tx, name, "sk-1234")
    assert refused.value.code is Code.SETTING_INVALID
    assert "sk-1234" not in str(refused.value)
    deep = {"providers": [{"name": "x", name: "sk-1234"}]}
    assert refusal(coast, lambda tx: service.put(tx, "llm", deep)) is Code.SETTING_INVALID


@pytest.mark.parametrize("name", ["maxHistoryTokens", "token_count", "tokenizer", "conv_key", "keyboard", "secretary"])
def test_a_name_that_only_looks_a_little_like_one_is_not(coast: Store, name: str) -> None:
    with coast.write(project=P) as tx:
        assert service.put(tx, name, 4000) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", 1),
        ("a b", 1),
        ("1st", 1),
        ("x" * 101, 1),
        ("nothing", None),
        ("odd", object()),
        ("half", "\ud800"),
        ("long", "x" * 200_000),
    ],
)
def test_what_cannot_be_a_setting_is_refused(coast: Store, name: str, value: Any) -> None:
    assert refusal(coast, lambda tx: service.put(tx, name, value)) is Code.SETTING_INVALID


def test_a_setting_belongs_to_a_project_or_a_person(coast: Store) -> None:
    team = cast("Scope", "team")
    assert refusal(coast, lambda tx: service.put(tx, "x", 1, scope=team)) is Code.SETTING_INVALID
