"""`fabula codex rename`: a name changed everywhere, with a look first and a way back."""

from __future__ import annotations

from typing import Annotated

import typer

from fabula.cli.desk import print_json, writing
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
    """Rename everywhere: manuscript, codex, constraints, memory. Shows every place first."""
    from msgspec import to_builtins

    from fabula.workspace.rename import rename as renaming

    with writing(project, store) as tx:
        places = renaming.preview(tx, old, new, history=history)
        done = renaming.apply(tx, old, new, history=history) if apply and places else ""
    if as_json:
        print_json({"places": to_builtins(places), "rename": done})
        return
    for place in places:
        print(f"{place.room:<12} {place.label}: {place.before}[{place.words} → {place.becomes}]{place.after}")
    if done:
        print(f"{len(places)} places are renamed. Undo: fabula codex undo-rename {project} {done}")
    else:
        print(f"{len(places)} places. {'Add --apply to rename them.' if places else 'Nothing to rename.'}")


def undo_rename(
    project: PROJECT,
    ident: Annotated[str, typer.Argument(help="Which rename; the latest if left out.")] = "",
    store: STORE = None,
) -> None:
    """Take a rename back, if nothing it touched has changed since."""
    from fabula.workspace.rename import rename as renaming

    with writing(project, store) as tx:
        back = renaming.undo(tx, ident or None)
    print(f"{back.new} is {back.old} again in {back.count} places.")
