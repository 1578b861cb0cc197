"""Immutable snapshots of the manuscript: documents in reading order, and the project's direction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from fabula.core.messages import message
from fabula.core.story import Perspective, Timeline, TimelineEntry
from fabula.core.view import Language
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.numbering import TitledDocument, number_documents

if TYPE_CHECKING:
    from fabula.text.tokens.paragraphs import Paragraphs


_NAME_LENGTH = 40  # of a document that has no title


def name_document(title: str, text: str) -> str:
    """What lists call a document: its title, else the first words of its text (front matter often has no title)."""
    words = "" if title else " ".join(text[: 4 * _NAME_LENGTH].split())
    return title or (words if 0 < len(words) <= _NAME_LENGTH else f"{words[: _NAME_LENGTH - 1].rstrip()}…")


def trim_title(title: str) -> str:
    """A title as it stands inside a sentence: without a full stop of its own."""
    return title.rstrip(" .。") or title


@dataclass(frozen=True)
class Document:
    """One document at one revision. Its text has normalised line ends."""

    id: str
    title: str
    text: str
    revision: int = 1
    kind: DocumentKind = DocumentKind.CHAPTER
    parent: str | None = None
    pov: str | None = None
    story_time: float | None = None
    synopsis: str = ""
    synopsis_origin: str = "hand"  # hand, extract or model
    synopsis_text_hash: str = ""  # of the text that was summarised; where empty, the synopsis counts as fresh
    beats: tuple[str, ...] = ()
    known_to: frozenset[str] | None = None

    @property
    def name(self) -> str:
        """What lists call it."""
        return name_document(self.title, self.text)

    @property
    def effective_known_to(self) -> frozenset[str] | None:
        """Who knows this document: as set by hand, else its point-of-view character and the reader; None for all."""
        if self.known_to is not None or self.pov is None:
            return self.known_to
        return frozenset({self.pov, Perspective.READER.value})

    @cached_property
    def paragraphs(self) -> Paragraphs:
        """The text split where token counts add up, with the counts of each part."""
        from fabula.text.tokens.paragraphs import Paragraphs  # a list of projects does not need it

        return Paragraphs(self.text)


@dataclass(frozen=True)
class Manuscript:
    """The documents of the story in reading order, and notes, which are not part of it."""

    documents: tuple[Document, ...] = ()
    notes: tuple[Document, ...] = ()
    sibling_numbers: Mapping[str, int] = field(default_factory=dict)  # by document, where stored
    cache: dict[type, object] = field(
        default_factory=dict, compare=False, repr=False
    )  # values that were computed from it

    @cached_property
    def by_id(self) -> dict[str, Document]:
        """Documents and notes by id."""
        return {document.id: document for document in (*self.documents, *self.notes)}

    def has_places_of(self, other: Manuscript) -> bool:
        """Whether its documents have the places, names and knowers in the story that those of another have."""
        if len(self.documents) != len(other.documents):
            return False
        return all(
            a is b or _list_places(a) == _list_places(b) for a, b in zip(self.documents, other.documents, strict=True)
        )

    def timeline(self) -> Timeline:
        """The order of the documents in the story."""
        divisions = number_documents([TitledDocument(d.id, d.title, d.kind, d.parent) for d in self.documents])
        return Timeline(
            [
                TimelineEntry(d.id, d.story_time, d.pov, d.name, numbers, d.effective_known_to)
                for d, numbers in zip(self.documents, divisions, strict=True)
            ]
        )


def _list_places(document: Document) -> tuple[object, ...]:
    """What a timeline tells of a document."""
    place = document.id, document.name, document.kind, document.parent
    return *place, document.title, document.story_time, document.pov, document.effective_known_to


def hash_text(text: str) -> str:
    """The SHA-256 of a text, by which a change is detected."""
    return sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Direction:
    """The writing rules of a project: kind of work, narrative person, world rules, style."""

    kind: str = ""
    person: str = ""
    world: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    style: str = ""

    def rule_lines(self, language: Language) -> Iterable[tuple[str, str]]:
        """The rules as lines of a prompt, each with a short id."""
        if self.kind:
            yield "kind", message("Kind of work: {kind}", kind=self.kind).render(language)
        if self.person:
            yield "person", message("Narration: {person}", person=self.person).render(language)
        yield from ((f"world-{n}", text) for n, text in enumerate(self.world, start=1))
        yield from ((f"rule-{n}", text) for n, text in enumerate(self.rules, start=1))
