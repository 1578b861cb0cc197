"""Projects: create, list, find, update and remove them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec
from msgspec import Struct
from sqlalchemy import Row, func

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.core.view import Language, Project
from fabula.manuscript.model import Direction
from fabula.manuscript.tables import documents
from fabula.store.schema import all_tables, table_info
from fabula.store.store import Store
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction, WriteTransaction


class ProjectSummary(Struct, frozen=True, kw_only=True):
    """A project, as lists show it."""

    id: str
    title: str
    kind: str
    language: str
    created_at: str
    updated_at: str
    version: int


def create(
    store: Store,
    title: str,
    *,
    language: str = "en",
    identity: str = "",
    direction: Direction | None = None,
    kind: str = "book",
    series: str | None = None,
    project_id: str | None = None,
) -> str:
    """Create an empty project; its id."""
    project_id = project_id or new_id()
    with store.write(project=project_id) as tx:
        insert(
            tx,
            project_id,
            title=title,
            language=language,
            identity=identity,
            direction=direction or Direction(),
            kind=kind,
            series=series,
        )
    return project_id


def insert(
    tx: WriteTransaction,
    project_id: str,
    *,
    title: str,
    language: str = "en",
    identity: str = "",
    direction: Direction | None = None,
    kind: str = "book",
    series: str | None = None,
) -> None:
    """Insert the row of a project, in a transaction that may write more."""
    if not is_valid_id(project_id) or not title.strip() or language not in get_args(Language):
        raise FabulaError(
            Code.PROJECT_INVALID,
            f"A project needs a title, an id without spaces or slashes, and one of the languages "
            f"{', '.join(get_args(Language))}. Nothing was changed.",
        )
    if kind not in ("book", "series") or (kind == "series" and series is not None):
        raise FabulaError(
            Code.PROJECT_INVALID, "A project is a book or a series, and only a book has a series. Nothing was changed."
        )
    timestamp = current_timestamp()
    tx.insert(
        projects,
        {
            "kind": kind,
            "series_id": series,
            "title": title.strip(),
            "language": language,
            "identity": identity,
            "direction": msgspec.to_builtins(direction or Direction()),
            "made": timestamp,
            "changed": timestamp,
        },
    )


def update(tx: WriteTransaction, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change title, language, identity, direction or series; return the new version."""
    return tx.update_row(projects, {}, {**values, "changed": current_timestamp()}, expected=expected)


def remove(store: Store, project_id: str) -> None:
    """Remove a project with everything in it."""
    with store.write(project=project_id) as tx:
        tx.require(projects)
        tx.delete_rows(projects)
        for area in {table_info(table).area for table in all_tables() if "table_info" in table.info}:
            tx.record_change("project", area)  # a cascade deletes the rows, which the change feed would not show


def list_projects(store: Store) -> list[ProjectSummary]:
    """All projects, the latest change first."""
    return [_make_summary(row) for row in store.project_rows()]


def count_text(store: Store, project_id: str) -> tuple[int, int]:
    """The numbers of documents and of characters of a project; the database counts them."""
    with store.read(project=project_id) as reading:
        return reading.count(documents), reading.sum_values(documents, func.length(documents.c.text))


def find_project(store: Store, name: str, *, where: str = "in this store") -> ProjectSummary:
    """The project with that id or title; `where` is part of the error message where there is none."""
    with store.read(project=name) as reading:
        row = reading.row(projects)
        if row is not None:
            return _make_summary(row)
    every = list_projects(store)
    matches = [one for one in every if one.title == name]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise FabulaError(
            Code.PROJECT_NOT_FOUND,
            f"Several projects are called {name!r}: use an id ({', '.join(one.id for one in matches)}).",
        )
    known = ", ".join(one.title for one in every[:12]) or "none yet"
    raise FabulaError(Code.PROJECT_NOT_FOUND, f"There is no project {name!r} {where}. There are: {known}.")


def load_project(reading: ReadTransaction) -> tuple[Project, Direction, str | None]:
    """A project, its direction, and the id of its series."""
    row = reading.require(projects)
    project = Project(id=row.project_id, title=row.title, language=row.language, identity=row.identity)
    return project, msgspec.convert(row.direction, Direction), row.series_id


def _make_summary(row: Row[Any]) -> ProjectSummary:
    return ProjectSummary(
        id=row.project_id,
        title=row.title,
        kind=row.kind,
        language=row.language,
        created_at=row.made,
        updated_at=row.changed,
        version=row.version,
    )
