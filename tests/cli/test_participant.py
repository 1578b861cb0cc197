"""`fabula participant` with character cards, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_projects import Desk, desk

__all__ = ["desk"]


@pytest.fixture
def pier(desk: Desk, tmp_path: Path) -> Desk:
    """A project with a player and a character whose card was imported."""
    card = {
        "name": "Mara",
        "description": "Keeps the light.",
        "personality": "Quiet.",
        "scenario": "",
        "first_mes": "{{char}} nods to {{user}}.",
        "mes_example": "",
    }
    (tmp_path / "mara.json").write_text(json.dumps(card), "utf-8")
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    desk.run("participant", "add", "Coast", "Ann", "--kind", "player")
    said = desk.run("participant", "import", "Coast", str(tmp_path / "mara.json"))
    assert "Mara can take part in conversations now." in said
    assert "The card has 1 greeting and 0 lorebook entries." in said
    return desk


def test_a_card_is_shown_changed_and_brought_back(pier: Desk) -> None:
    assert "description:\nKeeps the light." in pier.run("participant", "show", "Coast", "Mara")
    shown = pier.run("participant", "card", "Coast", "Mara", "--scenario", "A pier.", "--greeting", "Fog.")
    assert "scenario:\nA pier." in shown
    assert json.loads(pier.run("participant", "card", "Coast", "Mara", "--json"))["alternateGreetings"] == ["Fog."]
    pier.run("undo", "Coast")
    assert "A pier." not in pier.run("participant", "card", "Coast", "Mara")
    assert "Ann has no character card yet." in pier.run("participant", "card", "Coast", "Ann")
    assert json.loads(pier.run("participant", "show", "Coast", "Mara", "--json"))["card"]["personality"] == "Quiet."


def test_a_greeting_begins_a_conversation(pier: Desk) -> None:
    pier.run("participant", "card", "Coast", "Mara", "--greeting", "Fog.")
    pier.run("history", "start", "Coast", "--with", "Ann", "--greeting", "Mara", "--title", "Pier")
    assert pier.run("history", "show", "Coast", "Pier") == "1. Mara: Mara nods to Ann.\n"
    assert "2. Mara: Fog." in pier.run("history", "branch", "Coast", "Pier", "1")


def test_a_card_is_exported(pier: Desk, tmp_path: Path) -> None:
    pier.run("participant", "export", "Coast", "Mara", str(tmp_path / "out.json"))
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["first_mes"] == "{{char}} nods to {{user}}."
    assert "no character card" in pier.run("participant", "export", "Coast", "Ann", str(tmp_path / "ann.json"), code=2)


def test_a_lorebook_is_no_card(pier: Desk, tmp_path: Path) -> None:
    (tmp_path / "isles.json").write_text(json.dumps({"entries": {"0": {"uid": 0, "key": ["a"], "content": "b"}}}))
    said = pier.run("participant", "import", "Coast", str(tmp_path / "isles.json"), code=2)
    assert "is a lorebook and no character card" in said
    assert "isles" not in pier.run("lorebook", "list", "Coast")
