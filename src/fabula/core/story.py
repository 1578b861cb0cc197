"""Where we are in the story, and whose eyes we look through.

A story has two orders: the order in which it is read and the order in which it happens. They
part company in a flashback. Something is safe to tell at a position only when it lies behind
us in *both*: a secret told in a flashback of chapter 7 is neither known in chapter 3 nor true
of a scene that happens before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct


class Position(Struct, frozen=True, gc=False):
    """A place in the manuscript: a document and an offset in code points."""

    document: str
    offset: int = 0


class Eyes(StrEnum):
    """Who is looking."""

    AUTHOR = "author"
    READER = "reader"
    CHARACTER = "character"


class Vantage(Struct, frozen=True):
    """Whose knowledge a prompt may hold: somebody's, at a position in the story."""

    eyes: Eyes = Eyes.READER
    position: Position | None = None
    character: str | None = None

    @property
    def name(self) -> str:
        """A short stable name, used to keep continuities apart."""
        return f"{self.eyes.value}:{self.character}" if self.character else self.eyes.value


class Moment(Struct, frozen=True):
    """One document of the story: its id, when it happens (by default, where it is read), whose scene, which chapter."""

    document: str
    when: float | None = None
    pov: str | None = None
    title: str = ""
    chapter: int | None = None  # by default, its number in reading order


class Timeline:
    """The documents in reading order, each with the time it happens."""

    __slots__ = ("_places", "moments")

    def __init__(self, moments: Sequence[Moment] = ()) -> None:
        self.moments = tuple(moments)
        self._places: dict[str, tuple[int, float]] = {
            moment.document: (place, float(place) if moment.when is None else moment.when)
            for place, moment in enumerate(self.moments, start=1)
        }

    def __contains__(self, document: object) -> bool:
        return document in self._places

    def moment(self, document: str) -> Moment | None:
        """The document's own record, if it is part of the story."""
        place = self._places.get(document)
        return None if place is None else self.moments[place[0] - 1]

    def chapter(self, document: str) -> int | None:
        """The number of its chapter, counted from 1."""
        place = self._places.get(document)
        if place is None:
            return None
        return self.moments[place[0] - 1].chapter or place[0]

    def reached(self, mark: Position, here: Position | None) -> bool:
        """Is `mark` behind us, read *and* happened? What cannot be placed is never reached."""
        if here is None:
            return False
        if mark.document == here.document:
            return mark.offset <= here.offset
        there, now = self._places.get(mark.document), self._places.get(here.document)
        if there is None or now is None:
            return False
        return there[0] < now[0] and there[1] <= now[1]
