"""`fabula skills`: what the model can be asked to do, everywhere or in one project."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fabula.cli.opening import open_project, print_json
from fabula.cli.projects import JSON, STORE
from fabula.core.errors import Code, FabulaError


def register(app: typer.Typer) -> None:
    """Add this command to the command line."""
    app.command(name="skills")(list_skills)


def list_skills(
    project: Annotated[
        str | None, typer.Argument(help="A project, a folder or sample:NAME, with the skills it brings along.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="A folder of skills of your own, besides the usual one.")] = None,
    add: Annotated[Path | None, typer.Option(help="Add the file of a skill to a project of the store.")] = None,
    remove: Annotated[str | None, typer.Option(help="Remove a skill from a project of the store.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List what the model can be asked to do, and what is wrong with skills that are left out.

    Example: fabula skills "The Lantern Coast" --add sing.toml
    """
    from fabula.skills.files import read_skill_file
    from fabula.workspace.schemas.skills import describe_skills
    from fabula.workspace.skills import list_user_skills

    if project is None:
        if add is not None or remove is not None:
            raise FabulaError(Code.REQUEST_INVALID, "Name the project that is to have it. Nothing was changed.")
        found = list_user_skills(folder=folder)
    else:
        with open_project(project, store) as opened:
            if add is not None:
                opened.skills.add(add.name.removesuffix(".toml"), read_skill_file(add))
            if remove is not None:
                opened.skills.remove(remove)
            found = opened.skills.list_skills(folder=folder)
    if as_json:
        print_json(describe_skills(found))
        return
    for skill in sorted(found.skills.values(), key=lambda one: one.id):
        head = f"{skill.id:<12} {skill.title_in('en'):<20} {', '.join(skill.works_on):<28}"
        print(f"{head} {skill.answer_action.value} ({skill.origin})")
    for problem in found.problems:
        print(problem.sentence, file=sys.stderr)
