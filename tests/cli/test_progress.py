"""Progress: after two seconds, with how to stop, and gone when the work is done."""

from __future__ import annotations

import time

import pytest

from fabula.cli import progress
from fabula.cli.progress import show_progress
from fabula.core.messages import message


def test_a_long_wait_says_what_it_waits_for_and_how_to_stop(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    with show_progress(message("Waiting for {model}", model="local/smollm2")) as update:
        update(1, 2)
        for _ in range(500):
            time.sleep(0.01)
            if said := capsys.readouterr().err:
                break
    assert said == "Waiting for local/smollm2 (Ctrl-C stops it)\n"


def test_a_short_wait_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(message("Reading {title}", title="The Tide")) as update:
        update(1, 2)
    assert capsys.readouterr().err == ""
