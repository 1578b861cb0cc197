"""Drafts: documents in an import or export, without ids and revisions.

Every format reads into drafts and writes from drafts, so that formats and the store do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct


class DocumentKind(StrEnum):
    """The kind of a document in the tree of a book."""

    BOOK = "book"
    PART = "part"
    CHAPTER = "chapter"
    SCENE = "scene"
    NOTE = "note"


class DocumentDraft(Struct, frozen=True, kw_only=True):
    """One document with its children, in order. Its text is Markdown with normalised line ends."""

    title: str
    kind: DocumentKind = DocumentKind.CHAPTER
    text: str = ""
    synopsis: str = ""
    notes: str = ""
    beats: tuple[str, ...] = ()
    children: tuple[DocumentDraft, ...] = ()

    def walk(self) -> Iterator[DocumentDraft]:
        """This document and everything below it, in reading order."""
        yield self
        for child in self.children:
            yield from child.walk()


class ManuscriptDraft(Struct, frozen=True, kw_only=True):
    """A whole manuscript: its tree of documents, and its metadata."""

    title: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""
    drafts: tuple[DocumentDraft, ...] = ()

    def walk(self) -> Iterator[DocumentDraft]:
        """Every document, in reading order."""
        for draft in self.drafts:
            yield from draft.walk()
