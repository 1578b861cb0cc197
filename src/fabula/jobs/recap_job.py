"""The job that makes recaps: one try, since the next round asks again anyway.

What fails is said in the job's own words and stored nowhere else. Without a model there are no recaps: sentences
picked from what was said would be that again, and it is kept already.
"""

from __future__ import annotations

import logging

from fabula.conversation.recaps import update as recaps
from fabula.conversation.recaps.model import Digest
from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.view import Language
from fabula.jobs import queue as service
from fabula.jobs.cancellation import Stop
from fabula.jobs.model import Job, Outcome
from fabula.jobs.triggers.recap_settings import rules_of
from fabula.store.store import Store

log = logging.getLogger("fabula.jobs")


def run(store: Store, job: Job, stop: Stop, *, digest: Digest | None, language: Language) -> Outcome:
    """Make the recaps of a conversation that are due; the handler of the kind `recap`, but for who tells them."""
    conversation = str(job.work.get("conversation", ""))
    anew = job.work.get("anew", "")
    with store.read(project=job.project_id) as reading:
        if reading.row(conversations, id=conversation) is None:
            return Outcome()
        rules, strange = rules_of(reading)
    for name in strange:
        log.warning("the setting %s of project %s makes no sense and was left aside", name, job.project_id)
    if not rules.on:
        return Outcome()
    if digest is None:
        raise FabulaError(
            Code.RECAP_NO_MODEL, "Recaps are made by a model, and none is set up. Nothing was changed or lost."
        )
    done = recaps.refresh(
        store,
        job.project_id,
        conversation,
        digest=digest,
        language=language,
        rules=rules,
        anew=anew if isinstance(anew, str) else "",
        check=stop.check,
    )
    if done.failed:
        first = done.failed[0]
        raise FabulaError(first.code, f"Rounds {first.rounds[0]} to {first.rounds[-1]} were not told: {first.sentence}")
    if done.left:
        return Outcome(write=lambda tx: service.queue(tx, job.kind, job.key, job.work))
    return Outcome()
