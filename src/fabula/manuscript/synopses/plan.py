"""The plan of synopses: which chapters, roll-ups and parts a request gets, by its place in the story and its vantage.

Everything is cached on the snapshot of the manuscript. The next snapshot takes over the chapters that did not change,
with everything that was computed for them, so that a saved paragraph costs the work of one chapter. What was computed
holds no snapshot of the manuscript: so an earlier one is freed with its view, and waits for no garbage collection.

Relevant chapters are found by an inverted index over the keywords of their synopses. A request looks up its words and
adds up their weights. A word that many synopses contain is ignored. A chapter whose synopsis must be computed first is
not in the index: otherwise the first request of a book would wait for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import log1p

from fabula.context.gate import judge_fragment
from fabula.context.trace import Reason
from fabula.core.story import Timeline, Vantage
from fabula.manuscript.model import Document, Manuscript, hash_text
from fabula.manuscript.synopses.chapters import (
    CONTAINER_KINDS,
    Chapter,
    Synopsis,
    combine_visibility,
    group_into_chapters,
    join_texts,
)
from fabula.manuscript.synopses.making import SynopsisMaker
from fabula.manuscript.synopses.rollups import Rollup, RollupCache, StorySoFar, plan_story_so_far
from fabula.text.keywords import find_present_words
from fabula.text.names.main_characters import NO_CHARACTERS, CharacterFinder

_MAX_PLANS = 4096
_PlanKey = tuple[str, str, frozenset[str] | None, frozenset[str]]  # where, who, what may be told, what is unknown
_COMMON_FRACTION = 8  # a word in more than one of so many synopses is ignored
_MIN_COMMON = 4  # but not a word in at most so many
_MAX_QUERY_WORDS = 24  # the rarest first
_MAX_WEIGHT = 2.0  # of a word, however often a synopsis contains it


class ChapterSynopses:
    """The chapters of one manuscript with their synopses, roll-ups and plans."""

    def __init__(
        self,
        manuscript: Manuscript,
        previous: ChapterSynopses | None = None,
        characters: CharacterFinder = NO_CHARACTERS,
    ) -> None:
        self.documents = manuscript.documents
        self.characters = characters
        known = previous.by_id if previous is not None else {}
        self.chapters = group_into_chapters(manuscript.documents, manuscript.by_id, known, characters)
        self.by_id: dict[str, Chapter] = {chapter.id: chapter for chapter in self.chapters}
        self._relevance: ChapterRelevance | None = (
            None if previous is None else previous.__dict__.get("relevance", previous._relevance)
        )
        self._rollups = RollupCache()
        if previous is not None:
            self._rollups = previous._rollups.without(self._find_changed(previous))
        self._plans: dict[_PlanKey, tuple[Timeline, StorySoFar]] = {}
        self._maker: SynopsisMaker = SynopsisMaker() if previous is None else previous._maker
        self._is_made_later = False  # or was already

    @classmethod
    def for_manuscript(cls, manuscript: Manuscript, characters: CharacterFinder | None = None) -> ChapterSynopses:
        """The chapters of a manuscript, from its cache; `characters` are to be named, None accepts those of before."""
        cached = manuscript.cache.get(cls)
        previous = cached if isinstance(cached, cls) else None
        is_current = previous is not None and previous.documents is manuscript.documents
        if previous and is_current and (characters is None or previous.characters.has_same_names(characters)):
            return previous
        if characters is None:
            characters = previous.characters if previous is not None else NO_CHARACTERS
        synopses = cls(manuscript, previous, characters)
        manuscript.cache[cls] = synopses
        return synopses

    def make_later(self) -> None:
        """Make the synopses that are missing in the background, where they are many."""
        if not self._is_made_later:
            self._is_made_later = True
            self._maker.make_later(self)

    def _find_changed(self, previous: ChapterSynopses) -> frozenset[str]:
        """The ids of documents of earlier chapters that are no longer as they were."""
        changed = [one.document_ids for one in previous.chapters if self.by_id.get(one.id) is not one]
        return frozenset[str]().union(*changed)

    @cached_property
    def chapter_numbers(self) -> dict[str, int]:
        """The number of the chapter that each document belongs to."""
        return {one.id: place for place, chapter in enumerate(self.chapters) for one in chapter.documents}

    @cached_property
    def relevance(self) -> ChapterRelevance:
        """The index of the keywords of all synopses."""
        previous, self._relevance = self._relevance, None
        is_current = previous is not None and previous.is_current(self.chapters)
        return previous if previous is not None and is_current else ChapterRelevance(self.chapters)

    @cached_property
    def parts(self) -> dict[str, Rollup]:
        """The parts of the book that have a stored synopsis and contain no other part."""
        containers = [document for document in self.documents if document.kind in CONTAINER_KINDS]
        with_parts = {container.parent for container in containers}
        return {part.id: self._make_part(part) for part in containers if part.synopsis and part.id not in with_parts}

    def _make_part(self, part: Document) -> Rollup:
        chapters = [chapter for chapter in self.chapters if chapter.part == part.id]
        documents = [part]
        for chapter in chapters:
            documents += (document for document in chapter.documents if document is not part)

        def summarise() -> Synopsis:
            text_hash = hash_text(join_texts(document.text for document in documents))
            is_stale = bool(part.synopsis_text_hash) and part.synopsis_text_hash != text_hash
            return Synopsis(part.synopsis, part.synopsis_origin, is_stale)

        title = part.name
        summarised = tuple(chapter for chapter in chapters if not chapter.is_empty)
        return Rollup(part.id, (title, title), summarised, combine_visibility(documents), summarise)

    def plan(self, document_id: str, vantage: Vantage, timeline: Timeline) -> StorySoFar:
        """The plan for a document and a vantage; the place within the document does not matter."""
        name = vantage.name if vantage.position is not None else f"{vantage.name}?"
        key = (document_id, name, vantage.documents, vantage.unknown_documents)
        cached = self._plans.get(key)
        if cached is not None and cached[0] is timeline:
            return cached[1]
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        chapters = list(self._chapters_before(document_id))
        if not self._is_linear or vantage.documents is not None or vantage.unknown_documents:
            chapters = [chapter for chapter in chapters if is_visible(chapter, vantage, timeline)]
        story = plan_story_so_far(chapters, self.parts, self._rollups)
        self._plans[key] = (timeline, story)
        return story

    @cached_property
    def _is_linear(self) -> bool:
        """Whether no document has a story time, a point of view or knowers of its own."""
        return all(
            document.story_time is None and document.pov is None and document.known_to is None
            for document in self.documents
        )

    def _chapters_before(self, document_id: str) -> Iterator[Chapter]:
        """The chapters before a document, and the scenes before it within its own chapter."""
        number = self.chapter_numbers.get(document_id, len(self.chapters))
        yield from (chapter for chapter in self.chapters[:number] if not chapter.is_empty)
        if number < len(self.chapters):
            chapter = self.chapters[number]
            for document in chapter.documents:
                if document.id == document_id:
                    return
                scene = chapter.scenes[document.id]
                if not scene.is_empty:
                    yield scene


class ChapterRelevance:
    """The keywords of all synopses, with the chapters that contain them."""

    def __init__(self, chapters: Sequence[Chapter]) -> None:
        self._keywords = tuple(chapter.keywords for chapter in chapters)
        numbers_by_word: dict[str, list[int]] = {}
        for number, keywords in enumerate(self._keywords):
            for word in keywords:
                numbers_by_word.setdefault(word, []).append(number)
        limit = max(len(chapters) // _COMMON_FRACTION, _MIN_COMMON)
        self._postings = {
            word: [
                (number, min(self._keywords[number][word], _MAX_WEIGHT) * log1p(len(chapters) / len(numbers)))
                for number in numbers
            ]
            for word, numbers in numbers_by_word.items()
            if len(numbers) <= limit
        }

    def __bool__(self) -> bool:
        return bool(self._postings)

    def is_current(self, chapters: Sequence[Chapter]) -> bool:
        """Whether an index of these chapters would be equal to this one."""
        return len(self._keywords) == len(chapters) and all(
            keywords is chapter.keywords or keywords == chapter.keywords
            for keywords, chapter in zip(self._keywords, chapters, strict=True)
        )

    def score(self, texts: Iterable[str]) -> Mapping[int, float]:
        """The score of each chapter, by its number, for some texts; at least two words must be shared."""
        postings = self._postings
        words = set().union(*(find_present_words(text, postings.keys()) for text in texts))
        scores: dict[int, list[float]] = {}
        for _, word in sorted((len(postings[word]), word) for word in words)[:_MAX_QUERY_WORDS]:
            for number, weight in postings[word]:
                scores.setdefault(number, []).append(weight)
        return {number: sum(weights) for number, weights in scores.items() if len(weights) > 1}


def is_visible(chapter: Chapter, vantage: Vantage, timeline: Timeline) -> bool:
    """Whether the gate would let a chapter's synopsis pass."""
    return judge_fragment(chapter.gate_probe, vantage, timeline) in (None, Reason.NOT_REVEALED)
