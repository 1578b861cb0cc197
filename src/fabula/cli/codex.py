"""`fabula codex`: entries, how they stand to each other, what becomes of them, who knows it, and pins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.opening import open_project, print_json
from fabula.cli.projects import JSON, PROJECT, STORE
from fabula.cli.rename import rename, undo_rename
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.codex import Entry
    from fabula.core.story import Position

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


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    codex = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Who and what there is in the story.")
    codex.command(name="list")(list_entries)
    codex.command()(show)
    codex.command()(add)
    codex.command()(edit)
    codex.command()(remove)
    codex.command()(relate)
    codex.command()(progress)
    codex.command()(know)
    codex.command()(pin)
    codex.command()(rename)
    codex.command(name="undo-rename")(undo_rename)
    app.add_typer(codex, name="codex")


def list_entries(
    project: PROJECT, kind: TYPE = None, level: LEVEL = None, store: STORE = None, as_json: JSON = False
) -> None:
    """List every entry, in the order of the prompt: always, then by type and name.

    Example: fabula codex list sample:lantern_coast --type character
    """
    from fabula.workspace.schemas.codex import describe_entry

    with open_project(project, store) as opened:
        found = opened.codex.list_entries(kind=kind, level=level)
    if as_json:
        print_json([describe_entry(entry) for entry in found])
        return
    if not found:
        print("No entries. Add one: fabula codex add PROJECT NAME")
    for entry in found:
        print(f"{entry.id:<24} {entry.type:<10} {entry.level.value:<14} {', '.join(entry.names[:6])}")


def show(project: PROJECT, entry: ENTRY, store: STORE = None, as_json: JSON = False) -> None:
    """Show one entry, with everything that becomes of it.

    Example: fabula codex show sample:lantern_coast "Mara Venn"
    """
    with open_project(project, store) as opened:
        found = opened.codex.find(entry)
    if as_json:
        _report(found, "", as_json)
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


def add(
    project: PROJECT,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    kind: TYPE = None,
    level: LEVEL = None,
    alias: ALIAS = None,
    description: DESCRIPTION = None,
    detail: DETAIL = None,
    tag: TAG = None,
    notes: NOTES = None,
    known_to: KNOWN = None,
    since: SINCE = None,
    without: EXCEPT = None,
    case: CASE = None,
    entry_id: Annotated[str, typer.Option("--id", help="Its id; made up if left out.")] = "",
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Add an entry.

    Example: fabula codex add "The Lantern Coast" "Mara Venn" --type character -D "Keeps the light."
    """
    with open_project(project, store) as opened:
        made = opened.codex.add(
            name,
            entry_id=entry_id,
            kind=kind,
            level=level,
            aliases=alias,
            description=description,
            details=_details(detail),
            tags=tag,
            notes=notes,
            known_to=known_to,
            since=since,
            exceptions=without,
            case=case,
        )
    _report(made, f"{made.name} is entry {made.id}.", as_json)


def edit(
    project: PROJECT,
    entry: ENTRY,
    name: Annotated[str | None, typer.Option("--name", help="Another name, here only; see `rename`.")] = None,
    kind: TYPE = None,
    level: LEVEL = None,
    alias: ALIAS = None,
    description: DESCRIPTION = None,
    detail: DETAIL = None,
    tag: TAG = None,
    notes: NOTES = None,
    known_to: KNOWN = None,
    since: SINCE = None,
    without: EXCEPT = None,
    case: CASE = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change what is given; lists are replaced, details added to (NAME= takes one away).

    Example: fabula codex edit "The Lantern Coast" "Mara Venn" --alias Mara --level always
    """
    with open_project(project, store) as opened:
        changed = opened.codex.edit(
            entry,
            name=name,
            kind=kind,
            level=level,
            aliases=alias,
            description=description,
            details=_details(detail),
            tags=tag,
            notes=notes,
            known_to=known_to,
            since=since,
            exceptions=without,
            case=case,
        )
    _report(changed, f"{changed.name} is changed.", as_json)


def remove(project: PROJECT, entry: ENTRY, store: STORE = None) -> None:
    """Remove an entry, with what becomes of it, its pins and its relations.

    Example: fabula codex remove "The Lantern Coast" "The old mill"
    """
    with open_project(project, store) as opened:
        found = opened.codex.remove(entry)
    print(f"{found.name} is gone.")


def relate(
    project: PROJECT,
    entry: ENTRY,
    other: Annotated[str, typer.Argument(help="To whom, by id or name.")],
    kind: Annotated[str, typer.Option("--kind", help="How: sister, owns, fears …")] = "",
    undo: UNDO = False,
    store: STORE = None,
) -> None:
    """Say how one entry stands to another.

    Example: fabula codex relate "The Lantern Coast" "Mara Venn" "Will Venn" --kind sister
    """
    with open_project(project, store) as opened:
        found, target = opened.codex.relate(entry, other, kind=kind, undo=undo)
    print(f"{found.name} and {target.name}: {'no longer related' if undo else kind or 'related'}.")


def progress(
    project: PROJECT,
    entry: ENTRY,
    text: Annotated[str, typer.Argument(help="What becomes true of it.")] = "",
    since: SINCE = None,
    alias: ALIAS = None,
    known_to: KNOWN = None,
    number: Annotated[int | None, typer.Option("--remove", help="The number of one to take away.")] = None,
    store: STORE = None,
) -> None:
    """Say what becomes true of an entry at some point of the story, or what it is called from there on.

    Example: fabula codex progress "The Lantern Coast" "Mara Venn" "She has lost her sight." --since ch-05
    """
    with open_project(project, store) as opened:
        if number is not None:
            changed = opened.codex.remove_progression(entry, number)
        elif since is None:
            raise FabulaError(Code.CODEX_INVALID, "Say --since when that is true. Nothing was changed.")
        else:
            changed = opened.codex.add_progression(entry, text, since=since, aliases=alias or (), known_to=known_to)
    count = len(changed.progressions)
    print(f"{changed.name} has {count} progression{'s' if count != 1 else ''}.")


def know(
    project: PROJECT,
    entry: ENTRY,
    who: Annotated[str, typer.Argument(help="A character's id or name, or reader.")],
    number: Annotated[int | None, typer.Option("--progression", help="Of which progression, by its number.")] = None,
    since: SINCE = None,
    undo: UNDO = False,
    store: STORE = None,
) -> None:
    """Say who knows an entry or one of its progressions, and since when.

    Example: fabula codex know "The Lantern Coast" "The Dark Hour" "Grace Ardle" --since ch-02
    """
    with open_project(project, store) as opened:
        found, knower = opened.codex.set_knowledge(entry, who, progression=number, since=since, undo=undo)
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
    """Bring an entry in, or keep it out, wherever one document or conversation is written.

    Example: fabula codex pin "The Lantern Coast" "The old mill" ch-03
    """
    with open_project(project, store) as opened:
        found = opened.codex.pin(entry, where, None if undo else "exclude" if out else "include")
    print(f"{found.name} is {'left to its level' if undo else 'kept out of' if out else 'pinned to'} {where}.")


def _details(pairs: list[str] | None) -> dict[str, str] | None:
    return None if pairs is None else dict(pair.partition("=")[::2] for pair in pairs)


def _report(entry: Entry, sentence: str, as_json: bool) -> None:
    if as_json:
        from fabula.workspace.schemas.codex import describe_entry

        print_json(describe_entry(entry))
    else:
        print(sentence)


def _place(at: Position) -> str:
    return f"{at.document}@{at.offset}" if at.offset else at.document
