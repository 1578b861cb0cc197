"""What readers of manuscripts produce: sections first, then a book.

Readers are tolerant: they keep what they understand and say in a warning what they left out. They
refuse a file only when nothing useful would come of it.
"""

from __future__ import annotations

from msgspec import Struct

from fabula.codex import Entry
from fabula.core.messages import Sentence
from fabula.manuscript.drafts import DocumentKind, ManuscriptDraft


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
