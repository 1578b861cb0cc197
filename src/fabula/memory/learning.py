"""Learning: store habits found in outcomes as unconfirmed proposals, and update learnt preferences (mem-2).

Each run starts from all stored outcomes, so a second run changes nothing. Known preferences get new evidence
and a new confidence; stated ones keep their confidence. A dismissed preference is proposed again only with three
times as many votes as when it was dismissed, and at least six more. A proposal that nobody answers is withdrawn
when its confidence has decayed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from fabula.memory.confidence import compute_confidence
from fabula.memory.deduplicate import analyse_meaning
from fabula.memory.edits import add_memory, find_duplicate, list_memories, store_memory
from fabula.memory.model import MemoryItem, MemoryKind, MemoryOrigin, MemoryScope, MemoryState, SuggestionOutcome
from fabula.memory.outcomes import get_project_language, list_outcomes
from fabula.memory.proposals import MemoryProposal, find_proposals
from fabula.memory.tables import memories
from fabula.memory.topics import get_subject
from fabula.store.transaction import ReadTransaction, WriteTransaction

REPROPOSAL_FACTOR = 3
MIN_NEW_VOTES = 6
WITHDRAWAL_CONFIDENCE = 0.1


class LearningResult(Struct):
    """The memories that a run proposed, changed or withdrew, by id."""

    outcome_count: int = 0
    proposed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)


class OutcomeAnalysis(Struct, frozen=True):
    """The proposals that the outcomes of a project give."""

    outcome_count: int
    proposals: tuple[MemoryProposal, ...]


def analyse_outcomes(reading: ReadTransaction) -> OutcomeAnalysis:
    """Analyse all outcomes. This may take seconds, so it only reads and locks nothing."""
    outcomes = list_outcomes(reading)
    of_project, of_user = _list_preferences(reading)
    known_topics = {topic for one in of_project if (topic := analyse_meaning(one.text).topic)}
    prompted = _find_prompted_subjects(outcomes, [*of_user, *of_project])
    proposals = find_proposals(outcomes, get_project_language(reading), prompted, known_topics)
    return OutcomeAnalysis(len(outcomes), tuple(proposals))


def learn(
    tx: WriteTransaction,
    *,
    today: str,
    analysis: OutcomeAnalysis | None = None,
    is_rule: Callable[[str], bool] = lambda text: False,
) -> LearningResult:
    """Store new proposals, and update the preferences that rest on outcomes; what is a rule already is not proposed."""
    analysis = analyse_outcomes(tx) if analysis is None else analysis
    of_project, of_user = _list_preferences(tx)
    result = LearningResult(outcome_count=analysis.outcome_count)
    matching: dict[str, MemoryProposal] = {}
    added: list[MemoryItem] = []  # two proposals may say the same in other words
    for proposal in analysis.proposals:
        duplicate = find_duplicate(of_project, proposal.text)
        if duplicate is not None:
            matching[duplicate.id] = proposal
            continue
        is_new = find_duplicate([*of_user, *added], proposal.text) is None and not is_rule(proposal.text)
        if proposal.is_supported and is_new:
            item = _make_proposed(MemoryItem(text=proposal.text), proposal, today)
            result.proposed.append(add_memory(tx, item))
            added.append(item)
    for memory in of_project:
        _update_memory(tx, memory, matching.get(memory.id), today, result)
    return result


def _list_preferences(reading: ReadTransaction) -> tuple[list[MemoryItem], list[MemoryItem]]:
    """Return the preferences of the project and of the user, if the transaction has a user."""
    of_project = list_memories(reading, kind=MemoryKind.PREFERENCE)
    if not reading.has_owner("user"):
        return of_project, []
    return of_project, list_memories(reading, scope=MemoryScope.USER, kind=MemoryKind.PREFERENCE)


def _update_memory(
    tx: WriteTransaction, memory: MemoryItem, proposal: MemoryProposal | None, today: str, result: LearningResult
) -> None:
    if memory.state is MemoryState.DISMISSED:
        if proposal is not None and proposal.is_supported and _has_much_more_support(proposal, memory):
            store_memory(tx, _make_proposed(memory, proposal, today))
            result.proposed.append(memory.id)
        return
    updated = memory
    if proposal is not None:
        updated = replace(
            memory,
            votes_for=proposal.votes_for,
            votes_against=proposal.votes_against,
            last_vote_at=max(memory.last_vote_at, proposal.last_vote_at),
            evidence=proposal.evidence or memory.evidence,
        )
    elif memory.origin is not MemoryOrigin.LEARNED:
        return
    elif analyse_meaning(memory.text).topic:
        # Without a topic, counting can find no votes: such a memory keeps its evidence and only decays.
        updated = replace(memory, votes_for=0, votes_against=0)
    updated = replace(updated, confidence=compute_confidence(updated, today))
    if memory.state is MemoryState.PROPOSED and updated.confidence < WITHDRAWAL_CONFIDENCE:
        tx.delete_rows(memories, memories.c.id == memory.id)
        result.withdrawn.append(memory.id)
    elif updated != memory:
        store_memory(tx, updated)
        result.changed.append(memory.id)


def _make_proposed(memory: MemoryItem, proposal: MemoryProposal, today: str) -> MemoryItem:
    memory = replace(
        memory,
        origin=MemoryOrigin.LEARNED,
        state=MemoryState.PROPOSED,
        evidence=proposal.evidence,
        votes_for=proposal.votes_for,
        votes_against=proposal.votes_against,
        last_vote_at=proposal.last_vote_at,
    )
    return replace(memory, confidence=compute_confidence(memory, today))


def _has_much_more_support(proposal: MemoryProposal, dismissed: MemoryItem) -> bool:
    return proposal.votes_for >= max(REPROPOSAL_FACTOR * dismissed.votes_for, dismissed.votes_for + MIN_NEW_VOTES)


def _find_prompted_subjects(
    outcomes: Sequence[SuggestionOutcome], preferences: Sequence[MemoryItem]
) -> Mapping[str, frozenset[str]]:
    """Return the subjects of the memories that were in the prompt of each outcome."""
    subjects = {f"memory:{one.id}": get_subject(analyse_meaning(one.text).topic) for one in preferences}
    return {
        outcome.id: frozenset(subject for source in outcome.memory_sources if (subject := subjects.get(source)))
        for outcome in outcomes
    }
