"""The registry: every setting is complete, is read somewhere, and refuses what it does not take."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import fabula
from fabula.context.budget import BudgetProfile, Limits
from fabula.core.errors import Code, FabulaError
from fabula.search.embeddings import choice
from fabula.settings.registry import (
    GROUPS,
    RESERVED_PREFIXES,
    SETTINGS,
    SettingDefinition,
    find_setting,
    is_reserved,
    suggest_names,
)
from fabula.skills.project_skills import SETTING_PREFIX
from fabula.store.renamed_settings import PERSON_ONLY, RENAMED

SOURCE = Path(fabula.__path__[0])
ALL = list(SETTINGS.values())
HISTORY = ("registry.py", "renamed_settings.py", "0007_setting_names.py")


def refusal(act: Any) -> str:
    """The sentence with which something is refused."""
    with pytest.raises(FabulaError) as refused:
        act()
    assert refused.value.code is Code.SETTING_INVALID
    assert "Nothing was changed" in refused.value.sentence
    return refused.value.sentence


@pytest.mark.parametrize("definition", ALL, ids=lambda one: one.name)
def test_a_definition_is_complete_in_both_languages(definition: SettingDefinition) -> None:
    assert definition.sentence.render().endswith(".")
    assert definition.sentence.render("zh").endswith("。")
    assert definition.group in GROUPS
    assert definition.scopes
    assert ("machine" in definition.scopes) == bool(definition.variable)
    if definition.default is None:
        assert definition.without_value is not None
    else:
        assert definition.accepts(definition.default)
    if definition.kind in ("int", "float"):
        assert definition.minimum is not None
        assert definition.maximum is not None
    assert (definition.kind == "choice") == bool(definition.choices)
    assert definition.describe_values().render("zh") != definition.describe_values().render()
    assert not is_reserved(definition.name)


def test_no_two_settings_share_a_name_or_a_former_one() -> None:
    names = [name.lower() for one in ALL for name in (one.name, *one.aliases) if name.lower() != one.name.lower()]
    names += [one.name.lower() for one in ALL]
    assert len(names) == len(set(names))


def test_the_specifications_names_and_defaults() -> None:
    expected = {
        "History.SummaryEveryNRounds": 5,
        "History.RecapUpdateEveryRounds": 10,
        "History.RecapDictMaxEntries": 20,
        "History.RecapMaxChars": 1200,
        "History.Budget.MaxLatencyMs": 5000,
        "History.Budget.MonthlyBudgetUSD": 5.0,
        "codex.relationDepth": 1,
        "limits.inputTokens": 64_000,
        "limits.retrievedChunks": 200,
        "limits.constraints": 500,
        "limits.assembliesAtOnce": 4,
        "limits.assembliesWaiting": 16,
        "budget.rules.share": 0.15,
        "budget.immediate.minimum": 2000,
    }
    assert {name: SETTINGS[name].default for name in expected} == expected


def test_money_prices_and_providers_are_never_a_projects() -> None:
    for name in ("History.Budget.MonthlyBudgetUSD", "llm.prices", "llm.provider", "runs.keepPrompts"):
        assert "project" not in SETTINGS[name].scopes
    assert {name for name in SETTINGS if name in PERSON_ONLY} == PERSON_ONLY


def test_former_names_are_aliases_of_present_ones() -> None:
    for old, new in RENAMED.items():
        assert find_setting(old).name == new
    assert find_setting(" HISTORY.recapdictmaxentries ").name == "History.RecapDictMaxEntries"


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("lateJoiner", "lateJoiners"),
        ("late_joiners", "lateJoiners"),
        ("maxHistoryToken", "maxHistoryTokens"),
        ("relationDepth", "codex.relationDepth"),
        ("judge.polcy", "judge.policy"),
        ("History.RecapMaxEntry", "History.RecapDictMaxEntries"),
        ("limits.chunks", "limits.retrievedChunks"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_ones(wrong: str, nearest: str) -> None:
    assert nearest in suggest_names(wrong)
    sentence = refusal(lambda: find_setting(wrong))
    assert repr(wrong) in sentence
    assert nearest in sentence


def test_a_name_like_no_other_is_refused_with_the_command_that_lists_all() -> None:
    assert "list of settings" in refusal(lambda: find_setting("zzzz"))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("codex.relationDepth", 99, "a whole number from 0 to 5, not 99"),
        ("codex.relationDepth", -1, "from 0 to 5"),
        ("codex.relationDepth", 2.5, "a whole number"),
        ("codex.relationDepth", True, "a whole number"),
        ("codex.relationDepth", "far", "'far'"),
        ("maxHistoryTokens", -1, "from 0 to 1,000,000"),
        ("lateJoiners", "perhaps", "true or false"),
        ("History.SummaryEveryNRounds", 0, "from 1 to 1,000"),
        ("History.RecapMaxChars", 3, "from 40 to 20,000"),
        ("History.Budget.MaxLatencyMs", 1e9, "whole number"),
        ("History.Budget.MonthlyBudgetUSD", -1, "a number from 0"),
        ("History.Budget.MonthlyBudgetUSD", float("nan"), "nan"),
        ("History.Budget.MonthlyBudgetUSD", float("inf"), "inf"),
        ("search.embedding", "banana", "off, auto, local or endpoint"),
        ("judge.policy", "harsh", "off, flag or regenerate"),
        ("judge.tries", 6, "from 0 to 5"),
        ("llm.model", " ", "a text"),
        ("llm.prices", [1], "a JSON object"),
        ("budget.rules.share", 1.5, "from 0 to 1"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_the_bounds(name: str, value: object, words: str) -> None:
    sentence = refusal(lambda: SETTINGS[name].check(value))
    assert sentence.startswith(f"{name} is ")
    assert words in sentence


def test_settings_that_a_budget_keeps_are_fields_of_it() -> None:
    budget: dict[str, Any] = {
        "profile": msgspec.to_builtins(BudgetProfile()),
        "limits": msgspec.to_builtins(Limits()),
    }
    paths = set()
    for definition in ALL:
        if definition.budget_path:
            value: Any = budget
            for key in definition.budget_path:
                value = value[key]
            assert value == definition.default
            paths.add(definition.budget_path)
    assert {path[1] for path in paths if path[0] == "limits"} == set(budget["limits"]), "every limit is a setting"
    assert len([path for path in paths if path[0] == "profile"]) == 10


def test_what_other_packages_call_settings_is_what_the_registry_calls_them() -> None:
    assert SETTINGS[choice.EMBEDDING_SETTING].variable == choice.EMBEDDING_VARIABLE
    assert SETTING_PREFIX in RESERVED_PREFIXES


def _read_sources() -> dict[Path, str]:
    return {path: path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path.name not in HISTORY}


def test_every_setting_is_read_by_the_code_and_every_name_it_reads_is_a_setting() -> None:
    code = "\n".join(_read_sources().values())
    for definition in ALL:
        if not definition.budget_path:  # these are read as a whole, as budget profile and limits
            assert f'"{definition.name}"' in code, f"nothing reads {definition.name}"
    asked = re.findall(r'(?:values\[|values\.get_override\(|values\.resolve\(|get_value\(\w+, )"(\w+\.[\w.]+)"', code)
    assert len(asked) > 10
    assert set(asked) <= SETTINGS.keys()


def test_settings_are_read_through_the_registry_alone() -> None:
    outside = {
        str(path.relative_to(SOURCE))
        for path, code in _read_sources().items()
        if "fabula.settings.tables" in code and path.parent.name != "settings"
    }
    assert outside == {
        "jobs/triggers/monthly_budget.py",  # hooks
        "jobs/triggers/recap_settings.py",
        "workspace/changes.py",  # which right it takes to undo a change of settings
        "workspace/view_loading.py",  # a project's skills, which are kept among its settings
    }
