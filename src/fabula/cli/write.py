"""`fabula write`: the model writes into the terminal. Ctrl-C stops it and keeps what came.

Only the answer goes to the standard output, so that another program can read it. The cost, the findings of the judge
and texts that were written again go to the standard error.
"""

from __future__ import annotations

import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import ANY_PROJECT, STORE
from fabula.cli.output import invalid_request, print_line, warn
from fabula.cli.request_options import DEFAULT_MODEL, RequestCommand, make_request
from fabula.cli.runs import describe_accepted

if TYPE_CHECKING:
    from fabula.context.request import Request
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.writing import Completed
    from fabula.workspace.writing_options import ModelChoice

commands = CommandGroup()


@commands.command(cls=RequestCommand)
def write(
    context: typer.Context,
    project: ANY_PROJECT,
    provider: Annotated[
        str | None, Option("--provider", "-p", help="openai, anthropic, ollama, clipboard, local …")
    ] = None,
    base_url: Annotated[str | None, Option(help="The address of any server that speaks as OpenAI does.")] = None,
    variants: Annotated[int, Option("--variants", "-n", min=1, max=8, help="How many answers, side by side.")] = 1,
    selection: Annotated[str | None, Option(help="The selected text, as START:END in characters.")] = None,
    judge: Annotated[str | None, Option(help="off, flag or regenerate; as the project says, by default.")] = None,
    again: Annotated[str | None, Option(help="Reject the answer of this run, and ask for another one.")] = None,
    accept: Annotated[bool, Option("--accept", help="Put the answer into the document at once.")] = False,
    store: STORE = None,
) -> None:
    """Let a model write at a place in the story.

    Example: fabula write sample:lantern_coast --skill continue --provider clipboard
    """
    with open_project(project, store) as opened:
        made = make_request(opened, context.obj)
        model = context.obj.model or (made.model if made.model != DEFAULT_MODEL else None)
        choice = opened.choose_model(provider=provider, model=model, base_url=base_url, judge=judge)
        if accept:
            opened.runs.check_acceptable(variants=variants)
        if again is not None:
            made = opened.runs.request_again(again, made)
        if selection is not None:
            made = _select(made, selection)
        for problem in opened.describe_skill_problems(made.skill_id):
            print_line(problem, file=sys.stderr)
        try:
            import asyncio

            completed = asyncio.run(_write(opened, project, made, choice, variants))
        except KeyboardInterrupt:
            warn("\nStopped; what came is kept.")
            raise typer.Exit(130) from None
        if accept and completed and completed[0].run_id:
            warn(describe_accepted(opened.runs.accept(completed[0].run_id)))


async def _write(
    project: ProjectHandle, name: str, request: Request, choice: ModelChoice, variants: int
) -> list[Completed]:
    from fabula.cli.answers import AnswerPrinter

    if choice.reason is not None:
        warn("{model} writes, because {reason}.", model=f"{choice.provider.name}/{choice.model}", reason=choice.reason)
    printer = AnswerPrinter(
        name,
        f"{choice.provider.name}/{choice.model}",
        variants,
        may_retry=choice.options.judge.policy == "regenerate",
        rule_numbers=project.constraints.number_all(),
    )
    printer.wait()
    try:
        async with aclosing(project.write(request, choice, variants=variants)) as events:
            async for event in events:
                printer.show(event)
    finally:
        printer.show_rest()
        if any(answer.run_id for answer in printer.completed):
            runs = project.runs.list_runs(limit=2 * variants)
            printer.print_next_steps({run.id: number for number, run in enumerate(runs, start=1)})
    if printer.failure is not None and not printer.completed:
        raise printer.failure
    return printer.completed


def _select(request: Request, selection: str) -> Request:
    from msgspec.structs import replace

    first, _, last = selection.partition(":")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise invalid_request("--selection is START:END, in characters.")
    return replace(request, selection=(int(first), int(last)))
