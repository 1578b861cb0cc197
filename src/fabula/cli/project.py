"""`fabula project`: rename, delete, restore and describe a project, and change its language."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import find_project, open_workspace
from fabula.cli.options import JSON, PROJECT, STORE
from fabula.cli.output import format_time, print_json, print_line, quote_name, render, say, translate
from fabula.cli.tables import Column, print_list
from fabula.cli.value_names import name_value
from fabula.core.messages import message, plural

commands = CommandGroup("project", help="Rename, delete and restore a project.")


@commands.command()
def info(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """Say what a project holds.

    Example: fabula project info "The Lantern Coast"
    """
    with open_workspace(store) as workspace:
        found = workspace.describe_contents(find_project(workspace, project).id)
    if as_json:
        print_json(found)
        return
    print_line(found.title)
    counts = [
        plural(found.chapters, "{count:,} chapter", "{count:,} chapters"),
        plural(found.characters, "{count:,} character", "{count:,} characters"),
        plural(found.entries, "{count:,} codex entry", "{count:,} codex entries"),
        plural(found.constraints, "{count:,} constraint", "{count:,} constraints"),
        plural(found.memories, "{count:,} memory", "{count:,} memories"),
        plural(found.lorebooks, "{count:,} lorebook", "{count:,} lorebooks"),
        plural(found.conversations, "{count:,} conversation", "{count:,} conversations"),
        plural(found.runs, "{count:,} answer of a model", "{count:,} answers of a model"),
    ]
    for count in counts:
        print_line(f"  {render(count)}")
    times = {"made": format_time(found.made), "changed": format_time(found.changed)}
    say("Language {language}, made {made}, changed {changed}.", language=name_value(found.language), **times)
    if found.series:
        say("It belongs to the series {series}.", series=found.series)


@commands.command()
def rename(
    project: PROJECT,
    title: Annotated[str, Argument(help="The new title.")],
    yes: Annotated[bool, Option("--yes", "-y", help="Also if another project has this title.")] = False,
    store: STORE = None,
) -> None:
    """Give a project another title.

    Example: fabula project rename "The Lantern Coast" "The Lamp"
    """
    with open_workspace(store) as workspace:
        old = find_project(workspace, project).view.project.title
        renamed = workspace.rename_project(project, title, allow_duplicate=yes)
    say("{old} is now {new}.", old=old, new=renamed.title)


@commands.command()
def language(
    project: PROJECT,
    language: Annotated[str, Argument(help="en or zh.")],
    store: STORE = None,
) -> None:
    """Say in which language a project is written.

    Example: fabula project language "The Lantern Coast" en
    """
    with open_workspace(store) as workspace:
        changed = workspace.change_language(find_project(workspace, project).id, language)
    say("{title} is written in {language}.", title=changed.title, language=name_value(changed.language))


@commands.command()
def delete(
    project: PROJECT,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    store: STORE = None,
) -> None:
    """Delete a project with everything in it. For a while it can be restored.

    Example: fabula project delete "The Lantern Coast"
    """
    with open_workspace(store) as workspace:
        found = find_project(workspace, project)
        title = found.view.project.title
        if not yes and not typer.confirm(translate("Delete {title} with everything in it?", title=title)):
            say("Nothing was deleted.")
            return
        deleted = workspace.delete_project(found.id)
        titles = [one.title for one in workspace.list_deleted_projects()]
    name = quote_name(title) if titles.count(title) == 1 else "1"  # the latest is the first of the list
    say("{title} is deleted. To bring it back: fabula project restore {name}", title=deleted.title, name=name)


@commands.command()
def restore(
    project: Annotated[
        str | None, Argument(help="A deleted project, by its title, number or id; all are listed if left out.")
    ] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Bring a deleted project back, with everything in it.

    Example: fabula project restore "The Lantern Coast"
    """
    from fabula.workspace.schemas.changes import describe_deleted

    with open_workspace(store) as workspace:
        if project is None:
            deleted = workspace.list_deleted_projects()
            empty = message("No deleted project can be restored.")
            print_list(
                deleted,
                describe_deleted,
                [
                    Column(message("title"), lambda one: one.title, style="bold"),
                    Column(message("deleted"), lambda one: format_time(one.deleted_at)),
                ],
                empty,
                as_json,
            )
            return
        restored = workspace.restore_project(project)
    if as_json:
        print_json(describe_deleted(restored))
    else:
        say("{title} is back, with everything in it.", title=restored.title)
