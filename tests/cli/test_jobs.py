"""Background work from the command line, as a person types it."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from fabula.jobs import queue as service
from fabula.jobs.model import JobState
from fabula.jobs.tables import breakers, jobs
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction
from tests.cli.test_codex import Room, room
from tests.jobs.fake_jobs import FAR_AHEAD, wait_until

__all__ = ["room"]


def _change(room: Room, change: object) -> None:
    """Change the project as the rest of the program would."""
    assert callable(change)
    store = Store.open(room.folder / "data")
    with store.write(project=projects.find_project(store, "Coast").id) as tx:
        change(tx)
    store.close()


def _states(room: Room, *words: str) -> dict[str, str]:
    (found,) = room.read("jobs", "list", "Coast", *words)
    return {one["key"]: one["state"] for one in found["jobs"]}


def test_a_command_that_leaves_jobs_behind_does_the_short_ones_at_once(room: Room) -> None:
    (found,) = room.read("jobs", "list")
    keys = [one["key"] for one in found["jobs"]]
    assert keys
    assert all(key.startswith("synopsis:") for key in keys)
    assert {one["state"] for one in found["jobs"]} == {"done"}
    assert found["money"]["budgetMicros"] == 5_000_000
    assert all(one["state"] == "fresh" for one in room.read("synopsis", "list", "Coast") if one["origin"] != "hand")
    assert room.run("jobs", "list", "Coast", "--state", "failed").endswith("No jobs.\n")


def test_a_job_is_cancelled_and_retried(room: Room) -> None:
    _change(room, lambda tx: tx.delete_rows(jobs))
    _change(room, lambda tx: service.enqueue(tx, "of.tomorrow", "mine"))
    assert room.run("jobs", "cancel", "Coast", "mine") == "1 job cancelled.\n"
    assert _states(room, "--state", "cancelled") == {"mine": "cancelled"}
    assert room.run("jobs", "retry", "Coast", "mine").startswith("1 job queued.")
    assert _states(room)["mine"] == "queued"
    room.run("jobs", "cancel", "Coast", "--all")
    assert set(_states(room).values()) == {"cancelled"}
    assert "JOB_NOT_FOUND" in room.run("jobs", "cancel", "Coast", "nobody", code=2)
    assert "JOB_INVALID" in room.run("jobs", "cancel", "Coast", code=2)
    assert "JOB_INVALID" in room.run("jobs", "retry", "Coast", "mine", "--failed", code=2)
    assert "JOB_INVALID" in room.run("jobs", "list", "--state", "lost", code=2)


def test_what_failed_says_why_and_is_retried_together(room: Room) -> None:
    def fail(tx: WriteTransaction) -> None:
        for key in ("one", "two"):
            service.enqueue(tx, "of.tomorrow", key)
        broken = {"state": "failed", "why": "LLM_GONE", "note": "It is gone.", "micros": 1500, "tries": 5}
        tx.update_rows(jobs, broken, jobs.c.kind == "of.tomorrow")
        tx.insert(breakers, {"kind": "of.tomorrow", "failures": 5, "open_until": FAR_AHEAD, "why": "LLM_GONE"})

    _change(room, fail)
    said = room.run("jobs", "list", "Coast")
    assert "! of.tomorrow failed 5 times in a row (LLM_GONE) and waits until 2199-01-01 00:00 UTC." in said
    assert "0.0015  try 5, LLM_GONE: It is gone." in said
    assert room.read("jobs", "list", "Coast")[0]["breakers"][0]["openUntil"] == FAR_AHEAD
    assert room.run("jobs", "retry", "Coast", "--failed").startswith("2 jobs queued.")
    assert {_states(room)[key] for key in ("one", "two")} == {"queued"}


def test_a_running_job_is_told_to_stop(room: Room) -> None:
    def running(tx: WriteTransaction) -> None:
        service.enqueue(tx, "of.tomorrow", "mine")
        tx.update_rows(
            jobs, {"state": "running", "started": tx.current_time(), "leased_until": FAR_AHEAD}, jobs.c.key == "mine"
        )
        service.enqueue(tx, "of.tomorrow", "mine")

    _change(room, running)
    assert "runs once more" in room.run("jobs", "list", "Coast", "--state", "running")
    assert room.run("jobs", "cancel", "Coast", "mine") == "1 job cancelled.\nWhat is still running will stop soon.\n"
    assert "will stop" in room.run("jobs", "list", "Coast", "--state", "running")
    assert "JOB_RUNNING" in room.run("jobs", "retry", "Coast", "mine", code=2)


def test_the_budget_is_shown_and_set(room: Room) -> None:
    assert "0.00 of 5.00 spent in" in room.run("jobs", "budget", "Coast")
    assert room.read("jobs", "budget", "Coast", "2.5")["budgetMicros"] == 2_500_000
    assert "SETTING_INVALID" in room.run("jobs", "budget", "Coast", "1e300", code=2)


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_that_is_kept_ends_when_it_is_asked_to(room: Room, name: signal.Signals) -> None:
    job = next(iter(_states(room)))
    assert room.run("jobs", "retry", "Coast", job).startswith("1 job queued.")

    before = signal.getsignal(name)

    def ask() -> None:
        wait_until(lambda: signal.getsignal(name) is not before)  # an earlier signal would end the test run
        store = Store.open(room.folder / "data")
        project = projects.find_project(store, "Coast").id

        def over() -> bool:
            with store.read(project=project) as reading:
                return (
                    not service.count_jobs(reading)[JobState.QUEUED]
                    and not service.count_jobs(reading)[JobState.RUNNING]
                )

        wait_until(over)
        store.close()
        os.kill(os.getpid(), name)

    asking = threading.Thread(target=ask)
    asking.start()
    assert room.run("jobs", "run", "--keep").endswith(" done\n")
    asking.join()
