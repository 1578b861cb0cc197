"""`fabula skills`: what the model can be asked to do, everywhere or in one project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import JSON, STORE
from fabula.cli.output import current_language, invalid_request, language_of_texts, print_json, warn
from fabula.cli.tables import Column, print_table
from fabula.cli.value_names import name_value, name_values
from fabula.core.messages import message

if TYPE_CHECKING:
    from fabula.skills.model import Skill

commands = CommandGroup()


@commands.command("skills")
def list_skills(
    project: Annotated[
        str | None, Argument(help="A project, a folder or sample:NAME that has skills of its own.")
    ] = None,
    folder: Annotated[Path | None, Option(help="A folder of skills of your own, besides the usual one.")] = None,
    add: Annotated[Path | None, Option(help="Add the file of a skill to a project of the store.")] = None,
    remove: Annotated[str | None, Option(help="Remove a skill from a project of the store.")] = None,
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
            raise invalid_request("Name the project that is to have it. Nothing was changed.")
        found = list_user_skills(folder=folder)
    else:
        with open_project(project, store) as opened:
            if add is not None:
                opened.skills.add(add.name.removesuffix(".toml"), read_skill_file(add))
            if remove is not None:
                opened.skills.remove(remove)
            found = opened.skills.list_skills(folder=folder)
    if as_json:
        print_json(describe_skills(found, current_language()))
        return
    language = language_of_texts()
    columns: list[Column[Skill]] = [
        Column(message("skill"), lambda skill: skill.id, style="bold"),
        Column(message("title"), lambda skill: skill.title_in(language)),
        Column(message("works on"), lambda skill: name_values(skill.works_on)),
        Column(message("its answer"), lambda skill: name_value(skill.answer_action.value)),
        Column(message("from"), lambda skill: name_value(skill.origin)),
    ]
    print_table(sorted(found.skills.values(), key=lambda one: one.id), columns)
    for problem in found.problems:
        warn(problem.message)
