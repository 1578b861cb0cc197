"""Commands that change lorebooks: make one, add and edit entries, say where in the story they may be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.desk import place_of, writing
from fabula.cli.projects import PROJECT, STORE
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.lorebook.edits import Lorebook
    from fabula.store.transaction import Reading, Writing

BOOK = Annotated[str, typer.Argument(help="A lorebook of the project, by its id or name.")]
ENTRY = Annotated[int, typer.Argument(help="The number of an entry: `fabula lorebook show` lists them.")]
FIELDS = Annotated[
    list[str],
    typer.Argument(help='FIELD=VALUE by the names of world info: order=20, key=Mara, key=["Mara","Tom"], order=null.'),
]
_TEXTS, _KEYS = ("content", "comment", "group", "outletName"), ("key", "keysecondary")


def new(
    project: PROJECT,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    rules: Annotated[str, typer.Option("--rules", help="fabula (our own rules) or exact (SillyTavern's).")] = "fabula",
    store: STORE = None,
) -> None:
    """Make an empty lorebook."""
    from msgspec.structs import replace

    from fabula.formats.lore.world_info import WORLD_INFO
    from fabula.lorebook.edits import Lorebook, put

    made = Lorebook(name=name, book={"name": name, "entries": {}}, format=WORLD_INFO.name, rules="fabula")
    with writing(project, store) as tx:
        # The store refuses rules that it does not know, by name.
        ident = put(tx, replace(made, rules=rules))
    print(f"{name} is book {ident}.")


def add(project: PROJECT, book: BOOK, fields: FIELDS, store: STORE = None) -> None:
    """Add an entry."""
    from fabula.formats.lore import read_write as lorebooks

    with writing(project, store) as tx:
        made, uid = lorebooks.add(found := find(tx, book), **_values(fields))
        _keep(tx, found, made)
    print(f"Entry {uid} is in {found.name}.")


def edit(project: PROJECT, book: BOOK, entry: ENTRY, fields: FIELDS, store: STORE = None) -> None:
    """Change some fields of an entry; everything else stays as it came."""
    from fabula.formats.lore.read_write import patch

    with writing(project, store) as tx:
        found = find(tx, book)
        _keep(tx, found, patch(found, entry, **_values(fields)))
    print(f"Entry {entry} of {found.name} was changed.")


def drop(project: PROJECT, book: BOOK, entry: ENTRY, store: STORE = None) -> None:
    """Take an entry out of a lorebook."""
    from fabula.formats.lore import read_write as lorebooks

    with writing(project, store) as tx:
        found = find(tx, book)
        _keep(tx, found, lorebooks.drop(found, entry))
    print(f"Entry {entry} of {found.name} is gone.")


def when(
    project: PROJECT,
    book: BOOK,
    entry: ENTRY,
    since: Annotated[str | None, typer.Option("--since", help="From this chapter on; `start` for always.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Up to this chapter; `end` for ever.")] = None,
    known_to: Annotated[
        list[str] | None, typer.Option("--known-to", help="Who knows it: ids, reader, `nobody`, `everybody`.")
    ] = None,
    store: STORE = None,
) -> None:
    """Say where in the story an entry may be told, and who may know it."""
    from msgspec.structs import replace

    from fabula.formats.lore.read_write import parse, patch
    from fabula.lorebook.model import Story

    with writing(project, store) as tx:
        found = find(tx, book)
        there = next((one for one in parse(found).book.entries if one.uid == entry), None)
        story = (there.story if there is not None else None) or Story()
        if since is not None:
            story = replace(story, since=None if since == "start" else _chapter(tx, since))
        if until is not None:
            story = replace(story, until=None if until == "end" else _chapter(tx, until))
        if known_to is not None:
            who = None if known_to == ["everybody"] else tuple(name for name in known_to if name != "nobody")
            story = replace(story, known_to=who)
        _keep(tx, found, patch(found, entry, story=story))
    print(f"Entry {entry} of {found.name} was changed.")


def use(
    project: PROJECT,
    book: BOOK,
    off: Annotated[bool, typer.Option("--off", help="Use it no longer.")] = False,
    rules: Annotated[str, typer.Option("--rules", help="Read it by these rules: exact or fabula.")] = "",
    store: STORE = None,
) -> None:
    """Use a lorebook, or use it no longer; by the rules it has, or by others."""
    from msgspec.structs import replace

    with writing(project, store) as tx:
        found = find(tx, book)
        changed = replace(found, active=not off, rules=rules or found.rules)
        _keep(tx, found, changed)
    print(f"{found.name} is {'no longer in use' if off else f'in use ({changed.rules} rules)'}.")


def remove(project: PROJECT, book: BOOK, store: STORE = None) -> None:
    """Take a lorebook away."""
    from fabula.lorebook import edits as service

    with writing(project, store) as tx:
        found = find(tx, book)
        service.remove(tx, found.id, expected=found.version)
    print(f"{found.name} is gone.")


def find(reading: Reading, name: str) -> Lorebook:
    """A lorebook by its id, or by its name where only one has it."""
    from fabula.lorebook.edits import listed

    books = listed(reading)
    found = [book for book in books if book.id == name] or [book for book in books if book.name == name]
    if len(found) != 1:
        which = "Several lorebooks are" if found else "No lorebook is"
        those = ", ".join(f"{book.id} ({book.name})" for book in found or books) or "none yet"
        raise FabulaError(Code.STORE_NOT_FOUND, f"{which} called {name!r}. There are: {those}. Nothing was changed.")
    return found[0]


def _keep(tx: Writing, before: Lorebook, after: Lorebook) -> None:
    from fabula.lorebook import edits as service

    service.put(tx, after, expected=before.version)


def _chapter(tx: Writing, said: str) -> str:
    """A document by its id or title; a lorebook knows no places inside of one."""
    place = place_of(tx, said)
    if place.offset:
        raise FabulaError(
            Code.LOREBOOK_INVALID, f"{said!r} lies inside a document: an entry begins and ends with whole ones."
        )
    return place.document


def _values(fields: list[str]) -> dict[str, Any]:
    """FIELD=VALUE; texts are taken as they are, everything else is JSON where it can be."""
    import msgspec

    found: dict[str, Any] = {}
    for field in fields:
        name, sign, value = field.partition("=")
        if not sign:
            raise FabulaError(Code.LOREBOOK_INVALID, f"{field!r} is no FIELD=VALUE. Nothing was changed.")
        try:
            found[name] = value if name in _TEXTS and value != "null" else msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            found[name] = [value] if name in _KEYS else value
    return found


COMMANDS = (
    ("new", new),
    ("add", add),
    ("edit", edit),
    ("drop", drop),
    ("when", when),
    ("use", use),
    ("remove", remove),
)
