"""Synopses from the command line, as a person asks for them."""

from __future__ import annotations

import re

from tests.cli.test_codex import Room, room

__all__ = ["room"]


def states(room: Room) -> dict[str, tuple[str | None, str]]:
    return {one["documentId"]: (one["origin"], one["state"]) for one in room.read("synopsis", "list", "Coast")}


def test_chapters_are_listed_with_whose_synopsis_they_have(room: Room) -> None:
    assert set(states(room).values()) == {("hand", "fresh")}
    listed = room.run("synopsis", "list", "Coast", "--ids").splitlines()
    assert re.match(r" +1  ch-01 +The Morning Duty +fresh +by hand$", listed[1])
    assert len(room.read("synopsis", "list", "sample:wugang")) == 7
    room.run("new", "Bare")
    assert "No chapters yet" in room.run("synopsis", "list", "Bare")


def test_a_synopsis_is_cleared_made_and_written(room: Room) -> None:
    assert "has no synopsis any more" in room.run("synopsis", "clear", "Coast", "The Weight")
    assert "anyway" in room.run("synopsis", "clear", "Coast", "ch-02")
    assert states(room)["ch-02"] == (None, "missing")
    shown = room.run("synopsis", "show", "Coast", "ch-02")
    assert "none is kept; its own sentences" in shown
    assert "1 synopsis made." in room.run("synopsis", "make", "Coast")
    assert states(room)["ch-02"] == ("extract", "fresh")
    assert "Will" in room.read("synopsis", "show", "Coast", "ch-02")[0]["text"]
    assert "fresh already" in room.run("synopsis", "make", "Coast")
    assert [one["documentId"] for one in room.read("synopsis", "make", "Coast", "ch-02", "--again")["made"]] == [
        "ch-02"
    ]
    assert "in your words" in room.run("synopsis", "edit", "Coast", "ch-02", "Will climbs the tower.")
    assert room.read("synopsis", "make", "Coast", "--again")["made"] == []
    assert room.read("synopsis", "edit", "Coast", "ch-02", "-", stdin="He climbs.\n")["text"] == "He climbs."


def test_main_characters_that_were_lost_are_pointed_out(room: Room) -> None:
    said = room.run("synopsis", "edit", "Coast", "ch-01", "A lamp is put out.")
    assert "! It does not name Mara Venn" in said
    assert re.search(r"by hand +Mara Venn", room.run("synopsis", "list", "Coast"))
    assert "! It does not name Mara Venn" in room.run("synopsis", "show", "Coast", "ch-01")
    assert "Mara Venn" in room.read("synopsis", "show", "Coast", "ch-01")[0]["lost"]
    (room.folder / "sea.md").write_text(
        "# Sea\n\n## One\n\n" + "Then Captain Maddox said that Captain Maddox had seen Captain Maddox. " * 8, "utf-8"
    )
    room.run("import", "sea.md")
    room.run("synopsis", "edit", "Sea", "One", "Somebody was seen.")
    assert "Maddox" in room.run("synopsis", "list", "Sea")


def test_what_does_not_exist_is_refused_in_words(room: Room) -> None:
    assert "CONTEXT_DOCUMENT_UNKNOWN" in room.run("synopsis", "show", "Coast", "ch-99", code=2)
    assert "CONTEXT_DOCUMENT_UNKNOWN" in room.run("synopsis", "make", "Coast", "ch-99", code=2)
    assert "CONTEXT_DOCUMENT_UNKNOWN" in room.run("synopsis", "edit", "Coast", "ch-99", "x", code=2)
    assert "TEXT_INVALID" in room.run("synopsis", "edit", "Coast", "ch-01", "  ", code=2)
    assert "PROJECT_NOT_FOUND" in room.run("synopsis", "make", "Nowhere", code=3)
