"""`fabula biography`: what a character remembers of their life; list, add, edit, delete, reorder (cnv-7).

`fabula participant prompt` uses the same functions for fixed prompts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.editor import explain_conflict
from fabula.cli.opening import open_project, read_text
from fabula.cli.options import IDS, JSON, PROJECT, STORE
from fabula.cli.output import print_json, quote_name, report, say, shorten
from fabula.cli.tables import Column, print_list
from fabula.core.messages import Sentence, message

if TYPE_CHECKING:
    from fabula.conversation.participant_texts import ParticipantText, ParticipantTextKind

WHO = Annotated[str, Argument(help="A participant, by name, alias or id.")]
ITEM = Annotated[str, Argument(help="A text, by its number, its id or how it begins.")]
ITEMS = Annotated[list[str], Argument(help="All texts of the participant, in the new order.")]
TEXT = Annotated[str, Argument(help="The text; - reads standard input.")]
VERSION = Annotated[int | None, Option("--version", help="The version you saw; refused if it is another by now.")]

commands = CommandGroup("biography", help="What a character remembers, told where a player talks to them alone.")


@commands.command("list")
def list_biography(
    project: PROJECT, who: WHO, with_ids: IDS = False, store: STORE = None, as_json: JSON = False
) -> None:
    """List the biography of a character.

    Example: fabula biography list "The Lantern Coast" Mara
    """
    list_texts("biography", project, who, with_ids=with_ids, store=store, as_json=as_json)


@commands.command()
def add(project: PROJECT, who: WHO, text: TEXT, store: STORE = None, as_json: JSON = False) -> None:
    """Add to the biography of a character.

    Example: fabula biography add "The Lantern Coast" Mara "Grew up in the lighthouse."
    """
    add_text("biography", project, who, text, store=store, as_json=as_json)


@commands.command()
def edit(
    project: PROJECT,
    who: WHO,
    item: ITEM,
    text: TEXT,
    version: VERSION = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change a text of a biography.

    Example: fabula biography edit "The Lantern Coast" Mara 1 "Grew up beside the lighthouse."
    """
    edit_text("biography", project, who, item, text, version=version, store=store, as_json=as_json)


@commands.command()
def delete(
    project: PROJECT, who: WHO, item: ITEM, version: VERSION = None, store: STORE = None, as_json: JSON = False
) -> None:
    """Delete a text of a biography; `fabula undo` brings it back.

    Example: fabula biography delete "The Lantern Coast" Mara 1
    """
    delete_text("biography", project, who, item, version=version, store=store, as_json=as_json)


@commands.command()
def reorder(project: PROJECT, who: WHO, items: ITEMS, store: STORE = None, as_json: JSON = False) -> None:
    """Put the texts of a biography in another order.

    Example: fabula biography reorder "The Lantern Coast" Mara 2 1
    """
    reorder_texts("biography", project, who, items, store=store, as_json=as_json)


def list_texts(
    kind: ParticipantTextKind, project: str, who: str, *, with_ids: bool, store: str | None, as_json: bool
) -> None:
    """Print the texts of a participant."""
    from fabula.workspace.schemas.participant_texts import describe_participant_text

    with open_project(project, store) as opened:
        found = opened.participant_texts.list_texts(kind, who)
    columns: list[Column[ParticipantText]] = [
        Column(message("text"), lambda one: shorten(one.text, 200), wraps=True),
        Column(message("remarks"), lambda one: message("private") if one.is_private else ""),
    ]
    command = f"{_name_commands(kind)} add {quote_name(project)} {quote_name(who)} TEXT"
    empty = message("{name} has no biography yet. Write it: {command}", name=who, command=command)
    if kind != "biography":
        empty = message("{name} has no fixed prompts yet. Add one: {command}", name=who, command=command)
    print_list(found, describe_participant_text, columns, empty, as_json, with_ids=with_ids)


def add_text(
    kind: ParticipantTextKind,
    project: str,
    who: str,
    text: str,
    *,
    is_private: bool = False,
    store: str | None,
    as_json: bool,
) -> None:
    """Add a text of a participant, and say so."""
    words = read_text("-") if text == "-" else text
    with open_project(project, store) as opened:
        added = opened.participant_texts.add(kind, who, words, is_private=is_private)
    _report_text(added, message("Added: {text}", text=shorten(added.text, 80)), as_json)


def edit_text(
    kind: ParticipantTextKind,
    project: str,
    who: str,
    item: str,
    text: str | None,
    *,
    is_private: bool | None = None,
    version: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Change a text of a participant, and say so."""
    words = read_text("-") if text == "-" else text
    with open_project(project, store) as opened, explain_conflict(_name_list(kind, project, who)):
        changed = opened.participant_texts.edit(
            kind, who, item, text=words, is_private=is_private, expected_version=version
        )
    _report_text(changed, message("It reads now: {text}", text=shorten(changed.text, 80)), as_json)


def delete_text(
    kind: ParticipantTextKind,
    project: str,
    who: str,
    item: str,
    *,
    version: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Delete a text of a participant, and say so."""
    with open_project(project, store) as opened, explain_conflict(_name_list(kind, project, who)):
        removed = opened.participant_texts.remove(kind, who, item, expected_version=version)
    _report_text(removed, message("Gone: {text}", text=shorten(removed.text, 80)), as_json)


def reorder_texts(
    kind: ParticipantTextKind, project: str, who: str, items: list[str], *, store: str | None, as_json: bool
) -> None:
    """Put the texts of a participant in another order, and say so."""
    from fabula.workspace.schemas.participant_texts import describe_participant_text

    with open_project(project, store) as opened:
        found = opened.participant_texts.reorder(kind, who, items)
    if as_json:
        print_json([describe_participant_text(one) for one in found])
    else:
        say("They are in this order now.")


def _name_list(kind: ParticipantTextKind, project: str, who: str) -> str:
    """Return the command that lists the texts of a participant."""
    return f"{_name_commands(kind)} list {quote_name(project)} {quote_name(who)}"


def _name_commands(kind: ParticipantTextKind) -> str:
    return "fabula biography" if kind == "biography" else "fabula participant prompt"


def _report_text(item: ParticipantText, sentence: Sentence, as_json: bool) -> None:
    from fabula.workspace.schemas.participant_texts import describe_participant_text

    report(describe_participant_text(item), sentence, as_json)
