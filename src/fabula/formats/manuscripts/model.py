"""What readers of manuscripts produce: sections first, then a book.

Readers are tolerant: they keep what they understand and say in a warning what they left out. They
refuse a file only when nothing useful would come of it.
"""

from __future__ import annotations

from msgspec import Struct

from fabula.codex import Entry
from fabula.core.messages import Sentence
from fabula.manuscript.drafts import DocumentKind, ManuscriptDraft

MAX_SECTIONS = 20_000  # as many as a folder may have files; the longest serials have some thousand chapters


class TooManySectionsError(Exception):
    """A manuscript has more parts, chapters and scenes than are read."""


def check_section_count(count: int) -> None:
    """Stop reading a manuscript with too many parts, chapters and scenes."""
    if count > MAX_SECTIONS:
        raise TooManySectionsError


class Section(Struct, frozen=True, kw_only=True):
    """A heading with the text up to the next heading; `kind` is None where it must be guessed."""

    level: int
    title: str
    text: str = ""
    kind: DocumentKind | None = None
    synopsis: str = ""
    notes: str = ""


class ImportedManuscript(Struct, frozen=True, kw_only=True):
    """A manuscript as it was read, with the codex entries of the same file and the warnings."""

    book: ManuscriptDraft
    entries: tuple[Entry, ...] = ()
    warnings: tuple[Sentence, ...] = ()
