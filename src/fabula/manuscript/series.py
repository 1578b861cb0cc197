"""Series: several books that share a codex (man-3).

A series is a project of its own kind, so its codex is a codex like any other, with the same commands. A
book names its series in its own row; that row alone decides what is read, and only a project that says
that it is a series is ever shared.
"""

from __future__ import annotations

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import now
from fabula.manuscript import projects
from fabula.manuscript.projects import Card
from fabula.store.store import Store
from fabula.store.tables import projects as rows
from fabula.store.transaction import Reading

SERIES = "series"


class Membership(Struct, frozen=True):
    """To which series a book belongs."""

    series: str


def begin(store: Store, title: str, *, language: str = "en", project_id: str | None = None) -> str:
    """A new series without books; its id."""
    return projects.create(store, title, language=language, kind=SERIES, project_id=project_id)


def join(store: Store, book_id: str, series_id: str) -> None:
    """Let a book share the codex of a series, in place of the one it shared before."""
    with store.read(project=series_id) as reading:
        if not is_series(reading):
            raise _refused(f"There is no series {series_id!r} in this store: make one first.")
    with store.write(project=book_id) as tx:
        if tx.need(rows).kind == SERIES:
            raise _refused("A series cannot belong to another series: name a book.")
        tx.edit(rows, {}, {"series_id": series_id, "changed": now()})


def leave(store: Store, book_id: str) -> None:
    """Take a book out of its series; what the series shared stays with the series."""
    with store.write(project=book_id) as tx:
        if tx.need(rows).series_id is None:
            raise _refused("This book belongs to no series.")
        tx.edit(rows, {}, {"series_id": None, "changed": now()})


def books(store: Store, series_id: str) -> list[Card]:
    """The books of a series, by title."""
    found = []
    for card in projects.everything(store):
        with store.read(project=card.id) as reading:
            row = reading.row(rows)
            if row is not None and row.series_id == series_id and row.kind != SERIES:
                found.append(card)
    return sorted(found, key=lambda card: (card.title, card.id))


def is_series(reading: Reading) -> bool:
    """Is the project of this reading there, and a series?"""
    row = reading.row(rows)
    return row is not None and row.kind == SERIES


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.PROJECT_INVALID, f"{sentence} Nothing was changed.")
