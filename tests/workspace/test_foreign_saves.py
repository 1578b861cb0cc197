"""A save from anybody brings a project and nothing else: no person's row, no other project's prompt changes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.jobs.guards import read_monthly_budget
from fabula.manuscript import projects, series
from fabula.settings.edits import set_value
from fabula.settings.registry import SETTINGS, SettingDefinition
from fabula.store.save.saving import save_project
from fabula.store.save.tables import USER_FOLDER, table_formats
from fabula.store.store import LOCAL_USER
from fabula.workspace.read_only import read_view_to_copy
from fabula.workspace.schemas.saves import LoadChoices
from fabula.workspace.workspace import Workspace
from tests.store.save.rows import members, person
from tests.store.save.test_hostile import Forgery

KEY = "sk-" + "a1B2c3D4" * 5


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(tmp_path / "data") as opened:
        opened.copy_project(read_view_to_copy("sample:lantern_coast"), title="Mine")
        yield opened


def make_value(definition: SettingDefinition) -> Any:
    """A value that the setting takes and that is not its default."""
    tried: list[Any] = [
        *definition.choices,
        True,
        False,
        definition.maximum,
        {"gpt-4o": {"input": 0, "output": 0}},
        "evil",
    ]
    return next(one for one in tried if definition.accepts(one) and one != definition.default)


def prompt(workspace: Workspace) -> str:
    project = workspace.project("Mine")
    return repr(project.assemble(Request(project_id=project.id)).messages)


def test_no_row_of_a_foreign_save_reaches_the_person_or_another_project(workspace: Workspace, tmp_path: Path) -> None:
    forged = Forgery()
    forged.members["person/user_settings.jsonl"] = forged.members["settings.jsonl"] = b""
    for name, definition in SETTINGS.items():
        for table in ("settings", "person/user_settings"):
            forged.add(table, name=name, value=make_value(definition))
    forged.line("projects", 0, series_id="mine")
    forged.write(tmp_path / "free.fabula")
    series.create(workspace.store, "My series", project_id="mine")
    before = person(workspace.store), prompt(workspace), read_monthly_budget(workspace.store)
    shared = [table.name for table in table_formats() if table.name.startswith(USER_FOLDER)]
    assert all(f"{name}.jsonl" in forged.members for name in shared), "the file holds a row of every person's table"

    found = workspace.inspect_save(tmp_path / "free.fabula")
    not_of_a_project = {name for name, one in SETTINGS.items() if "project" not in one.scopes}
    assert set(found.left_out) == not_of_a_project
    assert (found.person.memories, len(found.person.settings)) == (1, len(SETTINGS) - len(not_of_a_project))
    loaded = workspace.load_save(tmp_path / "free.fabula", LoadChoices(checksum=found.checksum))
    assert (person(workspace.store), prompt(workspace), read_monthly_budget(workspace.store)) == before
    assert loaded.omitted == {"settings": len(not_of_a_project)}
    assert series.list_books(workspace.store, "mine") == []


def test_money_prices_and_providers_do_not_travel_even_when_the_persons_things_are_asked_for(
    workspace: Workspace, tmp_path: Path
) -> None:
    forged = Forgery()
    for name, definition in SETTINGS.items():
        forged.add("person/user_settings", name=name, value=make_value(definition))
    forged.write(tmp_path / "free.fabula")
    workspace.load_save(tmp_path / "free.fabula", LoadChoices(with_person=True))
    names = {row["name"] for row in person(workspace.store)["person/user_settings"]}
    assert "judge.policy" in names
    assert not names & {name for name, one in SETTINGS.items() if "project" not in one.scopes}


def test_a_persons_money_and_provider_are_not_written_to_a_save(workspace: Workspace, tmp_path: Path) -> None:
    with workspace.store.write(user=LOCAL_USER) as tx:
        set_value(tx, "llm.provider", "openai", scope="person")
        set_value(tx, "judge.policy", "off", scope="person")
    workspace.project("Mine").save(tmp_path / "mine.fabula")
    saved = members(tmp_path / "mine.fabula")["person/user_settings.jsonl"]
    assert b"judge.policy" in saved
    assert b"llm.provider" not in saved


def test_a_file_takes_the_place_of_no_series_that_a_book_still_names(workspace: Workspace, tmp_path: Path) -> None:
    lost = series.create(workspace.store, "Gone", project_id="harbour")
    book = workspace.project("Mine").id
    series.add_book(workspace.store, book, lost)
    projects.remove(workspace.store, lost)
    before = prompt(workspace)
    forged = Forgery()
    forged.line("projects", 0, kind="series")
    for name in [name for name in forged.members if name.startswith("series/")]:
        del forged.members[name]
    forged.manifest.pop("series", None)
    forged.write(tmp_path / "free.fabula")
    assert workspace.load_save(tmp_path / "free.fabula").project_id != "harbour"
    assert prompt(workspace) == before


def test_a_file_that_changed_after_it_was_looked_at_is_not_loaded(workspace: Workspace, tmp_path: Path) -> None:
    Forgery().write(tmp_path / "a.fabula")
    found = workspace.inspect_save(tmp_path / "a.fabula")
    forged = Forgery()
    forged.line("projects", 0, title="Another")
    forged.write(tmp_path / "a.fabula")
    with pytest.raises(FabulaError) as refused:
        workspace.load_save(tmp_path / "a.fabula", LoadChoices(checksum=found.checksum))
    assert refused.value.code is Code.SAVE_DAMAGED


def test_a_key_in_a_harmless_setting_is_neither_stored_nor_saved(workspace: Workspace, tmp_path: Path) -> None:
    project = workspace.project("Mine").id
    with workspace.store.write(project=project) as tx, pytest.raises(FabulaError) as refused:
        set_value(tx, "llm.model", KEY)
    assert refused.value.code is Code.SETTING_INVALID
    from fabula.settings.tables import settings  # as an earlier version stored it

    with workspace.store.write(project=project) as tx:
        tx.insert(settings, {"name": "llm.model", "value": KEY})
    manifest = save_project(workspace.store, project, tmp_path / "mine.fabula")
    assert manifest.omitted_rows == {"settings": 1}
    assert not any(KEY.encode() in data for data in members(tmp_path / "mine.fabula").values())


@pytest.mark.skipif(os.name != "posix", reason="there are no permissions of this kind")
def test_saves_and_exports_have_the_permissions_that_the_umask_allows(workspace: Workspace, tmp_path: Path) -> None:
    project = workspace.project("Mine")
    for umask, allowed in ((0o077, 0o600), (0o022, 0o644)):
        before = os.umask(umask)
        try:
            project.save(tmp_path / f"{umask}.fabula")
            project.export(tmp_path / f"{umask}.md")
        finally:
            os.umask(before)
        for ending in ("fabula", "md"):
            assert stat.S_IMODE((tmp_path / f"{umask}.{ending}").stat().st_mode) == allowed


def test_a_project_that_is_not_there_is_answered_without_the_titles_of_others(workspace: Workspace) -> None:
    workspace.create_project("A Secret Affair")
    with pytest.raises(FabulaError) as refused:
        workspace.project("zzzz")
    assert "Mine" not in refused.value.sentence
    assert "Affair" not in refused.value.sentence
    with pytest.raises(FabulaError) as refused:
        workspace.project("Mane")
    assert "Mine" in refused.value.sentence
    assert "Affair" not in refused.value.sentence
