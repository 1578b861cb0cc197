"""Select the facts that a prompt holds beside its entries (cdx-10).

Whoever and whatever is in a scene brings a few sentences of the book along: those that may be known here, the most
telling ones first, and before them those that share words with the scene. A sentence that is not likely worth a line
comes only where it shares such words. Between two selections of the retrieved layer an entry keeps the facts of the
last prompt, so that the cached prefix stays valid. All facts together take a share of the layer. The gate decides what
may be known; this module asks it first, so that facts which are not known yet take no places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice

from fabula.codex.entry import Entry
from fabula.codex.facts.model import FACT_PREFIX, Fact, Facts, find_terms
from fabula.context.gate import judge_fragment
from fabula.context.request import SourceRequest
from fabula.core.fragment import Fragment, Layer
from fabula.core.relevance import FACT, NEEDED, score_in_range
from fabula.core.story import Position
from fabula.core.view import View

LAYER_SHARE = 0.2  # of the retrieved layer's tokens
SCENE_WORTH = 0.25  # of each term that a fact shares with the scene; its own score is at most 1
MAX_SCENE_TERMS = 3  # that count
PREVIOUS_WORTH = 0.5  # of a fact of the last prompt
MAX_COMPARED = 12  # facts of one entry, the most telling ones, that are compared with the scene
SCENE_CHARACTERS = 500  # before the cursor that are compared with facts
WAIT_SECONDS = 5.0  # for facts that are read in the background, where the last prompt held some
_MARK = f"#{FACT_PREFIX}"


class FactSelector:
    """Selects the facts of one request."""

    def __init__(self, facts: Facts, source_request: SourceRequest, view: View) -> None:
        self._facts = facts
        self._source_request = source_request
        self._timeline = view.timeline
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
        found = [(entry, self._choose(entry, score), score) for entry, score in entries]
        found = [one for one in found if one[1]]
        if not found:
            return {}
        tokens = int(LAYER_SHARE * self._source_request.token_shares[Layer.RETRIEVED])
        count, render = self._source_request.tokenizer.count, self._facts.render
        found.sort(key=lambda one: -one[2])
        selected: dict[str, list[Fragment]] = {}
        for place in range(max(len(facts) for _, facts, _ in found)):
            for entry, facts, _ in found:
                if place < len(facts):
                    fragment = render(entry, *facts[place])
                    tokens -= count(fragment.text)
                    if tokens < 0:
                        return selected
                    selected.setdefault(entry.id, []).append(fragment)
        return selected

    def _choose(self, entry: Entry, score: float) -> list[tuple[Fact, float]]:
        """The facts of an entry with their scores, best first: as many as one entry may have."""
        previous, limit = self._previous.get(entry.source, ()), self._facts.per_entry
        if score < NEEDED and not previous:
            return []
        facts = self._facts.list_for_prompts(entry)
        if previous and (score < NEEDED or not self._source_request.reselect):
            by_id = {fact.id: fact for fact in facts}
            kept = [by_id[ident] for ident in previous if ident in by_id]
            return [(fact, FACT[0]) for fact in kept if self._is_known(entry, fact)][:limit]
        known = list(islice((fact for fact in facts if self._is_known(entry, fact)), max(limit, MAX_COMPARED)))
        if not known:
            return []
        scene, own = self._scene_terms, find_terms(" ".join((entry.name, *entry.aliases)))
        fit = {fact.id: min(len((fact.terms & scene) - own), MAX_SCENE_TERMS) for fact in known}

        def weigh(fact: Fact) -> float:
            return fact.score + SCENE_WORTH * fit[fact.id] + PREVIOUS_WORTH * (fact.id in previous)

        fitting = [fact for fact in known if fact.is_likely or fit[fact.id] or fact.id in previous]
        fitting.sort(key=weigh, reverse=True)
        return [(fact, score_in_range(FACT, fit[fact.id] / MAX_SCENE_TERMS)) for fact in fitting[:limit]]

    def _is_known(self, entry: Entry, fact: Fact) -> bool:
        """Whether a fact may be known here, and the prompt does not show its sentence anyway."""
        fragment = self._facts.render(entry, fact, FACT[0])
        if judge_fragment(fragment, self._source_request.vantage, self._timeline) is not None:
            return False
        shown = self._first_shown if self._is_here(fact) else None
        return shown is None or fact.since.offset <= shown.offset

    def _is_here(self, fact: Fact) -> bool:
        return fact.since.document == self._source_request.request.document_id

    @cached_property
    def _first_shown(self) -> Position | None:
        return self._source_request.earliest_shown_position()

    @cached_property
    def _scene_terms(self) -> frozenset[str]:
        """The terms of the nearby text; names of others who are there count too."""
        found = [one.find_terms(SCENE_CHARACTERS, SCENE_CHARACTERS // 4) for one in self._source_request.nearby]
        return found[0] if len(found) == 1 else frozenset().union(*found)
