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
from operator import itemgetter

from fabula.codex.entry import Entry
from fabula.codex.facts.model import FACT_PREFIX, Facts, PromptFact
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
                    one, score = facts[place]
                    fragment = one.fragment if score == FACT[0] else render(entry, one.fact, score)
                    tokens -= count(fragment.text)
                    if tokens < 0:
                        return selected
                    selected.setdefault(entry.id, []).append(fragment)
        return selected

    def _choose(self, entry: Entry, score: float) -> Sequence[tuple[PromptFact, float]]:
        """The facts of an entry with their scores, best first: as many as one entry may have."""
        previous, limit = self._previous.get(entry.source, ()) if self._previous else (), self._facts.per_entry
        if score < NEEDED and not previous:
            return ()
        facts = self._known.get(entry.id)
        if facts is None:
            facts = self._facts.list_known(entry, self._source_request.vantage, self._timeline)
        if not facts:
            return ()
        known = [one for one, is_limited in facts if not is_limited or self._is_known(one)]
        if previous and (score < NEEDED or not self._source_request.reselect):
            by_id = {one.fact.id: one for one in known}
            return [(by_id[ident], FACT[0]) for ident in previous if ident in by_id][:limit]
        weighed: list[tuple[float, PromptFact, float]] = []
        scene = self._scene_terms
        for one in known[: max(limit, MAX_COMPARED)]:
            shared = len(one.terms & scene)
            if not (shared or one.fact.is_likely or one.fact.id in previous):
                continue
            shared = shared if shared < MAX_SCENE_TERMS else MAX_SCENE_TERMS
            worth = one.fact.score + SCENE_WORTH * shared
            if previous:
                worth += PREVIOUS_WORTH * (one.fact.id in previous)
            weighed.append((worth, one, _SCORES[shared]))
        if len(weighed) > 1:
            weighed.sort(key=itemgetter(0), reverse=True)
        return [(one, score) for _, one, score in weighed[:limit]]

    def _is_known(self, one: PromptFact) -> bool:
        """Whether a fact may be known at this place, and the prompt does not show its sentence anyway."""
        if judge_fragment(one.fragment, self._source_request.vantage, self._timeline) is not None:
            return False
        since = one.fact.since
        shown = self._first_shown if since.document == self._source_request.request.document_id else None
        return shown is None or since.offset <= shown.offset

    @cached_property
    def _first_shown(self) -> Position | None:
        return self._source_request.earliest_shown_position()

    @cached_property
    def _scene_terms(self) -> frozenset[str]:
        """The terms of the nearby text; names of others who are there count too."""
        found = [one.find_terms(SCENE_CHARACTERS, SCENE_CHARACTERS // 4) for one in self._source_request.nearby]
        return found[0] if len(found) == 1 else frozenset().union(*found)
