"""`fabula lorebook`: import, list, show, try and export lorebooks, edit their entries, make codex entries of them."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import IDS, JSON, OVERWRITE, PROJECT, STORE
from fabula.cli.output import current_language, print_json, print_warnings, quote_name, say, shorten, translate
from fabula.cli.progress import show_progress
from fabula.cli.tables import Column, print_list, print_table
from fabula.cli.value_names import name_value
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message, plural

if TYPE_CHECKING:
    from fabula.lorebook.model import LoreEntry
    from fabula.workspace.schemas.lorebooks import LorebookInfo, LoreVerdictInfo

BOOK = Annotated[str, Argument(help="A lorebook of the project, by its name, number or id.")]
ENTRY = Annotated[str, Argument(help="An entry by its number or name: `fabula lorebook show` lists them.")]
FIELDS = Annotated[
    list[str],
    Argument(help='FIELD=VALUE by the names of world info: order=20, key=Mara, key=["Mara","Tom"], order=null.'),
]
_TEXTS, _KEYS = ("content", "comment", "group", "outletName"), ("key", "keysecondary")

commands = CommandGroup("lorebook", help="World books and the books of cards.")


@commands.command("import")
def import_book(
    project: PROJECT,
    path: Annotated[
        Path, Argument(help="World info, a card (JSON, PNG, CHARX), RisuAI, NovelAI, AI Dungeon or Agnai.")
    ],
    rules: Annotated[str, Option("--rules", help="exact (as SillyTavern reads it) or fabula (our own rules).")] = "",
    replace: Annotated[
        bool, Option("--replace", help="In place of the same lorebook, or of the one with the same name.")
    ] = False,
    store: STORE = None,
) -> None:
    """Import a lorebook, or a card with the one it has.

    Example: fabula lorebook import "The Lantern Coast" isles.json
    """
    with open_project(project, store) as opened, show_progress(message("Importing {file}", file=path.name)):
        book, contents = opened.lorebooks.import_file(path, rules=rules, replace_existing=replace)
    say(
        "{name}: {entries} ({format}, {rules} rules).",
        name=book.name,
        entries=plural(len(contents.book.entries), "{count} entry", "{count} entries"),
        format=book.format,
        rules=name_value(book.rules),
    )
    print_warnings(contents.warnings)
    if path.suffix.lower() in (".png", ".charx") and book.format == "card":
        say("- The picture or the assets are not stored. To export into them again: --into {file}", file=path.name)
    if contents.card_character is not None:
        say(
            "- To let the character take part in conversations: fabula participant import {project} {file}",
            project=quote_name(project),
            file=quote_name(str(path)),
        )


@commands.command("list")
def list_books(project: PROJECT, with_ids: IDS = False, store: STORE = None, as_json: JSON = False) -> None:
    """List the lorebooks of a project.

    Example: fabula lorebook list "The Lantern Coast"
    """
    from fabula.workspace.schemas.lorebooks import describe_lorebook

    with open_project(project, store) as opened:
        found = [describe_lorebook(one) for one in opened.lorebooks.list_lorebooks()]
    columns: list[Column[LorebookInfo]] = [
        Column(message("name"), _describe_names, style="bold"),
        Column(
            message("entries"), lambda one: message("unreadable") if one.entries is None else one.entries, right=True
        ),
        Column(message("format"), lambda one: one.format),
        Column(message("rules"), lambda one: name_value(one.rules)),
        Column(message("state"), lambda one: message("in use") if one.active else message("not in use")),
    ]
    empty = message("No lorebooks yet. Import one: fabula lorebook import {project} FILE", project=quote_name(project))
    print_list(found, lambda one: one, columns, empty, as_json, with_ids=with_ids)


@commands.command()
def show(project: PROJECT, book: BOOK, store: STORE = None, as_json: JSON = False) -> None:
    """Show the entries of a lorebook.

    Example: fabula lorebook show "The Lantern Coast" isles
    """
    from fabula.workspace.schemas.lorebooks import describe_contents

    with open_project(project, store) as opened:
        found, contents = opened.lorebooks.read(book)
        names = opened.lorebooks.name_limits(contents)
    if as_json:
        print_json(describe_contents(found, contents, current_language()))
        return
    say("{name} ({format}, {rules} rules)", name=found.name, format=found.format, rules=name_value(found.rules))
    columns: list[Column[LoreEntry]] = [
        Column(message("no."), lambda entry: entry.uid, right=True, style="grey58"),
        Column(message("name"), lambda entry: entry.comment, style="bold"),
        Column(message("keys"), _describe_keys, wraps=True),
        Column(message("secondary keys"), _describe_secondary_keys, wraps=True),
        Column(message("place"), _describe_place),
        Column(message("order"), lambda entry: entry.order, right=True),
        Column(message("in the story"), lambda entry: _describe_limits(entry, names)),
        Column(message("text"), lambda entry: shorten(entry.content or "", 80), wraps=True),
    ]
    if contents.book.entries:
        print_table(contents.book.entries, columns)
    print_warnings(contents.warnings)


@commands.command("test")
def try_text(
    project: PROJECT,
    text: Annotated[str, Argument(help="The text; - for standard input.")],
    book: Annotated[str | None, Option("--book", "-b", help="Only this book.")] = None,
    at: Annotated[str | None, Option("--at", help="As a reader in this chapter; else as the author.")] = None,
    context: Annotated[int, Option("--context", help="The size of the prompt, in tokens.")] = 8192,
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
        print_json(describe_trial(trial, current_language()))
        return
    for activation in filter(lambda one: one.verdicts, trial.activations):
        _show_verdicts(describe_activation(activation, current_language()), trial.book_names)
        say(
            "  {used} of {budget} tokens, {rules} rules",
            used=activation.used,
            budget=activation.budget,
            rules=name_value(activation.rules),
        )
        print_warnings(activation.problems)
    _show_verdicts([describe_hidden(one, current_language()) for one in trial.hidden], trial.book_names)


@commands.command()
def export(
    project: PROJECT,
    book: BOOK,
    path: Annotated[Path, Argument(help="The file to write; of a card .json, .png or .charx.")],
    into: Annotated[
        Path | None, Option("--into", help="A picture (PNG) or archive; a copy of it gets the card.")
    ] = None,
    world_info: Annotated[bool, Option("--as-world-info", help="As SillyTavern's world info.")] = False,
    version: Annotated[
        int | None, Option("--version", help="As a card of version 1, 2 or 3; of a lorebook, as the book of one.")
    ] = None,
    overwrite: OVERWRITE = False,
    store: STORE = None,
) -> None:
    """Write a lorebook or card to a file as it came, as world info, or as a version of card.

    Example: fabula lorebook export "The Lantern Coast" isles isles.json
    """
    with open_project(project, store) as opened:
        found, warnings = opened.lorebooks.export_file(
            book, path, into=into, as_world_info=world_info, version=version, overwrite=overwrite
        )
    say("{title} is in {path}.", title=found.name, path=path)
    print_warnings(warnings)


@commands.command("to-codex")
def make_codex_entries(
    project: PROJECT,
    book: BOOK,
    keep: Annotated[bool, Option("--keep", help="Leave the lorebook in use beside the entries.")] = False,
    store: STORE = None,
) -> None:
    """Make codex entries of a lorebook; the book stays, and is no longer used unless --keep is given.

    Example: fabula lorebook to-codex "The Lantern Coast" isles
    """
    with open_project(project, store) as opened:
        found, entries, warnings = opened.lorebooks.make_codex_entries(book, keep_active=keep)
    count = plural(len(entries), "{count} codex entry", "{count} codex entries")
    say("Made {entries} from {name}.", entries=count, name=found.name)
    print_warnings(warnings)


@commands.command()
def new(
    project: PROJECT,
    name: Annotated[str, Argument(help="What it is called.")],
    rules: Annotated[str, Option("--rules", help="fabula (our own rules) or exact (SillyTavern's).")] = "fabula",
    store: STORE = None,
) -> None:
    """Make an empty lorebook.

    Example: fabula lorebook new "The Lantern Coast" Harbour
    """
    with open_project(project, store) as opened:
        made = opened.lorebooks.create(name, rules=rules)
    say(
        "{name} is a lorebook now. Add to it: fabula lorebook add {project} {book} key=NAME content=TEXT",
        name=made.name,
        project=quote_name(project),
        book=quote_name(made.name),
    )


@commands.command()
def add(project: PROJECT, book: BOOK, fields: FIELDS, store: STORE = None) -> None:
    """Add an entry.

    Example: fabula lorebook add "The Lantern Coast" Harbour key=Mara "content=Mara keeps the light."
    """
    values = _parse_fields(fields)
    with open_project(project, store) as opened:
        found, uid = opened.lorebooks.add_entry(book, values)
    say("Entry {number} is in {name}.", number=uid, name=found.name)


@commands.command()
def edit(project: PROJECT, book: BOOK, entry: ENTRY, fields: FIELDS, store: STORE = None) -> None:
    """Change some fields of an entry; everything else stays as it came.

    Example: fabula lorebook edit "The Lantern Coast" Harbour 0 order=20
    """
    values = _parse_fields(fields)
    with open_project(project, store) as opened:
        found = opened.lorebooks.edit_entry(book, entry, values)
    say("Entry {number} of {name} was changed.", number=entry, name=found.name)


@commands.command()
def drop(project: PROJECT, book: BOOK, entry: ENTRY, store: STORE = None) -> None:
    """Remove an entry from a lorebook.

    Example: fabula lorebook drop "The Lantern Coast" Harbour 0
    """
    with open_project(project, store) as opened:
        found = opened.lorebooks.remove_entry(book, entry)
    say("Entry {number} of {name} is gone.", number=entry, name=found.name)


@commands.command()
def when(
    project: PROJECT,
    book: BOOK,
    entry: ENTRY,
    since: Annotated[str | None, Option("--since", help="From this chapter on; `start` for always.")] = None,
    until: Annotated[str | None, Option("--until", help="Up to this chapter; `end` for ever.")] = None,
    known_to: Annotated[list[str] | None, Option("--known-to", help="People; or reader, nobody, everybody.")] = None,
    store: STORE = None,
) -> None:
    """Say in which chapters an entry holds, and who may know it.

    Example: fabula lorebook when "The Lantern Coast" Harbour 0 --since ch-02
    """
    with open_project(project, store) as opened:
        found = opened.lorebooks.limit_entry(book, entry, since=since, until=until, known_to=known_to)
    say("Entry {number} of {name} was changed.", number=entry, name=found.name)


@commands.command()
def use(
    project: PROJECT,
    book: BOOK,
    off: Annotated[bool, Option("--off", help="Use it no longer.")] = False,
    rules: Annotated[str, Option("--rules", help="Read it by these rules: exact or fabula.")] = "",
    store: STORE = None,
) -> None:
    """Use a lorebook, or use it no longer; by the rules it has, or by others.

    Example: fabula lorebook use "The Lantern Coast" Harbour --off
    """
    with open_project(project, store) as opened:
        found = opened.lorebooks.use(book, active=not off, rules=rules)
    sentence = message("{name} is in use ({rules} rules).", name=found.name, rules=name_value(found.rules))
    say(message("{name} is no longer in use.", name=found.name) if off else sentence)


@commands.command()
def remove(project: PROJECT, book: BOOK, store: STORE = None) -> None:
    """Remove a lorebook.

    Example: fabula lorebook remove "The Lantern Coast" Harbour
    """
    with open_project(project, store) as opened:
        found = opened.lorebooks.remove(book)
    say("{name} is gone.", name=found.name)


def _describe_keys(entry: LoreEntry) -> object:
    if entry.disable:
        return message("off")
    from fabula.lorebook.wildcards import show_key

    return message("always") if entry.constant else tuple(map(show_key, entry.key or ())) or message("no key")


def _describe_names(one: LorebookInfo) -> str:
    return translate("{name} ({other})", name=one.name, other=one.other_names) if one.other_names else one.name


def _describe_secondary_keys(entry: LoreEntry) -> object:
    """Say which of its secondary keys an entry needs or must not find."""
    keys = tuple(entry.keysecondary or ())
    if not keys or not entry.selective:
        return message("not used: {keys}", keys=keys) if keys else ""
    match entry.selective_logic or 0:
        case 1:
            return message("not all of {keys}", keys=keys)
        case 2:
            return message("none of {keys}", keys=keys)
        case 3:
            return message("all of {keys}", keys=keys)
        case _:
            return message("any of {keys}", keys=keys)


def _describe_place(entry: LoreEntry) -> object:
    """Say where in the prompt an entry stands."""
    match entry.position or 0:
        case 0:
            return message("before the character")
        case 1:
            return message("after the character")
        case 2:
            return message("above the author's note")
        case 3:
            return message("below the author's note")
        case 4:
            return message("depth {depth}", depth=4 if entry.depth is None else entry.depth)
        case 5:
            return message("above the examples")
        case 6:
            return message("below the examples")
        case 7:
            return message("outlet {name}", name=entry.outlet_name or "")
        case other:
            return other


def _describe_limits(entry: LoreEntry, names: Mapping[str, Sentence | str]) -> str:
    """Say in a few words in which chapters an entry holds and who may know it."""
    story = entry.story
    if story is None:
        return ""
    parts = []
    if story.since:
        parts.append(translate("from {place}", place=names.get(story.since, story.since)))
    if story.until:
        parts.append(translate("before {place}", place=names.get(story.until, story.until)))
    if story.known_to is not None:
        parts.append(
            translate(
                "known to {names}", names=tuple(names.get(one, one) for one in story.known_to) or message("nobody")
            )
        )
    return translate("; ").join(parts)


def _split_keys(value: str) -> list[str]:
    """Split keys at commas as SillyTavern does; the commas of a pattern between slashes belong to it."""
    return [key.strip() for key in re.findall(r"/(?:\\.|[^/\\])+/[a-z]*|[^,]+", value) if key.strip()]


def _parse_fields(fields: Iterable[str]) -> dict[str, Any]:
    """Parse FIELD=VALUE; texts are taken as they are, everything else is JSON where it can be."""
    import msgspec

    values: dict[str, Any] = {}
    for field in fields:
        name, sign, value = field.partition("=")
        if not sign:
            raise FabulaError(
                Code.LOREBOOK_INVALID, message("{field!r} is no FIELD=VALUE. Nothing was changed.", field=field)
            )
        try:
            values[name] = value if name in _TEXTS and value != "null" else msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            values[name] = _split_keys(value) if name in _KEYS else value
    return values


def _show_verdicts(rows: Sequence[LoreVerdictInfo], book_names: Mapping[str, str]) -> None:
    """Print verdicts; with several books each row names its book, and entries of one title have their numbers."""
    titles = Counter((row.book, row.title) for row in rows)

    def name(row: LoreVerdictInfo) -> str:
        several = titles[row.book, row.title] > 1
        return translate("{name} (number {number})", name=row.title, number=row.uid) if several else row.title

    columns: list[Column[LoreVerdictInfo]] = [
        Column("", lambda row: "✓" if row.active else "·"),
        Column(message("book"), lambda row: book_names.get(row.book)),
        Column(message("name"), name, style="bold"),
        Column(message("why"), lambda row: row.why, wraps=True),
    ]
    if len(book_names) < 2:
        del columns[1]
    if rows:
        print_table(rows, columns)
