"""What commands about a project share: opening it to look or to change, and places in its story."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fabula.cli.projects import open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.core.story import Position
    from fabula.core.view import View
    from fabula.store.transaction import Reading, Writing


@contextmanager
def looking(project: str, store: str | None) -> Iterator[View]:
    """A project to be looked at: of the store, a folder, a file or a sample."""
    from fabula.manuscript import projects
    from fabula.workspace.project import read_only
    from fabula.workspace.views import Library

    view = read_only(project)
    if view is not None:
        yield view
        return
    with open_store(store) as opened:
        yield Library(opened).view(projects.find(opened, project).id)


@contextmanager
def writing(project: str, store: str | None) -> Iterator[Writing]:
    """A change of a project of the store."""
    from fabula.manuscript import projects

    with open_store(store) as opened, opened.write(project=projects.find(opened, project).id) as tx:
        yield tx


def place_of(reading: Reading, said: str) -> Position:
    """A place in the story: `CHAPTER`, `CHAPTER@OFFSET`, or `CHAPTER:WORDS` for right behind these words."""
    from fabula.core.story import Position
    from fabula.manuscript.tables import documents

    rows = {row.id: row for row in reading.rows(documents, only=("id", "title", "text"))}
    titles = {row.title: row.id for row in rows.values()}
    for cut in (len(said), said.rfind("@"), said.find(":")):
        if cut < 0:
            continue
        row = rows.get(said[:cut]) or rows.get(titles.get(said[:cut], ""))
        rest = said[cut + 1 :]
        if row is not None and not rest:
            return Position(row.id, 0)
        if row is not None and said[cut] == "@" and rest.isdecimal() and int(rest) <= len(row.text):
            return Position(row.id, int(rest))
        if row is not None and said[cut] == ":" and row.text.count(rest) == 1:
            return Position(row.id, row.text.index(rest) + len(rest))
    known = ", ".join(list(rows)[:12]) or "none yet"
    raise FabulaError(
        Code.TREE_INVALID,
        f"{said!r} is no place in the story: name a document ({known}), perhaps with @OFFSET inside it or :WORDS that "
        "stand in it once. Nothing was changed.",
    )


def print_json(data: object) -> None:
    """Data as readable JSON."""
    print(json.dumps(data, ensure_ascii=False, indent=2))
