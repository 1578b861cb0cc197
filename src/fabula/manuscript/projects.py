"""Projects: made, looked through, changed, and let go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec
from msgspec import Struct
from sqlalchemy import Row, func

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id, now, sound_id
from fabula.core.view import Language, Project
from fabula.manuscript.model import Direction
from fabula.manuscript.tables import documents
from fabula.store.schema import about, all_tables
from fabula.store.store import Store
from fabula.store.tables import projects
from fabula.store.transaction import Reading, Writing


class Card(Struct, frozen=True, kw_only=True):
    """What a list of projects shows of one."""

    id: str
    title: str
    kind: str
    language: str
    made: str
    changed: str
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
    """A new, empty project; its id."""
    chosen = project_id or new_id()
    with store.write(project=chosen) as tx:
        begin(
            tx,
            chosen,
            title=title,
            language=language,
            identity=identity,
            direction=direction or Direction(),
            kind=kind,
            series=series,
        )
    return chosen


def begin(
    tx: Writing,
    project_id: str,
    *,
    title: str,
    language: str = "en",
    identity: str = "",
    direction: Direction | None = None,
    kind: str = "book",
    series: str | None = None,
) -> None:
    """A project's first row, in a transaction that may write more."""
    if not sound_id(project_id) or not title.strip() or language not in get_args(Language):
        raise FabulaError(
            Code.PROJECT_INVALID,
            f"A project needs a title, an id without spaces or slashes, and one of the languages "
            f"{', '.join(get_args(Language))}. Nothing was changed.",
        )
    if kind not in ("book", "series") or (kind == "series" and series is not None):
        raise FabulaError(
            Code.PROJECT_INVALID, "A project is a book or a series, and only a book has a series. Nothing was changed."
        )
    at = now()
    tx.add(
        projects,
        {
            "kind": kind,
            "series_id": series,
            "title": title.strip(),
            "language": language,
            "identity": identity,
            "direction": msgspec.to_builtins(direction or Direction()),
            "made": at,
            "changed": at,
        },
    )


def edit(tx: Writing, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change title, language, identity, direction or series; says the new version."""
    return tx.edit(projects, {}, {**values, "changed": now()}, expected=expected)


def remove(store: Store, project_id: str) -> None:
    """Let a project go, with everything in it."""
    with store.write(project=project_id) as tx:
        tx.need(projects)
        tx.remove(projects)
        for room in {about(table).room for table in all_tables() if "about" in table.info}:
            tx.touch("project", room)  # its rows go by themselves, and whoever takes the id next begins anew


def everything(store: Store) -> list[Card]:
    """All projects, the latest first."""
    cards = []
    for ident in store.project_ids():
        with store.read(project=ident) as reading:
            row = reading.row(projects)
            if row is not None:
                cards.append(_card(row))
    return sorted(cards, key=lambda card: card.changed, reverse=True)


def extent(store: Store, project_id: str) -> tuple[int, int]:
    """How many documents a project has, and how many characters are in them; no text is read out of the store."""
    with store.read(project=project_id) as reading:
        return reading.count(documents), reading.total(documents, func.length(documents.c.text))


def find(store: Store, name: str, *, where: str = "in this store") -> Card:
    """The project of that id or title; `where` says where it was looked for, if it is nowhere."""
    cards = everything(store)
    found = [card for card in cards if card.id == name] or [card for card in cards if card.title == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise FabulaError(
            Code.PROJECT_NOT_FOUND,
            f"Several projects are called {name!r}: use an id ({', '.join(card.id for card in found)}).",
        )
    known = ", ".join(card.title for card in cards[:12]) or "none yet"
    raise FabulaError(Code.PROJECT_NOT_FOUND, f"There is no project {name!r} {where}. There are: {known}.")


def snapshot(reading: Reading) -> tuple[Project, Direction, str | None]:
    """A project's own words: what it is, its direction, and the series it belongs to."""
    row = reading.need(projects)
    project = Project(id=row.project_id, title=row.title, language=row.language, identity=row.identity)
    return project, msgspec.convert(row.direction, Direction), row.series_id


def _card(row: Row[Any]) -> Card:
    return Card(
        id=row.project_id,
        title=row.title,
        kind=row.kind,
        language=row.language,
        made=row.made,
        changed=row.changed,
        version=row.version,
    )
