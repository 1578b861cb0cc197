"""The plan of synopses: which chapters, roll-ups and parts a request gets, by its place in the story and its vantage.

Everything is cached on the snapshot of the manuscript. The next snapshot takes over the chapters that did not change,
with everything that was computed for them, so that a saved paragraph costs the work of one chapter.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from fabula.context.gate import judge_fragment
from fabula.context.trace import Reason
from fabula.core.fragment import Fragment
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
from fabula.manuscript.synopses.relevance import ChapterRelevance
from fabula.manuscript.synopses.rollups import Rollup, RollupCache, StorySoFar, plan_story_so_far
from fabula.text.names.main_characters import NO_CHARACTERS, CharacterFinder

_MAX_PLANS = 4096


class ChapterSynopses:
    """The chapters of one manuscript with their synopses, roll-ups and plans."""

    def __init__(
        self,
        manuscript: Manuscript,
        previous: ChapterSynopses | None = None,
        characters: CharacterFinder = NO_CHARACTERS,
    ) -> None:
        self.manuscript = manuscript
        self.characters = characters
        known = previous.by_id if previous is not None else None
        self.chapters = group_into_chapters(manuscript.documents, manuscript.by_id, known, characters)
        self.by_id: dict[str, Chapter] = {chapter.id: chapter for chapter in self.chapters}
        self._relevance: ChapterRelevance | None = (
            None if previous is None else previous.__dict__.get("relevance", previous._relevance)
        )
        self._rollups: RollupCache = RollupCache(previous._rollups if previous is not None else None)
        self._plans: dict[tuple[str, str], tuple[Timeline, SynopsisPlan]] = {}

    @classmethod
    def for_manuscript(cls, manuscript: Manuscript, characters: CharacterFinder | None = None) -> ChapterSynopses:
        """The chapters of a manuscript, from its cache; `characters` are to be named, None accepts any."""
        cached = manuscript.cache.get(cls)
        previous = cached if isinstance(cached, cls) else None
        is_current = previous is not None and previous.manuscript is manuscript
        if previous and is_current and (characters is None or previous.characters.has_same_names(characters)):
            return previous
        synopses = cls(manuscript, previous, NO_CHARACTERS if characters is None else characters)
        manuscript.cache[cls] = synopses
        return synopses

    @cached_property
    def chapter_numbers(self) -> dict[str, int]:
        """The number of the chapter that each document belongs to."""
        return {one.id: place for place, chapter in enumerate(self.chapters) for one in chapter.documents}

    @cached_property
    def relevance(self) -> ChapterRelevance:
        """The index of the keywords of all synopses."""
        previous, self._relevance = self._relevance, None
        return (
            previous if previous is not None and previous.is_current(self.chapters) else ChapterRelevance(self.chapters)
        )

    @cached_property
    def parts(self) -> dict[str, Rollup]:
        """The parts of the book that have a stored synopsis and contain no other part."""
        containers = [document for document in self.manuscript.documents if document.kind in CONTAINER_KINDS]
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

        title = part.title or part.id
        summarised = tuple(chapter for chapter in chapters if not chapter.is_empty)
        return Rollup(f"rollup:{part.id}", (title, title), summarised, combine_visibility(documents), summarise)

    def plan(self, document_id: str, vantage: Vantage, timeline: Timeline) -> SynopsisPlan:
        """The plan for a document and a vantage; the place within the document does not matter."""
        key = (document_id, vantage.name if vantage.position is not None else f"{vantage.name}?")
        cached = self._plans.get(key)
        if cached is not None and cached[0] is timeline:
            return cached[1]
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        chapters = list(self._chapters_before(document_id))
        if not self._is_linear:
            chapters = [chapter for chapter in chapters if is_visible(chapter, vantage, timeline)]
        plan = SynopsisPlan(plan_story_so_far(chapters, self.parts, self._rollups))
        self._plans[key] = (timeline, plan)
        return plan

    @cached_property
    def _is_linear(self) -> bool:
        """Whether no document has a story time, a point of view or knowers of its own."""
        return all(
            document.story_time is None and document.pov is None and document.known_to is None
            for document in self.manuscript.documents
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


class SynopsisPlan:
    """The synopses for one place in the story, and the fragments that were made of them."""

    def __init__(self, story: StorySoFar) -> None:
        self.story = story
        self.fragment_cache: dict[tuple[str, str, str, int], tuple[Fragment, ...]] = {}


def is_visible(chapter: Chapter, vantage: Vantage, timeline: Timeline) -> bool:
    """Whether the gate would let a chapter's synopsis pass."""
    return judge_fragment(chapter.gate_probe, vantage, timeline) in (None, Reason.NOT_REVEALED)
