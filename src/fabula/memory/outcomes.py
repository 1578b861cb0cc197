"""Outcomes: what became of texts that were offered. The raw stuff that habits are learnt from (mem-2).

Whoever offers a text says here what the writer made of it. The latest few hundred of a project are kept,
each no longer than a few pages; they enter no prompt themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Row, desc

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id, now, sound_id
from fabula.core.story import Position
from fabula.core.view import Language
from fabula.memory.model import Fate, Outcome, Remembered
from fabula.memory.proposals import voters
from fabula.memory.rows import place_of
from fabula.memory.tables import outcomes
from fabula.memory.topics import topic_of
from fabula.store.tables import projects
from fabula.store.transaction import Reading, Writing
from fabula.text.offsets import normalise
from fabula.text.shorten import short

MOST = 500  # outcomes of a project
LONGEST = 20_000  # characters of a text
_OURS = ("memory:", "style:")
_QUOTE = 300  # characters of a text in an episode
_SAYS: dict[Language, dict[Fate, str]] = {
    "en": {
        Fate.ACCEPTED: "The writer accepted this as it was: “{offered}”",
        Fate.REJECTED: "The writer rejected this: “{offered}”",
        Fate.REWRITTEN: "Offered: “{offered}” The writer made of it: “{became}”",
    },
    "zh": {
        Fate.ACCEPTED: "作者原样采纳：“{offered}”",
        Fate.REJECTED: "作者没有采用：“{offered}”",
        Fate.REWRITTEN: "原稿：“{offered}” 作者改成：“{became}”",
    },
}


def record(tx: Writing, outcome: Outcome) -> Outcome:
    """Note what became of a text; says what is kept. A rewriting that changes nothing is an acceptance."""
    kept = _checked(outcome)
    at = kept.at
    tx.add(
        outcomes,
        {
            "id": kept.id,
            "skill": kept.skill,
            "offered": kept.offered,
            "fate": kept.fate.value,
            "became": kept.became,
            "at_document": None if at is None else at.document,
            "at_offset": None if at is None else at.offset,
            "recalled": list(kept.recalled),
            "made": kept.made,
        },
    )
    too_many = tx.count(outcomes) - MOST
    if too_many > 0:
        old = tx.rows(outcomes, order=(outcomes.c.made, outcomes.c.id), limit=too_many, only=("id",))
        tx.remove(outcomes, outcomes.c.id.in_([row.id for row in old]))
    return kept


def recorded(reading: Reading, *, limit: int | None = None) -> list[Outcome]:
    """Outcomes, oldest first: all, or the latest."""
    order = (desc(outcomes.c.made), desc(outcomes.c.id))
    return [_outcome(row) for row in reversed(reading.rows(outcomes, order=order, limit=limit))]


def as_episode(reading: Reading, outcome_id: str) -> tuple[str, Position | None]:
    """What an outcome tells as an example for later, and from where in the story on."""
    kept = _outcome(reading.need(outcomes, id=outcome_id))
    says = _SAYS[language_of(reading)][kept.fate]
    return says.format(offered=short(kept.offered, _QUOTE), became=short(kept.became, _QUOTE)), kept.at


def recalled(sources: Iterable[str]) -> tuple[str, ...]:
    """Which memories stood in a prompt, of all that stood in it: for the outcome of what came of it."""
    return tuple(source for source in sources if source.startswith(_OURS))


def forget_votes(tx: Writing, memory: Remembered) -> int:
    """Take away the outcomes that spoke for a memory; says how many."""
    named = {said.partition(": ")[0] for said in memory.evidence}
    topic = topic_of(memory.text)
    if topic:
        named.update(voters(topic, recorded(tx), language_of(tx)))
    return tx.remove(outcomes, outcomes.c.id.in_(sorted(named))) if named else 0


def language_of(reading: Reading) -> Language:
    """The language of the project."""
    return "zh" if reading.need(projects).language == "zh" else "en"


def _checked(outcome: Outcome) -> Outcome:
    if outcome.fate not in tuple(Fate):
        raise _refused(f"A text is accepted, rejected or rewritten, not {outcome.fate!r}.")
    ident, offered, became = outcome.id or new_id(), normalise(outcome.offered), normalise(outcome.became)
    if not sound_id(ident):
        raise _refused(f"{ident!r} cannot be the id of an outcome: leave out spaces, slashes and `|`.")
    if not offered.strip():
        raise _refused("Say which text was offered.")
    if max(len(offered), len(became)) > LONGEST:
        raise _refused(f"A text of more than {LONGEST:,} characters says little about habits: give a part of it.")
    if outcome.at is not None and (not outcome.at.document or outcome.at.offset < 0):
        raise _refused("The place of an outcome is a document and an offset in it.")
    fate = Fate(outcome.fate)
    if fate is not Fate.REWRITTEN and became:
        raise _refused("Only a text that was rewritten became another one.")
    if fate is Fate.REWRITTEN and not became.strip():
        raise _refused("Say what it was rewritten to; a text that was thrown away was rejected.")
    if fate is Fate.REWRITTEN and became == offered:
        fate, became = Fate.ACCEPTED, ""
    return replace(outcome, id=ident, offered=offered, became=became, fate=fate, made=outcome.made or now())


def _outcome(row: Row[Any]) -> Outcome:
    return Outcome(
        id=row.id,
        offered=row.offered,
        fate=Fate(row.fate),
        became=row.became,
        skill=row.skill,
        at=place_of(row, "at"),
        recalled=tuple(row.recalled),
        made=row.made,
    )


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, f"{sentence} Nothing was changed.")
