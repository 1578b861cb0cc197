"""The order of the books of a series, which the row of the series has."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.store.store import Store
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction, WriteTransaction


def read_order(reading: ReadTransaction) -> list[str]:
    """The ids of the books of a series in their order, also of books that are gone."""
    return list(reading.require(projects).book_order)


def write_order(tx: WriteTransaction, book_ids: Sequence[str]) -> None:
    """Set the order of the books of a series."""
    tx.update_row(projects, {}, {"book_order": list(book_ids)})


def list_member_ids(store: Store, series_id: str) -> list[str]:
    """The ids of all books whose rows name a series, in a fixed order."""
    return sorted(row.project_id for row in store.project_rows() if row.series_id == series_id)


def set_series_of_books(tx: WriteTransaction, book_ids: Sequence[str], series_id: str | None) -> None:
    """Let books belong to the transaction's series, which comes back, or to none; books of other series stay there.

    The transaction has locked the books before the series.
    """
    for book_id in sorted(book_ids):
        book = tx.open_series(book_id)
        row = book.row(projects)
        if row is not None and row.kind == "book" and (series_id is None or row.series_id is None):
            book.update_rows(projects, {"series_id": series_id})


def put_last(tx: WriteTransaction, book_id: str) -> None:
    """Give the transaction's book the last place in the order of its series, unless it has one."""
    series = tx.series()
    if series is not None and book_id not in (order := read_order(series)):
        write_order(series, [*order, book_id])


def remove_from_order(tx: WriteTransaction, book_id: str) -> None:
    """Take the transaction's book out of the order of its series."""
    series = tx.series()
    if series is not None and book_id in (order := read_order(series)):
        write_order(series, [other for other in order if other != book_id])
