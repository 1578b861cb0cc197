"""From rows to a snapshot: the active books, each parsed once and shared while its row does not move.

How a file is to be understood is the business of its format, and formats stand above this room; so whoever
loads brings along the function that parses. A book that cannot be parsed is kept with the reason, and the
others are none the worse for it.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Protocol

from fabula.core.errors import FabulaError
from fabula.lorebook.books import Lorebooks, Shelved
from fabula.lorebook.edits import Lorebook, listed
from fabula.lorebook.model import About, Book, Settings
from fabula.store.transaction import Reading


class Parsed(Protocol):
    """What a format says about a book."""

    @property
    def book(self) -> Book: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def about(self) -> About | None: ...


Parse = Callable[[Lorebook], Parsed]


def load(
    reading: Reading,
    project_id: str,
    parse: Parse,
    before: Lorebooks | None = None,
    moved: Set[str] | None = None,
) -> Lorebooks | None:
    """The books in use, by name; None where there are none. Those that did not move are shared."""
    kept = before.books if before is not None else {}
    still = {ident: book for ident, book in kept.items() if moved is not None and not moved & {ident, ""}}
    books = [still.get(book.id) or shelved(book, parse) for book in listed(reading) if book.active]
    if before is not None and before.project_id == project_id and books == list(kept.values()):
        return before
    return Lorebooks(project_id, books) if books else None


def shelved(book: Lorebook, parse: Parse) -> Shelved:
    """A book in use; where it cannot be read, with the reason."""
    try:
        parsed = parse(book)
    except FabulaError as error:
        return Shelved(
            id=book.id,
            name=book.name,
            rules=book.rules,
            book=Book(book.id, ()),
            settings=Settings(),
            problem=error.sentence,
        )
    return Shelved(
        id=book.id,
        name=book.name,
        rules=book.rules,
        book=parsed.book,
        settings=parsed.settings,
        about=parsed.about,
    )
