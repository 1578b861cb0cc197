"""Documents of a story, as immutable snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import accumulate

from fabula.core.story import Eyes, Moment, Timeline
from fabula.core.view import Language
from fabula.manuscript.drafts import Kind
from fabula.text.tokens.paragraphs import Paragraphs


@dataclass(frozen=True)
class Document:
    """One document at one revision. Its text has normalised line ends."""

    id: str
    title: str
    text: str
    revision: int = 1
    kind: Kind = Kind.CHAPTER
    parent: str | None = None
    pov: str | None = None
    when: float | None = None
    synopsis: str = ""
    synopsis_origin: str = "hand"  # hand, extract or model
    synopsis_of: str = ""  # hash of the text it tells; where nobody knows, it counts as told of this one
    beats: tuple[str, ...] = ()
    known_to: frozenset[str] | None = None

    @property
    def witnesses(self) -> frozenset[str] | None:
        """Who knows what this chapter tells: as said by hand, else whoever it is told through, and the reader."""
        if self.known_to is not None or self.pov is None:
            return self.known_to
        return frozenset({self.pov, Eyes.READER.value})

    @cached_property
    def paragraphs(self) -> Paragraphs:
        """The text cut where token counts add up; the counts hang off it."""
        return Paragraphs(self.text)


@dataclass(frozen=True)
class Manuscript:
    """The documents of the story in reading order, and notes, which are no part of it."""

    documents: tuple[Document, ...] = ()
    notes: tuple[Document, ...] = ()
    seats: Mapping[str, int] = field(default_factory=dict)  # each one's number among its siblings, where stored
    hung: dict[type, object] = field(default_factory=dict, compare=False, repr=False)  # what was worked out of it

    @cached_property
    def by_id(self) -> dict[str, Document]:
        """Documents by their ids."""
        return {document.id: document for document in (*self.documents, *self.notes)}

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each document stands."""
        return {document.id: place for place, document in enumerate(self.documents)}

    def timeline(self) -> Timeline:
        """The order of the story."""
        numbers = accumulate(int(document.kind is Kind.CHAPTER) for document in self.documents)
        return Timeline([Moment(d.id, d.when, d.pov, d.title, n) for d, n in zip(self.documents, numbers, strict=True)])


def text_hash(text: str) -> str:
    """By which a text is known again."""
    return sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Direction:
    """What a project says about itself: its kind, its person, its world, its style."""

    kind: str = ""
    person: str = ""
    world: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    style: str = ""

    def lines(self, language: Language) -> Iterable[tuple[str, str]]:
        """Its rules, each with a short id."""
        chinese = language == "zh"
        if self.kind:
            yield "kind", f"作品类型：{self.kind}" if chinese else f"Kind of work: {self.kind}"
        if self.person:
            yield "person", f"叙述人称：{self.person}" if chinese else f"Narration: {self.person}"
        yield from ((f"world-{n}", text) for n, text in enumerate(self.world, start=1))
        yield from ((f"rule-{n}", text) for n, text in enumerate(self.rules, start=1))
