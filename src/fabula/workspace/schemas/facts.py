"""Schemas of what the book says of an entry (cdx-10)."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.codex import Codex
from fabula.codex.facts import Fact
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.workspace.facts import UsedFact, find_prompt_use
from fabula.workspace.schemas.codex import StoryPlace
from fabula.workspace.schemas.schema import Schema, describe


class FactInfo(Schema):
    """A sentence of the book about an entry: where it stands, until when it holds, and who could know it."""

    id: str
    number: int  # in the list of the entry's facts, or of those that were used or dismissed; else 0
    entry_id: str
    text: str
    digest: str
    chapter: str
    start: int  # where the sentence begins and ends in its chapter
    end: int
    since: StoryPlace
    until: StoryPlace | None
    known_to: tuple[str, ...] | None
    score: float
    is_lasting: bool
    origin: str  # who found it: program or model
    prompts: str  # whether it may enter prompts (may), or why it stays out: passing, said, off or dismissed
    entry_name: str
    known_to_names: tuple[str, ...] | None


class FactList(Schema):
    """What the book says of an entry, the most telling sentences first."""

    facts: tuple[FactInfo, ...]


class UsedFactInfo(Schema):
    """A fact, and what was made of it: description, progression, knowledge or constraint."""

    fact: FactInfo
    entry_id: str
    use: str
    entry_name: str


def describe_fact(fact: Fact, view: View, number: int = 0) -> FactInfo:
    """Describe a fact with the title of its chapter, and the names of its entry and of those who could know it."""
    codex = view.snapshot(Codex)

    def name(ident: str) -> str:
        known = None if codex is None else codex.by_id.get(ident)
        return ident if known is None else known.name

    document = (view.snapshot(Manuscript) or Manuscript()).by_id.get(fact.since.document)
    chapter = document.name if document is not None else ""
    return describe(
        FactInfo,
        fact,
        number=number,
        chapter=chapter,
        prompts=find_prompt_use(view, fact).value,
        entry_name=name(fact.entry_id),
        known_to_names=None if fact.known_to is None else [name(one) for one in sorted(fact.known_to)],
    )


def describe_facts(facts: Sequence[Fact], view: View) -> FactList:
    """Describe the facts of an entry."""
    return FactList(facts=tuple(describe_fact(fact, view, number) for number, fact in enumerate(facts, start=1)))


def describe_used_fact(used: UsedFact, view: View) -> UsedFactInfo:
    """Describe what was made of a fact."""
    return UsedFactInfo(
        fact=describe_fact(used.fact, view), entry_id=used.entry.id, use=used.use.value, entry_name=used.entry.name
    )
