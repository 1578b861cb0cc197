"""`fabula write`: the model writes into the terminal. Ctrl-C stops it and keeps what came.

The text goes to the standard output and nothing else does, so that it can be sent on; what it cost and what
the judge says goes to the standard error.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.desk import print_json
from fabula.cli.projects import JSON
from fabula.cli.runs import run_called, taken
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.app import Fabula
    from fabula.context.request import Request
    from fabula.skills.judge import Verdict
    from fabula.writing import Finished
    from fabula.writing_terms import Chosen

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
    """Add these commands to the command line."""
    app.command(name="write")(asks(write))
    app.command(name="skills")(list_skills)


def write(
    house: Fabula,
    request: Request,
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

    from fabula.writing_terms import chosen, sized

    named = request.model if request.model != "gpt-4o" else None
    who = chosen(house.store, request.project_id, provider=provider, model=named, base_url=base_url)
    if again is not None:
        request = replace(_again(house, again), window=request.window, encoding=request.encoding)
    request = sized(request, who)
    if selection is not None:
        request = replace(request, selection=_selection(selection))
    if judge is not None:
        if judge not in ("off", "flag", "regenerate"):
            raise FabulaError(Code.REQUEST_INVALID, "--judge is off, flag or regenerate.")
        who = replace(who, terms=replace(who.terms, judging=replace(who.terms.judging, policy=judge)))
    if accept and house.store is None:
        raise FabulaError(Code.REQUEST_INVALID, "Only a project of the store can take an answer: fabula new --from …")
    try:
        ends = asyncio.run(_written(house, request, who, variants))
    except KeyboardInterrupt:
        print("\nStopped; what came is kept.", file=sys.stderr)
        raise typer.Exit(130) from None
    if accept and house.store is not None and ends:
        from fabula.settling import accept as take

        print(taken(take(house.store, request.project_id, ends[0].run_id)), file=sys.stderr)


async def _written(house: Fabula, request: Request, who: Chosen, variants: int) -> list[Finished]:
    from fabula.core.ids import now
    from fabula.llm.providers import provider_at
    from fabula.writing import Again, Broken, Finished, Piece, Writer

    provider = provider_at(who.place)
    writer = Writer(house, provider, store=house.store, terms=who.terms)
    ends: list[Finished] = []
    failure: FabulaError | None = None
    try:
        async for step in writer.write(request, variants=variants, sitting=house.sitting(now())):
            match step:
                case Piece(text=text) if variants == 1:
                    print(text, end="", flush=True)
                case Again(verdict=verdict):
                    print("\n", flush=True)
                    _say_verdict(verdict)
                    print("Written anew:", file=sys.stderr)
                case Finished():
                    if variants > 1:
                        print(f"[{step.variant + 1}]\n{step.text}\n", flush=True)
                    else:
                        print(flush=True)
                    _say_end(step, who)
                    ends.append(step)
                case Broken():
                    print(flush=True)
                    failure = step.error
                case _:
                    pass
    finally:
        await provider.aclose()
    if failure is not None and not ends:
        raise failure
    return ends


def _say_end(end: Finished, who: Chosen) -> None:
    usage, cost = end.usage, end.cost
    read = f"{usage.input_tokens:,} tokens read"
    read += f" ({usage.cached_tokens:,} from the cache)" if usage.cached_tokens else ""
    price = f"{cost.amount:.4f} {cost.currency}" if cost.known else "no price known"
    told = "" if usage.told else ", by our own count"
    if end.why == "handed_over":
        print("Nothing was sent: paste the prompt wherever you like.", file=sys.stderr)
    else:
        print(f"{who.place.name}/{who.model}: {read}, {usage.output_tokens:,} written{told}; {price}.", file=sys.stderr)
    if end.why == "length":
        print("It stopped because its length was used up.", file=sys.stderr)
    _say_verdict(end.verdict)
    if end.run_id:
        print(f"Run {end.run_id}: fabula accept or fabula reject settles it.", file=sys.stderr)


def _say_verdict(verdict: Verdict) -> None:
    found = Counter(
        f"  {'?' if one.hint else '!'} “{one.words}”: {one.reason} [{one.breaks}]" for one in verdict.findings
    )
    for line, times in found.items():
        print(line + (f" ({times} times)" if times > 1 else ""), file=sys.stderr)
    if verdict.problem:
        print(f"  ? {verdict.problem}", file=sys.stderr)


def _selection(said: str) -> tuple[int, int]:
    first, _, last = said.partition(":")
    if not (first.isdigit() and last.isdigit() and int(first) <= int(last)):
        raise FabulaError(Code.REQUEST_INVALID, "--selection is START:END, in characters.")
    return int(first), int(last)


def _again(house: Fabula, run: str) -> Request:
    """The request of an earlier run, whose answer is left."""
    from fabula.settling import again

    if house.store is None:
        raise FabulaError(Code.REQUEST_INVALID, "Only a project of the store has runs: fabula new --from …")
    return again(house.store, house, run_called(house.store, house.view.project.id, run))


def list_skills(
    folder: Annotated[str | None, typer.Option(help="A folder of skills of your own, besides the usual one.")] = None,
    as_json: JSON = False,
) -> None:
    """What the model can be asked to do, and what is wrong with skills that are left out."""
    from pathlib import Path

    from msgspec import to_builtins

    from fabula.skills.files import in_folder
    from fabula.skills.own import own_skills

    shelf = own_skills()
    if folder is not None:
        shelf = shelf.with_files(in_folder(Path(folder)), "folder")
    if as_json:
        print_json({"skills": [to_builtins(skill) for skill in shelf.skills.values()], "problems": shelf.problems})
        return
    for skill in sorted(shelf.skills.values(), key=lambda one: one.id):
        head = f"{skill.id:<12} {skill.called('en'):<20} {', '.join(skill.works_on):<28}"
        print(f"{head} {skill.answer.value} ({skill.origin})")
    for problem in shelf.problems:
        print(problem, file=sys.stderr)
