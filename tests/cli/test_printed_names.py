"""What commands print goes by names, titles and numbers; ids are for programs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from fabula.core.ids import format_time
from tests.cli.test_codex import Room, room

__all__ = ["room"]
ID = re.compile(r"\b[0-9a-f]{8,}\b|\b(?:codex|search|constraint|memory|synopsis|recap):\S|\bch-\d+|\b[cm]-\d\d\b")


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "words",
    [
        ("projects",),
        ("search", "Coast", "the", "lamp"),
        ("why", "Mara Venn", "Coast"),
        ("inspect", "Coast", "-w", "8192"),
        ("memory", "list", "Coast"),
        ("memory", "remember", "Coast", "Likes short chapters."),
        ("memory", "forget", "Coast", "1"),
        ("memory", "confirm", "Coast", "2"),
        ("memory", "dismiss", "Coast", "2"),
        ("memory", "edit", "Coast", "2", "--text", "Wants commas."),
        ("memory", "learn", "Coast"),
        ("lorebook", "new", "Coast", "Harbour"),
        ("lorebook", "list", "Coast"),
        ("outline", "add", "Coast", "7", "Mara finds the letter."),
        ("outline", "list", "Coast"),
        ("jobs", "list", "Coast"),
        ("runs", "Coast"),
        ("chapter", "new", "Coast", "The Bell"),
        ("chapter", "list", "Coast"),
        ("synopsis", "list", "Coast"),
        ("preset", "list", "Coast"),
        ("timeline", "Coast"),
        ("extract", "Coast"),
        ("undo", "Coast", "--list"),
        ("new", "Coast"),
        ("new", "Other", "--from", "sample:wugang"),
        ("import", "coast.md"),
        ("import", "coast.md", "--into", "Coast"),
        ("save", "Coast", "coast.fabula"),
        ("load", "saved.fabula", "--yes"),
        ("project", "info", "Coast"),
        ("project", "delete", "Coast", "--yes"),
        ("project", "restore"),
        ("series", "new", "The Coast"),
        ("series", "join", "Coast", "Books"),
        ("write", "Coast", "--provider", "clipboard", "-w", "8192"),
        ("write", "Coast", "--provider", "clipboard", "-w", "8192", "-n", "2"),
    ],
    ids=" ".join,
)
def test_no_id_is_printed(room: Room, words: tuple[str, ...]) -> None:
    (room.folder / "coast.md").write_text("# Coast\n\n## One\n\nShe came down to the water.\n", "utf-8")
    room.run("series", "new", "Books")
    room.run("save", "Coast", "saved.fabula")
    said = room.run(*words)
    assert ID.findall(said if words[0] != "write" else room.aside) == []
    assert ID.findall(room.aside) == []


def test_a_finding_names_the_constraint_by_its_number(room: Room) -> None:
    said = room.run("constraint", "add", "Coast", 'Never use the word "lamp".')
    number = re.findall(r"\d+", said)[0]
    found = room.run("constraint", "check", "Coast", code=1)
    assert f"(constraint {number})" in found
    assert ID.findall(found) == []
    (room.folder / "text.md").write_text("A lamp.", "utf-8")
    assert f"(constraint {number})" in room.run("constraint", "check", "Coast", "text.md", code=1)


def test_of_two_projects_with_one_title_commands_name_the_number(room: Room) -> None:
    said = room.run("new", "Coast")
    assert "fabula assemble 2" in said
    room.run("project", "delete", "2", "--yes")
    room.run("new", "Coast")
    said = room.run("project", "delete", "3", "--yes")
    assert "fabula project restore 1" in said
    assert "Coast is back" in room.run("project", "restore", "1")


def test_each_of_several_answers_is_taken_by_its_number(room: Room) -> None:
    room.run("write", "Coast", "--provider", "clipboard", "-w", "8192", "-n", "3")
    numbers = re.findall(r"fabula accept Coast (\d+) --edited", room.aside)
    assert sorted(numbers) == ["1", "2", "3"]
    (room.folder / "answer.md").write_text("The lamp went out.", "utf-8")
    assert "Accepted" in room.run("accept", "Coast", numbers[1], "--edited", "answer.md")


def test_a_run_is_shown_with_names(room: Room) -> None:
    room.run("write", "Coast", "--provider", "clipboard", "-w", "8192")
    shown = room.run("runs", "Coast", "last")
    assert "Sources: Mara Venn" in shown
    assert "passages" in shown
    assert "ended: handed over" in shown
    assert ID.findall(shown) == []


def test_a_job_is_named_by_its_number_or_its_chapter(room: Room) -> None:
    said = room.run("jobs", "list", "Coast")
    number = next(line.split()[0] for line in said.splitlines() if "The Weight" in line)
    assert "1 job queued." in room.run("jobs", "retry", "Coast", number)
    assert "1 job cancelled." in room.run("jobs", "cancel", "Coast", "the weight")
    assert "The Weight" in room.run("jobs", "retry", "Coast", "The Wait", code=2)
    assert "synopsis:" in room.run("jobs", "list", "Coast", "--ids")


@pytest.mark.usefixtures("berlin")
def test_every_time_is_local_and_has_its_zone(room: Room) -> None:
    assert str(format_time("2026-11-17T23:30:00.000000Z")) == "2026-11-18 00:30 CET"
    room.run("memory", "remember", "Coast", "Likes short chapters.")
    for words in (("doctor",), ("projects",), ("undo", "Coast", "--list"), ("project", "info", "Coast")):
        said = room.run(*words)
        times = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d(?: \S+)?", said)
        assert times or words == ("doctor",)
        assert all(re.search(r" CES?T", found) for found in times)
        assert "UTC" not in said
