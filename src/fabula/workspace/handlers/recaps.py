"""The recap job: make the summaries and recaps of a conversation that are due (cnv-6).

A model writes them. Without a model there are no recaps: sentences picked from the messages would only repeat what is
stored already. A job has one try, because the next round enqueues it again. A failure is recorded on the job only.
"""

from __future__ import annotations

import logging

from fabula.conversation.recaps.model import RecapInput, WriteRecap
from fabula.conversation.recaps.update import refresh_recaps
from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.view import Language
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobOutcome
from fabula.jobs.queue import enqueue
from fabula.jobs.triggers.recap_settings import read_recap_rules
from fabula.store.store import Store
from fabula.workspace.handlers.background_model import SPENT, find_background_model
from fabula.workspace.views import ProjectViews
from fabula.workspace.writing_options import choose_background_model

_NO_MODEL = message(
    "Recaps are written by a model, and no model may work in the background here. "
    "Allow one; the documentation of background jobs says how."
)

log = logging.getLogger("fabula.jobs")


def update_recaps(views: ProjectViews, job: Job, token: CancellationToken) -> JobOutcome:
    """Make the summaries and recaps of a conversation that are due, with the project's background model."""
    model = find_background_model(views, job.project_id, token)
    language = views.view(job.project_id).project.language
    if model is None:
        is_spent = choose_background_model(views.store, job.project_id) is not None
        return update_with(None, views.store, job, token, language, is_spent=is_spent)
    conversation = str(job.work.get("conversation", ""))

    def write_recap(recap: RecapInput) -> str:
        text = _make_input(recap)
        return model.run_skill("recap", text, conversation_id=conversation, timeout=recap.timeout).strip()

    return update_with(write_recap, views.store, job, token, language)


def update_with(
    write_recap: WriteRecap | None,
    store: Store,
    job: Job,
    token: CancellationToken,
    language: Language,
    *,
    is_spent: bool = False,
) -> JobOutcome:
    """Make the summaries and recaps that are due; `write_recap` writes one, None where there is no model.

    `is_spent` says that there is one, and that the month's budget is used up.
    """
    conversation, rebuild_before = str(job.work.get("conversation", "")), job.work.get("anew", "")
    with store.read(project=job.project_id) as reading:
        row = reading.row(conversations, id=conversation)
        if row is None:
            return JobOutcome()
        rules, unusable = read_recap_rules(reading, row.mode, conversation)
    for name in unusable:
        log.warning("the setting %s of project %s cannot be used and counts as not set", name, job.project_id)
    if not rules.enabled:
        return JobOutcome()
    if write_recap is None:
        raise FabulaError(Code.JOB_BUDGET, SPENT) if is_spent else FabulaError(Code.RECAP_NO_MODEL, _NO_MODEL)
    result = refresh_recaps(
        store,
        job.project_id,
        conversation,
        write_recap=write_recap,
        language=language,
        rules=rules,
        rebuild_before=rebuild_before if isinstance(rebuild_before, str) else "",
        check=token.raise_if_cancelled,
    )
    if result.failures:
        first = result.failures[0]
        raise FabulaError(
            first.code,
            message(
                "Rounds {first} to {last} have no recap: {reason}",
                first=first.rounds[0],
                last=first.rounds[-1],
                reason=first.sentence,
            ),
        )
    if result.has_more:
        return JobOutcome(write=lambda tx: enqueue(tx, job.kind, job.key, job.work))
    return JobOutcome()


def _make_input(recap: RecapInput) -> str:
    """The text that the model gets: the allowed length, the previous recap, and the messages."""
    parts = [message("At most {length} characters.", length=recap.max_chars).render(recap.language), recap.text]
    if recap.previous_recap:
        heading = message("What was recorded before, for you to follow on from, not to repeat:")
        parts.insert(1, f"{heading.render(recap.language)}\n{recap.previous_recap}")
    return "\n\n".join(parts)
