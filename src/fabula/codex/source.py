"""What the codex offers: *always* entries as rules, detected and pulled-in ones as retrieved.

An entry noticed in the last request and not now is offered again, lower, so that it keeps its
place while there is room. A pin of this document or conversation brings an entry in or keeps it out;
where two pins differ, out wins, and what a request itself asks for comes before any pin. What may be told is
the gate's to decide. It is asked here, too, about what brings others along: a name that is learnt later points to
nobody yet, and an entry that is not known here has no relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from fabula.codex.model import Codex, Entry, Level, Wish
from fabula.codex.name_index import order
from fabula.context.gate import judge
from fabula.context.request import Ask
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.relevance import DETECTED, KEPT, PULLED_IN, within
from fabula.core.view import View
from fabula.text.names.matcher import Hit

_STEPS = 4  # nearness is told apart in quarters, so that fragments can be shared between requests
_SCORES = tuple(within(DETECTED, step / _STEPS) for step in range(_STEPS + 1))
_LESS = 0.1  # a relation's score, below the entry that brought it
_PINNED = "pinned to this document or conversation"


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
        pinned, shut = _pins(codex, ask)
        scores = self._scores(codex, ask, view, pinned, shut)
        found: list[Fragment] = []
        by_id = codex.by_id
        told = sorted([by_id[ident] for ident in scores], key=order)  # *always* entries stand first
        if (told and told[0].level is Level.ALWAYS) or (shut and any(entry.id in shut for entry in codex.always)):
            told = [*codex.always, *[entry for entry in told if entry.level is not Level.ALWAYS]]
        else:
            found.extend(codex.standing)
        for entry in told:
            ident = entry.id
            if ident not in shut:
                found += codex.rendered(entry, scores.get(ident, 0.0), _PINNED if ident in pinned else "")
        return found

    def absent(self, ask: Ask, view: View) -> Iterator[Verdict]:
        """Entries that were not offered, and why."""
        codex = view.room(Codex)
        if codex is None:
            return
        pinned, shut = _pins(codex, ask)
        scores = self._scores(codex, ask, view, pinned, shut)
        for entry in codex.entries:
            if entry.id in shut and entry.level is not Level.NEVER:
                layer = Layer.RULES if entry.level is Level.ALWAYS else Layer.RETRIEVED
                yield Verdict(entry.source, entry.name, layer, Reason.PINNED_OUT, 0, 0.0, shut[entry.id])
            elif entry.level is not Level.ALWAYS and entry.id not in scores:
                yield Verdict(entry.source, entry.name, Layer.RETRIEVED, _WHY[entry.level], 0, 0.0)

    def _scores(
        self, codex: Codex, ask: Ask, view: View, pinned: Set[str], shut: Mapping[str, str]
    ) -> dict[str, float]:
        nearness = self._nearness(codex, ask, view)
        scores = {ident: _SCORES[round(near * _STEPS)] for ident, near in nearness.items() if ident not in shut}
        self._related(codex, ask, view, scores, shut)
        for source in ask.held:
            if source.startswith("codex:entity:"):
                entry = codex.by_id.get(source.removeprefix("codex:entity:"))
                if entry is not None and entry.level is Level.WHEN_DETECTED and entry.id not in shut:
                    scores.setdefault(entry.id, KEPT)
        if pinned or ask.request.include:
            for entry in (*_by_hand(codex, ask), *(codex.by_id[ident] for ident in pinned)):
                if entry.level is not Level.NEVER:
                    scores[entry.id] = PULLED_IN
        return scores

    @staticmethod
    def _nearness(codex: Codex, ask: Ask, view: View) -> Mapping[str, float]:
        """How near each entry is mentioned, wherever it is nearest."""
        renamed = codex.roll.renamed

        def means(hit: Hit) -> bool:
            return hit.owner not in renamed or _points_to(hit, codex, ask, view)

        found = [near.nearest(codex.names.find, means if renamed else None) for near in ask.near]
        if len(found) == 1:
            return found[0]
        nearness: dict[str, float] = {}
        for owner, near in ((owner, near) for one in found for owner, near in one.items()):
            nearness[owner] = max(near, nearness.get(owner, 0.0))
        return nearness

    def _related(self, codex: Codex, ask: Ask, view: View, scores: dict[str, float], shut: Mapping[str, str]) -> None:
        by_id = codex.by_id
        edge = [entry for ident in scores if (entry := by_id[ident]).relations]
        for _ in range(self._depth if codex.relation_depth is None else codex.relation_depth):
            found: list[Entry] = []
            for entry in edge:
                if not entry.relations or not _known_here(codex.rendered(entry, 0.0)[0], ask, view):
                    continue
                for relation in entry.relations:
                    other = by_id.get(relation.to)
                    if other is None or other.level is not Level.WHEN_DETECTED or other.id in shut:
                        continue
                    if other.id not in scores:
                        scores[other.id] = max(DETECTED[0] - _LESS, 0.0)
                        found.append(other)
            edge = found


def _points_to(hit: Hit, codex: Codex, ask: Ask, view: View) -> bool:
    """Does a name tell, here and now, whose it is? One that comes with a progression does so from there on."""
    entry = codex.by_id[hit.owner]
    steps = [number for number, step in enumerate(entry.progressions, start=1) if step.aliases]
    if not steps or hit.surface.casefold() in (name.casefold() for name in (entry.name, *entry.aliases)):
        return True
    told = codex.rendered(entry, 0.0)
    return any(_known_here(told[number], ask, view) for number in steps if _names(entry, number, hit.surface))


def _names(entry: Entry, number: int, surface: str) -> bool:
    """Does a progression bring the name that is written so, in whatever case, or several of it?"""
    low = surface.casefold()
    return any(
        low.startswith(alias.casefold()[:-2] or alias.casefold()) for alias in entry.progressions[number - 1].aliases
    )


def _known_here(fragment: Fragment, ask: Ask, view: View) -> bool:
    return judge(fragment, ask.vantage, view.timeline) in (None, Reason.NOT_REVEALED)


def _by_hand(codex: Codex, ask: Ask) -> list[Entry]:
    return [entry for wanted in ask.request.include for entry in codex.called(wanted)]


def _pins(codex: Codex, ask: Ask) -> tuple[Set[str], Mapping[str, str]]:
    """What is pinned in here, and what is pinned out, with where that was said."""
    if not codex.pins:
        return frozenset(), {}
    pinned, shut = set(), {}
    for where in (ask.request.document_id, ask.request.conversation_id):
        for ident, wish in codex.pins.get(where, {}).items():
            if wish is Wish.EXCLUDE:
                shut[ident] = where
            elif ident in codex.by_id:
                pinned.add(ident)
    for entry in _by_hand(codex, ask):
        shut.pop(entry.id, None)
    return pinned - shut.keys(), shut


_WHY = {
    Level.WHEN_DETECTED: Reason.NOT_DETECTED,
    Level.MANUAL: Reason.LEVEL_MANUAL,
    Level.NEVER: Reason.LEVEL_NEVER,
    Level.ALWAYS: Reason.NOT_DETECTED,
}
