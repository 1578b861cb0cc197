"""`fabula write`: the model writes into the terminal. Ctrl-C stops it and keeps what came.

The text goes to the standard output and nothing else does, so that it can be sent on; what it cost, what the judge
says and what was left on the way goes to the standard error.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.runs import run_called, taken
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.context.request import Request
    from fabula.workspace.project import Fabula
    from fabula.workspace.writing import Finished
    from fabula.workspace.writing_options import Chosen

PROVIDER = Annotated[
    str | None, typer.Option("--provider", "-p", help="openai, anthropic, ollama, local, clipboard … or one of yours.")
]
BASE_URL = Annotated[str | None, typer.Option(help="The address of any server that speaks as OpenAI does.")]
VARIANTS = Annotated[int, typer.Option("--variants", "-n", min=1, max=8, help="How many answers, side by side.")]
SELECTION = Annotated[str | None, typer.Option(help="The selected text, as START:END in characters.")]
JUDGE = Annotated[str | None, typer.Option(help="off, flag or regenerate; as the project says, by default.")]
AGAIN = Annotated[str | None, typer.Option("--again", help="Leave this run's answer, and ask for another one.")]
ACCEPT = Annotated[bool, typer.Option("--accept", help="Put the answer into the document at once.")]


def register(app: typer.Typer, asks: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
    """Add this command to the command line."""
    app.command(name="write")(asks(write))


def write(
    house: Fabula,
    request: Request,
    context: typer.Context,
    provider: PROVIDER = None,
    base_url: BASE_URL = None,
    variants: VARIANTS = 1,
    selection: SELECTION = None,
    judge: JUDGE = None,
    again: AGAIN = None,
    accept: ACCEPT = False,
) -> None:
    """Let a model write at a place in the story."""
    from msgspec.structs import replace

    from fabula.workspace.writing_options import chosen, sized

    who = chosen(house.store, request.project_id, provider=provider, model=_named(context, request), base_url=base_url)
    if judge is not None:
        if judge not in ("off", "flag", "regenerate"):
            raise FabulaError(Code.REQUEST_INVALID, "--judge is off, flag or regenerate.")
        who = replace(who, terms=replace(who.terms, judging=replace(who.terms.judging, policy=judge)))
    if accept and house.store is None:
        raise FabulaError(Code.REQUEST_INVALID, "Only a project of the store can take an answer: fabula new --from …")
    if accept and variants > 1:
        raise FabulaError(Code.REQUEST_INVALID, "--accept takes one answer: choose among variants with fabula accept.")
    if again is not None:
        request = _again(house, again, request)
    if selection is not None:
        request = replace(request, selection=_selection(selection))
    request = sized(request, who)
    _warn(house, request)
    try:
        ends = asyncio.run(_written(house, request, who, variants))
    except KeyboardInterrupt:
        print("\nStopped; what came is kept.", file=sys.stderr)
        raise typer.Exit(130) from None
    if accept and house.store is not None and ends and ends[0].run_id:
        from fabula.workspace.accepting import accept as take

        print(taken(take(house.store, request.project_id, ends[0].run_id)), file=sys.stderr)


async def _written(house: Fabula, request: Request, who: Chosen, variants: int) -> list[Finished]:
    from fabula.cli.answers import Answers
    from fabula.core.ids import now
    from fabula.llm.providers.factory import provider_at
    from fabula.workspace.writing import Writer

    provider = provider_at(who.place)
    writer = Writer(house, provider, store=house.store, terms=who.terms)
    shown = Answers(f"{who.place.name}/{who.model}", variants, anew=who.terms.judging.policy == "regenerate")
    try:
        async with aclosing(writer.write(request, variants=variants, sitting=house.sitting(now()))) as steps:
            async for step in steps:
                shown.show(step)
    finally:
        await provider.aclose()
        shown.show_rest()
    if shown.failure is not None and not shown.ends:
        raise shown.failure
    return shown.ends


def _named(context: typer.Context, request: Request) -> str | None:
    """The model that was asked for; None where nobody said one."""
    source = context.get_parameter_source("model")
    said = source is not None and source.name == "COMMANDLINE"
    return request.model if said or request.model != "gpt-4o" else None


def _warn(house: Fabula, request: Request) -> None:
    """Which skill it is where that may not be the one that is meant: a project came with it, or a file was left out."""
    from fabula.skills.files import Skills, built_in

    shelf = house.view.room(Skills)
    skill = shelf.skills.get(request.skill_id) if shelf is not None else None
    if shelf is None or skill is None:
        return
    if skill.origin == "project" and skill.id in built_in().skills:
        print(f"The skill {skill.id!r} is this project's own, not the built-in one.", file=sys.stderr)
    for problem in shelf.about(skill.id):
        print(problem, file=sys.stderr)


def _selection(said: str) -> tuple[int, int]:
    first, _, last = said.partition(":")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise FabulaError(Code.REQUEST_INVALID, "--selection is START:END, in characters.")
    return int(first), int(last)


def _again(house: Fabula, run: str, asked: Request) -> Request:
    """The request of an earlier run, whose answer is left; in other words, where there are some."""
    from msgspec.structs import replace

    from fabula.workspace.accepting import again

    if house.store is None:
        raise FabulaError(Code.REQUEST_INVALID, "Only a project of the store has runs: fabula new --from …")
    before = again(house.store, house, run_called(house.store, house.view.project.id, run))
    return replace(
        before,
        window=asked.window,
        encoding=asked.encoding,
        attachments=asked.attachments,
        additional_input=asked.additional_input or before.additional_input,
    )
