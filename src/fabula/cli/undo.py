"""`fabula undo` and `fabula redo`: take back the last change of any kind, and make it again (man-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import find_project, open_workspace
from fabula.cli.options import JSON, STORE
from fabula.cli.output import current_language, format_time, print_json, print_line, say
from fabula.cli.tables import Column, print_list
from fabula.core.messages import message, plural

if TYPE_CHECKING:
    from fabula.workspace.changes import OwnedChange, ReversedChange

PROJECT = Annotated[str | None, Argument(help="A project, by its title, number or id; the last change if left out.")]

commands = CommandGroup()


@commands.command()
def undo(
    project: PROJECT = None,
    list_only: Annotated[bool, Option("--list", help="Only list what can be undone, the latest first.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Take back the last change, if nothing it touched was changed since; a deleted project comes back whole.

    Example: fabula undo "The Lantern Coast"
    """
    from fabula.workspace.schemas.changes import describe_change, describe_reversed

    with open_workspace(store) as workspace:
        if project is not None:
            project = find_project(workspace, project).id
        if list_only:
            steps = workspace.list_changes(project)
        else:
            change = workspace.undo(project)
    if list_only:
        columns: list[Column[OwnedChange]] = [
            Column(message("time"), lambda one: format_time(one.step.made)),
            Column(message("project"), lambda one: one.title, style="bold"),
            Column(message("change"), lambda one: one.step.label, wraps=True),
            Column(message("taken back"), lambda one: "✓" if one.step.is_undone else ""),
        ]
        empty = message("There is nothing to undo here.")
        numbers = {str(id(one)): number for number, one in enumerate(steps, start=1)}
        print_list(
            steps,
            lambda one: describe_change(one, current_language()),
            columns,
            empty,
            as_json,
            id_of=lambda one: str(id(one)),
            numbers=numbers,
        )
        return
    if as_json:
        print_json(describe_reversed(change, current_language()))
        return
    match change.outcome:
        case "restored":
            say("{title} is back, with everything in it.", title=change.title)
        case "deleted":
            say("Taken back: {label}. The project {title} is gone.", label=change.step.label, title=change.title)
        case "replaced":
            say(
                "Taken back: {label}. The project {title} is what it was before.",
                label=change.step.label,
                title=change.title,
            )
        case _ if change.title:
            say("Taken back in {title}: {label}", title=change.title, label=change.step.label)
        case _:
            say("Taken back: {label}", label=change.step.label)
    _print_details(change)
    say("Make it again with: fabula redo")


@commands.command()
def redo(
    project: PROJECT = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Make the change again that was undone last; a new change ends what can be redone.

    Example: fabula redo "The Lantern Coast"
    """
    from fabula.workspace.schemas.changes import describe_reversed

    with open_workspace(store) as workspace:
        if project is not None:
            project = find_project(workspace, project).id
        change = workspace.redo(project)
    if as_json:
        print_json(describe_reversed(change, current_language()))
        return
    if change.outcome == "restored":
        say("{title} is back, with everything in it.", title=change.title)
    elif change.title:
        say("Made again in {title}: {label}", title=change.title, label=change.step.label)
    else:
        say("Made again: {label}", label=change.step.label)
    _print_details(change)


def _print_details(change: ReversedChange) -> None:
    """Print what was changed, before and after."""
    for one in change.step.details:
        if one.after is None:
            print_line(message("  {name}: gone", name=one.name))
        elif one.before is None:
            print_line(message("  {name}: back", name=one.name))
        else:
            say("  {name}: {before} → {after}", name=one.name, before=one.before, after=one.after)
    if change.step.more:
        print_line(plural(change.step.more, "  and {count:,} more place", "  and {count:,} more places"))
