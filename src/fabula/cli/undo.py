"""`fabula undo` and `fabula redo`: take back the last change of any kind, and make it again (man-7)."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import find_project, open_workspace
from fabula.cli.options import JSON, STORE
from fabula.cli.output import current_language, format_time, invalid_request, print_json, print_line, render, say

commands = CommandGroup()


@commands.command()
def undo(
    project: Annotated[
        str | None, Argument(help="A project, by its id or title; the one changed last if left out.")
    ] = None,
    list_only: Annotated[bool, Option("--list", help="Only list what can be undone, the latest first.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Take back the last change, if nothing it touched was changed since; a deleted project comes back whole.

    Example: fabula undo "The Lantern Coast"
    """
    from fabula.workspace.deleted_projects import DeletedProject
    from fabula.workspace.schemas.changes import describe_change, describe_deleted

    with open_workspace(store) as workspace:
        found = workspace.find_last_change() if project is None else None
        if isinstance(found, DeletedProject) and not list_only:
            restored = workspace.restore_project(found.id)
            if as_json:
                print_json(describe_deleted(restored))
            else:
                say("{title} is back, with everything in it.", title=restored.title)
            return
        name = project or (found.id if found is not None and not isinstance(found, DeletedProject) else None)
        if name is None:
            raise invalid_request("There is nothing to undo in this store.")
        opened = find_project(workspace, name)
        if list_only:
            steps = opened.changes.list_changes()
            if as_json:
                print_json([describe_change(step, current_language()) for step in steps])
                return
            for step in steps:
                print_line(f"{'-' if step.is_undone else ' '} {render(format_time(step.made))}  {render(step.label)}")
            if not steps:
                say("There is nothing to undo in {title}.", title=opened.view.project.title)
            return
        step = opened.changes.undo()
        title = opened.view.project.title
    if as_json:
        print_json(describe_change(step, current_language()))
    else:
        say("Taken back in {title}: {label}\nMake it again with: fabula redo", title=title, label=step.label)


@commands.command()
def redo(
    project: Annotated[
        str | None, Argument(help="A project, by its id or title; the one changed last if left out.")
    ] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Make the change again that was undone last; a new change ends what can be redone.

    Example: fabula redo "The Lantern Coast"
    """
    from fabula.workspace.schemas.changes import describe_change

    with open_workspace(store) as workspace:
        if project is None:
            last = workspace.find_last_undo()
            if last is None:
                raise invalid_request("There is nothing to redo in this store.")
            project = last.id
        opened = find_project(workspace, project)
        step = opened.changes.redo()
        title = opened.view.project.title
    if as_json:
        print_json(describe_change(step, current_language()))
    else:
        say("Made again in {title}: {label}", title=title, label=step.label)
