"""`fabula codex rename` and `undo-rename`: change a name everywhere, with a preview and an undo (man-4)."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import JSON, PROJECT, STORE
from fabula.cli.output import print_json, print_line, render, say
from fabula.core.messages import plural

commands = CommandGroup()


@commands.command()
def rename(
    project: PROJECT,
    old: Annotated[str, Argument(help="A name as it is now.")],
    new: Annotated[str, Argument(help="What it shall be.")],
    apply: Annotated[bool, Option("--apply", help="Rename; without this, the places are only shown.")] = False,
    history: Annotated[bool, Option("--history", help="In conversations too.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Rename everywhere: manuscript, codex, constraints, memory. Shows every place first.

    Example: fabula codex rename "The Lantern Coast" Mara Maren --apply
    """
    from fabula.workspace.schemas.codex import describe_rename

    with open_project(project, store) as opened:
        places = opened.codex.preview_rename(old, new, history=history)
        rename_id = opened.codex.rename(old, new, history=history) if apply and places else ""
    if as_json:
        print_json(describe_rename(places, rename_id))
        return
    for one in places:
        change = f"{one.before}[{one.words} → {one.replacement}]{one.after}"
        print_line(f"{one.area:<12} {render(one.label)}: {change}")
    count = plural(len(places), "{count} place", "{count} places")
    if rename_id:
        undo = f"fabula codex undo-rename {project} {rename_id}"
        say("Renamed in {places}. Undo: {command}", places=count, command=undo)
    elif places:
        say("Found in {places}. Add --apply to rename.", places=count)
    else:
        say("{name} was found nowhere. There is nothing to rename.", name=old)


@commands.command("undo-rename")
def undo_rename(
    project: PROJECT,
    rename_id: Annotated[str, Argument(metavar="[ID]", help="Which rename; the latest if left out.")] = "",
    store: STORE = None,
) -> None:
    """Undo a rename, if nothing it touched has changed since.

    Example: fabula codex undo-rename "The Lantern Coast"
    """
    with open_project(project, store) as opened:
        undone = opened.codex.undo_rename(rename_id or None)
    places = plural(undone.count, "{count} place", "{count} places")
    say("{new} is {old} again in {places}.", new=undone.new, old=undone.old, places=places)
