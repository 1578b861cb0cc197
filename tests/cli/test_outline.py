"""The outline from the command line: planned, given to the model, ticked off with what was written."""

from __future__ import annotations

import re

from tests.cli.test_codex import Room, room
from tests.cli.test_write import at, model_server
from tests.llm.server import ModelServer, openai_answer

__all__ = ["model_server", "room"]


def test_what_is_planned_is_told_to_the_model_and_ticked_off_with_its_answer(
    room: Room, model_server: ModelServer
) -> None:
    for beat in room.read("outline", "list", "Coast", "ch-01"):
        room.run("outline", "remove", "Coast", beat["id"])
    assert "Nothing is planned" in room.run("outline", "list", "Coast", "ch-01")
    room.run("outline", "add", "Coast", "ch-01", "The bell rings under water")
    room.run("outline", "add", "Coast", "ch-01", "Nobody answers")
    model_server.script = openai_answer("Far down, it rang.")
    room.run("write", "Coast", *at(model_server), "--document", "ch-01")
    assert "The bell rings under water" in str(model_server.exchanges[0].request["messages"])
    said = room.run("accept", "Coast", room.read("runs", "Coast")[0]["id"], "--beat")
    assert "Done: The bell rings under water" in said
    planned = room.read("outline", "list", "Coast", "ch-01")
    assert [(one["text"], one["done"]) for one in planned] == [
        ("The bell rings under water", True),
        ("Nobody answers", False),
    ]
    room.run("write", "Coast", *at(model_server), "--document", "ch-01")
    assert "What should happen in this chapter: Nobody answers." in str(model_server.exchanges[1].request["messages"])


def test_beats_are_ticked_off_and_taken_up_again_by_hand(room: Room) -> None:
    room.run("outline", "add", "Coast", "ch-01", "The bell rings")
    beat = room.read("outline", "list", "Coast", "ch-01")[-1]["id"]
    assert room.run("outline", "done", "Coast", beat[:8]) == "Done: The bell rings\n"
    assert re.search(f"{beat} +✓ +The Morning Duty +The bell rings", room.run("outline", "list", "Coast", "--ids"))
    assert room.run("outline", "done", "Coast", beat, "--undo") == "Open again: The bell rings\n"
    assert "STORE_NOT_FOUND" in room.run("outline", "done", "Coast", "nothing", code=2)
    assert "TREE_INVALID" in room.run("outline", "add", "Coast", "nowhere", "It rains", code=2)


def test_beats_are_put_in_other_words_and_in_another_order(room: Room) -> None:
    for beat in room.read("outline", "list", "Coast", "ch-01"):
        room.run("outline", "remove", "Coast", beat["id"])
    for text in ("The bell rings", "Nobody answers", "Mara hides"):
        room.run("outline", "add", "Coast", "ch-01", text)
    first, second, third = (one["id"] for one in room.read("outline", "list", "Coast", "ch-01"))
    assert room.run("outline", "edit", "Coast", second, " Somebody answers ") == "Planned: Somebody answers\n"
    room.run("outline", "reorder", "Coast", "ch-01", third, first, second)
    planned = room.read("outline", "list", "Coast", "ch-01")
    assert [one["text"] for one in planned] == ["Mara hides", "The bell rings", "Somebody answers"]
    room.run("undo", "Coast")
    assert room.read("outline", "list", "Coast", "ch-01")[0]["text"] == "The bell rings"
    assert "Name each of the 3 beats once" in room.run("outline", "reorder", "Coast", "ch-01", third, first, code=2)
    assert "TEXT_INVALID" in room.run("outline", "edit", "Coast", first, "  ", code=2)
