"""Select the facts that a prompt holds beside its entries (cdx-10).

Whoever and whatever is in a scene brings a few sentences of the book along: those that may be known here, the most
telling ones first, and before them those that share words with the scene. A sentence that is not likely worth a line
comes only where it shares such words, and one that is not among the best only where it shares several. Between two
selections of the retrieved layer an entry keeps the facts of the last prompt, so that the cached prefix stays valid.
All facts together take a share of the layer. The gate decides what may be known; this module asks it first, so that
facts which are not known yet take no places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from fabula.codex.entry import Entry
from fabula.codex.facts.choose import MIN_FACTS, VERY_LIKELY
from fabula.codex.facts.fact import FACT_PREFIX, LIKELY, Fact
from fabula.codex.facts.known import KnownFacts
from fabula.codex.facts.model import Facts
from fabula.context.gate import judge_fragment
from fabula.context.request import SourceRequest
from fabula.context.trace import Reason
from fabula.core.fragment import Fragment, Layer
from fabula.core.relevance import FACT, NEEDED, score_in_range
from fabula.core.story import Position
from fabula.core.view import View

LAYER_SHARE = 0.2  # of the retrieved layer's tokens
SCENE_WORTH = 0.25  # of each term that a fact shares with the scene; its own score is at most 1
MAX_SCENE_TERMS = 3  # that count
PREVIOUS_WORTH = 0.5  # of a fact of the last prompt
MIN_SCENE_TERMS = 2  # that a fact shares with the scene which is not among the best that are known
SCENE_CHARACTERS = 500  # before the cursor that are compared with facts
WAIT_SECONDS = 5.0  # for facts that are read in the background, where the last prompt held some
_MARK = f"#{FACT_PREFIX}"
_SCORES = tuple(score_in_range(FACT, shared / MAX_SCENE_TERMS) for shared in range(MAX_SCENE_TERMS + 1))


class FactSelector:
    """Selects the facts of one request."""

    def __init__(self, facts: Facts, source_request: SourceRequest, view: View) -> None:
        self._facts = facts
        self._source_request = source_request
        self._timeline = view.timeline
        self._known = facts.find_known(source_request.vantage, view.timeline)
        self._previous: dict[str, list[str]] = {}  # by the source of the entry: the ids of facts of the last prompt
        for source in source_request.previously_included:
            entry, mark, ident = source.partition(_MARK)
            if mark:
                self._previous.setdefault(entry, []).append(ident)

    @property
    def wait_seconds(self) -> float:
        """How long to wait for facts: without those of the last prompt all that follows them would be read anew."""
        return WAIT_SECONDS if self._previous else 0.0

    def select(self, entries: Iterable[tuple[Entry, float]]) -> Mapping[str, Sequence[Fragment]]:
        """The facts of entries with their scores, by the id of the entry, best first."""
        found = [(entry, facts, score) for entry, score in entries if (facts := self._choose(entry, score))]
        if not found:
            return {}
        tokens = int(LAYER_SHARE * self._source_request.token_shares[Layer.RETRIEVED])
        count, render = self._source_request.tokenizer.count, self._facts.render
        found.sort(key=lambda one: -one[2])
        selected: dict[str, list[Fragment]] = {}
        for place in range(max([len(facts) for _, facts, _ in found])):
            for entry, facts, _ in found:
                if place < len(facts):
                    fragment = render(entry, *facts[place])
                    tokens -= count(fragment.text)
                    if tokens < 0:
                        return selected
                    selected.setdefault(entry.id, []).append(fragment)
        return selected

    def _choose(self, entry: Entry, score: float) -> Sequence[tuple[Fact, float]]:
        """The facts of an entry with their scores, best first: as many as one entry may have."""
        previous, limit = self._previous.get(entry.source, ()) if self._previous else (), self._facts.per_entry
        if score < NEEDED and not previous:
            return ()
        known = self._known.by_entry.get(entry.id)
        if known is None:
            known = self._facts.list_known(entry, self._source_request.vantage, self._timeline)
        if not known.numbers:
            return ()
        facts = known.entry_facts.facts
        if previous and (score < NEEDED or not self._source_request.reselect):
            again = [known.entry_facts.by_id.get(ident, -1) for ident in previous]
            return [(facts[one], FACT[0]) for one in again if self._may_be_told(entry, known, one)][:limit]
        shared = self._count_shared(known)
        weighed: list[tuple[float, int]] = []
        most, rank, last = max(limit, MIN_FACTS), 0, -1
        for number, is_uncertain in known.numbers.items():
            last = number
            if not is_uncertain or self._is_known(entry, known, number):
                rank += 1
                fact, count = facts[number], shared.get(number, 0)
                if count or fact.score >= (LIKELY if rank <= MIN_FACTS else VERY_LIKELY) or fact.id in previous:
                    weighed.append((self._weigh(fact, count, previous), number))
                if rank == most:
                    break
        for number, count in shared.items():
            if count >= MIN_SCENE_TERMS and number > last and self._may_be_told(entry, known, number):
                weighed.append((self._weigh(facts[number], count, previous), number))
        if len(weighed) > 1:
            weighed.sort()
        return [(facts[number], _SCORES[min(shared.get(number, 0), MAX_SCENE_TERMS)]) for _, number in weighed[:limit]]

    def _count_shared(self, known: KnownFacts) -> Mapping[int, int]:
        """How many terms facts share with the scene, of those that share any."""
        by_term, shared = known.entry_facts.by_term, dict[int, int]()
        for term in known.entry_facts.terms & self._scene_terms:
            for number in by_term[term]:
                shared[number] = shared.get(number, 0) + 1
        return shared

    def _weigh(self, fact: Fact, shared: int, previous: Sequence[str]) -> float:
        """The worth of a fact for the scene, below 0: the least is the best."""
        worth = fact.score + SCENE_WORTH * (shared if shared < MAX_SCENE_TERMS else MAX_SCENE_TERMS)
        return -worth - PREVIOUS_WORTH if previous and fact.id in previous else -worth

    def _may_be_told(self, entry: Entry, known: KnownFacts, number: int) -> bool:
        """Whether a fact is among those that may be known in the document, and may be told at this place."""
        is_uncertain = known.numbers.get(number)
        return is_uncertain is not None and (not is_uncertain or self._is_known(entry, known, number))

    def _is_known(self, entry: Entry, known: KnownFacts, number: int) -> bool:
        """Whether a fact may be known at this place, and the prompt does not say the same or something else anyway."""
        fact = known.entry_facts.facts[number]
        since = fact.since
        shown = self._first_shown if since.document == self._source_request.request.document_id else None
        if (shown is not None and since.offset > shown.offset) or not self._passes(entry, fact):
            return False
        others = known.entry_facts.alternatives.get(number)
        if others is None:
            return True
        steps = self._facts.codex.render(entry, 0.0) if others.progressions else ()
        vantage, timeline = self._source_request.vantage, self._timeline
        reasons = (judge_fragment(steps[step], vantage, timeline) for step in others.progressions)
        if any(reason in (None, Reason.NOT_REVEALED) for reason in reasons):
            return False
        return not any(self._passes(entry, one) for one in others.facts)

    def _passes(self, entry: Entry, fact: Fact) -> bool:
        fragment = self._facts.render(entry, fact, FACT[0])
        return judge_fragment(fragment, self._source_request.vantage, self._timeline) is None

    @cached_property
    def _first_shown(self) -> Position | None:
        return self._source_request.earliest_shown_position()

    @cached_property
    def _scene_terms(self) -> frozenset[str]:
        """The terms of the nearby text; names of others who are there count too."""
        found = [one.find_terms(SCENE_CHARACTERS, SCENE_CHARACTERS // 4) for one in self._source_request.nearby]
        return found[0] if len(found) == 1 else frozenset().union(*found)
