"""Series: several books that share a codex (man-3).

A series is a project of its own kind, so its codex works like any other. A book names its series in its own row, and
only that row decides what is shared. Only a project that is a series can be shared.
"""

from __future__ import annotations

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import message
from fabula.manuscript import projects
from fabula.manuscript.projects import ProjectSummary
from fabula.store.rows import read_struct
from fabula.store.store import Store
from fabula.store.tables import projects as rows
from fabula.store.transaction import ReadTransaction


class SeriesMembership(Struct, frozen=True):
    """The series that a book belongs to."""

    series: str


def create(store: Store, title: str, *, language: str = "en", project_id: str | None = None) -> str:
    """Create a series without books; its id."""
    return projects.create(store, title, language=language, kind="series", project_id=project_id)


def add_book(store: Store, book_id: str, series_id: str) -> None:
    """Add a book to a series; it leaves the series it was in before."""
    with store.read(project=series_id) as reading:
        if not is_series(reading):
            raise FabulaError(
                Code.PROJECT_INVALID,
                message(
                    "There is no series {series!r} in this store. Create one first. Nothing was changed.",
                    series=series_id,
                ),
            )
    with store.write(project=book_id) as tx:
        if is_series(tx):
            raise FabulaError(
                Code.PROJECT_INVALID,
                message("A series cannot belong to another series. Name a book. Nothing was changed."),
            )
        tx.update_row(rows, {}, {"series_id": series_id, "changed": current_timestamp()})


def remove_book(store: Store, book_id: str) -> None:
    """Remove a book from its series; the shared codex stays with the series."""
    with store.write(project=book_id) as tx:
        if tx.require(rows).series_id is None:
            raise FabulaError(
                Code.PROJECT_INVALID, message("This book does not belong to a series. Nothing was changed.")
            )
        tx.update_row(rows, {}, {"series_id": None, "changed": current_timestamp()})


def list_books(store: Store, series_id: str) -> list[ProjectSummary]:
    """The books of a series, by title."""
    books = [read_struct(ProjectSummary, row) for row in store.project_rows() if row.series_id == series_id]
    return sorted((book for book in books if book.kind == "book"), key=lambda book: (book.title, book.id))


def is_series(reading: ReadTransaction) -> bool:
    """Whether the transaction's project exists and is a series."""
    row = reading.row(rows)
    return row is not None and row.kind == "series"
