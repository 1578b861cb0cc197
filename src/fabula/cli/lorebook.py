"""`fabula lorebook`: import, list, show, try and export lorebooks, edit their entries, make codex entries of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.opening import open_project, print_json
from fabula.cli.projects import JSON, PROJECT, STORE
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.lorebook.model import LoreEntry
    from fabula.workspace.schemas.lorebooks import LoreVerdictInfo

BOOK = Annotated[str, typer.Argument(help="A lorebook of the project, by its id or name.")]
ENTRY = Annotated[int, typer.Argument(help="The number of an entry: `fabula lorebook show` lists them.")]
FIELDS = Annotated[
    list[str],
    typer.Argument(help='FIELD=VALUE by the names of world info: order=20, key=Mara, key=["Mara","Tom"], order=null.'),
]
_TEXTS, _KEYS = ("content", "comment", "group", "outletName"), ("key", "keysecondary")


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    lorebook = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="World books and the books of cards.")
    lorebook.command(name="import")(import_book)
    lorebook.command(name="list")(list_books)
    lorebook.command()(show)
    lorebook.command(name="test")(try_text)
    lorebook.command()(export)
    lorebook.command(name="to-codex")(make_codex_entries)
    lorebook.command()(new)
    lorebook.command()(add)
    lorebook.command()(edit)
    lorebook.command()(drop)
    lorebook.command()(when)
    lorebook.command()(use)
    lorebook.command()(remove)
    app.add_typer(lorebook, name="lorebook")


def import_book(
    project: PROJECT,
    path: Annotated[Path, typer.Argument(help="World info, a card (JSON, PNG, CHARX), RisuAI, NovelAI or Agnai.")],
    rules: Annotated[
        str, typer.Option("--rules", help="exact (as SillyTavern reads it) or fabula (our own rules).")
    ] = "",
    store: STORE = None,
) -> None:
    """Import a lorebook, or a card with the one it has.

    Example: fabula lorebook import "The Lantern Coast" isles.json
    """
    with open_project(project, store) as opened:
        book, contents = opened.lorebooks.import_file(path, rules=rules)
    count = len(contents.book.entries)
    entries = f"{count} {'entry' if count == 1 else 'entries'}"
    print(f"{book.name}: {entries} ({book.format}, {book.rules} rules), book {book.id}.")
    _warn(contents.warnings)
    if path.suffix.lower() in (".png", ".charx"):
        _warn([f"The picture or the assets are not stored: to export into them again, name {path.name} --into."])


def list_books(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """List the lorebooks of a project.

    Example: fabula lorebook list "The Lantern Coast"
    """
    from fabula.workspace.schemas.lorebooks import describe_lorebook

    with open_project(project, store) as opened:
        found = [describe_lorebook(one) for one in opened.lorebooks.list_lorebooks()]
    if as_json:
        print_json(found)
        return
    if not found:
        print("No lorebooks yet. Import one: fabula lorebook import PROJECT FILE")
    for book in found:
        state = "" if book.active else "  (not in use)"
        count = "unreadable" if book.entries is None else f"{book.entries} entries"
        print(f"{book.id:<24} {count:>13}  {book.format:<14} {book.rules:<7} {book.name}{state}")


def show(project: PROJECT, book: BOOK, store: STORE = None, as_json: JSON = False) -> None:
    """Show the entries of a lorebook.

    Example: fabula lorebook show "The Lantern Coast" isles
    """
    from fabula.workspace.schemas.lorebooks import describe_contents

    with open_project(project, store) as opened:
        found, contents = opened.lorebooks.read(book)
    if as_json:
        print_json(describe_contents(found, contents))
        return
    print(f"{found.name} ({found.format}, {found.rules} rules)")
    for entry in contents.book.entries:
        state = "off" if entry.disable else "always" if entry.constant else ", ".join(entry.key or ()) or "no key"
        text = " ".join((entry.content or "").split())
        cut = f"{text[:80]}{'…' if len(text) > 80 else ''}"
        print(f"  {entry.uid:>4}  {entry.comment or '-'}  [{state}]{_describe_limits(entry)}  {cut}")
    _warn(contents.warnings)


def try_text(
    project: PROJECT,
    text: Annotated[str, typer.Argument(help="The text; - for standard input.")],
    book: Annotated[str | None, typer.Option("--book", "-b", help="Only this book.")] = None,
    at: Annotated[str | None, typer.Option("--at", help="As a reader in this chapter; else as the author.")] = None,
    context: Annotated[int, typer.Option("--context", help="The size of the prompt, in tokens.")] = 8192,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show which entries a text would bring into the prompt, and why or why not.

    Example: fabula lorebook test "The Lantern Coast" "The keeper came." --at ch-02
    """
    from fabula.workspace.schemas.lorebooks import describe_activation, describe_hidden, describe_trial

    with open_project(project, store) as opened:
        trial = opened.lorebooks.try_text(
            sys.stdin.read() if text == "-" else text, book=book, place=at, context_tokens=context
        )
    if as_json:
        print_json(describe_trial(trial))
        return
    for activation in trial.activations:
        _show_verdicts(describe_activation(activation))
        print(f"  {activation.used} of {activation.budget} tokens, {activation.rules} rules")
        _warn(activation.problems)
    _show_verdicts(map(describe_hidden, trial.hidden))


def export(
    project: PROJECT,
    book: BOOK,
    path: Annotated[Path, typer.Argument(help="The file to write; of a card .json, .png or .charx.")],
    into: Annotated[
        Path | None, typer.Option("--into", help="The picture or archive that a card is put into; it is not changed.")
    ] = None,
    world_info: Annotated[bool, typer.Option("--as-world-info", help="As SillyTavern's world info.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    store: STORE = None,
) -> None:
    """Write a lorebook or card to a file as it came, or as world info.

    Example: fabula lorebook export "The Lantern Coast" isles isles.json
    """
    with open_project(project, store) as opened:
        found, warnings = opened.lorebooks.export_file(
            book, path, into=into, as_world_info=world_info, overwrite=overwrite
        )
    print(f"{found.name} is in {path}.")
    _warn(warnings)


def make_codex_entries(
    project: PROJECT,
    book: BOOK,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the lorebook in use beside the entries.")] = False,
    store: STORE = None,
) -> None:
    """Make codex entries of a lorebook; the book stays, and is no longer used unless --keep is given.

    Example: fabula lorebook to-codex "The Lantern Coast" isles
    """
    with open_project(project, store) as opened:
        found, entries, warnings = opened.lorebooks.make_codex_entries(book, keep_active=keep)
    print(f"{len(entries)} codex entries were made from {found.name}.")
    _warn(warnings)


def new(
    project: PROJECT,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    rules: Annotated[str, typer.Option("--rules", help="fabula (our own rules) or exact (SillyTavern's).")] = "fabula",
    store: STORE = None,
) -> None:
    """Make an empty lorebook.

    Example: fabula lorebook new "The Lantern Coast" Harbour
    """
    with open_project(project, store) as opened:
        made = opened.lorebooks.create(name, rules=rules)
    print(f"{made.name} is book {made.id}.")


def add(project: PROJECT, book: BOOK, fields: FIELDS, store: STORE = None) -> None:
    """Add an entry.

    Example: fabula lorebook add "The Lantern Coast" Harbour key=Mara "content=Mara keeps the light."
    """
    values = _parse_fields(fields)
    with open_project(project, store) as opened:
        found, uid = opened.lorebooks.add_entry(book, values)
    print(f"Entry {uid} is in {found.name}.")


def edit(project: PROJECT, book: BOOK, entry: ENTRY, fields: FIELDS, store: STORE = None) -> None:
    """Change some fields of an entry; everything else stays as it came.

    Example: fabula lorebook edit "The Lantern Coast" Harbour 0 order=20
    """
    values = _parse_fields(fields)
    with open_project(project, store) as opened:
        found = opened.lorebooks.edit_entry(book, entry, values)
    print(f"Entry {entry} of {found.name} was changed.")


def drop(project: PROJECT, book: BOOK, entry: ENTRY, store: STORE = None) -> None:
    """Remove an entry from a lorebook.

    Example: fabula lorebook drop "The Lantern Coast" Harbour 0
    """
    with open_project(project, store) as opened:
        found = opened.lorebooks.remove_entry(book, entry)
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
    """Say in which chapters an entry holds, and who may know it.

    Example: fabula lorebook when "The Lantern Coast" Harbour 0 --since ch-02
    """
    with open_project(project, store) as opened:
        found = opened.lorebooks.limit_entry(book, entry, since=since, until=until, known_to=known_to)
    print(f"Entry {entry} of {found.name} was changed.")


def use(
    project: PROJECT,
    book: BOOK,
    off: Annotated[bool, typer.Option("--off", help="Use it no longer.")] = False,
    rules: Annotated[str, typer.Option("--rules", help="Read it by these rules: exact or fabula.")] = "",
    store: STORE = None,
) -> None:
    """Use a lorebook, or use it no longer; by the rules it has, or by others.

    Example: fabula lorebook use "The Lantern Coast" Harbour --off
    """
    with open_project(project, store) as opened:
        found = opened.lorebooks.use(book, active=not off, rules=rules)
    print(f"{found.name} is {'no longer in use' if off else f'in use ({found.rules} rules)'}.")


def remove(project: PROJECT, book: BOOK, store: STORE = None) -> None:
    """Remove a lorebook.

    Example: fabula lorebook remove "The Lantern Coast" Harbour
    """
    with open_project(project, store) as opened:
        found = opened.lorebooks.remove(book)
    print(f"{found.name} is gone.")


def _describe_limits(entry: LoreEntry) -> str:
    """Say in a few words in which chapters an entry holds and who may know it."""
    story = entry.story
    if story is None:
        return ""
    parts = (
        f"from {story.since}" if story.since else "",
        f"before {story.until}" if story.until else "",
        f"known to {', '.join(story.known_to) or 'nobody'}" if story.known_to is not None else "",
    )
    return f"  ({'; '.join(part for part in parts if part)})"


def _parse_fields(fields: Iterable[str]) -> dict[str, Any]:
    """Parse FIELD=VALUE; texts are taken as they are, everything else is JSON where it can be."""
    import msgspec

    values: dict[str, Any] = {}
    for field in fields:
        name, sign, value = field.partition("=")
        if not sign:
            raise FabulaError(Code.LOREBOOK_INVALID, f"{field!r} is no FIELD=VALUE. Nothing was changed.")
        try:
            values[name] = value if name in _TEXTS and value != "null" else msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            values[name] = [value] if name in _KEYS else value
    return values


def _show_verdicts(rows: Iterable[LoreVerdictInfo]) -> None:
    for row in rows:
        print(f"  {'✓' if row.active else '·'} {row.title}: {row.why}")


def _warn(warnings: Iterable[object]) -> None:
    for warning in warnings:
        print(f"- {warning}")
