"""The proposals job: find preferences in accepted, rejected and rewritten answers (mem-2).

Counting is free and is done each time. The background model is asked when enough new outcomes were recorded since it
was last asked. It may propose only preferences that counting cannot find, and each needs several outcomes as evidence
that were written without being told so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import message
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobOutcome
from fabula.llm import runs
from fabula.memory import edits as memory
from fabula.memory.deduplicate import analyse_meaning
from fabula.memory.learning import OutcomeAnalysis, analyse_outcomes, learn
from fabula.memory.model import MemoryItem, MemoryKind, MemoryScope, SuggestionOutcome
from fabula.memory.outcomes import list_outcomes
from fabula.memory.proposals import MAX_QUOTES, MemoryProposal
from fabula.skills.structured_answer import parse_rows
from fabula.store.store import LOCAL_USER
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.workspace.handlers.background_model import BackgroundModel, find_background_model
from fabula.workspace.memory import make_rule_test
from fabula.workspace.views import ProjectViews

SKILL = "habits"
MIN_NEW_OUTCOMES = 8  # before the model is asked again
MAX_OUTCOMES = 40
MIN_EVIDENCE = 3  # outcomes that show a preference
MAX_PREFERENCE_CHARS = 160
_MAX_QUOTE_CHARS = 400  # of a text that the model gets


def propose_preferences(views: ProjectViews, job: Job, token: CancellationToken) -> JobOutcome:
    """Propose the preferences that a project's outcomes show."""
    with views.store.read(project=job.project_id, user=LOCAL_USER) as reading:
        analysis, outcomes = analyse_outcomes(reading), list_outcomes(reading, limit=MAX_OUTCOMES)
        known = _list_preferences(reading)
        runs_used = (run for run in runs.list_runs(reading, skill_id=SKILL) if run.outcome == "used")
        last_asked = next((run.created_at for run in runs_used), "")
    new_outcomes = [outcome for outcome in outcomes if outcome.created_at > last_asked]
    enough = len(new_outcomes) >= MIN_NEW_OUTCOMES
    model = find_background_model(views, job.project_id, token) if enough else None
    if model is None:
        return JobOutcome(write=partial(_store_proposals, analysis), user=LOCAL_USER)
    try:
        proposals = _ask_model(model, outcomes, known)
    except FabulaError:
        with views.store.write(project=job.project_id, user=LOCAL_USER) as tx:
            _store_proposals(analysis, tx)
        raise
    combined = OutcomeAnalysis(analysis.outcome_count, (*analysis.proposals, *proposals))
    return JobOutcome(write=partial(_store_proposals, combined), user=LOCAL_USER)


def _store_proposals(analysis: OutcomeAnalysis, tx: WriteTransaction) -> None:
    learn(tx, today=current_timestamp(), analysis=analysis, is_rule=make_rule_test(tx))


def _list_preferences(reading: ReadTransaction) -> list[MemoryItem]:
    """The preferences that are known already, dismissed or not."""
    of_project = memory.list_memories(reading, kind=MemoryKind.PREFERENCE)
    return [*of_project, *memory.list_memories(reading, scope=MemoryScope.USER, kind=MemoryKind.PREFERENCE)]


def _ask_model(
    model: BackgroundModel, outcomes: Sequence[SuggestionOutcome], known: Sequence[MemoryItem]
) -> list[MemoryProposal]:
    """The preferences that the model finds, with enough evidence and not known already."""
    rows = parse_rows(model.run_skill(SKILL, "\n\n".join(_format_outcomes(outcomes))), "habits")
    if rows is None:
        raise FabulaError(
            Code.LLM_ANSWER_INVALID, message("The model's answer is no list of habits. Nothing was proposed.")
        )
    proposals: list[MemoryProposal] = []
    for row in rows[:MAX_QUOTES]:
        text, numbers = row.get("text"), row.get("shown")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= MAX_PREFERENCE_CHARS:
            continue
        if not isinstance(numbers, list):
            continue
        cited = {number for number in numbers if isinstance(number, int) and 0 < number <= len(outcomes)}
        evidence = [outcomes[number - 1] for number in sorted(cited)]
        is_new = not analyse_meaning(text).topic and memory.find_duplicate(known, text) is None
        if is_new and len(evidence) >= MIN_EVIDENCE:
            proposals.append(_make_proposal(text.strip(), evidence))
    return proposals


def _make_proposal(text: str, evidence: Sequence[SuggestionOutcome]) -> MemoryProposal:
    return MemoryProposal(
        topic=f"said:{analyse_meaning(text).normalised}",
        text=text,
        votes_for=len(evidence),
        votes_against=0,
        last_vote_at=max(outcome.created_at for outcome in evidence),
        evidence=tuple(f"{outcome.id}: {_shorten(outcome.suggestion, 40)}" for outcome in evidence[-MAX_QUOTES:]),
    )


def _format_outcomes(outcomes: Sequence[SuggestionOutcome]) -> list[str]:
    lines = []
    for number, outcome in enumerate(outcomes, start=1):
        rewritten = outcome.rewritten_text
        arrow = f"\n-> {_shorten(rewritten, _MAX_QUOTE_CHARS)}" if rewritten else ""
        lines.append(f"{number}. [{outcome.decision.value}] {_shorten(outcome.suggestion, _MAX_QUOTE_CHARS)}{arrow}")
    return lines


def _shorten(text: str, max_chars: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= max_chars else words[: max_chars - 1] + "…"
