"""Slices of `benchmarks.server_kills`: servers that are killed under load, and a database that goes away."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from benchmarks import server_kills
from benchmarks.server_kills import EVENT_ENDS, Load, Outcome, Site, run_kills, run_outages

from fabula.workspace.workspace import Workspace
from tests.postgres import run_postgres

KILLS = 2


@pytest.fixture
def outcome(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    for name in ("FABULA_DATA", "FABULA_MODELS"):
        monkeypatch.setenv(name, "")  # which the load sets, and which are put back behind the test
    return Outcome()


def check(outcome: Outcome) -> None:
    ends = sum(outcome.figures[f"{kind}_streams"] for kind in EVENT_ENDS)
    assert ends == outcome.figures["streams"] - outcome.figures["broken_streams"]
    names = ("lost", "late_jobs", "doubled_jobs", "broken_streams", "uncoded_ends", "dropped_by_living_server")
    for name in (*names, "other_errors"):
        assert outcome.figures[name] == 0, outcome.notes
    assert outcome.figures["streams_cut_off"] <= outcome.figures["problem_streams"]
    for name in ("edits", "streams", "reads"):
        assert outcome.figures[name] > 0, name
    assert outcome.jobs


def test_what_was_acknowledged_and_is_not_there_or_is_there_twice_is_counted(outcome: Outcome, tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "data") as workspace:
        load = Load(Site(str(tmp_path / "data"), tmp_path, tmp_path, 1), workspace, outcome)
        for name in ("there", "twice", "twice"):
            load.project.chapters.add(name, "", allow_duplicate=True)
        load.project.codex.add("there")
        outcome.entries |= {"there", "lost entry"}
        outcome.messages.add("lost message")
        outcome.jobs |= {"there", "twice", "lost job"}
        load.verify()
    assert (outcome.figures["lost"], outcome.figures["doubled_jobs"]) == (3, 1), outcome.notes


def test_a_connection_that_a_living_server_breaks_is_counted_apart(
    outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_kills, "PATIENCE", 1.0)
    with Workspace.open(tmp_path / "data") as workspace, socket.create_server(("127.0.0.1", 0)) as opened:
        site = Site(str(tmp_path / "data"), tmp_path, tmp_path, 1)
        site.ports = [opened.getsockname()[1]]
        load = Load(site, workspace, outcome)

        def drop_all() -> None:
            with suppress(OSError):
                while True:
                    opened.accept()[0].close()

        dropping = threading.Thread(target=drop_all)
        dropping.start()
        with load.run():
            while outcome.figures["dropped_by_living_server"] < 5:
                time.sleep(0.01)
            site.kill(0)
            while outcome.figures["reconnections"] < 5:
                time.sleep(0.01)
        opened.shutdown(socket.SHUT_RDWR)
        dropping.join()
    assert outcome.figures["streams"] == outcome.figures["edits"] == 0


def test_one_of_two_servers_is_killed_and_nothing_is_lost_or_done_twice(outcome: Outcome, tmp_path: Path) -> None:
    with run_postgres() as postgres:
        run_kills(postgres.get_uri(), tmp_path, outcome, kills=KILLS, processes=2)
    check(outcome)


def test_the_only_server_on_a_file_is_killed_and_nothing_is_lost_or_done_twice(
    outcome: Outcome, tmp_path: Path
) -> None:
    run_kills(str(tmp_path / "data"), tmp_path, outcome, kills=KILLS, processes=1)
    check(outcome)


def test_requests_are_refused_with_a_code_while_the_database_is_away_and_succeed_when_it_is_back(
    outcome: Outcome, tmp_path: Path
) -> None:
    run_outages(outcome, tmp_path, restarts=1, half_open=10)
    check(outcome)
    assert outcome.figures["refusals"] > 0
