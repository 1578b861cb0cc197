"""`fabula outline`: what should happen in each document; plan it, reword it, order it, tick it off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import IDS, JSON, PROJECT, STORE
from fabula.cli.output import quote_name, say
from fabula.cli.tables import Column, number_in_order, print_list
from fabula.core.messages import message

if TYPE_CHECKING:
    from fabula.workspace.outline import Beat

BEAT = Annotated[str, Argument(help="A beat, by its number, its id or how it begins.")]

commands = CommandGroup("outline", help="What should happen, beat by beat.")


@commands.command("list")
def list_beats(
    project: PROJECT,
    document: Annotated[str | None, Argument(help="A document, by title, number or id; all if left out.")] = None,
    with_ids: IDS = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List what should happen, in the order of the story; what is done is ticked.

    Example: fabula outline list "The Lantern Coast" ch-07
    """
    from fabula.workspace.schemas.outline import describe_beat

    with open_project(project, store) as opened:
        found = opened.outline.list_beats(document)
        numbers = number_in_order(beat.id for beat in opened.outline.list_beats())
        titles = {one.document: one.title for one in opened.view.timeline.entries if one.title}
    columns: list[Column[Beat]] = [
        Column(message("done"), lambda beat: "✓" if beat.is_done else "", style="green"),
        Column(message("chapter"), lambda beat: titles.get(beat.document_id, beat.document_id)),
        Column(message("beat"), lambda beat: beat.text, wraps=True),
    ]
    empty = message(
        "Nothing is planned yet. Plan: fabula outline add {project} CHAPTER TEXT", project=quote_name(project)
    )
    print_list(found, describe_beat, columns, empty, as_json, with_ids=with_ids, numbers=numbers)


@commands.command()
def add(
    project: PROJECT,
    document: Annotated[str, Argument(help="A document, by its title, number or id.")],
    text: Annotated[str, Argument(help="What should happen, in a few words.")],
    store: STORE = None,
) -> None:
    """Plan something, after all that is planned there already.

    Example: fabula outline add "The Lantern Coast" ch-07 "Mara finds the letter."
    """
    with open_project(project, store) as opened:
        beat = opened.outline.add(document, text)
    say("Planned: {beat}", beat=beat.text)


@commands.command()
def edit(
    project: PROJECT,
    beat: BEAT,
    text: Annotated[str, Argument(help="What should happen, in a few words.")],
    store: STORE = None,
) -> None:
    """Put a beat in other words.

    Example: fabula outline edit "The Lantern Coast" 24 "Mara finds the letter."
    """
    with open_project(project, store) as opened:
        changed = opened.outline.edit(beat, text)
    say("Planned: {beat}", beat=changed.text)


@commands.command()
def reorder(
    project: PROJECT,
    document: Annotated[str, Argument(help="A document, by its title, number or id.")],
    items: Annotated[list[str], Argument(help="All beats of the document, by their ids, in the new order.")],
    store: STORE = None,
) -> None:
    """Put the beats of a document in another order.

    Example: fabula outline reorder "The Lantern Coast" ch-07 2 1
    """
    with open_project(project, store) as opened:
        opened.outline.reorder(document, items)
    say("The beats are in this order now.")


@commands.command()
def done(
    project: PROJECT,
    beat: BEAT,
    undo: Annotated[bool, Option("--undo", help="It is still to be written.")] = False,
    store: STORE = None,
) -> None:
    """Tick a beat off.

    Example: fabula outline done "The Lantern Coast" 24
    """
    with open_project(project, store) as opened:
        changed = opened.outline.set_done(beat, done=not undo)
    say("Open again: {beat}" if undo else "Done: {beat}", beat=changed.text)


@commands.command()
def remove(project: PROJECT, beat: BEAT, store: STORE = None) -> None:
    """Remove a beat from the plan.

    Example: fabula outline remove "The Lantern Coast" 24
    """
    with open_project(project, store) as opened:
        removed = opened.outline.remove(beat)
    say("No longer planned: {beat}", beat=removed.text)
