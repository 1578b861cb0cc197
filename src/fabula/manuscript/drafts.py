"""Drafts: documents on their way in or out, before they have ids and revisions.

Every format reads into drafts and writes from them, so a new format never meets the store, and the
store never meets a format.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """What a document is in the tree of a book."""

    BOOK = "book"
    PART = "part"
    CHAPTER = "chapter"
    SCENE = "scene"
    NOTE = "note"


class Draft(Struct, frozen=True, kw_only=True):
    """One document with what stands below it, in order. Its text is Markdown with normalised line ends."""

    title: str
    kind: Kind = Kind.CHAPTER
    text: str = ""
    synopsis: str = ""
    notes: str = ""
    beats: tuple[str, ...] = ()
    children: tuple[Draft, ...] = ()

    def walk(self) -> Iterator[Draft]:
        """Itself and everything below, in reading order."""
        yield self
        for child in self.children:
            yield from child.walk()


class Book(Struct, frozen=True, kw_only=True):
    """A whole manuscript: its tree, and what is known about it."""

    title: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""
    drafts: tuple[Draft, ...] = ()

    def walk(self) -> Iterator[Draft]:
        """Every draft, in reading order."""
        for draft in self.drafts:
            yield from draft.walk()
