"""Proposals as a person takes and leaves them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabula.codex import edits as codex
from fabula.manuscript import projects
from fabula.settings import edits as settings
from fabula.store.store import Store
from tests.cli.test_projects import Desk
from tests.text.extraction.test_propose import RIVER, SEA


@pytest.fixture
def desk(tmp_path: Path, prepared: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A desk with a finished draft on it, for each engine."""
    made = Desk(tmp_path, prepared, monkeypatch, capsys)
    (tmp_path / "sea.md").write_text(f"# The Sea\n\n## One\n\n{SEA * 2}\n\n## Two\n\n{SEA * 2}")
    made.run("import", "sea.md")
    return made


def proposed(desk: Desk, *words: str) -> list[str]:
    return [one["name"] for one in json.loads(desk.run("extract", "The Sea", "--json", *words))["proposals"]]


def test_proposals_are_listed_with_their_names_and_mentions(desk: Desk) -> None:
    said = desk.run("extract", "The Sea")
    assert "Maddox" in said
    assert "Captain Maddox" in said
    found = json.loads(desk.run("extract", "The Sea", "--json"))["proposals"]
    assert {"name": "Maddox", "kind": "character", "aliases": ["Captain Maddox"]}.items() <= found[0].items()
    assert found[0]["mentions"] > 10
    assert found[0]["evidence"]
    assert found[0]["chapter"] == "One"


def test_kinds_are_shown_side_by_side_with_evidence_and_first_chapter(desk: Desk) -> None:
    said = desk.run("extract", "The Sea")
    assert said.index("Characters") < said.index("Maddox") < said.index("Places") < said.index("Harwick")
    assert "first in" in said
    assert "One" in said
    assert "came down to the" in " ".join(said.split())


def test_what_is_accepted_is_an_entry_and_is_not_proposed_again(desk: Desk) -> None:
    assert "Maddox is in the codex now" in desk.run("extract", "The Sea", "--accept", "Captain Maddox")
    assert "Maddox" not in proposed(desk)
    store = Store.open(desk.store)
    with store.read(project=projects.find_project(store, "The Sea").id) as reading:
        (entry,) = [kept.entry for kept in codex.list_entries(reading)]
        assert (entry.name, entry.type, entry.aliases) == ("Maddox", "character", ("Captain Maddox",))
    store.close()
    assert "codex:entity" in desk.run("why", "Maddox", "The Sea", "--json")


def test_what_is_dismissed_is_remembered_and_is_not_proposed_again(desk: Desk) -> None:
    left = json.loads(desk.run("extract", "The Sea", "--dismiss", "Vale", "--dismiss", "Harwick", "--json"))
    assert (left["dismissed"], [one["name"] for one in left["proposals"]]) == (["Vale", "Harwick"], ["Maddox"])
    assert proposed(desk) == ["Maddox"]
    store = Store.open(desk.store)
    with store.read(project=projects.find_project(store, "The Sea").id) as reading:
        found = settings.read_stored(reading, "extract.dismissed")
        assert found is not None
        assert found.value == ["Vale", "Harwick"]
    store.close()


def test_dismissed_names_are_listed_and_restored(desk: Desk) -> None:
    assert "dismissed no name" in desk.run("extract", "The Sea", "--dismissed")
    desk.run("extract", "The Sea", "--dismiss", "Vale")
    assert desk.run("extract", "The Sea", "--dismissed").split() == ["Vale"]
    assert json.loads(desk.run("extract", "The Sea", "--dismissed", "--json")) == {"dismissed": ["Vale"]}
    assert desk.run("extract", "The Sea", "--restore", "Nobody", code=2).startswith("CODEX_INVALID")
    assert "Vale can be proposed again" in desk.run("extract", "The Sea", "--restore", "Vale")
    assert "Vale" in proposed(desk)
    refused = desk.run("extract", "The Sea", "--dismissed", "--restore", "Vale", code=2)
    assert refused.startswith("CONTEXT_REQUEST_INVALID")


def test_a_name_that_nobody_proposed_changes_nothing(desk: Desk) -> None:
    before = proposed(desk)
    said = desk.run("extract", "The Sea", "--accept", "Maddox", "--accept", "Nobody", code=2)
    assert said.startswith("CODEX_INVALID: There is no proposed entry called 'Nobody'")
    assert proposed(desk) == before


def test_a_chinese_manuscript_is_read_as_one(desk: Desk) -> None:
    (desk.folder / "江.txt").write_text(f"第一章 江\n\n{RIVER * 3}\n")
    desk.run("import", "江.txt")
    found = json.loads(desk.run("extract", "江", "--json"))["proposals"]
    assert any({"沈砚", "子墨"} <= {one["name"], *one["aliases"]} for one in found)


def test_a_manuscript_without_names_says_so(desk: Desk) -> None:
    desk.run("new", "Empty")
    assert "Nothing in Empty looks like a name" in desk.run("extract", "Empty")


def test_what_a_series_has_or_what_is_named_later_is_not_proposed(desk: Desk) -> None:
    desk.run("series", "new", "All Seas")
    desk.run("codex", "add", "All Seas", "The Captain", "--id", "captain")
    desk.run("series", "join", "The Sea", "All Seas")
    assert "Maddox" in proposed(desk)
    desk.run("codex", "progress", "The Sea", "captain", "--since", "Two", "--alias", "Maddox")
    assert "Maddox" not in proposed(desk)
