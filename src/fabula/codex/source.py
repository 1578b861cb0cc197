"""The codex source: offers entries to the prompt by level, mention, relation and pin (cdx-2, cdx-3, cdx-5, cdx-9).

`always` entries become rules; detected and requested ones become retrieved fragments. An entry of the previous
prompt that is no longer mentioned is offered again with a lower score, so that it keeps its position while the
budget allows. Where a document and a conversation pin an entry differently, the exclusion wins; what the request
itself includes takes precedence over pins. The gate decides what may be known. This module also asks the gate
before one thing leads to another: a name that is revealed later does not detect its entry yet, and an entry that is
not known here brings no related entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fabula.codex.entry import Entry, Level, PinMode, Progression
from fabula.codex.model import Codex
from fabula.codex.name_index import sort_key
from fabula.context.gate import judge_fragment
from fabula.context.request import SourceRequest
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.relevance import DETECTED, PREVIOUSLY_INCLUDED, REQUESTED, score_in_range
from fabula.core.view import View
from fabula.text.names.matcher import NameMatch

_STEPS = 4  # scores change in quarters of nearness, so that rendered fragments are shared between requests
_SCORES = tuple(score_in_range(DETECTED, step / _STEPS) for step in range(_STEPS + 1))
_RELATED_SCORE = DETECTED[0] - 0.1
_OMITTED = {
    Level.WHEN_DETECTED: Reason.NOT_DETECTED,
    Level.MANUAL: Reason.LEVEL_MANUAL,
    Level.NEVER: Reason.LEVEL_NEVER,
}


class CodexSource:
    """Offers codex entries by level, mention, relation and pin."""

    name = "codex"
    unavailable_code = Code.KG_UNAVAILABLE
    blocking = False
    runs_first = False

    def __init__(self, *, relation_depth: int = 1) -> None:
        self._relation_depth = relation_depth

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """Offer `always` entries, then the entries that matter here, in prompt order."""
        codex = view.snapshot(Codex)
        if codex is None:
            return ()
        scorer = _EntryScorer(codex, source_request, view, self._relation_depth)
        scores, excluded = scorer.score_entries(), scorer.excluded
        others = [entry for ident in scores if (entry := codex.by_id[ident]).level is not Level.ALWAYS]
        fragments: list[Fragment] = []
        for entry in (*codex.name_index.always_entries, *sorted(others, key=sort_key)):
            if entry.id not in excluded:
                fragments += codex.render(entry, scores.get(entry.id, 0.0), pinned=entry.id in scorer.included)
        return fragments

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterator[Verdict]:
        """Say why each entry that is not offered is left out."""
        codex = view.snapshot(Codex)
        if codex is None:
            return
        scorer = _EntryScorer(codex, source_request, view, self._relation_depth)
        scores, excluded = scorer.score_entries(), scorer.excluded
        for entry in codex.entries:
            if entry.id in excluded and entry.level is not Level.NEVER:
                layer = Layer.RULES if entry.level is Level.ALWAYS else Layer.RETRIEVED
                yield Verdict(entry.source, entry.name, layer, Reason.PINNED_OUT, 0, 0.0, excluded[entry.id])
            elif entry.level is not Level.ALWAYS and entry.id not in scores:
                yield Verdict(entry.source, entry.name, Layer.RETRIEVED, _OMITTED[entry.level], 0, 0.0)


class _EntryScorer:
    """Scores the entries of a codex for one request; `included` and `excluded` are pinned in and out."""

    def __init__(self, codex: Codex, source_request: SourceRequest, view: View, relation_depth: int) -> None:
        self._codex = codex
        self._source_request = source_request
        self._timeline = view.timeline
        self._relation_depth = relation_depth if codex.relation_depth is None else codex.relation_depth
        request = source_request.request
        self._requested = [entry for name in request.include for entry in codex.find_entries(name)]
        self.included: set[str] = set()
        self.excluded: dict[str, str] = {}  # with the document or conversation whose pin says so
        for where_id in (request.document_id, request.conversation_id) if codex.pins else ():
            for ident, mode in codex.pins.get(where_id, {}).items():
                if mode is PinMode.EXCLUDE:
                    self.excluded[ident] = where_id
                elif ident in codex.by_id:
                    self.included.add(ident)
        for entry in self._requested:
            self.excluded.pop(entry.id, None)
        self.included -= self.excluded.keys()

    def score_entries(self) -> dict[str, float]:
        """Score every entry to offer, by id: mentioned, related, previously included, or requested."""
        by_id, excluded = self._codex.by_id, self.excluded
        nearness = self._measure_nearness()
        scores = {ident: _SCORES[round(near * _STEPS)] for ident, near in nearness.items() if ident not in excluded}
        self._add_related(scores)
        for source in self._source_request.previously_included:
            if source.startswith("codex:entity:"):
                entry = by_id.get(source.removeprefix("codex:entity:"))
                if entry is not None and entry.level is Level.WHEN_DETECTED and entry.id not in excluded:
                    scores.setdefault(entry.id, PREVIOUSLY_INCLUDED)
        for entry in (*self._requested, *(by_id[ident] for ident in self.included)):
            if entry.level is not Level.NEVER:
                scores[entry.id] = REQUESTED
        return scores

    def _add_related(self, scores: dict[str, float]) -> None:
        """Add `when_detected` entries that scored ones are related to, as many steps away as the project allows."""
        by_id = self._codex.by_id
        frontier = [by_id[ident] for ident in scores]
        for _ in range(self._relation_depth):
            added: list[Entry] = []
            for entry in frontier:
                if not entry.relations or not self._is_known(self._codex.render(entry, 0.0)[0]):
                    continue
                for relation in entry.relations:
                    other = by_id.get(relation.to)
                    if other is None or other.level is not Level.WHEN_DETECTED or other.id in self.excluded:
                        continue
                    if other.id not in scores:
                        scores[other.id] = _RELATED_SCORE
                        added.append(other)
            frontier = added

    def _measure_nearness(self) -> Mapping[str, float]:
        """How near the nearest mention of each entry is, from 0 to 1."""
        with_later_names = self._codex.name_index.ids_with_later_names

        def is_revealed(hit: NameMatch) -> bool:
            return hit.owner not in with_later_names or self._is_name_revealed(hit)

        check = is_revealed if with_later_names else None
        find = self._codex.name_matcher.find
        per_text = [text.nearest_mentions(find, check) for text in self._source_request.nearby]
        if len(per_text) == 1:
            return per_text[0]
        nearness: dict[str, float] = {}
        for mentions in per_text:
            for owner, near in mentions.items():
                nearness[owner] = max(near, nearness.get(owner, 0.0))
        return nearness

    def _is_name_revealed(self, hit: NameMatch) -> bool:
        """Is it known here whose name this is? A name of a progression is known from its position on."""
        entry = self._codex.by_id[hit.owner]
        if hit.surface.casefold() in (name.casefold() for name in (entry.name, *entry.aliases)):
            return True
        fragments = self._codex.render(entry, 0.0)
        return any(
            _has_alias(progression, hit.surface) and self._is_known(fragments[number])
            for number, progression in enumerate(entry.progressions, start=1)
        )

    def _is_known(self, fragment: Fragment) -> bool:
        verdict = judge_fragment(fragment, self._source_request.vantage, self._timeline)
        return verdict in (None, Reason.NOT_REVEALED)


def _has_alias(progression: Progression, surface: str) -> bool:
    """Does a progression bring the name found, in any case, or as a plural?"""
    lowered = surface.casefold()
    return any(lowered.startswith(alias.casefold()[:-2] or alias.casefold()) for alias in progression.aliases)
