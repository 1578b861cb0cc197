"""The synopses source: the last three chapters in short, relevant earlier ones, and the rest as roll-ups (cdx-6).

The selection depends on the place in the story and on the vantage, not on the cursor. So it is computed once per
chapter and stays the same while that chapter is written. Only the relevant chapters depend on the text around the
cursor; they are selected when the retrieved layer is selected anew, or with additional input. The source does not
filter for visibility, but it asks the gate beforehand, so that no budget is reserved for what the gate will stop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from fabula.context.gate import judge_fragment
from fabula.context.request import SourceRequest
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.relevance import PREVIOUSLY_INCLUDED, SYNOPSIS, score_in_range
from fabula.core.view import Language, View
from fabula.manuscript.model import Manuscript
from fabula.manuscript.synopses.chapters import DERIVED, Chapter
from fabula.manuscript.synopses.plan import ChapterSynopses, SynopsisPlan, is_visible
from fabula.manuscript.synopses.rollups import RECENT_CHAPTERS, SO_FAR, Rollup
from fabula.text.names.main_characters import NO_CHARACTERS, CharacterFinder

log = logging.getLogger("fabula.manuscript")

DISTANT_SHARE = 0.3  # of the retrieved layer, for the story so far
BETWEEN_SHARE = 0.15  # of the retrieved layer, for roll-ups and chapters after that and before the recent ones
BUDGET_STEP = 512  # tokens; the budget is rounded down, so that small changes of it change nothing
MAX_RELEVANT = 3
STAY_FACTOR = 1.5  # multiplies the score of a chapter that was included before
_MAX_TRIED = 12  # relevant chapters that the gate is asked about
_NEARNESS = {
    "relevant": 0.3,
    "between": 0.25,
    "run": 0.2,
    "far": 0.1,
}  # on the scale of synopses, below the recent chapters
_MAX_CACHED = 16  # fragments of one chapter

_PHRASES: dict[Language, dict[str, str]] = {
    "en": {
        "synopsis": "[{title}, in short] {text}",
        "excerpt": "[{title}, in its own sentences] {text}",
        "run": "[{first} to {last}, in short] {text}",
        "run excerpt": "[{first} to {last}, in their own sentences] {text}",
        "far": "[The story so far, to {last}] {text}",
    },
    "zh": {
        "synopsis": "[{title}·梗概] {text}",
        "excerpt": "[{title}·摘录] {text}",
        "run": "[{first}至{last}·梗概] {text}",
        "run excerpt": "[{first}至{last}·摘录] {text}",
        "far": "[此前的故事，至{last}] {text}",
    },
}
_STALE = "the text has changed since this was written"
_DERIVED = "none is kept, so it is told in its own sentences"
_RELEVANT = "it shares words with what is near"
_HERE = "it is being written"
_ROLLED = "it is told in a roll-up"
_UNTOLD = "no synopses are kept for these chapters yet"
_SPENT = "nearer ones took the room for synopses"

FindCharacters = Callable[[View], CharacterFinder]
_Candidate = tuple[Chapter | Rollup, float]  # with its nearness in the story


def find_no_characters(view: View) -> CharacterFinder:
    """The default: no character is known by name."""
    return NO_CHARACTERS


class SynopsesSource:
    """Offers the synopses of earlier chapters."""

    name = "synopses"
    unavailable_code = Code.RETRIEVAL_UNAVAILABLE
    blocking = False
    runs_first = False

    def __init__(self, find_characters: FindCharacters = find_no_characters) -> None:
        """`find_characters` gives the characters of a story: an extract names those a chapter is mostly about."""
        self._find_characters = find_characters

    def fragments(self, source_request: SourceRequest, view: View) -> Sequence[Fragment]:
        """The plan for this place, previously included chapters, and relevant chapters."""
        manuscript = view.snapshot(Manuscript)
        if manuscript is None or not manuscript.documents:
            return ()
        synopses = ChapterSynopses.for_manuscript(manuscript, self._load_characters(view))
        plan = synopses.plan(source_request.request.document_id, source_request.vantage, view.timeline)
        planned = _planned_fragments(plan, source_request)
        if not source_request.previously_included and not self._selects_relevant(synopses, plan, source_request):
            return planned
        previous = [*self._previous(synopses, plan, planned, source_request, view)]
        chapter_ids = {_chapter_id(fragment) for fragment in (*planned, *previous)}
        relevant = self._relevant(synopses, plan, chapter_ids, source_request, view)
        further = {fragment.source: fragment for fragment in (*previous, *relevant)}
        return [*planned, *further.values()] if further else planned

    def _load_characters(self, view: View) -> CharacterFinder:
        """The characters of the story; none where the codex cannot be read."""
        try:
            return self._find_characters(view)
        except Exception as error:
            log.warning("the characters of the story could not be loaded: %s", type(error).__name__)
            return NO_CHARACTERS

    @staticmethod
    def _previous(
        synopses: ChapterSynopses,
        plan: SynopsisPlan,
        planned: Sequence[Fragment],
        source_request: SourceRequest,
        view: View,
    ) -> Iterator[Fragment]:
        """Previously included chapters that are in no roll-up now: they stay until the next selection."""
        planned_sources = {fragment.source for fragment in planned}
        rolled_up: frozenset[str] | None = None  # found only when it is needed: most requests do not need it
        for source in source_request.previously_included:
            kind, _, chapter_id = source.partition(":")
            if kind not in ("synopsis", "relevant") or f"synopsis:{chapter_id}" in planned_sources:
                continue
            chapter = synopses.by_id.get(chapter_id)
            if chapter is None or not _is_earlier(synopses, chapter, source_request):
                continue
            if source_request.reselect and (kind == "relevant" or chapter not in plan.story.between):
                continue  # the relevant ones are selected anew
            if kind == "synopsis":
                rolled_up = _rolled_up_ids(plan, planned_sources) if rolled_up is None else rolled_up
                if chapter_id in rolled_up:
                    continue
            if is_visible(chapter, source_request.vantage, view.timeline):
                yield _make_fragment(chapter, PREVIOUSLY_INCLUDED, source_request, kind)

    @staticmethod
    def _selects_relevant(synopses: ChapterSynopses, plan: SynopsisPlan, source_request: SourceRequest) -> bool:
        """Whether relevant chapters are selected now, and there are any before the recent ones."""
        if not (source_request.reselect or source_request.request.additional_input) or not synopses.relevance:
            return False
        story = plan.story
        return story.distant is not None or bool(story.rollups or story.without_synopsis or story.between)

    def _relevant(
        self,
        synopses: ChapterSynopses,
        plan: SynopsisPlan,
        included_ids: Set[str],
        source_request: SourceRequest,
        view: View,
    ) -> Iterator[Fragment]:
        """The earlier chapters that share most keywords with the text nearby."""
        if not self._selects_relevant(synopses, plan, source_request):
            return
        scores = synopses.relevance.score(nearby.text for nearby in source_request.nearby)
        previously_included = frozenset(source_request.previously_included)

        def rank(number: int) -> tuple[float, int]:
            is_previous = f"relevant:{synopses.chapters[number].id}" in previously_included
            return -scores[number] * (STAY_FACTOR if is_previous else 1.0), -number

        count = 0
        for number in sorted(scores, key=rank)[: _MAX_TRIED if MAX_RELEVANT else 0]:
            chapter = synopses.chapters[number]
            if chapter.id in included_ids or not _is_earlier(synopses, chapter, source_request):
                continue
            if is_visible(chapter, source_request.vantage, view.timeline):
                score = score_in_range(SYNOPSIS, _NEARNESS["relevant"])
                yield _make_fragment(chapter, score, source_request, "relevant")
                count += 1
                if count == MAX_RELEVANT:
                    return

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterator[Verdict]:
        """Chapters and roll-ups that are not included by themselves, and why."""
        manuscript = view.snapshot(Manuscript)
        if manuscript is None:
            return
        included = {fragment.source for fragment in self.fragments(source_request, view)}
        synopses = ChapterSynopses.for_manuscript(manuscript)
        document_id = source_request.request.document_id
        plan = synopses.plan(document_id, source_request.vantage, view.timeline)
        rolled_up = _rolled_up_ids(plan, included)
        for rollup in _rollups(plan):
            if rollup.source not in included:
                yield _omitted(rollup.source, _rollup_title(rollup), Reason.NOT_CHOSEN, _SPENT)
        for chapter in synopses.chapters:
            source = f"synopsis:{chapter.id}"
            if chapter.is_empty or source in included or f"relevant:{chapter.id}" in included:
                continue
            reason = judge_fragment(chapter.gate_probe, source_request.vantage, view.timeline)
            if chapter.id == document_id or not _is_earlier(synopses, chapter, source_request):
                is_current = synopses.chapter_numbers.get(chapter.id) == synopses.chapter_numbers.get(document_id)
                if is_current:
                    yield _omitted(source, chapter.title, Reason.NOT_CHOSEN, _HERE)
                else:
                    yield _omitted(source, chapter.title, Reason.NOT_YET)
            elif reason not in (None, Reason.NOT_REVEALED):
                yield _omitted(source, chapter.title, reason or Reason.NOT_YET)
            elif chapter.id in rolled_up:
                yield _omitted(source, chapter.title, Reason.NOT_CHOSEN, _ROLLED)
            else:
                detail = _UNTOLD if chapter.id in plan.story.without_synopsis else _SPENT
                yield _omitted(source, chapter.title, Reason.NOT_CHOSEN, detail)


def _chapter_id(fragment: Fragment) -> str:
    """The chapter whose synopsis a fragment is; empty for other fragments."""
    return fragment.source.removeprefix("synopsis:") if fragment.source.startswith("synopsis:") else ""


def _omitted(source: str, title: str, reason: Reason, detail: str = "") -> Verdict:
    return Verdict(source, title, Layer.RETRIEVED, reason, 0, 0.0, detail)


def _is_earlier(synopses: ChapterSynopses, chapter: Chapter, source_request: SourceRequest) -> bool:
    """Whether a chapter is before the one that is being written."""
    numbers = synopses.chapter_numbers
    return numbers[chapter.id] < numbers.get(source_request.request.document_id, len(synopses.chapters))


def _rollups(plan: SynopsisPlan) -> list[Rollup]:
    distant = plan.story.distant
    return [*([distant] if distant is not None else ()), *plan.story.rollups]


def _rolled_up_ids(plan: SynopsisPlan, sources: Set[str]) -> frozenset[str]:
    """The chapters in those roll-ups that are among the sources."""
    return frozenset().union(*(rollup.chapter_ids for rollup in _rollups(plan) if rollup.source in sources))


def _planned_fragments(plan: SynopsisPlan, source_request: SourceRequest) -> Sequence[Fragment]:
    """The fragments that do not depend on the cursor: recent chapters, and of the rest what the budget allows."""
    budget = source_request.token_shares[Layer.RETRIEVED]
    budget = budget - budget % BUDGET_STEP if budget > BUDGET_STEP else budget
    key = (source_request.request.project_id, source_request.language, source_request.tokenizer.name, budget)
    fragments = plan.fragment_cache.get(key)
    if fragments is None:
        fragments = plan.fragment_cache[key] = tuple(_select(plan, source_request, budget))
    return fragments


def _select(plan: SynopsisPlan, source_request: SourceRequest, budget: int) -> Iterator[Fragment]:
    story = plan.story
    distant: list[_Candidate] = [] if story.distant is None else [(story.distant, _NEARNESS["far"])]
    near: list[_Candidate] = [(rollup, _NEARNESS["run"] - 0.01 * n) for n, rollup in enumerate(reversed(story.rollups))]
    near += ((chapter, _NEARNESS["between"] - 0.01 * n) for n, chapter in enumerate(reversed(story.between)))
    for candidates, share in ((distant, DISTANT_SHARE), (near, BETWEEN_SHARE)):
        fitting = reversed(list(_fit(candidates, int(budget * share), source_request)))
        # Roll-ups, which seldom change, come before chapters.
        yield from sorted(fitting, key=lambda fragment: fragment.source.startswith("synopsis:"))
    for nearness, chapter in enumerate(story.recent, start=RECENT_CHAPTERS + 1 - len(story.recent)):
        if chapter.synopsis.text:
            yield _make_fragment(chapter, score_in_range(SYNOPSIS, nearness / RECENT_CHAPTERS), source_request)


def _fit(candidates: Iterable[_Candidate], budget: int, source_request: SourceRequest) -> Iterator[Fragment]:
    """The candidates that fit, in order; nothing is summarised that would not fit."""
    for candidate, nearness in candidates:
        if candidate.estimated_tokens > budget or not candidate.synopsis.text:
            continue
        score = score_in_range(SYNOPSIS, nearness)
        if isinstance(candidate, Rollup):
            fragment = _make_rollup_fragment(candidate, score, source_request)
        else:
            fragment = _make_fragment(candidate, score, source_request)
        tokens = source_request.tokenizer.count(fragment.text)
        if tokens <= budget:
            budget -= tokens
            yield fragment


def _make_fragment(chapter: Chapter, score: float, source_request: SourceRequest, kind: str = "synopsis") -> Fragment:
    """The fragment of a chapter's synopsis, from the chapter's cache where it was made before."""
    key = (source_request.request.project_id, source_request.language, score, kind)
    fragment = chapter.fragment_cache.get(key)
    if fragment is None:
        synopsis = chapter.synopsis
        pattern = _PHRASES[source_request.language]["excerpt" if synopsis.is_extract else "synopsis"]
        explanations = [
            _RELEVANT if kind == "relevant" else "",
            _STALE if synopsis.is_stale else _DERIVED if synopsis.origin == DERIVED else "",
        ]
        if len(chapter.fragment_cache) >= _MAX_CACHED:
            chapter.fragment_cache.clear()
        fragment = chapter.fragment_cache[key] = Fragment(
            source=f"{kind}:{chapter.id}",
            layer=Layer.RETRIEVED,
            text=pattern.format(title=chapter.title, text=synopsis.text),
            project_id=source_request.request.project_id,
            title=chapter.title,
            score=score,
            derived_from=chapter.visibility,
            explanation="; ".join(filter(None, explanations)),
        )
    return fragment


def _make_rollup_fragment(rollup: Rollup, score: float, source_request: SourceRequest) -> Fragment:
    """The fragment of a roll-up, from its cache where it was made before."""
    key = (source_request.request.project_id, source_request.language, score)
    fragment = rollup.fragment_cache.get(key)
    if fragment is None:
        pattern = _PHRASES[source_request.language][_rollup_pattern(rollup)]
        first, last = rollup.first_title, rollup.last_title
        if len(rollup.fragment_cache) >= _MAX_CACHED:
            rollup.fragment_cache.clear()
        fragment = rollup.fragment_cache[key] = Fragment(
            source=rollup.source,
            layer=Layer.RETRIEVED,
            text=pattern.format(title=first, first=first, last=last, text=rollup.synopsis.text),
            project_id=source_request.request.project_id,
            title=_rollup_title(rollup),
            score=score,
            derived_from=rollup.visibility,
            explanation=_STALE if rollup.synopsis.is_stale else "",
        )
    return fragment


def _rollup_pattern(rollup: Rollup) -> str:
    if rollup.source == SO_FAR:
        return "far"
    if rollup.first_title == rollup.last_title:
        return "excerpt" if rollup.synopsis.is_extract else "synopsis"
    return "run excerpt" if rollup.synopsis.is_extract else "run"


def _rollup_title(rollup: Rollup) -> str:
    first, last = rollup.first_title, rollup.last_title
    return first if first == last else f"{first} – {last}"
