"""The synopses source: the last three chapters in short, relevant earlier ones, and the rest as roll-ups (cdx-6).

The selection depends on the place in the story and on the vantage, not on the cursor. So it is computed once per
chapter and stays the same while that chapter is written. Only the relevant chapters depend on the text around the
cursor; they are selected when the retrieved layer is selected anew, or with additional input. The source does not
filter for visibility, but it asks the gate beforehand, so that no budget is reserved for what the gate will stop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import islice

from fabula.context.gate import judge_fragment
from fabula.context.reasons import explain_unnamed
from fabula.context.request import SourceRequest
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import Sentence, message
from fabula.core.relevance import OPTIONAL_SYNOPSIS, PREVIOUSLY_INCLUDED, SYNOPSIS, score_in_range
from fabula.core.view import View
from fabula.manuscript.model import Manuscript, trim_title
from fabula.manuscript.synopses.chapters import DERIVED, Chapter
from fabula.manuscript.synopses.plan import ChapterSynopses, is_visible
from fabula.manuscript.synopses.rollups import RECENT_CHAPTERS, SO_FAR, Rollup, StorySoFar
from fabula.text.names.main_characters import NO_CHARACTERS, CharacterFinder

log = logging.getLogger("fabula.manuscript")

DISTANT_SHARE = 0.3  # of the retrieved layer, for the story so far
BETWEEN_SHARE = 0.15  # of the retrieved layer, for roll-ups and chapters after that and before the recent ones
BUDGET_STEP = 512  # tokens; the budget is rounded down, so that small changes of it change nothing
MAX_RELEVANT = 3
STAY_FACTOR = 1.5  # multiplies the score of a chapter that was included before
_MAX_TRIED = 12  # relevant chapters that the gate is asked about
_NEARNESS = {"relevant": 0.3, "between": 0.25, "run": 0.2, "far": 0.1}  # on the scale of synopses
_MAX_CACHED = 16  # fragments of one chapter
_STALE = message("the text has changed since this was written")
_DERIVED = message("no synopsis is stored, so these are sentences of the text itself")
_RELEVANT = message("it shares words with the text near the cursor")
_CURRENT = message("it is being written, so the prompt has its text and not its synopsis")
_ROLLED_UP = message("a summary of several chapters covers it")
_WITHOUT_SYNOPSIS = message("no synopsis is stored yet, and none is made while you wait")
_TOO_LONG = message("no synopsis is stored yet, and sentences of the text itself take more room than it has here")
_EMPTY = message("there is no synopsis of it")

FindCharacters = Callable[[View], CharacterFinder]
_Candidate = tuple[Chapter | Rollup, float]  # with its nearness in the story


class SynopsesSource:
    """Offers the synopses of earlier chapters."""

    name = "synopses"
    unavailable_code = Code.RETRIEVAL_UNAVAILABLE
    blocking = False
    runs_first = False

    def __init__(self, find_characters: FindCharacters = lambda view: NO_CHARACTERS) -> None:
        """`find_characters` gives the characters of a story: an extract names those a chapter is mostly about."""
        self._find_characters = find_characters

    def fragments(self, source_request: SourceRequest, view: View) -> Sequence[Fragment]:
        """The plan for this place, previously included chapters, and relevant chapters."""
        manuscript = view.snapshot(Manuscript)
        if manuscript is None or not manuscript.documents:
            return ()
        synopses = ChapterSynopses.for_manuscript(manuscript, self._load_characters(view))
        synopses.make_later()
        story = synopses.plan(source_request.request.document_id, source_request.vantage, view.timeline)
        planned = _planned_fragments(story, source_request)
        further = {}
        if source_request.previously_included:
            previous = _previous_fragments(synopses, story, planned, source_request, view)
            further = {fragment.source: fragment for fragment in previous}
        has_earlier = story.distant is not None or bool(story.rollups or story.without_synopsis or story.between)
        reselects = source_request.reselect or bool(source_request.request.additional_input)
        if reselects and has_earlier and synopses.relevance:
            sources = {fragment.source for fragment in planned} | further.keys()
            for fragment in _relevant_fragments(synopses, sources, source_request, view):
                further[fragment.source] = fragment
        return [*planned, *further.values()] if further else planned

    def _load_characters(self, view: View) -> CharacterFinder:
        """The characters of the story; none where the codex cannot be read."""
        try:
            return self._find_characters(view)
        except Exception as error:
            log.warning("the characters of the story could not be loaded: %s", type(error).__name__)
            return NO_CHARACTERS

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterator[Verdict]:
        """Chapters and roll-ups that are not included by themselves, and why."""
        manuscript = view.snapshot(Manuscript)
        if manuscript is None:
            return
        included = {fragment.source for fragment in self.fragments(source_request, view)}
        synopses = ChapterSynopses.for_manuscript(manuscript)
        story = synopses.plan(source_request.request.document_id, source_request.vantage, view.timeline)
        for rollup in story.all_rollups:
            if rollup.source not in included:
                length = _explain_length(rollup)
                yield Verdict(rollup.source, rollup.title, Layer.RETRIEVED, Reason.NOT_CHOSEN, 0, 0.0, cause=length)
        for chapter in synopses.chapters:
            source = f"synopsis:{chapter.id}"
            if not chapter.is_empty and included.isdisjoint((source, f"relevant:{chapter.id}")):
                reason, sentence = _explain(synopses, story, chapter, included, source_request, view)
                detail, cause = ("", sentence) if reason is Reason.NOT_CHOSEN else (sentence or "", None)
                yield Verdict(source, chapter.title, Layer.RETRIEVED, reason, 0, 0.0, detail, cause=cause)


def _explain(
    synopses: ChapterSynopses,
    story: StorySoFar,
    chapter: Chapter,
    included: Set[str],
    source_request: SourceRequest,
    view: View,
) -> tuple[Reason, Sentence | None]:
    """Why a chapter is not included by itself."""
    numbers = synopses.chapter_numbers
    if numbers[chapter.id] == numbers.get(source_request.request.document_id):
        return Reason.NOT_CHOSEN, _CURRENT
    if not _is_earlier(synopses, chapter, source_request):
        return Reason.NOT_YET, None
    reason = judge_fragment(chapter.gate_probe, source_request.vantage, view.timeline)
    if reason is not None and reason is not Reason.NOT_REVEALED:
        return reason, explain_unnamed(chapter.document_ids, source_request.vantage)
    if _is_rolled_up(story, chapter, included):
        return Reason.NOT_CHOSEN, _ROLLED_UP
    return Reason.NOT_CHOSEN, _WITHOUT_SYNOPSIS if chapter.id in story.without_synopsis else _explain_length(chapter)


def _explain_length(summarised: Chapter | Rollup) -> Sentence:
    """Why something that could be told in short is not."""
    return _TOO_LONG if summarised.estimated_tokens else _EMPTY


def _previous_fragments(
    synopses: ChapterSynopses,
    story: StorySoFar,
    planned: Sequence[Fragment],
    source_request: SourceRequest,
    view: View,
) -> Iterator[Fragment]:
    """Previously included chapters that are in no roll-up now: they stay until the next selection."""
    planned_sources = {fragment.source for fragment in planned}
    for source in source_request.previously_included:
        kind, _, chapter_id = source.partition(":")
        if kind not in ("synopsis", "relevant") or f"synopsis:{chapter_id}" in planned_sources:
            continue
        chapter = synopses.by_id.get(chapter_id)
        if chapter is None or not _is_earlier(synopses, chapter, source_request):
            continue
        if source_request.reselect and (kind == "relevant" or chapter not in story.between):
            continue  # the relevant ones are selected anew
        if kind == "synopsis" and _is_rolled_up(story, chapter, planned_sources):
            continue
        if is_visible(chapter, source_request.vantage, view.timeline):
            yield _make_fragment(chapter, PREVIOUSLY_INCLUDED, source_request, kind)


def _relevant_fragments(
    synopses: ChapterSynopses, sources: Set[str], source_request: SourceRequest, view: View
) -> Iterator[Fragment]:
    """The earlier chapters that share most keywords with the text nearby."""
    scores = synopses.relevance.score(nearby.text for nearby in source_request.nearby)
    previously_included = frozenset(source_request.previously_included)

    def rank(number: int) -> tuple[float, int]:
        is_previous = f"relevant:{synopses.chapters[number].id}" in previously_included
        return -scores[number] * (STAY_FACTOR if is_previous else 1.0), -number

    ranked = (synopses.chapters[number] for number in sorted(scores, key=rank)[:_MAX_TRIED])
    selected = (
        chapter
        for chapter in ranked
        if f"synopsis:{chapter.id}" not in sources
        and _is_earlier(synopses, chapter, source_request)
        and is_visible(chapter, source_request.vantage, view.timeline)
    )
    for chapter in islice(selected, MAX_RELEVANT):
        yield _make_fragment(chapter, score_in_range(SYNOPSIS, _NEARNESS["relevant"]), source_request, "relevant")


def _is_earlier(synopses: ChapterSynopses, chapter: Chapter, source_request: SourceRequest) -> bool:
    """Whether a chapter is before the one that is being written."""
    numbers = synopses.chapter_numbers
    return numbers[chapter.id] < numbers.get(source_request.request.document_id, len(synopses.chapters))


def _is_rolled_up(story: StorySoFar, chapter: Chapter, sources: Set[str]) -> bool:
    """Whether a chapter is in one of those roll-ups that are among the sources."""
    return any(chapter.id in rollup.chapter_ids and rollup.source in sources for rollup in story.all_rollups)


def _planned_fragments(story: StorySoFar, source_request: SourceRequest) -> Sequence[Fragment]:
    """The fragments that do not depend on the cursor: recent chapters, and of the rest what the budget allows."""
    budget = source_request.token_shares[Layer.RETRIEVED]
    budget = budget - budget % BUDGET_STEP if budget > BUDGET_STEP else budget
    key = (source_request.request.project_id, source_request.language, source_request.tokenizer.name, budget)
    fragments = story.fragment_cache.get(key)
    if fragments is None:
        fragments = story.fragment_cache[key] = tuple(_select(story, source_request, budget))
    return fragments


def _select(story: StorySoFar, source_request: SourceRequest, budget: int) -> Iterator[Fragment]:
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
    """The candidates in order; those beyond the budget only for the room that all others leave.

    Nothing is summarised that would not fit into the budget.
    """
    for candidate, nearness in candidates:
        if candidate.estimated_tokens > budget or not candidate.synopsis.text:
            continue
        fragment = _make_fragment(candidate, score_in_range(SYNOPSIS, nearness), source_request)
        tokens = source_request.tokenizer.count(fragment.text)
        if tokens <= budget:
            budget -= tokens
            yield fragment
        else:
            yield _make_fragment(candidate, OPTIONAL_SYNOPSIS, source_request)


def _make_fragment(
    summarised: Chapter | Rollup, score: float, source_request: SourceRequest, kind: str = ""
) -> Fragment:
    """The fragment of a synopsis, from the cache of its chapter or roll-up where it was made before."""
    kind = kind or summarised.kind
    key = (source_request.request.project_id, source_request.language, score, kind)
    fragment = summarised.fragment_cache.get(key)
    if fragment is None:
        if len(summarised.fragment_cache) >= _MAX_CACHED:
            summarised.fragment_cache.clear()
        synopsis = summarised.synopsis
        explanation = _STALE if synopsis.is_stale else _DERIVED if synopsis.origin == DERIVED else ""
        if kind == "relevant":
            both = message("{first}; {last}", first=_RELEVANT, last=explanation)
            explanation = both if explanation else _RELEVANT
        fragment = summarised.fragment_cache[key] = Fragment(
            source=f"{kind}:{summarised.id}",
            layer=Layer.RETRIEVED,
            text=_add_heading(summarised).render(source_request.language),
            project_id=source_request.request.project_id,
            title=summarised.title,
            score=score,
            derived_from=summarised.visibility,
            made_of=summarised.document_ids,
            explanation=explanation,
        )
    return fragment


def _add_heading(summarised: Chapter | Rollup) -> Sentence:
    """A synopsis as a prompt shows it."""
    (first, last), text = map(trim_title, summarised.titles), summarised.synopsis.text
    is_extract = summarised.synopsis.is_extract
    if summarised.kind == "rollup" and summarised.id == SO_FAR:
        return message("[The story so far, to {last}] {text}", last=last, text=text)
    if first == last and is_extract:
        return message("[{title}, in its own sentences] {text}", title=first, text=text)
    if first == last:
        return message("[{title}, in short] {text}", title=first, text=text)
    if is_extract:
        return message("[{first} to {last}, in their own sentences] {text}", first=first, last=last, text=text)
    return message("[{first} to {last}, in short] {text}", first=first, last=last, text=text)
