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
from itertools import chain, groupby
from operator import is_
from typing import ClassVar

from msgspec import Struct, field

from fabula.core.fragment import Fragment, Visibility
from fabula.manuscript.synopses.chapters import DERIVED, Chapter, FragmentCache, Synopsis, combine_visibility
from fabula.text.summaries import condense_texts, estimate_condensed_tokens

SO_FAR = "so-far"  # the id of the roll-up of the earliest chapters
RECENT_CHAPTERS = 3  # with synopses of their own
ROLLUP_SIZE = 5  # chapters in one run
NEAR_ROLLUPS = 2  # roll-ups that stay separate
MAX_NEW_SYNOPSES = 10  # that may be computed for the roll-ups of one plan
_MAX_CACHED = 4096  # roll-ups of one manuscript
_FAN_IN = 6  # texts that are condensed into one
_SO_FAR_LENGTH = 1.5  # of the story so far, relative to a chapter's synopsis


class Rollup(Struct, eq=False, dict=True):
    """One short text for several chapters, computed when it is needed, with the visibility of all of them."""

    id: str
    titles: tuple[str, str]  # of the first and last chapter
    chapters: Sequence[Chapter]
    visibility: tuple[Visibility, ...]
    summarise: Callable[[], Synopsis]
    inputs: Sequence[Chapter] = ()  # the chapters whose synopses are condensed
    length: float = 1.0  # relative to a chapter's synopsis
    fragment_cache: FragmentCache = field(default_factory=dict)

    kind: ClassVar[str] = "rollup"  # the prefix of its source

    @property
    def source(self) -> str:
        """The source of its fragment."""
        return f"{self.kind}:{self.id}"

    @property
    def title(self) -> str:
        """The title of its only chapter, or of the first and the last."""
        return " – ".join(dict.fromkeys(self.titles))

    @cached_property
    def synopsis(self) -> Synopsis:
        """The text of the roll-up."""
        return self.summarise()

    @property
    def estimated_tokens(self) -> int:
        """About how many tokens the text will take, where synopses must be computed; 0 where all are ready."""
        if all(chapter.is_ready for chapter in self.inputs):
            return 0
        longest = estimate_condensed_tokens(self.inputs[0].text, self.length)
        return min(longest, sum(chapter.extract_tokens for chapter in self.inputs))

    @cached_property
    def chapter_ids(self) -> frozenset[str]:
        """The ids of its chapters."""
        return frozenset(chapter.id for chapter in self.chapters)

    @cached_property
    def document_ids(self) -> frozenset[str]:
        """The ids of the documents that it tells of."""
        return frozenset[str]().union(*(chapter.document_ids for chapter in self.chapters))


class StorySoFar(Struct, frozen=True):
    """How the chapters before the current place are represented, and the fragments that were made of them."""

    recent: Sequence[Chapter] = ()
    between: Sequence[Chapter] = ()
    rollups: Sequence[Rollup] = ()
    distant: Rollup | None = None
    without_synopsis: frozenset[str] = frozenset()  # chapters of runs that would need too many new synopses
    fragment_cache: dict[tuple[str, str, str, int], tuple[Fragment, ...]] = field(default_factory=dict)

    @property
    def all_rollups(self) -> list[Rollup]:
        """The roll-ups in story order."""
        return [*([] if self.distant is None else [self.distant]), *self.rollups]


class RollupCache:
    """Roll-ups by their chapters, of one version of a manuscript."""

    def __init__(self) -> None:
        self._rollups: dict[tuple[str, ...], Rollup] = {}

    def without(self, changed: frozenset[str]) -> RollupCache:
        """A cache for the next version: without the roll-ups of changed chapters, whose earlier texts they hold."""
        cache = RollupCache()
        known = self._rollups.copy()  # a request may add to them meanwhile
        cache._rollups = {key: one for key, one in known.items() if one.chapter_ids.isdisjoint(changed)}
        return cache

    def roll_up(self, run: Sequence[Chapter]) -> Rollup:
        """The roll-up of these chapters."""
        return self._get(f"{run[0].id}..{run[-1].id}", run, run, 1.0)

    def roll_up_again(self, rollups: Sequence[Rollup]) -> Rollup:
        """The roll-up of these roll-ups."""
        chapters = [chapter for rollup in rollups for chapter in rollup.chapters]
        return self._get(SO_FAR, chapters, rollups, _SO_FAR_LENGTH)

    def _get(
        self, rollup_id: str, chapters: Sequence[Chapter], summarised: Sequence[Chapter | Rollup], length: float
    ) -> Rollup:
        key = (rollup_id, *(chapter.id for chapter in chapters))
        rollup = self._rollups.get(key)
        if rollup is None or not all(map(is_, rollup.chapters, chapters)):
            if len(self._rollups) >= _MAX_CACHED:
                self._rollups.clear()
            documents = list(chain.from_iterable(chapter.documents for chapter in chapters))
            rollup = self._rollups[key] = Rollup(
                rollup_id,
                (summarised[0].titles[0], summarised[-1].titles[1]),
                chapters,
                combine_visibility(documents),
                lambda: _condense([one.synopsis for one in summarised], length),
                inputs=chapters,
                length=length,
            )
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
    early = selected[:-NEAR_ROLLUPS]
    if len(early) < 2:
        return StorySoFar(chapters[edge:], between, selected, None, frozenset(without_synopsis))
    distant = rollups.roll_up_again(early)
    return StorySoFar(chapters[edge:], between, selected[-NEAR_ROLLUPS:], distant, frozenset(without_synopsis))


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


def _condense(synopses: Sequence[Synopsis], length: float) -> Synopsis:
    """Condense synopses, a few at a time, until one is left."""
    texts = [synopsis.text for synopsis in synopses if synopsis.text]
    while len(texts) > _FAN_IN:
        groups = [tuple(texts[start : start + _FAN_IN]) for start in range(0, len(texts), _FAN_IN)]
        texts = [_condense_texts(group, 1.0) for group in groups]
    origin = DERIVED if all(synopsis.is_extract for synopsis in synopses) else "model"
    return Synopsis(_condense_texts(tuple(texts), length), origin, any(synopsis.is_stale for synopsis in synopses))


_condense_texts = lru_cache(maxsize=4096)(condense_texts)
