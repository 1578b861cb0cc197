"""Entries on the command line: found by what a person calls them, and shown as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fabula.cli.projects import open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.codex.model import Entry
    from fabula.store.transaction import Reading, Writing


def find_entry(reading: Reading, name: str) -> Entry:
    """The stored entry of that id or name."""
    from fabula.codex import edits as service

    return called([kept.entry for kept in service.listed(reading)], name)


@contextmanager
def changing(project: str, store: str | None, name: str, *others: str) -> Iterator[tuple[Writing, Entry, list[Entry]]]:
    """A change of one entry, as its book sees it, with others that are only named.

    An entry that only the series of a book has gets one in the book, which says nothing of its own yet.
    """
    from fabula.codex import edits as service
    from fabula.codex.model import Codex, Entry
    from fabula.codex.tables import entries
    from fabula.manuscript import projects
    from fabula.workspace.views import Library

    with open_store(store) as opened:
        card = projects.find(opened, project)
        codex = Library(opened).view(card.id).room(Codex)
        known = codex.entries if codex is not None else ()
        found, named = called(known, name), [called(known, other) for other in others]
        with opened.write(project=card.id) as tx:
            if tx.row(entries, id=found.id) is None:
                service.create(tx, Entry(id=found.id, type=found.type, name=found.name))
            yield tx, found, named


def entry_json(entry: Entry) -> dict[str, Any]:
    """An entry by the names of the specification."""
    from msgspec import to_builtins

    return {
        "id": entry.id,
        "type": entry.type,
        "name": entry.name,
        "aliases": list(entry.aliases),
        "aiContextLevel": entry.level.value,
        "description": entry.description,
        "details": dict(entry.details),
        "tags": list(entry.tags),
        "notes": entry.notes,
        "relations": to_builtins(entry.relations),
        "knownTo": None if entry.known_to is None else sorted(entry.known_to),
        "since": to_builtins(entry.since),
        "rules": to_builtins(entry.rules),
        "progressions": [
            {
                "number": number,
                "text": step.text,
                "since": to_builtins(step.since),
                "knownTo": None if step.known_to is None else sorted(step.known_to),
                "aliases": list(step.aliases),
            }
            for number, step in enumerate(entry.progressions, start=1)
        ],
    }


def called(entries: Iterable[Entry], name: str) -> Entry:
    """The one entry of that id, name or alias."""
    known = list(entries)
    for found in (
        [entry for entry in known if entry.id == name.removeprefix("codex:entity:")],
        [entry for entry in known if entry.name == name],
        [entry for entry in known if name in entry.names],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(entry.id for entry in found)
            raise FabulaError(
                Code.CODEX_INVALID, f"Several are called {name!r}: use an id ({ids}). Nothing was changed."
            )
    raise FabulaError(
        Code.STORE_NOT_FOUND, f"There is no entry {name!r} in this project. Look at the list. Nothing was changed."
    )
