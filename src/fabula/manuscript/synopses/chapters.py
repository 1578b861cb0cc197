"""Chapters: the unit of a synopsis, which is a document with the scenes below it (cdx-6).

A chapter's synopsis is the stored one. Without a stored one it is joined from the synopses of its scenes. Without
those, or where the stored one was extracted from a text that has changed since, it is extracted anew: the most telling
sentences of the chapter, with its main characters named. That is computed when it is needed.
A chapter is immutable: when one of its documents or the names of the characters change, a new one replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import is_
from types import MappingProxyType
from typing import ClassVar

from msgspec import Struct, field

from fabula.core.fragment import Fragment, Layer, Visibility
from fabula.core.story import Position
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Document, hash_text
from fabula.text.bounded_cache import BoundedCache
from fabula.text.keywords import extract_keywords
from fabula.text.names.main_characters import NO_CHARACTERS, CharacterFinder
from fabula.text.summaries import estimate_summary_tokens, extract_summary

DERIVED = "derived"  # the origin of a synopsis that is not stored
CONTAINER_KINDS = (DocumentKind.BOOK, DocumentKind.PART)
_MAX_PLAIN = 3  # documents whose visibility is not combined
_MAX_KEYWORDS = 48
_CACHED_CHARACTERS = 500_000  # of extracted synopses in one generation of the cache

FragmentCache = dict[tuple[str, str, float, str], Fragment]  # by project, language, score and kind


class Synopsis(Struct, frozen=True):
    """A synopsis: its text, its origin, and whether the chapter has changed since."""

    text: str
    origin: str
    is_stale: bool = False

    @property
    def is_extract(self) -> bool:
        """Whether these are sentences of the chapter itself."""
        return self.origin in ("extract", DERIVED)


class Chapter(Struct, eq=False, dict=True):
    """A document and the scenes below it, in reading order."""

    documents: tuple[Document, ...]
    part: str | None = None  # of the book
    characters: CharacterFinder = NO_CHARACTERS
    fragment_cache: FragmentCache = field(default_factory=dict)
    known_synopsis: Synopsis | None = None  # once it is computed

    kind: ClassVar[str] = "synopsis"  # the prefix of its source

    @cached_property
    def id(self) -> str:
        """The id of its first document."""
        return self.documents[0].id

    @cached_property
    def title(self) -> str:
        """What its first document is called."""
        return self.documents[0].name

    @property
    def titles(self) -> tuple[str, str]:
        """The titles of the first and last chapter that its synopsis covers."""
        return self.title, self.title

    @cached_property
    def text(self) -> str:
        """The text of all its documents."""
        return join_texts(document.text for document in self.documents)

    @cached_property
    def is_empty(self) -> bool:
        """Whether there is neither a text nor a synopsis."""
        return not self.text and not any(
            document.synopsis for document in self.documents if document.kind not in CONTAINER_KINDS
        )

    @cached_property
    def stored_synopsis(self) -> Synopsis | None:
        """The stored synopsis. That of a part or book is not about the few words before its chapters."""
        first = self.documents[0]
        if not first.synopsis or first.kind in CONTAINER_KINDS:
            return None
        is_stale = bool(first.synopsis_text_hash) and first.synopsis_text_hash != hash_text(self.text)
        return Synopsis(first.synopsis, first.synopsis_origin, is_stale)

    @cached_property
    def is_ready(self) -> bool:
        """Whether the synopsis needs no computation."""
        stored = self.stored_synopsis
        return self.is_empty or (stored is not None and not (stored.is_stale and stored.is_extract))

    @property
    def is_summarised(self) -> bool:
        """Whether the synopsis has been computed, or needs no computation."""
        return self.known_synopsis is not None or self.is_ready

    @cached_property
    def estimated_tokens(self) -> int:
        """About how many tokens the synopsis will take, where it must be computed; 0 where it is ready."""
        return 0 if self.is_ready else self.extract_tokens

    @cached_property
    def extract_tokens(self) -> int:
        """About how many tokens a synopsis of the chapter's own sentences takes."""
        return estimate_summary_tokens(self.text)

    @property
    def synopsis(self) -> Synopsis:
        """The synopsis of the chapter."""
        # A `cached_property` of Python 3.11 has one lock for all chapters, so a request would wait for a synopsis
        # that is made in the background.
        known = self.known_synopsis
        if known is None:
            known = self.known_synopsis = self._summarise()
        return known

    def _summarise(self) -> Synopsis:
        stored = self.stored_synopsis
        if stored is not None and self.is_ready:
            return stored
        scenes = self.scenes.values() if len(self.documents) > 1 else ()
        if stored is None and any(scene.stored_synopsis for scene in scenes):
            synopses = [scene.synopsis for scene in scenes]
            is_stale = any(synopsis.is_stale for synopsis in synopses)
            return Synopsis(" ".join(synopsis.text for synopsis in synopses if synopsis.text), "hand", is_stale)
        names = tuple(self.characters.find_main_characters(self.text).values())
        return Synopsis(extract_synopsis(self.text, names), DERIVED)

    @cached_property
    def scenes(self) -> dict[str, Chapter]:
        """Each document as a chapter of its own, by id."""
        return {document.id: Chapter((document,), self.part, self.characters) for document in self.documents}

    def matches(self, documents: Sequence[Document], part: str | None, characters: CharacterFinder) -> bool:
        """Whether it has these documents at the same revisions, is in this part, and names these characters."""
        same_documents = len(self.documents) == len(documents) and all(map(is_, self.documents, documents))
        return same_documents and self.part == part and self.characters.has_same_names(characters)

    @cached_property
    def gate_probe(self) -> Fragment:
        """An empty fragment with the chapter's visibility, to ask the gate before the text is needed."""
        return Fragment(
            source=f"synopsis:{self.id}",
            layer=Layer.RETRIEVED,
            text="",
            project_id="-",
            derived_from=self.visibility,
            made_of=self.document_ids,
        )

    @cached_property
    def document_ids(self) -> frozenset[str]:
        """The ids of its documents."""
        return frozenset(document.id for document in self.documents)

    @cached_property
    def visibility(self) -> tuple[Visibility, ...]:
        """From when on, and to whom, each of its documents is known."""
        return combine_visibility(self.documents)

    @cached_property
    def keywords(self) -> dict[str, float]:
        """The weighted keywords of title and synopsis; empty where the synopsis must be computed first."""
        return extract_keywords(f"{self.title}\n{self.synopsis.text}", _MAX_KEYWORDS) if self.is_ready else {}


def combine_visibility(documents: Sequence[Document]) -> tuple[Visibility, ...]:
    """The visibility of a text that was made from these documents: all of them must be over, and known.

    Of many documents, the last in reading order, the last in story time, and one for each group of knowers are enough.
    """
    relevant = list(documents)
    if len(relevant) > _MAX_PLAIN:
        dated = [document for document in documents if document.story_time is not None]
        undated = [document for document in documents if document.story_time is None]
        relevant = [documents[-1], *undated[-1:]]
        if dated:
            relevant.append(max(dated, key=lambda document: document.story_time or 0.0))
        relevant += {document.effective_known_to: document for document in reversed(documents)}.values()
    return tuple(
        Visibility(
            f"document:{document.id}",
            since=Position(document.id, len(document.text)),
            known_to=document.effective_known_to,
        )
        for document in {document.id: document for document in relevant}.values()
    )


def join_texts(texts: Iterable[str]) -> str:
    """Join the texts of a chapter."""
    return "\n\n".join(text for text in texts if text.strip())


def group_into_chapters(
    documents: Iterable[Document],
    by_id: Mapping[str, Document],
    previous: Mapping[str, Chapter] = MappingProxyType({}),
    characters: CharacterFinder = NO_CHARACTERS,
) -> tuple[Chapter, ...]:
    """The chapters of a story in order; unchanged ones are taken over from `previous`."""
    by_head: dict[str, list[Document]] = {}
    heads: dict[str, str] = {}  # of each document: the first document of its chapter
    parts: dict[str, str | None] = {}
    for document in documents:
        parent = document.parent if document.parent in by_id else None
        parts[document.id] = document.id if document.kind in CONTAINER_KINDS else parts.get(parent or "")
        head = heads.get(parent or "")
        if document.kind not in CONTAINER_KINDS:
            heads[document.id] = head = head or document.id
            by_head.setdefault(head, []).append(document)
        else:
            by_head[document.id] = [document]
    chapters = []
    for head, members in by_head.items():
        old = previous.get(head)
        is_same = old is not None and old.matches(members, parts[head], characters)
        chapters.append(old if old is not None and is_same else Chapter(tuple(members), parts[head], characters))
    return tuple(chapters)


# by the hash of the text, so that no earlier text of a chapter stays in memory
extracted_synopses = BoundedCache[tuple[str, tuple[str, ...]], str](_CACHED_CHARACTERS)


def extract_synopsis(text: str, names: tuple[str, ...]) -> str:
    """The most telling sentences of a text, with these characters named."""
    key = (hash_text(text), names)
    known = extracted_synopses.recent.get(key)
    if known is None:
        known = extracted_synopses.get_older(key)
        known = extract_summary(text, names=names) if known is None else known
        extracted_synopses.store(key, known, len(known))
    return known
