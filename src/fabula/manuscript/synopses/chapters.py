"""Chapters: what a synopsis tells, which is a document with the scenes below it.

A chapter is told by the synopsis that is kept for it. Where none is kept, it is told by those of its
scenes, and where there are none either, or the kept one was made of sentences that have changed since, in
its own most telling sentences, its main characters named, worked out when somebody needs them and kept with
the chapter. A chapter never changes: where a document of it does, or the people are called otherwise, a new
one takes its place, and all others stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import is_

from msgspec import Struct

from fabula.core.fragment import Fragment, Layer, Terms
from fabula.core.story import Position
from fabula.manuscript.drafts import Kind
from fabula.manuscript.model import Document, text_hash
from fabula.text.keywords import keywords
from fabula.text.names.main_characters import NOBODY, Cast
from fabula.text.summaries import expected_tokens, extract

DERIVED = "derived"  # the origin of a synopsis that is not kept anywhere
ABOVE = (Kind.BOOK, Kind.PART)
_FEW = 3
_KEYS = 48  # words by which a chapter is found again


class Told(Struct, frozen=True):
    """A chapter in short: in which words, whose they are, and whether the chapter has changed since."""

    text: str
    origin: str
    stale: bool = False

    @property
    def excerpt(self) -> bool:
        """Are these sentences of the chapter itself?"""
        return self.origin in ("extract", DERIVED)


class Chapter:
    """A document and the scenes below it, in reading order."""

    def __init__(
        self,
        documents: tuple[Document, ...],
        part: str | None = None,
        before: Chapter | None = None,
        cast: Cast = NOBODY,
    ) -> None:
        self._scenes = before.__dict__.get("scenes") if before is not None else None
        self._extract: tuple[tuple[str, ...], str] | None = None  # its own sentences, and the names they were to hold
        if before is not None and before.holds(documents):
            self._extract = before._extract
        self.made: dict[tuple[str, str, float, str], Fragment] = {}  # fragments of it, for a few wishes
        self.documents = documents
        self.cast = cast
        self.part = part  # the part of the book it stands in
        self.id = documents[0].id
        self.title = documents[0].title or documents[0].id

    def holds(self, documents: Sequence[Document]) -> bool:
        """Are these its documents, at these very revisions?"""
        return len(documents) == len(self.documents) and all(map(is_, documents, self.documents))

    @cached_property
    def text(self) -> str:
        """All of its text."""
        return together(document.text for document in self.documents)

    @cached_property
    def empty(self) -> bool:
        """Is there neither a text nor a synopsis?"""
        return not self.text and not any(one.synopsis for one in self.documents if one.kind not in ABOVE)

    @cached_property
    def kept(self) -> Told | None:
        """The synopsis that is kept for it. A part's own is not told of the few words before its chapters."""
        head = self.documents[0]
        if not head.synopsis or head.kind in ABOVE:
            return None
        stale = bool(head.synopsis_of) and head.synopsis_of != text_hash(self.text)
        return Told(head.synopsis, head.synopsis_origin, stale)

    @cached_property
    def standing(self) -> bool:
        """Can it be told without working anything out?"""
        kept = self.kept
        return self.empty or (kept is not None and not (kept.stale and kept.excerpt))

    @cached_property
    def expected(self) -> int:
        """About how many tokens must be free before working it out makes sense; 0 where it stands."""
        return 0 if self.standing else expected_tokens(self.text)

    @cached_property
    def told(self) -> Told:
        """The chapter in short."""
        kept = self.kept
        if kept is not None and self.standing:
            return kept
        scenes = self.scenes.values() if len(self.documents) > 1 else ()
        if kept is None and any(scene.kept for scene in scenes):
            told = [scene.told for scene in scenes]
            stale = any(one.stale for one in told)
            return Told(" ".join(one.text for one in told if one.text), "hand", stale)
        return Told(self._extracted(), DERIVED)

    def _extracted(self) -> str:
        """Its own sentences; those of the same text before, where the same people are to be named."""
        called = tuple(self.cast.main(self.text).values())
        if self._extract is None or self._extract[0] != called:
            self._extract = called, extract(self.text, names=called)
        return self._extract[1]

    @cached_property
    def scenes(self) -> dict[str, Chapter]:
        """Its documents one by one; those of which nothing changed are the ones of the chapter before it."""
        before, self._scenes = self._scenes or {}, None
        found = {}
        for document in self.documents:
            kept = before.get(document.id)
            same = kept is not None and kept.serves((document,), self.part, self.cast)
            found[document.id] = kept if kept and same else Chapter((document,), self.part, kept, self.cast)
        return found

    def serves(self, documents: Sequence[Document], part: str | None, cast: Cast) -> bool:
        """Is this the chapter that would be made of these documents?"""
        return self.part == part and self.cast.same(cast) and self.holds(documents)

    @cached_property
    def unsaid(self) -> Fragment:
        """Nothing, under the chapter's terms: to ask the gate about it before its words are needed."""
        return Fragment(
            source=f"synopsis:{self.id}", layer=Layer.RETRIEVED, text="", project_id="-", derived_from=self.terms
        )

    @cached_property
    def terms(self) -> tuple[Terms, ...]:
        """When each of its documents has been told, and to whom."""
        return terms_of(self.documents)

    @cached_property
    def keys(self) -> dict[str, float]:
        """The words by which it is found again; nothing where that would have to be worked out from its text."""
        return keywords(f"{self.title}\n{self.told.text}", _KEYS) if self.standing else {}


def terms_of(documents: Sequence[Document]) -> tuple[Terms, ...]:
    """What holds for a text made from these documents, in reading order: each of them lies behind us to its end.

    Of many, those say it all that are read last and happen last, and one for each circle of those who know.
    """
    wanted = list(documents)
    if len(wanted) > _FEW:
        dated = [one for one in wanted if one.when is not None]
        undated = [one for one in wanted if one.when is None]
        wanted = [documents[-1], *undated[-1:], *([max(dated, key=_when)] if dated else ())]
        wanted += {one.witnesses: one for one in reversed(documents)}.values()
    return tuple(
        Terms(f"document:{one.id}", since=Position(one.id, len(one.text)), known_to=one.witnesses)
        for one in {one.id: one for one in wanted}.values()
    )


def _when(document: Document) -> float:
    return document.when or 0.0


def together(texts: Iterable[str]) -> str:
    """The texts of a chapter as one."""
    return "\n\n".join(text for text in texts if text.strip())


def chapters_of(
    documents: Iterable[Document],
    by_id: Mapping[str, Document],
    before: Mapping[str, Chapter] | None = None,
    cast: Cast = NOBODY,
) -> tuple[Chapter, ...]:
    """The chapters of a story in order; those of which nothing changed are the ones before."""
    heads: dict[str, list[Document]] = {}
    head_of: dict[str, str] = {}
    parts: dict[str, str | None] = {}
    for document in documents:
        above = document.parent if document.parent in by_id else None
        parts[document.id] = document.id if document.kind in ABOVE else parts.get(above or "")
        head = head_of.get(above or "")
        if document.kind in ABOVE:
            heads[document.id] = [document]
        elif head is None:
            heads[document.id] = [document]
            head_of[document.id] = document.id
        else:
            heads[head].append(document)
            head_of[document.id] = head
    known = before or {}
    found = []
    for ident, held in heads.items():
        kept = known.get(ident)
        same = kept is not None and kept.serves(held, parts[ident], cast)
        found.append(kept if kept and same else Chapter(tuple(held), parts[ident], kept, cast))
    return tuple(found)
