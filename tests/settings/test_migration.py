"""Stores and saves of before the registry: renamed settings are found again, and money moves to the person."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from fabula.manuscript import projects
from fabula.settings.edits import list_stored
from fabula.settings.values import list_unknown, read_values
from fabula.store.connections import begin
from fabula.store.save.loading import load_save
from fabula.store.store import LOCAL_USER, Store
from tests.store.older import ACCESS_TABLES, CONVERSATION_COLUMNS, LATER_TABLES, PRESENCE_STATEMENTS, RESPONSE_TABLES

BEFORE = Path(__file__).parents[1] / "fixtures" / "before_workspace"
PROJECTS = ("lantern_coast", "wugang")
OF_PROJECT = {
    "History.RecapDictMaxEntries": 7,
    "History.SummaryEveryNRounds": 4,
    "codex.relationDepth": 2,
    "judge.policy": "flag",
    "judge.tries": 3,
    "lateJoiners": True,
    "search.embedding": "off",
}


def stored(store: Store, project: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rows of a project and of the person."""
    with store.read(project=project, user=LOCAL_USER) as reading:
        assert list_unknown(reading) == {"project": [], "person": []}
        project_rows, person_rows = list_stored(reading), list_stored(reading, scope="person")
    return {one.name: one.value for one in project_rows}, {one.name: one.value for one in person_rows}


def test_the_settings_of_a_store_of_before_are_renamed_and_obeyed(tmp_path: Path) -> None:
    shutil.copy(BEFORE / "fabula.db", tmp_path)
    store = Store.open(tmp_path)
    for project in PROJECTS:
        own, person = stored(store, project)
        assert own == OF_PROJECT
        assert person == {"History.Budget.MonthlyBudgetUSD": 2, "llm.model": "gpt-4o", "runs.keepPrompts": False}
        with store.read(project=project, user=LOCAL_USER) as reading:
            values = read_values(reading, environ={})
        assert values["History.RecapDictMaxEntries"] == 7
        assert values["lateJoiners"] is True
        assert values["History.Budget.MonthlyBudgetUSD"] == 2
    store.close()


def test_the_settings_of_a_save_of_before_are_renamed_and_bring_no_money_along(store: Store) -> None:
    loaded = load_save(store, BEFORE / "lantern_coast.fabula", user=LOCAL_USER).project_id
    own, person = stored(store, loaded)
    assert own == OF_PROJECT
    assert person == {"llm.model": "gpt-4o"}


def old_store(store: Store, address: str, rows: dict[str, dict[str, str]], person: dict[str, str]) -> Store:
    """The store again, opened after it was put back to the version before, with these rows in it."""
    for project in rows:
        projects.create(store, project, project_id=project)
    with store.engine.connect() as connection, begin(connection, writing=True):
        for project, values in rows.items():
            for name, value in values.items():
                connection.execute(
                    text("INSERT INTO settings (project_id, name, value) VALUES (:p, :n, :v)"),
                    {"p": project, "n": name, "v": value},
                )
        for name, value in person.items():
            connection.execute(
                text("INSERT INTO user_settings (user_id, name, value) VALUES ('owner', :n, :v)"),
                {"n": name, "v": value},
            )
        for column in ("since_document", "since_offset", "until_document", "until_offset", "known_to"):
            connection.execute(text(f"ALTER TABLE codex_relations DROP COLUMN {column}"))
        connection.execute(text("ALTER TABLE projects DROP COLUMN book_order"))
        connection.execute(text("ALTER TABLE participants DROP COLUMN card"))
        for column in ("number", "slug", "latest", "changed"):
            connection.execute(text(f"ALTER TABLE heads DROP COLUMN {column}"))
        for table in ("runs", "renames"):
            connection.execute(text(f"ALTER TABLE {table} DROP COLUMN number"))
        for statement in PRESENCE_STATEMENTS:
            connection.execute(text(statement))
        for table, added in CONVERSATION_COLUMNS.items():
            for column in added:
                connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {column}"))
        connection.execute(text("DROP TABLE undo_steps"))
        connection.execute(text("DROP TABLE user_undo_steps"))
        for table in (*RESPONSE_TABLES, *ACCESS_TABLES, *LATER_TABLES):
            connection.execute(text(f"DROP TABLE {table}"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0006'"))
    store.close()
    return Store.open(address)


def test_of_several_budgets_the_smallest_becomes_the_persons(store: Store, address: str) -> None:
    rows = {"a": {"jobs.monthlyBudget": "20"}, "b": {"jobs.monthlyBudget": "1.5"}, "c": {}}
    opened = old_store(store, address, rows, {"jobs.monthlyBudget": "9"})
    assert [stored(opened, project) for project in rows] == [({}, {"History.Budget.MonthlyBudgetUSD": 1.5})] * 3
    opened.close()


def test_a_budget_that_was_no_sum_of_money_goes_on_allowing_nothing(store: Store, address: str) -> None:
    opened = old_store(store, address, {"a": {"jobs.monthlyBudget": '"lots"'}, "b": {"jobs.monthlyBudget": "3"}}, {})
    assert stored(opened, "a")[1] == {"History.Budget.MonthlyBudgetUSD": 0}
    opened.close()


def test_prompts_are_kept_if_every_project_that_said_something_wanted_it(store: Store, address: str) -> None:
    opened = old_store(store, address, {"a": {"runs.keepPrompts": "true"}, "b": {"runs.keepPrompts": "false"}}, {})
    assert stored(opened, "a") == ({}, {"runs.keepPrompts": False})
    opened.close()


def test_a_provider_that_all_projects_agree_on_becomes_the_persons(store: Store, address: str) -> None:
    mine = {"llm.provider": '"ollama"', "llm.model": '"llama3"'}
    opened = old_store(store, address, {"a": mine, "b": {"llm.provider": '"ollama"'}}, {})
    assert stored(opened, "a") == ({"llm.model": "llama3"}, {"llm.provider": "ollama"})
    opened.close()


def test_a_provider_that_cannot_become_the_persons_goes_with_its_model_and_the_log_says_so(
    store: Store, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    mine = {"llm.provider": '"ollama"', "llm.model": '"llama3"', "llm.prices": "{}"}
    with caplog.at_level(logging.WARNING, logger="fabula.store"):
        opened = old_store(store, address, {"a": mine, "b": {"llm.model": '"gpt-4.1"'}}, {"llm.provider": '"openai"'})
    assert stored(opened, "a") == ({}, {"llm.provider": "openai"})
    assert stored(opened, "b")[0] == {"llm.model": "gpt-4.1"}
    assert "project a had the provider ollama" in caplog.text
    opened.close()


def test_tries_beyond_what_was_ever_done_are_brought_within_the_bounds(store: Store, address: str) -> None:
    opened = old_store(store, address, {"a": {"judge.tries": "40"}, "b": {"judge.tries": "-2"}}, {"judge.tries": "9"})
    assert stored(opened, "a") == ({"judge.tries": 5}, {"judge.tries": 5})
    assert stored(opened, "b")[0] == {"judge.tries": 0}
    opened.close()


def test_a_row_of_a_present_name_that_nothing_read_gives_way_to_the_one_that_was_obeyed(
    store: Store, address: str
) -> None:
    rows = {"a": {"history.recapMaxEntries": "7", "History.RecapDictMaxEntries": "3", "theme": '"dark"'}}
    opened = old_store(store, address, rows, {})
    with opened.read(project="a") as reading:
        assert {one.name: one.value for one in list_stored(reading)} == {
            "History.RecapDictMaxEntries": 7,
            "theme": "dark",
        }
        assert list_unknown(reading) == {"project": ["theme"]}, "kept, and reported"
    opened.close()
