"""What the codex offers: *always* entries as rules, detected and pulled-in ones as retrieved.

An entry noticed in the last request and not now is offered again, lower, so that it keeps its
place while there is room. Nothing is filtered for the story's sake here: that is the gate's work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fabula.codex.model import Codex, Level
from fabula.context.request import Ask
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragments import Fragment, Layer
from fabula.core.scale import DETECTED, KEPT, PULLED_IN, within
from fabula.core.view import View

_STEPS = 4  # nearness is told apart in quarters, so that fragments can be shared between requests
_SCORES = tuple(within(DETECTED, step / _STEPS) for step in range(_STEPS + 1))
_LESS = 0.1  # a relation's score, below the entry that brought it


class CodexSource:
    """Entries by level, mention, relation and hand."""

    name = "codex"
    failing = Code.KG_UNAVAILABLE
    waits = False
    ahead = False

    def __init__(self, *, relation_depth: int = 1) -> None:
        self._depth = relation_depth

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """Rules first, then what was noticed here, in the codex's own order."""
        codex = view.room(Codex)
        if codex is None:
            return ()
        scores = self._scores(codex, ask)
        found: list[Fragment] = []
        first = len(codex.always)  # *always* entries stand first in the codex's order
        places = sorted([codex.place[owner] for owner in scores])
        if places and places[0] < first:
            for entry in codex.always:
                found.extend(codex.rendered(entry, scores.get(entry.id, 0.0)))
        else:
            found.extend(codex.standing)
        for place in places:
            if place >= first:
                entry = codex.entries[place]
                found.extend(codex.rendered(entry, scores[entry.id]))
        return found

    def absent(self, ask: Ask, view: View) -> Iterator[Verdict]:
        """Entries that were not offered, and why."""
        codex = view.room(Codex)
        if codex is None:
            return
        scores = self._scores(codex, ask)
        for entry in codex.entries:
            if entry.level is not Level.ALWAYS and entry.id not in scores:
                yield Verdict(entry.source, entry.name, Layer.RETRIEVED, _WHY[entry.level], 0, 0.0)

    def _scores(self, codex: Codex, ask: Ask) -> dict[str, float]:
        scores: dict[str, float] = {}
        for near in ask.near:
            for owner, nearness in near.nearest(codex.names.find(near.text)).items():
                score = _SCORES[round(nearness * _STEPS)]
                if score > scores.get(owner, 0.0):
                    scores[owner] = score
        self._related(codex, scores)
        for source in ask.held:
            if source.startswith("codex:entity:"):
                entry = codex.by_id.get(source.removeprefix("codex:entity:"))
                if entry is not None and entry.level is Level.WHEN_DETECTED:
                    scores.setdefault(entry.id, KEPT)
        for wanted in ask.request.include:
            for entry in codex.called(wanted):
                if entry.level is not Level.NEVER:
                    scores[entry.id] = PULLED_IN
        return scores

    def _related(self, codex: Codex, scores: dict[str, float]) -> None:
        edge = list(scores)
        for _ in range(self._depth):
            found: list[str] = []
            for owner in edge:
                for relation in codex.by_id[owner].relations:
                    other = codex.by_id.get(relation.to)
                    if other is not None and other.level is Level.WHEN_DETECTED and other.id not in scores:
                        scores[other.id] = max(DETECTED[0] - _LESS, 0.0)
                        found.append(other.id)
            edge = found


_WHY = {
    Level.WHEN_DETECTED: Reason.NOT_DETECTED,
    Level.MANUAL: Reason.LEVEL_MANUAL,
    Level.NEVER: Reason.LEVEL_NEVER,
    Level.ALWAYS: Reason.NOT_DETECTED,
}
