"""Outcomes: what the writer did with suggestions, from which preferences are learnt (mem-2).

The code that shows a suggestion records whether the writer accepted, rejected or rewrote it. The store keeps
the latest 500 outcomes of a project. They enter no prompt themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Row, desc

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.core.story import Position
from fabula.core.view import Language
from fabula.memory.model import Decision, MemoryItem, SuggestionOutcome
from fabula.memory.proposals import find_supporting_outcomes
from fabula.memory.tables import outcomes, read_position
from fabula.memory.topics import find_topic
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.offsets import normalise
from fabula.text.truncation import shorten_to_line

MAX_OUTCOMES = 500  # of a project
MAX_CHARS = 20_000  # of a text
_MEMORY_PREFIXES = ("memory:", "style:")
_QUOTE_CHARS = 300  # of a text in an episode
_TEMPLATES: dict[Language, dict[Decision, str]] = {
    "en": {
        Decision.ACCEPTED: "The writer accepted this as it was: “{offered}”",
        Decision.REJECTED: "The writer rejected this: “{offered}”",
        Decision.REWRITTEN: "Offered: “{offered}” The writer made of it: “{became}”",
    },
    "zh": {
        Decision.ACCEPTED: "作者原样采纳：“{offered}”",
        Decision.REJECTED: "作者没有采用：“{offered}”",
        Decision.REWRITTEN: "原稿：“{offered}” 作者改成：“{became}”",
    },
}


def record_outcome(tx: WriteTransaction, outcome: SuggestionOutcome) -> SuggestionOutcome:
    """Record an outcome and return it as it is stored; a rewrite that changes nothing becomes an acceptance."""
    outcome = _check(outcome)
    position = outcome.position
    tx.insert(
        outcomes,
        {
            "id": outcome.id,
            "skill": outcome.skill,
            "offered": outcome.suggestion,
            "fate": outcome.decision.value,
            "became": outcome.rewritten_text,
            "at_document": None if position is None else position.document,
            "at_offset": None if position is None else position.offset,
            "recalled": list(outcome.memory_sources),
            "made": outcome.created_at,
        },
    )
    surplus = tx.count(outcomes) - MAX_OUTCOMES
    if surplus > 0:
        oldest = tx.rows(outcomes, order=(outcomes.c.made, outcomes.c.id), limit=surplus, only=("id",))
        tx.delete_rows(outcomes, outcomes.c.id.in_([row.id for row in oldest]))
    return outcome


def list_outcomes(reading: ReadTransaction, *, limit: int | None = None) -> list[SuggestionOutcome]:
    """Return outcomes, oldest first: all, or the latest `limit`."""
    order = (desc(outcomes.c.made), desc(outcomes.c.id))
    return [_make_outcome(row) for row in reversed(reading.rows(outcomes, order=order, limit=limit))]


def format_episode(reading: ReadTransaction, outcome_id: str) -> tuple[str, Position | None]:
    """Return an outcome as the text of an episode, and the position from which it may be revealed."""
    outcome = _make_outcome(reading.require(outcomes, id=outcome_id))
    text = _TEMPLATES[get_project_language(reading)][outcome.decision].format(
        offered=shorten_to_line(outcome.suggestion, _QUOTE_CHARS),
        became=shorten_to_line(outcome.rewritten_text, _QUOTE_CHARS),
    )
    return text, outcome.position


def find_memory_sources(sources: Iterable[str]) -> tuple[str, ...]:
    """Return those sources of a prompt that are memories, to record them with the outcome."""
    return tuple(source for source in sources if source.startswith(_MEMORY_PREFIXES))


def remove_supporting_outcomes(tx: WriteTransaction, memory: MemoryItem) -> int:
    """Delete the outcomes that support a memory; return how many."""
    ids = {evidence.partition(": ")[0] for evidence in memory.evidence}
    topic = find_topic(memory.text)
    if topic:
        ids.update(find_supporting_outcomes(topic, list_outcomes(tx), get_project_language(tx)))
    return tx.delete_rows(outcomes, outcomes.c.id.in_(sorted(ids))) if ids else 0


def get_project_language(reading: ReadTransaction) -> Language:
    """Return the language of the project."""
    return "zh" if reading.require(projects).language == "zh" else "en"


def _check(outcome: SuggestionOutcome) -> SuggestionOutcome:
    """Check an outcome; return it with an id, a time and normalised line ends."""
    if outcome.decision not in tuple(Decision):
        raise _refused(f"A text is accepted, rejected or rewritten, not {outcome.decision!r}.")
    ident = outcome.id or new_id()
    suggestion, rewritten = normalise(outcome.suggestion), normalise(outcome.rewritten_text)
    if not is_valid_id(ident):
        raise _refused(f"{ident!r} cannot be the id of an outcome: leave out spaces, slashes and `|`.")
    if not suggestion.strip():
        raise _refused("Say which text was offered.")
    if max(len(suggestion), len(rewritten)) > MAX_CHARS:
        raise _refused(f"A text of more than {MAX_CHARS:,} characters says little about habits: give a part of it.")
    position = outcome.position
    if position is not None and (not position.document or position.offset < 0):
        raise _refused("The place of an outcome is a document and an offset in it.")
    decision = Decision(outcome.decision)
    if decision is not Decision.REWRITTEN and rewritten:
        raise _refused("Only a text that was rewritten became another one.")
    if decision is Decision.REWRITTEN and not rewritten.strip():
        raise _refused("Say what it was rewritten to; a text that was thrown away was rejected.")
    if decision is Decision.REWRITTEN and rewritten == suggestion:
        decision, rewritten = Decision.ACCEPTED, ""
    return replace(
        outcome,
        id=ident,
        suggestion=suggestion,
        rewritten_text=rewritten,
        decision=decision,
        created_at=outcome.created_at or current_timestamp(),
    )


def _make_outcome(row: Row[Any]) -> SuggestionOutcome:
    return SuggestionOutcome(
        id=row.id,
        suggestion=row.offered,
        decision=Decision(row.fate),
        rewritten_text=row.became,
        skill=row.skill,
        position=read_position(row, "at"),
        memory_sources=tuple(row.recalled),
        created_at=row.made,
    )


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, f"{sentence} Nothing was changed.")
