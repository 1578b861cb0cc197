"""`fabula skills`: what the model can be asked to do, by anybody or in one project, and what is wrong with the rest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.desk import looking, print_json, writing
from fabula.cli.projects import JSON, STORE
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.skills.files import Skills
    from fabula.skills.model import Skill


def register(app: typer.Typer) -> None:
    """Add this command to the command line."""
    app.command(name="skills")(list_skills)


def list_skills(
    project: Annotated[
        str | None, typer.Argument(help="A project, a folder or sample:NAME, with the skills it brings along.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="A folder of skills of your own, besides the usual one.")] = None,
    add: Annotated[Path | None, typer.Option(help="Keep a skill's file with a project of the store.")] = None,
    remove: Annotated[str | None, typer.Option(help="Take a skill out of a project of the store.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """What the model can be asked to do, and what is wrong with skills that are left out."""
    from fabula.skills.files import in_folder

    if project is None and (add is not None or remove is not None):
        raise FabulaError(Code.REQUEST_INVALID, "Name the project that is to have it. Nothing was changed.")
    if project is not None and (add is not None or remove is not None):
        _change(project, store, add, remove)
    shelf = _shelf(project, store)
    if folder is not None:
        shelf = shelf.with_files(in_folder(folder), "folder")
    if as_json:
        found = [_json(skill) for skill in shelf.skills.values()]
        print_json({"skills": found, "problems": list(shelf.problems)})
        return
    for skill in sorted(shelf.skills.values(), key=lambda one: one.id):
        head = f"{skill.id:<12} {skill.called('en'):<20} {', '.join(skill.works_on):<28}"
        print(f"{head} {skill.answer.value} ({skill.origin})")
    for problem in shelf.problems:
        print(problem, file=sys.stderr)


def _shelf(project: str | None, store: str | None) -> Skills:
    from fabula.skills.files import Skills, built_in
    from fabula.skills.project_skills import own_skills

    if project is None:
        return own_skills()
    with looking(project, store) as view:
        return view.room(Skills) or built_in()


def _change(project: str, store: str | None, add: Path | None, remove: str | None) -> None:
    from fabula.skills.files import text_of
    from fabula.skills.project_skills import keep, leave

    text = None if add is None else text_of(add)
    with writing(project, store) as tx:
        if add is not None and text is not None:
            keep(tx, add.name.removesuffix(".toml"), text)
        if remove is not None:
            leave(tx, remove)


def _json(skill: Skill) -> dict[str, object]:
    return {
        "id": skill.id,
        "title": dict(skill.title),
        "recipe": skill.recipe,
        "worksOn": list(skill.works_on),
        "answer": skill.answer.value,
        "eyes": None if skill.eyes is None else skill.eyes.value,
        "template": dict(skill.says),
        "model": {
            "temperature": skill.wishes.temperature,
            "topP": skill.wishes.top_p,
            "maxTokens": skill.wishes.max_tokens,
            "stop": list(skill.wishes.stop),
        },
        "origin": skill.origin,
    }
