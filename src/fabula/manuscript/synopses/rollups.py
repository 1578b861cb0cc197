"""Roll-ups: short texts for groups of chapters, shorter the further back the chapters are.

Chapters are grouped in runs of five, within their part of the book and counted from its start, so that a run is the
same from every later chapter. The last three chapters keep their own synopses. Each complete run before them is
condensed into one roll-up. The latest roll-ups stay separate; all earlier ones are condensed again into the story so
far. Chapters between the last run and the last three chapters keep their own synopses where the budget allows. So no
chapter is in two roll-ups, or in a roll-up and among the last three. A part with a stored synopsis is represented by it
once all of the part is before the current place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from operator import is_

from msgspec import Struct

from fabula.core.fragment import Fragment, Visibility
from fabula.manuscript.synopses.chapters import DERIVED, Chapter, Synopsis, combine_visibility
from fabula.text.summaries import condense_texts, estimate_condensed_tokens, estimate_summary_tokens

SO_FAR = "rollup:so-far"  # the source name of the earliest chapters
RECENT_CHAPTERS = 3  # with synopses of their own
ROLLUP_SIZE = 5  # chapters in one run
NEAR_ROLLUPS = 2  # roll-ups that stay separate
MAX_NEW_SYNOPSES = 10  # that may be computed for the roll-ups of one plan
_MAX_CACHED = 4096  # roll-ups of one manuscript
_FAN_IN = 6  # texts that are condensed into one
_SO_FAR_LENGTH = 1.5  # of the story so far, relative to a chapter's synopsis


class Rollup:
    """One short text for several chapters, computed when it is needed, with the visibility of all of them."""

    def __init__(
        self,
        source: str,
        titles: tuple[str, str],
        chapters: Sequence[Chapter],
        terms: tuple[Visibility, ...],
        summarise: Callable[[], Synopsis],
        *,
        inputs: Sequence[Chapter] = (),
        length: float = 1.0,
    ) -> None:
        """`titles` are those of the first and last chapter; `inputs` are the chapters whose synopses are condensed."""
        self.source = source
        self.first_title, self.last_title = titles
        self.chapters = tuple(chapters)
        self.visibility = terms
        self.length = length  # relative to a chapter's synopsis
        self.fragment_cache: dict[tuple[str, str, float], Fragment] = {}  # by project, language and score
        self._summarise = summarise
        self._inputs = inputs

    @cached_property
    def synopsis(self) -> Synopsis:
        """The text of the roll-up."""
        return self._summarise()

    @property
    def estimated_tokens(self) -> int:
        """About how many tokens the text will take, where synopses must be computed; 0 where all are ready."""
        if all(chapter.is_ready for chapter in self._inputs):
            return 0
        texts = [chapter.text for chapter in self._inputs]
        return min(
            estimate_condensed_tokens(texts[0], self.length), sum(estimate_summary_tokens(text) for text in texts)
        )

    @property
    def chapter_ids(self) -> frozenset[str]:
        """The ids of its chapters."""
        return frozenset(chapter.id for chapter in self.chapters)


class StorySoFar(Struct, frozen=True):
    """How the chapters before the current place are represented."""

    recent: tuple[Chapter, ...] = ()
    between: tuple[Chapter, ...] = ()
    rollups: tuple[Rollup, ...] = ()
    distant: Rollup | None = None
    without_synopsis: frozenset[str] = frozenset()  # chapters of runs that would need too many new synopses


class RollupCache:
    """Roll-ups by their chapters; those whose chapters did not change are taken over from the previous cache."""

    def __init__(self, previous: RollupCache | None = None) -> None:
        self._rollups: dict[tuple[str, ...], Rollup] = {} if previous is None else previous._rollups.copy()

    def roll_up(self, run: Sequence[Chapter]) -> Rollup:
        """The roll-up of these chapters."""
        return self._get(run, lambda: _make_rollup(run))

    def roll_up_again(self, rollups: Sequence[Rollup]) -> Rollup:
        """The roll-up of these roll-ups."""
        chapters = [chapter for rollup in rollups for chapter in rollup.chapters]
        return self._get(chapters, lambda: _make_story_so_far(rollups), "so-far")

    def _get(self, chapters: Sequence[Chapter], make: Callable[[], Rollup], *prefix: str) -> Rollup:
        key = (*prefix, *(chapter.id for chapter in chapters))
        rollup = self._rollups.get(key)
        if rollup is None or not all(map(is_, rollup.chapters, chapters)):
            if len(self._rollups) >= _MAX_CACHED:
                self._rollups.clear()
            rollup = self._rollups[key] = make()
        return rollup


def plan_story_so_far(chapters: Sequence[Chapter], parts: Mapping[str, Rollup], rollups: RollupCache) -> StorySoFar:
    """Plan how these chapters are represented; `parts` are the parts of the book with a stored synopsis."""
    edge = max(len(chapters) - RECENT_CHAPTERS, 0)
    complete_runs, between = _split_into_runs(chapters, edge)
    selected: list[Rollup] = []
    without_synopsis: list[str] = []
    new_synopses_left = MAX_NEW_SYNOPSES
    ids_before_edge = {chapter.id for chapter in chapters[:edge]}
    for run in reversed(complete_runs):
        part = parts.get(run[0].part or "")
        if part is not None and part.chapter_ids <= ids_before_edge:
            if part not in selected:
                selected.append(part)
            continue
        missing = sum(not chapter.is_ready for chapter in run)
        if missing > new_synopses_left:
            without_synopsis += (chapter.id for chapter in run)
            continue
        new_synopses_left -= missing
        selected.append(rollups.roll_up(run))
    selected.reverse()
    near, early = selected[-NEAR_ROLLUPS:], selected[:-NEAR_ROLLUPS]
    distant = rollups.roll_up_again(early) if len(early) > 1 else None
    if distant is None:
        near = selected
    return StorySoFar(tuple(chapters[edge:]), tuple(between), tuple(near), distant, frozenset(without_synopsis))


def _split_into_runs(chapters: Sequence[Chapter], edge: int) -> tuple[list[Sequence[Chapter]], list[Chapter]]:
    """The complete runs before an edge, and the chapters before it that are in none."""
    complete: list[Sequence[Chapter]] = []
    between: list[Chapter] = []
    start = 0
    for _, members in groupby(chapters, key=lambda chapter: chapter.part):
        end = start + len(list(members))
        is_over = end < len(chapters)  # another part has begun
        for first in range(start, end, ROLLUP_SIZE):
            last = min(first + ROLLUP_SIZE, end)
            run = chapters[first:last]
            if last <= edge and (len(run) == ROLLUP_SIZE or is_over):
                complete.append(run)
            else:
                between += chapters[first : min(last, edge)]
        start = end
    return complete, between


def _make_rollup(run: Sequence[Chapter]) -> Rollup:
    return Rollup(
        f"rollup:{run[0].id}..{run[-1].id}",
        (run[0].title, run[-1].title),
        run,
        _combine_chapters(run),
        lambda: _condense([chapter.synopsis for chapter in run], 1.0),
        inputs=run,
    )


def _make_story_so_far(rollups: Sequence[Rollup]) -> Rollup:
    chapters = [chapter for rollup in rollups for chapter in rollup.chapters]
    return Rollup(
        SO_FAR,
        (rollups[0].first_title, rollups[-1].last_title),
        chapters,
        _combine_chapters(chapters),
        lambda: _condense([rollup.synopsis for rollup in rollups], _SO_FAR_LENGTH),
        inputs=chapters,
        length=_SO_FAR_LENGTH,
    )


def _condense(synopses: Sequence[Synopsis], length: float) -> Synopsis:
    """Condense synopses, a few at a time, until one is left."""
    texts = [synopsis.text for synopsis in synopses if synopsis.text]
    while len(texts) > _FAN_IN:
        groups = [tuple(texts[start : start + _FAN_IN]) for start in range(0, len(texts), _FAN_IN)]
        texts = [_condense_texts(group, 1.0) for group in groups]
    origin = DERIVED if all(synopsis.is_extract for synopsis in synopses) else "model"
    return Synopsis(_condense_texts(tuple(texts), length), origin, any(synopsis.is_stale for synopsis in synopses))


def _combine_chapters(chapters: Sequence[Chapter]) -> tuple[Visibility, ...]:
    return combine_visibility([document for chapter in chapters for document in chapter.documents])


@lru_cache(maxsize=4096)
def _condense_texts(texts: tuple[str, ...], share: float) -> str:
    return condense_texts(texts, share)
