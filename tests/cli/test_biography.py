"""`fabula biography`, `fabula participant prompt` and `fabula history pin` on the command line."""

from __future__ import annotations

import pytest

from tests.cli.test_codex import Room, room

__all__ = ["room"]


@pytest.fixture
def party(room: Room) -> Room:
    """A project with a participant."""
    room.run("participant", "add", "Coast", "Ines")
    return room


@pytest.mark.parametrize("group", [("biography",), ("participant", "prompt")])
def test_texts_of_a_participant_are_kept_in_order(party: Room, group: tuple[str, ...]) -> None:
    for text in ("Born at sea.", "Went ashore."):
        party.run(*group, "add", "Coast", "Ines", text)
    party.run(*group, "edit", "Coast", "Ines", "2", "Went ashore at ten.")
    party.run(*group, "reorder", "Coast", "Ines", "2", "1")
    assert [one["text"] for one in party.read(*group, "list", "Coast", "Ines")] == [
        "Went ashore at ten.",
        "Born at sea.",
    ]
    party.run(*group, "delete", "Coast", "Ines", "Born")
    assert len(party.read(*group, "list", "Coast", "Ines")) == 1
    party.run("undo", "Coast")
    assert len(party.read(*group, "list", "Coast", "Ines")) == 2
    assert "STORE_NOT_FOUND" in party.run(*group, "delete", "Coast", "Ines", "Died.", code=2)


def test_a_fixed_prompt_is_made_private(party: Room) -> None:
    party.run("participant", "prompt", "add", "Coast", "Ines", "She lies.", "--private")
    assert [one["isPrivate"] for one in party.read("participant", "prompt", "list", "Coast", "Ines")] == [True]
    party.run("participant", "prompt", "edit", "Coast", "Ines", "1", "--public")
    assert [one["isPrivate"] for one in party.read("participant", "prompt", "list", "Coast", "Ines")] == [False]


def test_a_message_is_pinned_and_let_go(party: Room) -> None:
    party.run("history", "start", "Coast", "--with", "Ines", "--title", "Pier")
    party.run("history", "record", "Coast", "Pier", "The lamp is in the well.", "--as", "Ines")
    assert party.read("history", "pin", "Coast", "Pier", "1", "in the well")["pinned"] == "in the well"
    assert party.read("history", "pin", "Coast", "Pier", "1", "--off")["pinned"] is None
    assert "REQUEST_INVALID" in party.run("history", "pin", "Coast", "Pier", "1", "the moon", code=2)
