"""Which facts of an entry may be known in a document, and how they are compared with scenes (cdx-10).

What a fact is compared by is prepared once for each entry. Which facts may be known is judged once for each document
and whoever looks: a fact of another document is known or not wherever the cursor stands. A fact is not told where the
prompt says the same otherwise: where the entry does, or where a progression or a later fact that replaces it is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabula.codex.entry import Entry
from fabula.codex.facts.fact import Fact, find_terms
from fabula.codex.model import Codex
from fabula.context.gate import judge_fragment, judge_visibility, knows_document
from fabula.core.fragment import Fragment, Visibility
from fabula.core.story import Position, Timeline, Vantage

MIN_SAID_TERMS = 0.8  # of the terms of a fact that its entry has too, which says the same then
MAX_COMMON = 3  # facts of an entry that may have a term which tells one scene from another
_MAX_KNOWN = 100  # entries whose known facts are kept for one document


class Alternatives(Struct, frozen=True, gc=False):
    """What says the same as a fact, or something else instead: progressions of its entry by number, and later facts."""

    progressions: tuple[int, ...]
    facts: tuple[Fact, ...]


class EntryFacts(Struct, frozen=True, eq=False):
    """The facts of an entry that may enter prompts, best first, as they are compared with scenes."""

    facts: tuple[Fact, ...]
    by_id: Mapping[str, int]
    terms: frozenset[str]  # that tell one scene from another; those of names, and of many facts, do not
    by_term: Mapping[str, Sequence[int]]  # the facts that have one of these terms
    alternatives: Mapping[int, Alternatives]


class KnownFacts(Struct, frozen=True, eq=False):
    """The facts of an entry that may be known somewhere in a document, best first.

    Each comes with whether it must be judged at each place of the document.
    """

    entry_facts: EntryFacts
    numbers: Mapping[int, bool]


def prepare_facts(entry: Entry, facts: Sequence[Fact]) -> EntryFacts:
    """Prepare the facts of an entry; without those that it says itself in nearly the same words."""
    possible = [fact for fact in facts if fact.is_possible]
    if not possible:
        return EntryFacts((), {}, frozenset(), {}, {})
    said = [find_terms(text) for text in (entry.description, *entry.details.values()) if text]
    kept = tuple(fact for fact in possible if not any(_says(terms, fact) for terms in said))
    names = find_terms(" ".join((entry.name, *entry.aliases)))
    by_term: dict[str, list[int]] = {}
    for number, fact in enumerate(kept):
        for term in fact.terms:
            by_term.setdefault(term, []).append(number)
    telling = {term: found for term, found in by_term.items() if len(found) <= MAX_COMMON and term not in names}
    every = {fact.id: fact for fact in possible}
    steps = [(number, find_terms(step.text)) for number, step in enumerate(entry.progressions, start=1) if step.text]
    alternatives: dict[int, Alternatives] = {}
    for number, fact in enumerate(kept):
        progressions = tuple(step for step, terms in steps if _says(terms, fact))
        later = tuple(every[ident] for ident in fact.replaced_by if ident in every)
        if progressions or later:
            alternatives[number] = Alternatives(progressions, later)
    return EntryFacts(
        kept, {fact.id: number for number, fact in enumerate(kept)}, frozenset(telling), telling, alternatives
    )


def _says(terms: frozenset[str], fact: Fact) -> bool:
    return len(terms.intersection(fact.terms)) >= MIN_SAID_TERMS * len(fact.terms)


class VantageFacts:
    """What somebody may know of facts in one document, kept while nothing changes."""

    def __init__(self, document: str | None) -> None:
        self.by_entry: dict[str, KnownFacts] = {}
        self._document = document
        self._told: dict[str, bool] = {}  # by another document: whether its facts may be told

    def list_known(
        self, entry_facts: EntryFacts, entry: Entry, codex: Codex, vantage: Vantage, timeline: Timeline
    ) -> KnownFacts:
        """The facts of an entry that may be known somewhere in the document."""
        known = self.by_entry.get(entry.id)
        if known is None:
            if len(self.by_entry) >= _MAX_KNOWN:
                self.by_entry.clear()
            numbers = self._judge(entry_facts, entry, codex, vantage, timeline) if entry_facts.facts else {}
            known = self.by_entry[entry.id] = KnownFacts(entry_facts, numbers)
        return known

    def _judge(
        self, entry_facts: EntryFacts, entry: Entry, codex: Codex, vantage: Vantage, timeline: Timeline
    ) -> Mapping[int, bool]:
        own = codex.render(entry, 0.0)[0]
        is_limited = _has_limits_in(own, self._document)
        if not is_limited and judge_fragment(own, vantage, timeline) is not None:
            return {}
        numbers: dict[int, bool] = {}
        for number, fact in enumerate(entry_facts.facts):
            document = fact.since.document
            if document == self._document:
                numbers[number] = True
                continue
            is_told = self._told.get(document)
            if is_told is None:
                limits = Visibility(fact.source, Position(document), None, codex.resolve_knowers(fact.known_to))
                is_told = judge_visibility(limits, vantage, timeline) is None
                self._told[document] = is_told = is_told and knows_document(document, vantage, timeline)
            if is_told:
                numbers[number] = is_limited or number in entry_facts.alternatives
        return numbers


def _has_limits_in(fragment: Fragment, document: str | None) -> bool:
    """Whether a place in this document decides on whether a fragment may be known."""
    marks = [fragment.since, fragment.until]
    for one in fragment.derived_from:
        marks += [one.since, one.until, *(position for _, position in one.learned_at)]
    return any(mark is not None and mark.document == document for mark in marks)
