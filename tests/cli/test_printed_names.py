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
    ],
    ids=" ".join,
)
def test_no_id_is_printed(room: Room, words: tuple[str, ...]) -> None:
    assert ID.findall(room.run(*words)) == []


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
