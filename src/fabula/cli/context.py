"""`fabula assemble`, `inspect`, `why` and `samples`: what a model would be told at a place in the story."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import ANY_PROJECT, JSON, STORE
from fabula.cli.output import current_language, print_json, print_raw, say
from fabula.cli.request_options import RequestCommand, make_request
from fabula.cli.tables import Column, print_table
from fabula.cli.value_names import name_value
from fabula.core.messages import message

commands = CommandGroup()


@commands.command(cls=RequestCommand)
def assemble(
    context: typer.Context,
    project: ANY_PROJECT,
    quiet: Annotated[bool, Option("--quiet", "-q", help="The prompt and nothing else.")] = False,
    short: Annotated[bool, Option("--short", help="The first lines of each part, and how to see all.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Assemble the prompt for a place in the story.

    Example: fabula assemble sample:lantern_coast --document ch-03 --window 8192
    """
    from fabula.core.ids import current_timestamp
    from fabula.workspace.schemas.context import describe_prompt

    with open_project(project, store) as opened:
        request = make_request(opened, context.obj)
        result = opened.assemble(request, working_memory=opened.working_memory(current_timestamp()))
        if as_json:
            print_json(describe_prompt(result))
        elif quiet:
            print_raw(result.prompt)
        elif short:
            from fabula.cli.show import show_outline

            show_outline(opened, request, result)
            say("To see the whole prompt, leave out --short. Why each part is in it or not: fabula inspect")
        else:
            from fabula.cli.show import show_assembly

            show_assembly(opened, request, result)


@commands.command(cls=RequestCommand)
def inspect(context: typer.Context, project: ANY_PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """Look inside a prompt: every fragment, in or out, and why.

    Example: fabula inspect sample:lantern_coast --document ch-03
    """
    from fabula.core.ids import current_timestamp
    from fabula.workspace.schemas.context import describe_inspection

    with open_project(project, store) as opened:
        request = make_request(opened, context.obj)
        result = opened.inspect(request, working_memory=opened.working_memory(current_timestamp()))
        if as_json:
            print_json(describe_inspection(result, current_language()))
        else:
            from fabula.cli.show import show_inspection

            show_inspection(opened, request, result)


@commands.command(cls=RequestCommand)
def why(
    context: typer.Context,
    name: Annotated[str, Argument(help="A name, a title or a source.")],
    project: ANY_PROJECT,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Say why something is, or is not, in the prompt.

    Example: fabula why "Mara Venn" sample:lantern_coast --document ch-03
    """
    from fabula.core.ids import current_timestamp
    from fabula.workspace.schemas.context import describe_explanation

    with open_project(project, store) as opened:
        request = make_request(opened, context.obj)
        result = opened.inspect(request, working_memory=opened.working_memory(current_timestamp()))
        verdicts = opened.explain(result, name)
    if as_json:
        print_json(describe_explanation(name, verdicts, current_language()))
    else:
        from fabula.cli.show import show_why

        show_why(name, verdicts)
    if not verdicts:
        raise typer.Exit(1)


@commands.command()
def samples() -> None:
    """List the sample stories that come with Fabula."""
    from fabula.workspace.read_only import read_view, sample_names

    projects = {name: read_view(f"sample:{name}").project for name in sample_names()}
    columns: list[Column[str]] = [
        Column(message("name"), lambda name: f"sample:{name}", style="bold"),
        Column(message("title"), lambda name: projects[name].title),
        Column(message("language"), lambda name: name_value(projects[name].language)),
    ]
    print_table(list(projects), columns)
