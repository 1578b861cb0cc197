"""Lorebooks in the store: a book is kept whole, as it came, with every field known or not (inj-7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct
from sqlalchemy import Row

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id, now, sound_id
from fabula.lorebook.tables import lorebooks
from fabula.store.transaction import Reading, Writing

Rules = Literal["exact", "fabula"]


class Lorebook(Struct, frozen=True, kw_only=True):
    """A world book, and by whose rules it is read. `version` is the store's."""

    name: str
    book: Mapping[str, Any]
    id: str = ""
    format: str = ""
    rules: Rules = "exact"
    active: bool = True
    version: int = 1


def put(tx: Writing, book: Lorebook, *, expected: int | None = None) -> str:
    """A book, new or in place of the one of its id; its id."""
    ident, at = book.id or new_id(), now()
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
        tx.edit(lorebooks, {"id": ident}, values, expected=expected)
    elif expected:
        raise FabulaError(
            Code.STORE_CONFLICT,
            f"There is no lorebook {ident!r} (any more), and you have version {expected} of it. "
            "Load the list. Nothing was changed.",
            current=0,
            expected=expected,
        )
    else:
        tx.add(lorebooks, {"id": ident, "made": at, **values})
    return ident


def remove(tx: Writing, book_id: str, *, expected: int | None = None) -> None:
    """Take a book away."""
    tx.edit(lorebooks, {"id": book_id}, {}, expected=expected)
    tx.remove(lorebooks, lorebooks.c.id == book_id)


def get(reading: Reading, book_id: str) -> Lorebook:
    """One book."""
    return _lorebook(reading.need(lorebooks, id=book_id))


def listed(reading: Reading) -> list[Lorebook]:
    """Every book, by name."""
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
    if not sound_id(ident) or not book.name.strip():
        raise _refused("A lorebook needs a name, and an id without spaces, slashes and `|`.")
    if book.rules not in get_args(Rules) or not isinstance(book.book, Mapping):
        raise _refused(
            f"The lorebook {book.name!r} must be an object, read by the rules {' or '.join(get_args(Rules))}."
        )
    try:
        msgspec.json.encode(book.book)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"The lorebook {book.name!r} cannot be kept as JSON: {error}.") from error


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, f"{sentence} Nothing was changed.")
