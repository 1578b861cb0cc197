"""`fabula codex`: entries, their relations and progressions, who knows them, pins and renames (man-4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from fabula.cli.commands import CommandGroup, CommandWithOptions
from fabula.cli.opening import open_project
from fabula.cli.options import IDS, JSON, PROJECT, SINCE, STORE
from fabula.cli.output import (
    current_language,
    print_json,
    print_line,
    quote_name,
    report,
    say,
    shorten,
    translate,
    warn,
)
from fabula.cli.progress import show_progress
from fabula.cli.tables import Column, number_in_order, print_list, print_table
from fabula.cli.value_names import name_value
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message, plural
from fabula.manuscript.model import trim_title

if TYPE_CHECKING:
    from fabula.codex import Entry, Relation
    from fabula.core.story import Position
    from fabula.workspace.codex import EntryKnower
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.rename.rename import RenamePlace

ENTRY = Annotated[str, Argument(help="An entry, by its name, alias, number or id.")]
TYPE = Annotated[str | None, Option("--type", help="character, location, event, item, faction, lore or other.")]
LEVEL = Annotated[str | None, Option("--level", help="always, when_detected, manual or never.")]
ALIASES = Annotated[list[str] | None, Option("--alias", help="Another name; may be given several times.")]
KNOWN_TO = Annotated[
    list[str] | None, Option("--known-to", help="Who may know it, by any name; or reader, nobody, everybody.")
]
_WORDS = {"reader": message("the reader"), "everybody": message("everybody else")}
_SHOWN_TEXT = 80  # characters of a progression in one line
UNDO = Annotated[bool, Option("--undo", help="Take it back.")]
YES = Annotated[bool, Option("--yes", "-y", help="Also if another entry has that name.")]

commands = CommandGroup("codex", help="Who and what there is in the story.")


@dataclass(frozen=True)
class EntryOptions:
    """What a command line says of an entry, beside its name."""

    kind: TYPE = None
    level: LEVEL = None
    aliases: ALIASES = None
    description: Annotated[str | None, Option("--description", "-D", help="What is true of it from the start.")] = None
    details: Annotated[list[str] | None, Option("--detail", help="NAME=VALUE; may be given several times.")] = None
    tags: Annotated[list[str] | None, Option("--tag", help="A word to sort by; never sent.")] = None
    notes: Annotated[str | None, Option("--notes", help="Private: never sent.")] = None
    known_to: KNOWN_TO = None
    since: SINCE = None
    without: Annotated[list[str] | None, Option("--without", help="A phrase that means something else.")] = None
    case: Annotated[str | None, Option("--case", help="How its names are found: smart, exact or any case.")] = None

    def values(self) -> dict[str, Any]:
        """Return the fields as the verbs of the codex take them."""
        details = None if self.details is None else dict(pair.partition("=")[::2] for pair in self.details)
        return {**asdict(self), "details": details}


class EntryCommand(CommandWithOptions):
    """A command that writes the fields of an entry."""

    options = EntryOptions


@commands.command("list")
def list_entries(
    project: PROJECT,
    kind: TYPE = None,
    level: LEVEL = None,
    with_ids: IDS = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List every entry, in the order of the prompt: always, then by type and name.

    Example: fabula codex list sample:lantern_coast --type character
    """
    from fabula.workspace.schemas.codex import describe_entry

    with open_project(project, store) as opened:
        found = opened.codex.list_entries(kind=kind, level=level)
        numbers = number_in_order(entry.id for entry in opened.codex.list_entries())
    columns: list[Column[Entry]] = [
        Column(message("name"), lambda entry: entry.name, style="bold"),
        Column(message("type"), lambda entry: name_value(entry.type)),
        Column(message("sent"), lambda entry: name_value(entry.level.value)),
        Column(message("also called"), lambda entry: tuple(entry.names[1:6]), wraps=True),
    ]
    empty = message("No entries. Add one: fabula codex add PROJECT NAME")
    print_list(found, describe_entry, columns, empty, as_json, with_ids=with_ids, numbers=numbers)


@commands.command()
def show(project: PROJECT, entry: ENTRY, store: STORE = None, as_json: JSON = False) -> None:
    """Show one entry, with everything that becomes of it.

    Example: fabula codex show sample:lantern_coast "Mara Venn"
    """
    from fabula.workspace.schemas.codex import describe_entry

    with open_project(project, store) as opened:
        found, knowers = opened.codex.find(entry), opened.codex.list_knowers(entry)
        names, titles = _read_names(opened)
    if as_json:
        print_json(describe_entry(found, knowers))
    else:
        _print_entry(found, knowers, names, titles)


@commands.command(cls=EntryCommand)
def add(
    context: typer.Context,
    project: PROJECT,
    name: Annotated[str, Argument(help="What it is called.")],
    entry_id: Annotated[str, Option("--id", help="Its id; made up if left out.")] = "",
    yes: YES = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Add an entry.

    Example: fabula codex add "The Lantern Coast" "Mara Venn" --type character -D "Keeps the light."
    """
    from fabula.workspace.schemas.codex import describe_entry

    with open_project(project, store) as opened:
        made = opened.codex.add(name, entry_id=entry_id, allow_duplicate=yes, **context.obj.values())
        namesakes = opened.codex.list_namesakes(made.id)
        is_unaware = context.obj.known_to is not None and opened.codex.is_unaware(made.id)
    kind, level = name_value(made.type), name_value(made.level.value)
    done = message("{name} is in the codex ({kind}, {level}).", name=made.name, kind=kind, level=level)
    report(describe_entry(made), done, as_json)
    _warn_of_namesakes(namesakes)
    _warn_if(is_unaware, made)


@commands.command(cls=EntryCommand)
def edit(
    context: typer.Context,
    project: PROJECT,
    entry: ENTRY,
    name: Annotated[str | None, Option("--name", help="Another name, here only; see `rename`.")] = None,
    yes: YES = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change an entry; what is not given stays, lists are replaced, details are added to (NAME= takes one away).

    Example: fabula codex edit "The Lantern Coast" "Mara Venn" --alias Mara --level always
    """
    from fabula.workspace.schemas.codex import describe_entry

    with open_project(project, store) as opened:
        changed = opened.codex.edit(entry, name=name, allow_duplicate=yes, **context.obj.values())
        namesakes = opened.codex.list_namesakes(changed.id)
        is_unaware = context.obj.known_to is not None and opened.codex.is_unaware(changed.id)
    report(describe_entry(changed), message("{name} is changed.", name=changed.name), as_json)
    _warn_of_namesakes(namesakes)
    _warn_if(is_unaware, changed)


@commands.command()
def remove(project: PROJECT, entry: ENTRY, store: STORE = None) -> None:
    """Remove an entry, with what becomes of it, its pins and its relations.

    Example: fabula codex remove "The Lantern Coast" "The old mill"
    """
    with open_project(project, store) as opened:
        found = opened.codex.remove(entry)
    say("{name} is gone.", name=found.name)


@commands.command()
def relate(
    project: PROJECT,
    entry: ENTRY,
    other: Annotated[str, Argument(help="To whom: another entry, in the same way.")],
    kind: Annotated[str, Option("--kind", help="How: sister, owns, fears …")] = "",
    since: Annotated[str | None, Option("--since", help="From where on; `start` for the whole story.")] = None,
    until: Annotated[str | None, Option("--until", help="Up to the beginning of this chapter; `end` for good.")] = None,
    known_to: KNOWN_TO = None,
    undo: UNDO = False,
    store: STORE = None,
) -> None:
    """Say how one entry stands to another, from when until when, and who knows it.

    Example: fabula codex relate "The Lantern Coast" "Mara Venn" "Will Venn" --kind sister
    """
    with open_project(project, store) as opened:
        if undo:
            found, target = opened.codex.unrelate(entry, other, kind=kind)
            relation: Sentence | str = message("no longer related")
        else:
            limits = {"since": since, "until": until}
            found, target, made = opened.codex.relate(entry, other, kind=kind, known_to=known_to, **limits)
            relation = _describe_relation(made, *_read_names(opened))
    say("{name} and {other}: {relation}.", name=found.name, other=target.name, relation=relation)
    if not undo and known_to is not None and made.known_to is not None:
        _warn_if(found.type == "character" and found.id not in made.known_to, found)


@commands.command()
def progress(
    project: PROJECT,
    entry: ENTRY,
    text: Annotated[str, Argument(help="What becomes true of it.")] = "",
    since: SINCE = None,
    aliases: ALIASES = None,
    known_to: KNOWN_TO = None,
    changed_number: Annotated[int | None, Option("--change", help="The number of one to change.")] = None,
    number: Annotated[int | None, Option("--remove", help="The number of one to take away.")] = None,
    store: STORE = None,
) -> None:
    """Say what becomes true of an entry at some point of the story, or what it is called from there on.

    Example: fabula codex progress "The Lantern Coast" "Mara Venn" "She has lost her sight." --since ch-05
    """
    with open_project(project, store) as opened:
        before = opened.codex.find(entry)
        is_unaware = False
        if number is not None:
            changed = opened.codex.remove_progression(entry, number)
        elif changed_number is not None:
            changed = opened.codex.edit_progression(
                entry, changed_number, text=text or None, since=since, known_to=known_to
            )
            is_unaware = opened.codex.is_unaware(changed.id, changed_number)
        elif since is None:
            raise FabulaError(Code.CODEX_INVALID, message("Say --since when that is true. Nothing was changed."))
        else:
            changed = opened.codex.add_progression(entry, text, since=since, aliases=aliases or (), known_to=known_to)
            is_unaware = opened.codex.is_unaware(changed.id, len(changed.progressions))
        knowers, titles = opened.codex.list_knowers(changed.id), _read_names(opened)[1]
    count = plural(len(changed.progressions), "{count} progression", "{count} progressions")
    if number is None:
        say("{name} has {progressions}:", name=changed.name, progressions=count)
        _print_progression(changed_number or len(changed.progressions), changed, knowers, titles)
        _warn_if(is_unaware, changed)
    else:
        say("{name} has {progressions}. Taken away:", name=changed.name, progressions=count)
        _print_progression(number, before, None, titles)


@commands.command()
def know(
    project: PROJECT,
    entry: ENTRY,
    who: Annotated[str, Argument(help="A character, by any name; or reader.")],
    number: Annotated[int | None, Option("--progression", help="Of which progression, by its number.")] = None,
    since: SINCE = None,
    undo: UNDO = False,
    store: STORE = None,
) -> None:
    """Say who knows an entry or one of its progressions, and since when.

    Example: fabula codex know "The Lantern Coast" "The Dark Hour" "Grace Odell" --since ch-02
    """
    with open_project(project, store) as opened:
        found, knower, before = opened.codex.set_knowledge(entry, who, progression=number, since=since, undo=undo)
        names, titles = _read_names(opened)
        knowers = opened.codex.list_knowers(found.id)
    knower_name: Sentence | str = _WORDS.get(knower, names.get(knower, knower))
    what: Sentence | str = found.name
    if number is not None:
        text = shorten(found.progressions[number - 1].text, _SHOWN_TEXT)
        what = message("progression {number} of {name} ({text})", number=number, name=found.name, text=text)
    at = next((one.since for one in knowers if (one.knower, one.progression) == (knower, number)), None)
    if undo:
        say("{who} is no longer said to know {what}.", who=knower_name, what=what)
    elif at is None:
        say("{who} knows {what} from the start.", who=knower_name, what=what)
    else:
        say("{who} knows {what} from {place} on.", who=knower_name, what=what, place=_place(at, titles))
    if not undo and before is not None and before.since != at:
        if before.since is None:
            say("Before, it was known from the start.")
        else:
            say("Before, it was known from {place} on.", place=_place(before.since, titles))


@commands.command()
def pin(
    project: PROJECT,
    entry: ENTRY,
    where: Annotated[str, Argument(help="A chapter or a conversation, by title, number or id.")],
    out: Annotated[bool, Option("--out", help="Keep it out there, instead of bringing it in.")] = False,
    undo: UNDO = False,
    store: STORE = None,
) -> None:
    """Bring an entry in, or keep it out, wherever one document or conversation is written.

    Example: fabula codex pin "The Lantern Coast" "The old mill" ch-03
    """
    with open_project(project, store) as opened:
        found, place = opened.codex.pin(entry, where, None if undo else "exclude" if out else "include")
    where = next(iter(place.names), place.id)
    if undo:
        say("{name} is left to its level in {where}.", name=found.name, where=where)
    elif out:
        say("{name} is kept out of {where}.", name=found.name, where=where)
    else:
        say("{name} is pinned to {where}.", name=found.name, where=where)


@commands.command()
def rename(
    project: PROJECT,
    old: Annotated[str, Argument(help="A name as it is now.")],
    new: Annotated[str, Argument(help="What it shall be.")],
    apply: Annotated[bool, Option("--apply", help="Rename; without this, the places are only shown.")] = False,
    history: Annotated[bool, Option("--history", help="In conversations too.")] = False,
    also: Annotated[
        list[str] | None, Option("--also", help="Rename this as well: a name that is offered, or NAME=OTHER.")
    ] = None,
    yes: YES = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Rename everywhere: manuscript, codex and that of the series, constraints, memory. Shows every place first.

    Example: fabula codex rename "The Lantern Coast" Mara Maren --apply
    """
    from fabula.workspace.schemas.codex import describe_rename

    with open_project(project, store) as opened, show_progress(message("Looking for {name}", name=old)):
        places = opened.codex.preview_rename(old, new, history=history, also=also or ())
        offers = opened.codex.offer_renames(old, new, history=history, also=also or ())
        owner = opened.codex.find_name_owner(old, new)
        rename_id = ""
        if apply and places:
            rename_id = opened.codex.rename(old, new, history=history, also=also or (), allow_duplicate=yes)
    if owner is not None:
        warn(
            "{new} is a name of another entry: {entry} ({kind}). After the rename nobody can tell the two apart.",
            new=new,
            entry=owner.name,
            kind=name_value(owner.type),
        )
    if as_json:
        print_json(describe_rename(places, rename_id, offers, current_language()))
        return
    columns: list[Column[RenamePlace]] = [
        Column(message("area"), lambda one: name_value(one.area)),
        Column(message("place"), lambda one: one.label, style="bold"),
        Column(message("change"), lambda one: f"{one.before}[{one.words} → {one.replacement}]{one.after}", wraps=True),
    ]
    if places:
        print_table(places, columns)
    if offers:
        say("Left as they are; add --also NAME to rename them too:")
    for offer in offers:
        print_line(f"  [ ] {offer.words} → {offer.replacement} ({offer.count})")
    count = plural(len(places), "{count} place", "{count} places")
    if rename_id:
        undo = f"fabula codex undo-rename {project} {rename_id}"
        say("Renamed in {places}. Undo: {command}", places=count, command=undo)
    elif places:
        flags = "--apply" if owner is None else "--apply --yes"
        say("Found in {places}. Add {flags} to rename.", places=count, flags=flags)
    else:
        say("{name} was found nowhere. There is nothing to rename.", name=old)


@commands.command()
def share(
    project: Annotated[str, Argument(metavar="BOOK", help="A book of a series, by its title, number or id.")],
    entries: Annotated[list[str], Argument(metavar="ENTRY", help="Entries, by their names, aliases, numbers or ids.")],
    apply: Annotated[bool, Option("--apply", help="Share; without this, what would change is only shown.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Also if earlier books would know it from their start.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Move entries of a book to its series, so that its other books have them too. Shows what changes first.

    Example: fabula codex share "The Lantern Coast" "Mara Venn" --apply
    """
    from fabula.workspace.schemas.codex import describe_shares

    with open_project(project, store) as opened:
        shares = opened.codex.share(entries, allow_early=yes) if apply else opened.codex.preview_share(entries)
    if as_json:
        print_json(describe_shares(shares, apply, current_language()))
        return
    for one in shares:
        name, moved, kept = one.shared.name, join_names(one.moved), join_names(one.kept)
        if apply:
            say("{name} belongs to {series} now.", name=name, series=one.series)
        else:
            say("{name} would belong to {series}.", name=name, series=one.series)
        if one.moved:
            say("  goes to the series: {parts}", parts=moved)
        if one.kept:
            say("  stays in the book: {parts}", parts=kept)
        for remark in one.remarks:
            warn(remark)
        if one.reveals:
            warn("It begins in this book, and {books} will know it from the start.", books=join_names(one.reveals))
    if apply:
        say("To take it back: {command}", command=f"fabula undo {quote_name(project)}")
    else:
        flags = "--apply --yes" if any(one.reveals for one in shares) else "--apply"
        say("Nothing was changed. Add {flags} to share.", flags=flags)


@commands.command("undo-rename")
def undo_rename(
    project: PROJECT,
    rename_id: Annotated[str, Argument(metavar="[ID]", help="Which rename; the latest if left out.")] = "",
    store: STORE = None,
) -> None:
    """Undo a rename, if nothing it touched has changed since.

    Example: fabula codex undo-rename "The Lantern Coast"
    """
    with open_project(project, store) as opened, show_progress(message("Undoing a rename")):
        undone = opened.codex.undo_rename(rename_id or None)
    places = plural(undone.count, "{count} place", "{count} places")
    say("{new} is {old} again in {places}.", new=undone.new, old=undone.old, places=places)


def _warn_of_namesakes(namesakes: Sequence[tuple[str, Entry]]) -> None:
    """Say which names of an entry others have too."""
    for name, other in namesakes:
        warn(
            "{entry} ({kind}) is called {name} too. Where {name} stands in a text, both may be meant.",
            entry=other.name,
            kind=name_value(other.type),
            name=name,
        )


def _print_entry(
    entry: Entry, knowers: Sequence[EntryKnower], names: Mapping[str, str], titles: Mapping[str, str]
) -> None:
    kind, level = name_value(entry.type), name_value(entry.level.value)
    say("{name} ({kind}, {level})", name=entry.name, kind=kind, level=level)
    if entry.aliases:
        say("  also: {names}", names=entry.aliases)
    if entry.since is not None:
        say("  since: {place}", place=_place(entry.since, titles))
    _print_knowers(entry.known_to, [one for one in knowers if one.progression is None], titles)
    if entry.tags:
        say("  tags: {tags}", tags=entry.tags)
    if entry.notes:
        say("  notes: {notes}", notes=entry.notes)
    for relation in entry.relations:
        other, described = names.get(relation.to, relation.to), _describe_relation(relation, names, titles)
        say("  {other}: {relation}", other=other, relation=described)
    for name, value in entry.details.items():
        say("  {name}: {value}", name=name, value=value)
    if entry.description:
        print_line(f"  {entry.description}")
    for number in range(1, len(entry.progressions) + 1):
        _print_progression(number, entry, knowers, titles)


def _print_progression(
    number: int, entry: Entry, knowers: Sequence[EntryKnower] | None, titles: Mapping[str, str]
) -> None:
    """Print a progression, with those who know it where they are given."""
    step = entry.progressions[number - 1]
    say("  {number}. from {place}: {text}", number=number, place=_place(step.since, titles), text=step.text)
    if step.aliases:
        say("     also called {names}", names=step.aliases)
    if knowers is not None:
        _print_knowers(step.known_to, [one for one in knowers if one.progression == number], titles, "   ")


def _print_knowers(
    known_to: Collection[str] | None, knowers: Sequence[EntryKnower], titles: Mapping[str, str], indent: str = ""
) -> None:
    """Print who knows something, and since which chapter; nothing where everybody does."""
    if not knowers and known_to is None:
        return
    who: list[str | Sentence] = []
    for one in knowers:
        name: str | Sentence = _WORDS.get(one.knower, one.name)
        place = None if one.since is None else _place(one.since, titles)
        who.append(name if place is None else message("{name} since {place}", name=name, place=place))
    print_line(f"{indent}{translate('  known to: {names}', names=join_names(who or [message('nobody')]))}")


def _describe_relation(relation: Relation, names: Mapping[str, str], titles: Mapping[str, str]) -> Sentence:
    """Say what a relation is, from when until when it holds, and who knows it."""
    parts: list[Sentence | str] = [relation.kind or message("related")]
    since = None if relation.since is None else _place(relation.since, titles)
    until = None if relation.until is None else _place(relation.until, titles)
    if since is not None and until is not None:
        parts.append(message("from {first} on, before {end}", first=since, end=until))
    elif since is not None:
        parts.append(message("from {place} on", place=since))
    elif until is not None:
        parts.append(message("before {place}", place=until))
    if relation.known_to is not None:
        who = [_WORDS.get(one, names.get(one, one)) for one in sorted(relation.known_to)]
        parts.append(message("known to {names}", names=join_names(who or [message("nobody")])))
    return join_names(parts)


def _read_names(project: ProjectHandle) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names of entries and the titles of chapters, by their ids."""
    timeline = project.view.timeline
    titles = {one.document: one.title for one in (*timeline.entries, *timeline.earlier.values()) if one.title}
    return {one.id: one.name for one in project.codex.list_entries()}, titles


def _warn_if(is_unaware: bool, entry: Entry) -> None:
    """Say that a character does not know what was stored about them, if that is so."""
    if is_unaware:
        name = quote_name(entry.name)
        warn("{entry} will not know this. If that is wrong, add --known-to {name}.", entry=entry.name, name=name)


def _place(at: Position, titles: Mapping[str, str]) -> Sentence | str:
    title = titles.get(at.document, at.document)
    if not at.offset:
        return title
    return message("{title}, {count:,} characters in", title=trim_title(title), count=at.offset)
