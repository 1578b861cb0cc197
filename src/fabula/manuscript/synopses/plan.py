"""Tellings: how a story is told in short, from each place in it and through each pair of eyes.

All of it hangs off the snapshot of the manuscript. The next snapshot takes over the chapters of which nothing
changed, with everything worked out for them, so that a saved paragraph costs one chapter and no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from fabula.context.gate import judge
from fabula.context.trace import Reason
from fabula.core.fragment import Fragment
from fabula.core.story import Timeline, Vantage
from fabula.manuscript.model import Document, Manuscript, text_hash
from fabula.manuscript.synopses.chapters import ABOVE, Chapter, Told, chapters_of, terms_of, together
from fabula.manuscript.synopses.relevance import Relevance
from fabula.manuscript.synopses.rollups import Rollup, Rollups, SoFar, so_far
from fabula.text.names.main_characters import NOBODY, Cast

_PLACES = 4096  # from which the story is told, before they are worked out anew


class Tellings:
    """The chapters of one manuscript, and what was worked out of them."""

    def __init__(self, manuscript: Manuscript, before: Tellings | None = None, cast: Cast = NOBODY) -> None:
        self.manuscript = manuscript
        self.cast = cast
        known = before.by_id if before is not None else None
        self.chapters = chapters_of(manuscript.documents, manuscript.by_id, known, cast)
        self.by_id: dict[str, Chapter] = {chapter.id: chapter for chapter in self.chapters}
        self._before: Relevance | None = None if before is None else before.__dict__.get("relevance", before._before)
        self._rollups: Rollups = Rollups(before._rollups if before is not None else None)
        self._plans: dict[tuple[str, str], tuple[Timeline, Plan]] = {}

    @classmethod
    def of(cls, manuscript: Manuscript, cast: Cast | None = None) -> Tellings:
        """Those of a manuscript, made when first needed; `cast` are the people to be named, None for no matter who."""
        kept = manuscript.hung.get(cls)
        before = kept if isinstance(kept, cls) else None
        if before is not None and before.manuscript is manuscript and (cast is None or before.cast.same(cast)):
            return before
        made = cls(manuscript, before, NOBODY if cast is None else cast)
        manuscript.hung[cls] = made
        return made

    @cached_property
    def places(self) -> dict[str, int]:
        """In which chapter, by its number, each document stands."""
        return {one.id: place for place, chapter in enumerate(self.chapters) for one in chapter.documents}

    @cached_property
    def relevance(self) -> Relevance:
        """The words of all synopses."""
        before, self._before = self._before, None
        return before if before is not None and before.still(self.chapters) else Relevance(self.chapters)

    @cached_property
    def parts(self) -> dict[str, Rollup]:
        """The parts of the book that have a synopsis of their own and no parts in them."""
        above = [one for one in self.manuscript.documents if one.kind in ABOVE]
        split = {one.parent for one in above}
        return {part.id: self._part(part) for part in above if part.synopsis and part.id not in split}

    def _part(self, part: Document) -> Rollup:
        chapters = [chapter for chapter in self.chapters if chapter.part == part.id]
        documents = [part, *(one for chapter in chapters for one in chapter.documents if one is not part)]
        held = tuple(chapter for chapter in chapters if not chapter.empty)

        def tell() -> Told:
            stale = bool(part.synopsis_of) and part.synopsis_of != text_hash(together(one.text for one in documents))
            return Told(part.synopsis, part.synopsis_origin, stale)

        title = part.title or part.id
        return Rollup(f"rollup:{part.id}", (title, title), held, terms_of(documents), tell)

    def plan(self, document_id: str, vantage: Vantage, timeline: Timeline) -> Plan:
        """How the story is told from a document on, to somebody; earlier places in a document change nothing of it."""
        key = (document_id, vantage.name if vantage.position is not None else f"{vantage.name}?")
        found = self._plans.get(key)
        if found is not None and found[0] is timeline:
            return found[1]
        if len(self._plans) >= _PLACES:
            self._plans.clear()
        behind = list(self._behind(document_id))
        if not self._plain:
            behind = [chapter for chapter in behind if knows(chapter, vantage, timeline)]
        plan = Plan(so_far(behind, self.parts, self._rollups))
        self._plans[key] = (timeline, plan)
        return plan

    @cached_property
    def _plain(self) -> bool:
        """Is everything told in the order in which it happens, through nobody's eyes?"""
        told = self.manuscript.documents
        return all(one.when is None and one.pov is None and one.known_to is None for one in told)

    def _behind(self, document_id: str) -> Iterator[Chapter]:
        """What is read before a document: whole chapters, and of its own chapter the scenes before it."""
        here = self.places.get(document_id, len(self.chapters))
        yield from (chapter for chapter in self.chapters[:here] if not chapter.empty)
        if here < len(self.chapters):
            chapter = self.chapters[here]
            for document in chapter.documents:
                if document.id == document_id:
                    return
                scene = chapter.scenes[document.id]
                if not scene.empty:
                    yield scene


class Plan:
    """How the story so far is told at one place, and what fragments were made of it."""

    def __init__(self, told: SoFar) -> None:
        self.told = told
        self.latest = frozenset(chapter.id for chapter in told.latest)
        self.offered: dict[tuple[str, str, str, int], tuple[Fragment, ...]] = {}


def knows(chapter: Chapter, vantage: Vantage, timeline: Timeline) -> bool:
    """Would the gate let a chapter's synopsis pass?"""
    return judge(chapter.unsaid, vantage, timeline) in (None, Reason.NOT_REVEALED)
