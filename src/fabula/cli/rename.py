"""`fabula codex rename` and `undo-rename`: change a name everywhere, with a preview and an undo (man-4)."""

from __future__ import annotations

from typing import Annotated

import typer

from fabula.cli.opening import open_project, print_json
from fabula.cli.projects import JSON, PROJECT, STORE


def rename(
    project: PROJECT,
    old: Annotated[str, typer.Argument(help="A name as it is now.")],
    new: Annotated[str, typer.Argument(help="What it shall be.")],
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without this, only look.")] = False,
    history: Annotated[bool, typer.Option("--history", help="In conversations too.")] = False,
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
    for place in places:
        print(f"{place.area:<12} {place.label}: {place.before}[{place.words} → {place.replacement}]{place.after}")
    if rename_id:
        print(f"{len(places)} places are renamed. Undo: fabula codex undo-rename {project} {rename_id}")
    else:
        print(f"{len(places)} places. {'Add --apply to rename them.' if places else 'Nothing to rename.'}")


def undo_rename(
    project: PROJECT,
    rename_id: Annotated[str, typer.Argument(metavar="[ID]", help="Which rename; the latest if left out.")] = "",
    store: STORE = None,
) -> None:
    """Undo a rename, if nothing it touched has changed since.

    Example: fabula codex undo-rename "The Lantern Coast"
    """
    with open_project(project, store) as opened:
        undone = opened.codex.undo_rename(rename_id or None)
    print(f"{undone.new} is {undone.old} again in {undone.count} places.")
