"""Roll-ups: what lies further back, told in fewer words the further it lies.

The chapters behind us stand in runs of a few, within their part of the book, counted from its beginning, so
that a run is the same from whichever later chapter one looks back. The last three chapters are told one by
one. Whole runs behind them are rolled up, each into one short text; the latest runs stand for themselves, and
all before them are rolled up again into the story so far. What lies between the last run and the last three
chapters is told one by one while there is room. So no chapter is told in two roll-ups, and none that is told
as one of the last. A part that has a synopsis of its own is told by it, once all of it lies behind us.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from operator import is_

from msgspec import Struct

from fabula.core.fragment import Fragment, Terms
from fabula.manuscript.synopses.chapters import DERIVED, Chapter, Told, terms_of
from fabula.text.summaries import condense, expected_tokens, longest_together

SO_FAR = "rollup:so-far"  # the source of what lies furthest back
LATEST = 3  # chapters just before, told one by one
RUN = 5  # chapters rolled up into one text
RUNS = 2  # runs that stand for themselves
WORKED_OUT = 10  # chapters whose synopses may be worked out for roll-ups, in one go
_KEPT = 4096  # roll-ups of one manuscript
_FAN = 6  # roll-ups that are rolled up into one
_LONG = 1.5  # how much longer the story so far is than a chapter's synopsis


class Rollup:
    """Several chapters in one short text, worked out when somebody needs it, with the terms of all of them."""

    def __init__(
        self,
        source: str,
        titles: tuple[str, str],
        chapters: Sequence[Chapter],
        terms: tuple[Terms, ...],
        tell: Callable[[], Told],
        *,
        needs: Sequence[Chapter] = (),
        length: float = 1.0,
    ) -> None:
        """`titles` are those of the first and the last chapter; `needs` are the chapters that must be told first."""
        self.source = source
        self.first, self.last = titles
        self.chapters = tuple(chapters)
        self.terms = terms
        self.length = length  # beside that of a chapter's synopsis
        self.made: dict[tuple[str, str, float], Fragment] = {}  # fragments of it, for a few wishes
        self._tell = tell
        self._needs = needs

    @cached_property
    def told(self) -> Told:
        """Its chapters in short."""
        return self._tell()

    @property
    def expected(self) -> int:
        """About how many tokens must be free before working out its chapters makes sense; 0 where they all stand."""
        if all(chapter.standing for chapter in self._needs):
            return 0
        texts = [chapter.text for chapter in self._needs]
        return min(longest_together(texts[0], self.length), sum(expected_tokens(text) for text in texts))

    @property
    def ids(self) -> frozenset[str]:
        """The chapters it tells."""
        return frozenset(chapter.id for chapter in self.chapters)


class SoFar(Struct, frozen=True):
    """How the chapters behind us are told."""

    latest: tuple[Chapter, ...] = ()
    between: tuple[Chapter, ...] = ()
    runs: tuple[Rollup, ...] = ()
    far: Rollup | None = None
    untold: frozenset[str] = frozenset()  # chapters of runs for which too much would have to be worked out


class Rollups:
    """Roll-ups by their chapters, made once; those of which no chapter changed are taken over."""

    def __init__(self, before: Rollups | None = None) -> None:
        self._kept: dict[tuple[str, ...], Rollup] = {} if before is None else before._kept.copy()

    def of(self, run: Sequence[Chapter]) -> Rollup:
        """These chapters, rolled up."""
        return self._find(run, lambda: _rolled(run))

    def again(self, runs: Sequence[Rollup]) -> Rollup:
        """These roll-ups, rolled up."""
        return self._find([chapter for run in runs for chapter in run.chapters], lambda: _rolled_again(runs), "so-far")

    def _find(self, chapters: Sequence[Chapter], make: Callable[[], Rollup], *more: str) -> Rollup:
        key = (*more, *(chapter.id for chapter in chapters))
        found = self._kept.get(key)
        if found is None or not all(map(is_, found.chapters, chapters)):
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            found = self._kept[key] = make()
        return found


def so_far(known: Sequence[Chapter], parts: Mapping[str, Rollup], rollups: Rollups) -> SoFar:
    """How to tell these chapters, which lie behind us, in order; `parts` are those with a synopsis of their own."""
    edge = max(len(known) - LATEST, 0)
    latest = tuple(known[edge:])
    whole, between = _runs(known, edge)
    runs: list[Rollup] = []
    untold: list[str] = []
    room = WORKED_OUT
    behind = {chapter.id for chapter in known[:edge]}
    for run in reversed(whole):
        part = parts.get(run[0].part or "")
        if part is not None and part.ids <= behind:
            if part not in runs:
                runs.append(part)
            continue
        missing = sum(not chapter.standing for chapter in run)
        if missing > room:
            untold += (chapter.id for chapter in run)
            continue
        room -= missing
        runs.append(rollups.of(run))
    runs.reverse()
    near, back = runs[-RUNS:], runs[:-RUNS]
    far = rollups.again(back) if len(back) > 1 else None
    if far is None:
        near = runs
    return SoFar(latest, tuple(between), tuple(near), far, frozenset(untold))


def _runs(known: Sequence[Chapter], edge: int) -> tuple[list[Sequence[Chapter]], list[Chapter]]:
    """Whole runs before an edge, and the chapters before it that are in none."""
    whole: list[Sequence[Chapter]] = []
    between: list[Chapter] = []
    start = 0
    for _, members in groupby(known, key=lambda chapter: chapter.part):
        many = len(list(members))
        end = start + many
        over = end < len(known)  # another part has begun
        for first in range(start, end, RUN):
            last = min(first + RUN, end)
            run = known[first:last]
            if last <= edge and (len(run) == RUN or over):
                whole.append(run)
            else:
                between += known[first : min(last, edge)]
        start = end
    return whole, between


def _rolled(run: Sequence[Chapter]) -> Rollup:
    return Rollup(
        f"rollup:{run[0].id}..{run[-1].id}",
        (run[0].title, run[-1].title),
        run,
        _terms(run),
        lambda: _together([chapter.told for chapter in run], 1.0),
        needs=run,
    )


def _rolled_again(runs: Sequence[Rollup]) -> Rollup:
    chapters = [chapter for run in runs for chapter in run.chapters]
    return Rollup(
        SO_FAR,
        (runs[0].first, runs[-1].last),
        chapters,
        _terms(chapters),
        lambda: _together([run.told for run in runs], _LONG),
        needs=chapters,
        length=_LONG,
    )


def _together(told: Sequence[Told], length: float) -> Told:
    """Short texts rolled up, a few at a time, until one is left."""
    texts = [one.text for one in told if one.text]
    while len(texts) > _FAN:
        texts = [_condensed(tuple(texts[at : at + _FAN]), 1.0) for at in range(0, len(texts), _FAN)]
    origin = DERIVED if all(one.excerpt for one in told) else "model"
    return Told(_condensed(tuple(texts), length), origin, any(one.stale for one in told))


def _terms(chapters: Sequence[Chapter]) -> tuple[Terms, ...]:
    return terms_of([document for chapter in chapters for document in chapter.documents])


@lru_cache(maxsize=4096)
def _condensed(texts: tuple[str, ...], share: float) -> str:
    return condense(texts, share)
