"""What comes out of an import: a book, codex entries, and what the person should know.

Reading tolerates: what can be kept is kept, and what was left out is said in a warning. A refusal
is for a file of which nothing sensible would come.
"""

from __future__ import annotations

from typing import NoReturn

from msgspec import Struct

from fabula.codex.model import Entry
from fabula.core.errors import Code, FabulaError
from fabula.manuscript.drafts import Book


class Imported(Struct, frozen=True, kw_only=True):
    """A manuscript as read, with the codex entries that came along."""

    book: Book
    entries: tuple[Entry, ...] = ()
    warnings: tuple[str, ...] = ()


def unreadable(what: str, problem: str, remedy: str) -> NoReturn:
    """Refuse a file that cannot be understood: which, why, and what to do."""
    raise FabulaError(Code.IMPORT_UNREADABLE, f"{what}: {problem}. Nothing was imported. {remedy}")
