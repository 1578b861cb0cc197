"""Commands about the codex: entries, how they stand to each other, what becomes of them, who knows it, pins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.desk import looking, place_of, print_json, writing
from fabula.cli.entries import called, changing, entry_json, find_entry
from fabula.cli.options import sharing
from fabula.cli.projects import JSON, PROJECT, STORE
from fabula.cli.rename import rename, undo_rename
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.codex.model import Entry
    from fabula.codex.progressions import Step
    from fabula.core.story import Position
    from fabula.store.transaction import Writing

ENTRY = Annotated[str, typer.Argument(help="An entry, by its id or name.")]
TYPE = Annotated[str | None, typer.Option("--type", help="character, location, event, item, faction, lore or other.")]
LEVEL = Annotated[str | None, typer.Option("--level", help="always, when_detected, manual or never.")]
ALIAS = Annotated[list[str] | None, typer.Option("--alias", help="Another name; may be given several times.")]
DESCRIPTION = Annotated[str | None, typer.Option("--description", "-D", help="What is true of it from the start.")]
DETAIL = Annotated[list[str] | None, typer.Option("--detail", help="NAME=VALUE; may be given several times.")]
TAG = Annotated[list[str] | None, typer.Option("--tag", help="A word to sort by; never sent.")]
NOTES = Annotated[str | None, typer.Option("--notes", help="Private: never sent.")]
KNOWN = Annotated[list[str] | None, typer.Option("--known-to", help="Who may know it; by default everybody.")]
SINCE = Annotated[str | None, typer.Option("--since", help="From where on: CHAPTER, CHAPTER@OFFSET or CHAPTER:WORDS.")]
EXCEPT = Annotated[list[str] | None, typer.Option("--except", help="A phrase in which the name means something else.")]
CASE = Annotated[str | None, typer.Option("--case", help="How its names are found: smart, exact or any case.")]
UNDO = Annotated[bool, typer.Option("--undo", help="Take it back.")]
FIELDS = {
    "kind": TYPE,
    "level": LEVEL,
    "alias": ALIAS,
    "description": DESCRIPTION,
    "detail": DETAIL,
    "tag": TAG,
    "notes": NOTES,
    "known_to": KNOWN,
    "since": SINCE,
    "without": EXCEPT,
    "case": CASE,
}


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    codex = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Who and what there is in the story.")
    for name, command in (
        ("list", list_entries),
        ("show", show),
        ("add", add),
        ("edit", edit),
        ("remove", remove),
        ("relate", relate),
        ("progress", progress),
        ("know", know),
        ("pin", pin),
        ("rename", rename),
        ("undo-rename", undo_rename),
    ):
        codex.command(name=name)(command)
    app.add_typer(codex, name="codex")


def list_entries(
    project: PROJECT, kind: TYPE = None, level: LEVEL = None, store: STORE = None, as_json: JSON = False
) -> None:
    """Every entry, in the order of the prompt: always, then by type and name."""
    from fabula.codex.model import Codex

    with looking(project, store) as view:
        codex = view.room(Codex)
        found = [
            entry
            for entry in (codex.entries if codex is not None else ())
            if kind in (None, entry.type) and level in (None, entry.level.value)
        ]
    if as_json:
        print_json([entry_json(entry) for entry in found])
        return
    if not found:
        print("No entries. Add one: fabula codex add PROJECT NAME")
    for entry in found:
        print(f"{entry.id:<24} {entry.type:<10} {entry.level.value:<14} {', '.join(entry.names[:6])}")


def show(project: PROJECT, entry: ENTRY, store: STORE = None, as_json: JSON = False) -> None:
    """One entry, with everything that becomes of it."""
    from fabula.codex.model import Codex

    with looking(project, store) as view:
        codex = view.room(Codex)
        found = called(codex.entries if codex is not None else (), entry)
    if as_json:
        print_json(entry_json(found))
        return
    print(f"{found.name} ({found.type}, {found.level.value}), entry {found.id}")
    for label, text in (
        ("also", ", ".join(found.aliases)),
        ("since", "" if found.since is None else _place(found.since)),
        ("known to", "" if found.known_to is None else ", ".join(sorted(found.known_to)) or "nobody"),
        ("tags", ", ".join(found.tags)),
        ("notes", found.notes),
        *((f"{relation.kind or 'related'}", relation.to) for relation in found.relations),
        *found.details.items(),
        ("", found.description),
    ):
        if text:
            print(f"  {label + ': ' if label else ''}{text}")
    for number, step in enumerate(found.progressions, start=1):
        also = f"also called {', '.join(step.aliases)}. " if step.aliases else ""
        print(f"  {number}. from {_place(step.since)}: {also}{step.text}")


@sharing(FIELDS)
def add(
    project: PROJECT,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    ident: Annotated[str, typer.Option("--id", help="Its id; made up if left out.")] = "",
    store: STORE = None,
    as_json: JSON = False,
    **said: Any,
) -> None:
    """Add an entry."""
    import msgspec

    from fabula.codex import edits as service
    from fabula.codex.model import Entry

    with writing(project, store) as tx:
        fields = {"id": ident, "type": "other", "name": name, **_fields(tx, None, said)}
        try:
            made = msgspec.convert(fields, Entry)
        except msgspec.ValidationError as error:
            raise FabulaError(Code.CODEX_INVALID, f"This cannot be an entry: {error}. Nothing was changed.") from error
        kept = service.get(tx, service.create(tx, made)).entry
    _report(kept, f"{kept.name} is entry {kept.id}.", as_json)


@sharing(FIELDS)
def edit(
    project: PROJECT,
    entry: ENTRY,
    name: Annotated[str | None, typer.Option("--name", help="Another name, here only; see `rename`.")] = None,
    store: STORE = None,
    as_json: JSON = False,
    **said: Any,
) -> None:
    """Change what is given; lists are replaced, details added to (NAME= takes one away)."""
    from fabula.codex import edits as service

    with changing(project, store, entry) as (tx, found, _):
        own = service.get(tx, found.id).entry
        service.update(tx, own.id, _fields(tx, own, said) | ({} if name is None else {"name": name}))
        kept = service.get(tx, own.id).entry
    _report(kept, f"{kept.name} is changed.", as_json)


def remove(project: PROJECT, entry: ENTRY, store: STORE = None) -> None:
    """Take an entry away, with what becomes of it, its pins and how others stand to it."""
    from fabula.codex import edits as service

    with writing(project, store) as tx:
        found = find_entry(tx, entry)
        service.remove(tx, found.id)
    print(f"{found.name} is gone.")


def relate(
    project: PROJECT,
    entry: ENTRY,
    other: Annotated[str, typer.Argument(help="To whom, by id or name.")],
    kind: Annotated[str, typer.Option("--kind", help="How: sister, owns, fears …")] = "",
    undo: UNDO = False,
    store: STORE = None,
) -> None:
    """Say how one entry stands to another."""
    from fabula.codex import edits as service
    from fabula.codex.model import Relation

    with changing(project, store, entry, other) as (tx, found, (to,)):
        own = service.get(tx, found.id).entry
        kept = [one for one in own.relations if one.to != to.id or (kind and one.kind != kind)]
        service.update(tx, own.id, {"relations": kept if undo else [*kept, Relation(to.id, kind)]})
    print(f"{found.name} and {to.name}: {'no longer related' if undo else kind or 'related'}.")


def progress(
    project: PROJECT,
    entry: ENTRY,
    text: Annotated[str, typer.Argument(help="What becomes true of it.")] = "",
    since: SINCE = None,
    alias: ALIAS = None,
    known_to: KNOWN = None,
    take_away: Annotated[int | None, typer.Option("--remove", help="The number of one to take away.")] = None,
    store: STORE = None,
) -> None:
    """Say what becomes true of an entry at some point of the story, or what it is called from there on."""
    from fabula.codex import progressions
    from fabula.codex.model import Progression

    with changing(project, store, entry) as (tx, found, _):
        if take_away is not None:
            progressions.remove(tx, _own_step(tx, found, take_away).id)
        else:
            if since is None:
                raise FabulaError(Code.CODEX_INVALID, "Say --since when that is true. Nothing was changed.")
            known = frozenset(known_to) if known_to is not None else None
            progressions.add(tx, found.id, Progression(text, place_of(tx, since), known, tuple(alias or ())))
    count = len(found.progressions) + (-1 if take_away is not None else 1)
    print(f"{found.name} has {count} progression{'s' if count != 1 else ''}.")


def know(
    project: PROJECT,
    entry: ENTRY,
    who: Annotated[str, typer.Argument(help="A character's id or name, or reader.")],
    number: Annotated[int | None, typer.Option("--progression", help="Of which progression, by its number.")] = None,
    since: SINCE = None,
    undo: UNDO = False,
    store: STORE = None,
) -> None:
    """Say who knows an entry or one of its progressions, and since when."""
    from fabula.codex import knowledge
    from fabula.codex.knowledge import Knowing

    others = () if who == "reader" else (who,)
    with changing(project, store, entry, *others) as (tx, found, named):
        knower = named[0].id if named else who
        fact = found.source if number is None else f"{found.source}#{_own_step(tx, found, number).number}"
        if undo:
            knowledge.unknow(tx, fact, knower)
        else:
            at = None if since is None else place_of(tx, since)
            knowledge.know(tx, Knowing(fact=fact, knower=knower, since=at))
    which = found.name if number is None else f"what {number} says of {found.name}"
    print(f"{knower} {'is no longer said to know' if undo else 'knows'} {which}.")


def pin(
    project: PROJECT,
    entry: ENTRY,
    where: Annotated[str, typer.Argument(help="The id of a document or a conversation.")],
    out: Annotated[bool, typer.Option("--out", help="Keep it out there, instead of bringing it in.")] = False,
    undo: UNDO = False,
    store: STORE = None,
) -> None:
    """Bring an entry in, or keep it out, wherever one document or conversation is written."""
    from fabula.codex import pins
    from fabula.codex.model import Wish

    with changing(project, store, entry) as (tx, found, _):
        if undo:
            pins.unpin(tx, where, found.id)
        else:
            pins.pin(tx, where, found.id, Wish.EXCLUDE if out else Wish.INCLUDE)
    print(f"{found.name} is {'left to its level' if undo else 'kept out of' if out else 'pinned to'} {where}.")


def _own_step(tx: Writing, entry: Entry, number: int) -> Step:
    """A progression by the number it is shown with; those of a series come first, and are the series' to change."""
    from fabula.codex import progressions

    own = progressions.listed(tx, entry.id)
    shared = len(entry.progressions) - len(own)
    if not shared < number <= len(entry.progressions):
        whose = f", the first {shared} of them in its series" if shared else ""
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            f"{entry.name} has {len(entry.progressions)} progressions{whose}. Nothing was changed.",
        )
    return own[number - shared - 1]


def _fields(tx: Writing, before: Entry | None, said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a command line says something about."""
    from msgspec import to_builtins

    plain = {"kind": "type", "alias": "aliases", "tag": "tags", "level": "level", "description": "description"}
    found = {field: said[name] for name, field in (*plain.items(), ("notes", "notes")) if said[name] is not None}
    rules = {name: said[name] for name in ("without", "case") if said[name] is not None}
    if rules:
        found["rules"] = {**(to_builtins(before.rules) if before is not None else {}), **rules}
    if said["detail"] is not None:
        pairs = dict(one.partition("=")[::2] for one in said["detail"])
        kept = {**(before.details if before is not None else {}), **pairs}
        found["details"] = {name: value for name, value in kept.items() if name and value}
    if (known := said["known_to"]) is not None:
        found["known_to"] = None if known == ["everybody"] else [who for who in known if who != "nobody"]
    if (since := said["since"]) is not None:
        found["since"] = None if since == "start" else place_of(tx, since)
    return found


def _report(entry: Entry, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(entry_json(entry))
    else:
        print(sentence)


def _place(at: Position) -> str:
    return f"{at.document}@{at.offset}" if at.offset else at.document
