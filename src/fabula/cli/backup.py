"""`fabula backup`: the copies of a store, and how to bring something back."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.options import JSON, STORE
from fabula.cli.output import format_time, print_json, print_line, render, say, shorten
from fabula.cli.progress import show_progress
from fabula.core.messages import message, plural

commands = CommandGroup("backup", help="Copies of everything, and how to bring it back.")


@commands.command("list")
def list_backups(store: STORE = None, as_json: JSON = False) -> None:
    """List the copies of the store with the projects they hold, the newest state first.

    Example: fabula backup list
    """
    from fabula.workspace.backups import list_store_copies
    from fabula.workspace.schemas.projects import describe_copy

    with show_progress(message("Reading the copies")):
        copies = list_store_copies(store)
    if as_json:
        print_json([describe_copy(copy) for copy in copies])
        return
    if not copies:
        say("No copies yet. Fabula makes one a day, when it is used. Make one of a project now: fabula save")
    for number, copy in enumerate(copies, start=1):
        if copy.problem:
            print_line(f"{number:>3}  {copy.path.name}: {copy.problem}")
            continue
        count = render(plural(len(copy.projects), "{count} project", "{count} projects"))
        print_line(f"{number:>3}  {render(format_time(copy.state))}  {count}  {copy.path.name}")
        print_line(f"     {shorten(', '.join(project.title for project in copy.projects), 100)}")


@commands.command()
def restore(
    copy: Annotated[str, Argument(help="A copy: its number or name in the list, or a path.")],
    project: Annotated[str | None, Argument(help="Which project of it, by id or title.")] = None,
    whole_store: Annotated[
        bool, Option("--whole-store", help="Replace everything: all projects, your profile, memories and settings.")
    ] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Bring a project, or the whole store, back from a copy; what is there now is copied first.

    Example: fabula backup restore 1 "The Lantern Coast"
    """
    from fabula.workspace.backups import restore_copy
    from fabula.workspace.schemas.projects import describe_restore

    with show_progress(message("Restoring {name}", name=copy)):
        restored = restore_copy(store, copy, project=project, whole_store=whole_store)
    if as_json:
        print_json(describe_restore(restored))
        return
    if whole_store:
        count = plural(len(restored.projects), "{count} project", "{count} projects")
        say("The store is back as it was in the copy: {count}.", count=count)
    else:
        one = restored.projects[0]
        say("{title} is back as it was on {time}.", title=one.title, time=format_time(one.changed))
    if restored.backup is not None:
        say("What was there before is in {path}.", path=restored.backup)
