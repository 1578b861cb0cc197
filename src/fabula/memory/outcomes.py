"""Outcomes: what the writer did with suggestions, from which preferences are learnt (mem-2).

The code that shows a suggestion records whether the writer accepted, rejected or rewrote it. The store keeps
the latest 500 outcomes of a project. They enter no prompt themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace
from sqlalchemy import desc

from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.core.messages import message
from fabula.core.story import Position
from fabula.core.view import Language
from fabula.memory.model import Decision, MemoryItem, SuggestionOutcome, refuse
from fabula.memory.proposals import find_supporting_outcomes
from fabula.memory.tables import outcomes
from fabula.memory.topics import find_topic
from fabula.store.rows import make_row, read_struct
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.offsets import normalise
from fabula.text.truncation import shorten_to_line

MAX_OUTCOMES = 500  # of a project
MAX_CHARS = 20_000  # of a text
_MEMORY_PREFIXES = ("memory:", "style:")
_QUOTE_CHARS = 300  # of a text in an episode
_TEMPLATES = {
    Decision.ACCEPTED: message("The writer accepted this as it was: “{suggestion}”"),
    Decision.REJECTED: message("The writer rejected this: “{suggestion}”"),
    Decision.REWRITTEN: message("Offered: “{suggestion}” The writer made of it: “{rewritten}”"),
}


def record_outcome(tx: WriteTransaction, outcome: SuggestionOutcome) -> SuggestionOutcome:
    """Record an outcome and return it as it is stored; a rewrite that changes nothing becomes an acceptance."""
    outcome = _check(outcome)
    tx.insert(outcomes, make_row(outcomes, outcome))
    surplus = tx.count(outcomes) - MAX_OUTCOMES
    if surplus > 0:
        others, order = outcomes.c.id != outcome.id, (outcomes.c.made, outcomes.c.id)  # never the one just recorded
        oldest = tx.rows(outcomes, others, order=order, limit=surplus, only=("id",))
        tx.delete_rows(outcomes, outcomes.c.id.in_([row.id for row in oldest]))
    return outcome


def list_outcomes(reading: ReadTransaction, *, limit: int | None = None) -> list[SuggestionOutcome]:
    """Return outcomes, oldest first: all, or the latest `limit`."""
    order = (desc(outcomes.c.made), desc(outcomes.c.id))
    rows = reading.rows(outcomes, order=order, limit=limit)
    return [read_struct(SuggestionOutcome, row) for row in reversed(rows)]


def format_episode(reading: ReadTransaction, outcome_id: str) -> tuple[str, Position | None]:
    """Return an outcome as the text of an episode, and the position from which it may be revealed."""
    outcome = read_struct(SuggestionOutcome, reading.require(outcomes, id=outcome_id))
    texts = {"suggestion": outcome.suggestion, "rewritten": outcome.rewritten_text}
    quotes = {name: shorten_to_line(text, _QUOTE_CHARS) for name, text in texts.items()}
    episode = replace(_TEMPLATES[outcome.decision], values=quotes)
    return episode.render(get_project_language(reading)), outcome.position


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
    decision, position, ident = outcome.decision, outcome.position, outcome.id or new_id()
    suggestion, rewritten = normalise(outcome.suggestion), normalise(outcome.rewritten_text)
    if decision not in tuple(Decision):
        raise refuse(
            message("A suggestion is accepted, rejected or rewritten, not {decision!r}.", decision=str(decision))
        )
    if not is_valid_id(ident):
        raise refuse(message("{id!r} cannot be an id. Leave out spaces, slashes and `|`.", id=ident))
    if not suggestion.strip():
        raise refuse(message("Say which text was suggested."))
    if max(len(suggestion), len(rewritten)) > MAX_CHARS:
        raise refuse(message("This text has more than {limit:,} characters. Give a part of it.", limit=MAX_CHARS))
    if position is not None and (not position.document or position.offset < 0):
        raise refuse(message("The place of an outcome is a document and an offset in it."))
    if decision is not Decision.REWRITTEN and rewritten:
        raise refuse(message("Only a rewritten suggestion has a new text."))
    if decision is Decision.REWRITTEN and not rewritten.strip():
        raise refuse(message("Give the text that the suggestion became. If you dropped it, you rejected it."))
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
