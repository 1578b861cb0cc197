"""Save, list and remove lorebooks in the store; a book keeps every field of its file, known or not (inj-7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct
from sqlalchemy import Row

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.lorebook.tables import lorebooks
from fabula.store.transaction import ReadTransaction, WriteTransaction

RuleSet = Literal["exact", "fabula"]


class Lorebook(Struct, frozen=True, kw_only=True):
    """A stored lorebook: the JSON of its file, its format and its rule set. The store sets `version`."""

    name: str
    book: Mapping[str, Any]
    id: str = ""
    format: str = ""
    rules: RuleSet = "exact"
    active: bool = True
    version: int = 1


def save_lorebook(tx: WriteTransaction, book: Lorebook, *, expected: int | None = None) -> str:
    """Save a new book, or replace the book with the same id; return the id."""
    ident, at = book.id or new_id(), current_timestamp()
    _check(book, ident)
    values: dict[str, Any] = {
        "name": book.name.strip(),
        "format": book.format,
        "rules": book.rules,
        "book": book.book,
        "active": int(book.active),
        "changed": at,
    }
    if tx.row(lorebooks, id=ident) is not None:
        tx.update_row(lorebooks, {"id": ident}, values, expected=expected)
    elif expected:
        raise FabulaError(
            Code.STORE_CONFLICT,
            f"There is no lorebook {ident!r} (any more), and you have version {expected} of it. "
            "Load the list. Nothing was changed.",
            current=0,
            expected=expected,
        )
    else:
        tx.insert(lorebooks, {"id": ident, "made": at, **values})
    return ident


def remove_lorebook(tx: WriteTransaction, book_id: str, *, expected: int | None = None) -> None:
    """Remove a book."""
    tx.update_row(lorebooks, {"id": book_id}, {}, expected=expected)
    tx.delete_rows(lorebooks, lorebooks.c.id == book_id)


def get_lorebook(reading: ReadTransaction, book_id: str) -> Lorebook:
    """Return one book."""
    return _lorebook(reading.require(lorebooks, id=book_id))


def list_lorebooks(reading: ReadTransaction) -> list[Lorebook]:
    """Return all books, sorted by name."""
    return [_lorebook(row) for row in reading.rows(lorebooks, order=(lorebooks.c.name, lorebooks.c.id))]


def _lorebook(row: Row[Any]) -> Lorebook:
    return Lorebook(
        id=row.id,
        name=row.name,
        format=row.format,
        rules=row.rules,
        book=row.book,
        active=bool(row.active),
        version=row.version,
    )


def _check(book: Lorebook, ident: str) -> None:
    if not is_valid_id(ident) or not book.name.strip():
        raise _refused("A lorebook needs a name, and an id without spaces, slashes and `|`.")
    if book.rules not in get_args(RuleSet) or not isinstance(book.book, Mapping):
        raise _refused(
            f"The lorebook {book.name!r} must be an object, read by the rules {' or '.join(get_args(RuleSet))}."
        )
    try:
        msgspec.json.encode(book.book)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"The lorebook {book.name!r} cannot be kept as JSON: {error}.") from error


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, f"{sentence} Nothing was changed.")
