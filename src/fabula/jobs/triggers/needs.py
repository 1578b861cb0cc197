"""The trigger on assembled prompts: a new scene enqueues the question which earlier details it needs.

The job is enqueued with the continuity of the prompt, in the background. A scene that is written on while the job waits
moves it to the newest place, by a minute at most. After a failure a document rests for a while, so that a model which
does not answer is not asked by every prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import convert

from fabula.core.story import Perspective, Position, Vantage
from fabula.jobs.model import JobState
from fabula.jobs.queue import enqueue, is_valid_key
from fabula.jobs.tables import jobs
from fabula.jobs.timestamps import add_seconds
from fabula.store.transaction import WriteTransaction

NEEDS_JOB = "needs"
PAUSE = 5.0  # seconds without another prompt
MAX_DELAY = 60.0
REST = 600.0  # seconds after a failure


def read_needs_vantage(work: Mapping[str, Any]) -> Vantage | None:
    """The vantage in the work of a job; None where it has none."""
    try:
        place = convert({"document": work.get("document"), "offset": work.get("offset")}, Position)
        perspective = Perspective(work.get("perspective", ""))
    except ValueError:
        return None
    return Vantage(perspective, place, work.get("character"))


def queue_needs(tx: WriteTransaction, vantage: Vantage) -> None:
    """Enqueue the question of a scene: one job for each document and perspective."""
    here = vantage.position
    key = f"{NEEDS_JOB}:{here.document}:{vantage.name}" if here is not None else ""
    if here is None or not is_valid_key(key):
        return
    rows, now = tx.rows(jobs, jobs.c.key == key, only=("state", "ended")), tx.current_time()
    if rows and rows[0].state == JobState.FAILED.value and rows[0].ended <= now < add_seconds(rows[0].ended, REST):
        return
    work = {
        "document": here.document,
        "offset": here.offset,
        "perspective": vantage.perspective.value,
        "character": vantage.character,
    }
    enqueue(tx, NEEDS_JOB, key, work, due_in=PAUSE, max_delay=MAX_DELAY)
