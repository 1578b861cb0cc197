"""`fabula fact`: what the book says of an entry, listed, used, dismissed and restored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_projects import Desk

LASTING = "Maddox had never learned to swim since the winter in which his brother drowned."


@pytest.fixture
def desk(tmp_path: Path, prepared: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A desk with a draft and one entry."""
    made = Desk(tmp_path, prepared, monkeypatch, capsys)
    (tmp_path / "sea.md").write_text(f"# The Sea\n\n## One\n\nThe wind rose.\n\n{LASTING}\n")
    made.run("import", "sea.md")
    made.run("codex", "add", "The Sea", "Maddox", "--type", "character")
    return made


def test_a_fact_is_listed_with_its_chapter_and_becomes_a_progression(desk: Desk) -> None:
    said = " ".join(desk.run("fact", "list", "The Sea", "Maddox").split())
    assert LASTING in said
    assert "(One)" in said
    desk.run("fact", "use", "The Sea", "Maddox", "1", "--as", "progression")
    assert "drowned" in desk.run("codex", "show", "The Sea", "Maddox")
    assert json.loads(desk.run("fact", "list", "The Sea", "Maddox", "--json"))["facts"] == []


def test_a_dismissed_fact_can_be_restored(desk: Desk) -> None:
    desk.run("fact", "dismiss", "The Sea", "Maddox", "1")
    assert "nothing" in desk.run("fact", "list", "The Sea", "Maddox")
    assert LASTING in " ".join(desk.run("fact", "list", "The Sea", "Maddox", "--dismissed").split())
    desk.run("fact", "restore", "The Sea", "Maddox", "1")
    assert "No fact" in desk.run("fact", "list", "The Sea", "Maddox", "--dismissed")
    desk.run("fact", "dismiss", "The Sea", "Maddox", "1")
    desk.run("fact", "restore", "The Sea", "Maddox")
    (fact,) = json.loads(desk.run("fact", "list", "The Sea", "Maddox", "--json"))["facts"]
    assert (fact["text"], fact["number"], fact["isLasting"]) == (LASTING, 1, True)
