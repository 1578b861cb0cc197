"""`fabula assemble`, `inspect`, `why` and `samples`: what a model would be told at a place in the story."""

from __future__ import annotations

from typing import Annotated

import typer

from fabula.cli.opening import open_project, print_json
from fabula.cli.projects import JSON, STORE
from fabula.cli.request_options import (
    ATTACH,
    CHARACTER,
    CONVERSATION,
    CURSOR,
    DOCUMENT,
    EXCLUDE,
    EYES,
    INCLUDE,
    INSTRUCTION,
    LATE,
    MODEL,
    PROJECT,
    RECIPE,
    REQUEST,
    SKILL,
    WINDOW,
    make_request,
)


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command()(assemble)
    app.command()(inspect)
    app.command()(why)
    app.command()(samples)


def assemble(
    project: PROJECT,
    document: DOCUMENT = None,
    cursor: CURSOR = None,
    skill: SKILL = "continue",
    instruction: INSTRUCTION = "",
    model: MODEL = "gpt-4o",
    window: WINDOW = None,
    recipe: RECIPE = "",
    eyes: EYES = None,
    character: CHARACTER = None,
    conversation: CONVERSATION = "",
    include: INCLUDE = None,
    exclude: EXCLUDE = None,
    late: LATE = None,
    attach: ATTACH = None,
    request: REQUEST = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="The prompt and nothing else.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Assemble the prompt for a place in the story.

    Example: fabula assemble sample:lantern_coast --document ch-03 --window 8192
    """
    from fabula.core.ids import current_timestamp
    from fabula.workspace.schemas import context

    with open_project(project, store) as opened:
        made = make_request(
            opened,
            document=document,
            cursor=cursor,
            skill=skill,
            instruction=instruction,
            model=model,
            window=window,
            recipe=recipe,
            eyes=eyes,
            character=character,
            conversation=conversation,
            include=include,
            exclude=exclude,
            late=late,
            attach=attach,
            request=request,
        )
        result = opened.assemble(made, working_memory=opened.working_memory(current_timestamp()))
        if as_json:
            print_json(context.describe_prompt(result))
        elif quiet:
            print(result.prompt)
        else:
            from fabula.cli.show import show_assembly

            show_assembly(opened, made, result)


def inspect(
    project: PROJECT,
    document: DOCUMENT = None,
    cursor: CURSOR = None,
    skill: SKILL = "continue",
    instruction: INSTRUCTION = "",
    model: MODEL = "gpt-4o",
    window: WINDOW = None,
    recipe: RECIPE = "",
    eyes: EYES = None,
    character: CHARACTER = None,
    conversation: CONVERSATION = "",
    include: INCLUDE = None,
    exclude: EXCLUDE = None,
    late: LATE = None,
    attach: ATTACH = None,
    request: REQUEST = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Look inside a prompt: every fragment, in or out, and why.

    Example: fabula inspect sample:lantern_coast --document ch-03
    """
    from fabula.core.ids import current_timestamp
    from fabula.workspace.schemas import context

    with open_project(project, store) as opened:
        made = make_request(
            opened,
            document=document,
            cursor=cursor,
            skill=skill,
            instruction=instruction,
            model=model,
            window=window,
            recipe=recipe,
            eyes=eyes,
            character=character,
            conversation=conversation,
            include=include,
            exclude=exclude,
            late=late,
            attach=attach,
            request=request,
        )
        result = opened.inspect(made, working_memory=opened.working_memory(current_timestamp()))
        if as_json:
            print_json(context.describe_inspection(result))
        else:
            from fabula.cli.show import show_inspection

            show_inspection(opened, made, result)


def why(
    name: Annotated[str, typer.Argument(help="A name, a title or a source.")],
    project: PROJECT,
    document: DOCUMENT = None,
    cursor: CURSOR = None,
    skill: SKILL = "continue",
    instruction: INSTRUCTION = "",
    model: MODEL = "gpt-4o",
    window: WINDOW = None,
    recipe: RECIPE = "",
    eyes: EYES = None,
    character: CHARACTER = None,
    conversation: CONVERSATION = "",
    include: INCLUDE = None,
    exclude: EXCLUDE = None,
    late: LATE = None,
    attach: ATTACH = None,
    request: REQUEST = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Say why something is, or is not, in the prompt.

    Example: fabula why "Mara Venn" sample:lantern_coast --document ch-03
    """
    from fabula.core.ids import current_timestamp
    from fabula.workspace.schemas import context

    with open_project(project, store) as opened:
        made = make_request(
            opened,
            document=document,
            cursor=cursor,
            skill=skill,
            instruction=instruction,
            model=model,
            window=window,
            recipe=recipe,
            eyes=eyes,
            character=character,
            conversation=conversation,
            include=include,
            exclude=exclude,
            late=late,
            attach=attach,
            request=request,
        )
        verdicts = opened.inspect(made, working_memory=opened.working_memory(current_timestamp())).explain(name)
    if as_json:
        print_json(context.describe_explanation(name, verdicts))
    else:
        from fabula.cli.show import show_why

        show_why(name, verdicts)
    if not verdicts:
        raise typer.Exit(1)


def samples() -> None:
    """List the sample stories that come with Fabula."""
    from fabula.workspace.read_only import read_view, sample_names

    for name in sample_names():
        project = read_view(f"sample:{name}").project
        print(f"sample:{name:<16} {project.title} ({project.language})")
