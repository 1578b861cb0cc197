"""Progress: after two seconds, with how to stop, and gone when the work is done."""

from __future__ import annotations

import sys
import time

import pytest

from fabula.cli import progress
from fabula.cli.progress import show_progress
from fabula.core.messages import message
from tests.cli.test_codex import Room, room

__all__ = ["room"]


def test_a_long_wait_says_what_it_waits_for_and_how_to_stop(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FABULA_PROGRESS")
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    with show_progress(message("Waiting for {model}", model="local/smollm2")) as update:
        update(1, 2)
        for _ in range(500):
            time.sleep(0.01)
            if said := capsys.readouterr().err:
                break
    assert said == "Waiting for local/smollm2 (Ctrl-C stops it)\n"


def test_a_short_wait_says_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("FABULA_PROGRESS")
    monkeypatch.setattr(progress, "SHOWN_AFTER", 3600.0)
    with show_progress(message("Reading {title}", title="The Tide")) as update:
        update(1, 2)
    assert capsys.readouterr().err == ""


def test_a_program_that_reads_what_is_said_can_leave_progress_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FABULA_PROGRESS", "off")
    monkeypatch.setattr("threading.Timer", lambda *_: pytest.fail("progress is timed"))
    with show_progress(message("Reading {title}", title="The Tide")) as update:
        update(1, 2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "words",
    [
        ("import", "coast.md"),
        ("search", "Coast", "lamp"),
        ("extract", "Coast"),
        ("timeline", "Coast"),
        ("constraint", "check", "Coast", "--chapter", "1"),
        ("constraint", "check", "Coast", "coast.md"),
        ("synopsis", "make", "Coast"),
        ("export", "Coast", "out.docx"),
        ("save", "Coast", "out.fabula"),
        ("load", "saved.fabula", "--yes"),
        ("verify", "saved.fabula"),
        ("codex", "rename", "Coast", "Mara", "Maren"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_every_command_that_reads_the_whole_book_shows_progress_and_how_to_stop(
    room: Room, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    (room.folder / "coast.md").write_text("# Coast\n\n## One\n\nShe came down to the water.\n", "utf-8")
    room.run("save", "Coast", "saved.fabula")
    monkeypatch.setattr(
        progress.ProgressDisplay, "start", lambda shown: print(shown._title, file=sys.stderr, flush=True)
    )
    room.run(*words)
    shown = [line for line in room.aside.splitlines() if line.endswith("(Ctrl-C stops it)")]
    assert [line for line in shown if not line.startswith(("Opening", "Updating synopses"))]


def test_opening_a_large_project_shows_progress(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        progress.ProgressDisplay, "start", lambda shown: print(shown._title, file=sys.stderr, flush=True)
    )
    room.run("project", "info", "Coast")
    assert "Opening Coast (Ctrl-C stops it)" in room.aside


def test_a_chinese_project_is_opened_in_chinese(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        progress.ProgressDisplay, "start", lambda shown: print(shown._title, file=sys.stderr, flush=True)
    )
    monkeypatch.delenv("FABULA_LANGUAGE")
    room.run("new", "雾港", "--language", "zh")
    room.run("project", "info", "雾港")
    assert "Opening" not in room.aside
    assert "雾港" in room.aside
