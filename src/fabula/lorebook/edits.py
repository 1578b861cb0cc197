"""Save, list and remove lorebooks in the store; a book keeps every field of its file, known or not (inj-7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct
from sqlalchemy import Row

from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.core.messages import Sentence, join_alternatives, message
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
    values = msgspec.structs.asdict(book) | {"name": book.name.strip(), "active": int(book.active), "changed": at}
    del values["id"], values["version"]
    if tx.row(lorebooks, id=ident) is not None:
        tx.update_row(lorebooks, {"id": ident}, values, expected=expected)
    elif expected:
        sentence = message(
            "The lorebook {id!r} no longer exists, and you have version {expected} of it. "
            "Load the list again. Nothing was changed.",
            id=ident,
            expected=expected,
        )
        raise FabulaError(Code.STORE_CONFLICT, sentence, current=0, expected=expected)
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
    return msgspec.convert(row, Lorebook, from_attributes=True, strict=False)


def _check(book: Lorebook, ident: str) -> None:
    if not is_valid_id(ident) or not book.name.strip():
        raise _refused(message("A lorebook needs a name, and an id without spaces, slashes and `|`."))
    if book.rules not in get_args(RuleSet):
        names = join_alternatives(get_args(RuleSet))
        raise _refused(message("{rules!r} is not a rule set; use {names}.", rules=book.rules, names=names))
    try:
        msgspec.json.decode(msgspec.json.encode(book), type=Lorebook)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        reason = explain_decode_error(error, Lorebook)
        problem = message("The lorebook {name!r} cannot be stored as JSON: {error}.", name=book.name, error=reason)
        raise _refused(problem) from error


def _refused(problem: Sentence) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, message("{problem} Nothing was changed.", problem=problem))
