"""Series: several books that share a codex (man-3).

A series is a project of its own kind, so its codex works like any other. A book names its series in its own row, and
only that row decides what is shared. Only a project that is a series can be shared.

The row of the series has the order of its books. A book that is not in it yet, as in stores of older versions, neither
knows what other books told nor tells them anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import join_names, message
from fabula.manuscript import projects
from fabula.store.book_order import put_last, remove_from_order, write_order
from fabula.store.store import Store
from fabula.store.tables import projects as rows
from fabula.store.transaction import ReadTransaction


class SeriesMembership(Struct, frozen=True):
    """The series that a book belongs to."""

    series: str


class SeriesBook(Struct, frozen=True, kw_only=True):
    """A book of a series, and its number in the order of the books; None where it has no place in it yet."""

    id: str
    title: str
    number: int | None


def create(store: Store, title: str, *, language: str = "en", project_id: str | None = None) -> str:
    """Create a series without books; its id."""
    label = message("new series: {title}", title=title)
    return projects.create(store, title, language=language, kind="series", project_id=project_id, undo_label=label)


def add_book(store: Store, book_id: str, series_id: str) -> None:
    """Add a book to a series as its last one; it leaves the series it was in before."""
    with store.read(project=series_id) as reading:
        series = reading.row(rows)
        if series is None or not is_series(reading):
            raise _no_such_series(series_id)
    with store.write(project=book_id, undo_label=message("joined the series {series}", series=series.title)) as tx:
        previous = tx.of_project().series()
        for one in sorted({series_id, *([previous.owner_id("project")] if previous is not None else ())}):
            tx.open_series(one)  # both are locked in the order that everybody keeps
        if not is_series(tx.open_series(series_id)):
            raise _no_such_series(series_id)
        if is_series(tx):
            raise FabulaError(
                Code.PROJECT_INVALID,
                message("A series cannot belong to another series. Name a book. Nothing was changed."),
            )
        if tx.require(rows).series_id != series_id:
            remove_from_order(tx, book_id)
            tx.update_row(rows, {}, {"series_id": series_id, "changed": current_timestamp()})
        put_last(tx, book_id)


def _no_such_series(series_id: str) -> FabulaError:
    return FabulaError(
        Code.PROJECT_INVALID,
        message(
            "There is no series {series!r} in this store. Create one first. Nothing was changed.", series=series_id
        ),
    )


def remove_book(store: Store, book_id: str) -> None:
    """Remove a book from its series; the shared codex stays with the series."""
    with store.write(project=book_id, undo_label=message("left its series")) as tx:
        if tx.require(rows).series_id is None:
            raise FabulaError(
                Code.PROJECT_INVALID, message("This book does not belong to a series. Nothing was changed.")
            )
        remove_from_order(tx, book_id)
        tx.update_row(rows, {}, {"series_id": None, "changed": current_timestamp()})


def set_order(store: Store, series_id: str, book_ids: Sequence[str]) -> None:
    """Set the order of the books of a series; every book must be named once."""
    books = {book.id: book.title for book in list_books(store, series_id)}
    missing = [title for book_id, title in books.items() if book_id not in book_ids]
    foreign = [book_id for book_id in book_ids if book_id not in books]
    if missing or foreign or len(set(book_ids)) < len(book_ids):
        raise FabulaError(
            Code.PROJECT_INVALID,
            message(
                "The order names each book of the series once. Its books are: {books}. Nothing was changed.",
                books=join_names([repr(title) for title in books.values()] or [message("none yet")]),
            ),
        )
    with store.write(project=series_id, undo_label=message("order of the books changed")) as tx:
        write_order(tx, book_ids)


def list_books(store: Store, series_id: str) -> list[SeriesBook]:
    """The books of a series in their order; those that have no place in it come last, by title."""
    every = store.project_rows()
    order = next((list(row.book_order) for row in every if row.project_id == series_id), [])
    books = {row.project_id: row.title for row in every if row.series_id == series_id and row.kind == "book"}
    in_order = [book_id for book_id in order if book_id in books]
    others = sorted((title, book_id) for book_id, title in books.items() if book_id not in order)
    return [
        *(SeriesBook(id=one, title=books[one], number=number) for number, one in enumerate(in_order, start=1)),
        *(SeriesBook(id=book_id, title=title, number=None) for title, book_id in others),
    ]


def list_earlier_books(store: Store, series_id: str, book_id: str) -> list[SeriesBook]:
    """The books that come before one in the order of its series, the first one first; none where it has no place."""
    books = list_books(store, series_id)
    number = next((book.number for book in books if book.id == book_id), None)
    return [book for book in books if number is not None and book.number is not None and book.number < number]


def is_series(reading: ReadTransaction) -> bool:
    """Whether the transaction's project exists and is a series."""
    row = reading.row(rows)
    return row is not None and row.kind == "series"
