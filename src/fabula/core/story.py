"""Positions in the story, the timeline that orders them, and the vantage of a request (ctx-12).

A story has two orders: the order in which it is read and the order in which it happens. A
flashback makes them differ. Something may be known at a position only when it lies behind that
position in *both* orders: a secret revealed in a flashback of chapter 7 is neither known in
chapter 3 nor true in a scene that happens before the flashback.

Books of a series have an order. What an earlier book told has been read and has happened in every later one, except in
a chapter that happens before its own book begins. A later book is not part of an earlier one's timeline at all.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Literal

from msgspec import Struct

from fabula.core.messages import Sentence, message

DivisionUnit = Literal["book", "volume", "part", "act", "chapter", "scene"]
Division = tuple[DivisionUnit, int]  # a division of the book and its number, as a reader counts


class Position(Struct, frozen=True, gc=False):
    """A position in the manuscript: a document and an offset in code points."""

    document: str
    offset: int = 0


class Perspective(StrEnum):
    """Whose knowledge a prompt may hold."""

    AUTHOR = "author"
    READER = "reader"
    CHARACTER = "character"


READER = Perspective.READER.value  # may be listed in `known_to` beside characters
READER_ONLY = frozenset({READER})


class Vantage(Struct, frozen=True):
    """Whose knowledge a prompt may hold, and at which position of the story."""

    perspective: Perspective = Perspective.READER
    position: Position | None = None
    character: str | None = None
    other_ids: frozenset[str] = frozenset()  # of the same character: as a participant of conversations, as an entry
    documents: frozenset[str] | None = None  # whose text may be told at all; None: every document's
    unknown_documents: frozenset[str] = frozenset()  # that say not who knows them, and do not name the character

    @property
    def name(self) -> str:
        """A short stable name without the position; part of the key of a continuity."""
        return f"{self.perspective.value}:{self.character}" if self.character else self.perspective.value

    @property
    def knowers(self) -> frozenset[str]:
        """Whom `known_to` must list one of: the ids of the character, or the reader, who shares no secrets."""
        if self.perspective is not Perspective.CHARACTER or self.character is None:
            return READER_ONLY
        return self.other_ids | {self.character}


class TimelineEntry(Struct, frozen=True):
    """One document of the story: when it happens, its point-of-view character, its title and its divisions."""

    document: str
    when: float | None = None  # by default, its number in reading order
    pov: str | None = None
    title: str = ""
    divisions: tuple[Division, ...] | None = None  # what it is in, outermost first; by default, one chapter each
    known_to: frozenset[str] | None = None  # who knows what happens in it; None for everybody


def name_earlier_document(book: str, document: str) -> str:
    """The name of a document of an earlier book in the timeline of a later one; ids have no slashes."""
    return f"{book}/{document}"


def find_earlier_book(document: str) -> str:
    """The earlier book that a document's name begins with; empty for a document of the book itself."""
    book, mark, _ = document.partition("/")
    return book if mark else ""


class Timeline:
    """The documents of a story in reading order, each with the time at which it happens."""

    def __init__(
        self, entries: Sequence[TimelineEntry] = (), *, earlier: Mapping[str, TimelineEntry] | None = None
    ) -> None:
        """`earlier` has the documents of the books that come before, by `name_earlier_document`."""
        self.entries = tuple(entries)
        self.earlier: Mapping[str, TimelineEntry] = earlier or {}
        self._earlier_books = frozenset(map(find_earlier_book, self.earlier))
        self._places: dict[str, tuple[int, float]] = {
            entry.document: (number, float(number) if entry.when is None else entry.when)
            for number, entry in enumerate(self.entries, start=1)
        }
        self._latest = max((when for _, when in self._places.values()), default=0.0)
        in_order = [number for number, entry in enumerate(self.entries, start=1) if entry.when is None]
        first = self.entries[0].when if self.entries else None
        # When the book begins: with its first chapter that happens where it is read, else with its first chapter.
        self._beginning = float(in_order[0]) if in_order else first or 0.0

    def __contains__(self, document: object) -> bool:
        return document in self._places

    def entry(self, document: str) -> TimelineEntry | None:
        """The entry of a document, also of an earlier book; None when it is not part of the story."""
        place = self._places.get(document)
        return self.earlier.get(document) if place is None else self.entries[place[0] - 1]

    @cached_property
    def documents_in_story_order(self) -> tuple[str, ...]:
        """The ids of the documents in the order in which they happen; at one time, in reading order."""
        return tuple(sorted(self._places, key=lambda document: self._places[document][1]))

    @cached_property
    def divisions(self) -> tuple[tuple[Division, ...], ...]:
        """The divisions of each document, in reading order."""
        return tuple(
            (("chapter", number),) if entry.divisions is None else entry.divisions
            for number, entry in enumerate(self.entries, start=1)
        )

    def story_time(self, document: str) -> float | None:
        """When a document happens; None when it is not part of the story."""
        place = self._places.get(document)
        return None if place is None else place[1]

    def index(self, document: str) -> int | None:
        """The index of a document in reading order; None when it is not part of the story."""
        place = self._places.get(document)
        return None if place is None else place[0] - 1

    def chapter_number(self, document: str) -> int | None:
        """The number that a reader gives to the chapter of a document; None for a prologue and for other stories."""
        index = self.index(document)
        return None if index is None else dict(self.divisions[index]).get("chapter")

    def chapter_name(self, document: str) -> Sentence | None:
        """`chapter 3`, or `part 2, chapter 3` where there are several chapters 3; None for one without a number."""
        index, number = self.index(document), self.chapter_number(document)
        if index is None or number is None:
            return None
        divisions = self.divisions[index]
        own = divisions[: divisions.index(("chapter", number)) + 1]
        return name_divisions(own if number in self._repeated else own[-1:])

    @cached_property
    def _repeated(self) -> frozenset[int]:
        """The numbers that several chapters have."""
        outer: dict[int, set[tuple[Division, ...]]] = {}
        for divisions in self.divisions:
            for place, (unit, number) in enumerate(divisions):
                if unit == "chapter":
                    outer.setdefault(number, set()).add(divisions[:place])
        return frozenset(number for number, several in outer.items() if len(several) > 1)

    def has_reached(self, mark: Position, here: Position | None) -> bool:
        """Whether `mark` lies behind `here` in both orders; never, where one of them is not part of the story."""
        if here is None:
            return False
        if mark.document == here.document:
            return mark.offset <= here.offset
        there, now = self._places.get(mark.document), self._places.get(here.document)
        if now is None:
            return False
        if there is None:
            return self._is_earlier(mark.document) and now[1] >= self._beginning
        return there[0] < now[0] and there[1] <= now[1]

    def find_latest(self, documents: Container[str] | None = None) -> list[str]:
        """The documents, of those given or of all, that no other one of them has behind it in both orders."""
        latest: list[str] = []
        newest = float("-inf")
        for entry in reversed(self.entries):
            when = self._places[entry.document][1]
            if when > newest and (documents is None or entry.document in documents):
                latest.append(entry.document)
                newest = when
        return latest

    def is_end(self, document: str) -> bool:
        """Whether a document is the last of the story in both orders."""
        place = self._places.get(document)
        return place is not None and place[0] == len(self.entries) and place[1] >= self._latest

    def _is_earlier(self, document: str) -> bool:
        """Whether a document is in an earlier book: one that is here, or one of which a save carried what it told."""
        book = find_earlier_book(document)
        return document in self.earlier or (book != "" and book not in self._earlier_books)


def name_divisions(divisions: Sequence[Division]) -> Sentence:
    """Divisions in words, outermost first: `volume 2, chapter 3`."""
    *outer, (unit, number) = divisions
    name = Sentence(_DIVISION_NAMES[unit].template, {"number": number})
    return message("{outer}, {inner}", outer=name_divisions(outer), inner=name) if outer else name


_DIVISION_NAMES = {
    "book": message("book {number}"),
    "volume": message("volume {number}"),
    "part": message("part {number}"),
    "act": message("act {number}"),
    "chapter": message("chapter {number}"),
    "scene": message("scene {number}"),
}
