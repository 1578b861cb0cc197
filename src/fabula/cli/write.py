"""`fabula write`: the model writes into the terminal. Ctrl-C stops it and keeps what came.

The text goes to the standard output and nothing else does, so that it can be sent on; what it cost and what
the judge says goes to the standard error.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.desk import print_json
from fabula.cli.projects import JSON, PROJECT, STORE, open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.app import Fabula
    from fabula.context.request import Request
    from fabula.llm.runs import Run
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
ACCEPT = Annotated[bool, typer.Option("--accept", help="Put the answer into the document at once.")]
RUN = Annotated[str, typer.Argument(help="The run's id, or the beginning of it.")]


def register(app: typer.Typer, asks: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
    """Add these commands to the command line."""
    app.command(name="write")(asks(write))
    for name, command in (
        ("runs", list_runs),
        ("cost", cost),
        ("accept", accept_run),
        ("reject", reject_run),
        ("skills", list_skills),
    ):
        app.command(name=name)(command)


def write(
    house: Fabula,
    request: Request,
    provider: PROVIDER = None,
    base_url: BASE_URL = None,
    variants: VARIANTS = 1,
    selection: SELECTION = None,
    judge: JUDGE = None,
    accept: ACCEPT = False,
) -> None:
    """Let a model write at a place in the story."""
    from msgspec.structs import replace

    from fabula.writing_terms import USUAL_MODELS, chosen

    named = request.model if request.model != "gpt-4o" else None
    who = chosen(house.store, request.project_id, provider=provider, model=named, base_url=base_url)
    request = replace(request, model=who.model)
    if selection is not None:
        request = replace(request, selection=_selection(selection))
    if request.window is None and who.model not in USUAL_MODELS.values() and base_url:
        request = replace(request, window=8192, encoding=request.encoding or "o200k_base")
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

        take(house.store, request.project_id, ends[0].run_id)
        print(f"Accepted into {request.document_id}.", file=sys.stderr)


async def _written(house: Fabula, request: Request, who: Chosen, variants: int) -> list[Finished]:
    from fabula.llm.providers import provider_at
    from fabula.writing import Again, Broken, Finished, Piece, Writer

    provider = provider_at(who.place)
    writer = Writer(house, provider, store=house.store, terms=who.terms)
    ends: list[Finished] = []
    failure: FabulaError | None = None
    try:
        async for step in writer.write(request, variants=variants):
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
    for finding in verdict.findings:
        sign = "?" if finding.hint else "!"
        print(f"  {sign} “{finding.words}”: {finding.reason} [{finding.breaks}]", file=sys.stderr)
    if verdict.problem:
        print(f"  ? {verdict.problem}", file=sys.stderr)


def _selection(said: str) -> tuple[int, int]:
    first, _, last = said.partition(":")
    if not (first.isdigit() and last.isdigit() and int(first) <= int(last)):
        raise FabulaError(Code.REQUEST_INVALID, "--selection is START:END, in characters.")
    return int(first), int(last)


def list_runs(
    project: PROJECT,
    most: Annotated[int, typer.Option("--most", "-n", min=1, help="How many.")] = 20,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """What the model wrote lately, what it cost and what became of it."""
    from msgspec import to_builtins

    from fabula.llm import runs
    from fabula.manuscript import projects

    with open_store(store) as opened:
        card = projects.find(opened, project)
        with opened.read(project=card.id) as reading:
            found = runs.listed(reading, most=most)
    if as_json:
        print_json([to_builtins(run) for run in found])
        return
    if not found:
        print("No runs yet. Write: fabula write " + project)
    for run in found:
        print(_line(run))


def _line(run: Run) -> str:
    cost = f"{run.cost.amount:.4f} {run.cost.currency}" if run.cost.known else "no price"
    said = " ".join(run.answer.split())
    said = said if len(said) <= 60 else f"{said[:59]}…"
    flags = sum(len(verdict.get("findings", ())) for verdict in run.verdicts[-1:])
    judged = f" · {flags} found" if flags else ""
    head = f"{run.id[:8]}  {run.at[:16].replace('T', ' ')}  {run.skill_id:<10} {run.outcome:<8} {run.model}"
    return f"{head}  {run.usage.input_tokens:,}+{run.usage.output_tokens:,} tokens · {cost}{judged}\n          {said}"


def cost(
    project: PROJECT,
    month: Annotated[str, typer.Option(help="A month such as 2026-11; all of it by default.")] = "",
    by: Annotated[str, typer.Option(help="model or skill.")] = "model",
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """What was spent, and how much of what was read came from a cache."""
    from msgspec import to_builtins

    from fabula.llm import runs
    from fabula.manuscript import projects

    if by not in ("model", "skill"):
        raise FabulaError(Code.REQUEST_INVALID, "--by is model or skill.")
    with open_store(store) as opened:
        card = projects.find(opened, project)
        with opened.read(project=card.id) as reading:
            found = runs.spent(reading, month=month, by="model" if by == "model" else "skill")
    if as_json:
        print_json({"spent": [to_builtins(one) for one in found], "total": runs.total(found)})
        return
    for one in found:
        share = f"{one.cached_share:.0%} cached"
        print(
            f"{one.name:<32} {one.runs:>5} runs  {one.input_tokens:>11,} read ({share})  "
            f"{one.output_tokens:>9,} written  {one.micros / 1_000_000:.4f} {one.currency}"
        )
    for currency, micros in runs.total(found).items():
        print(f"In all: {micros / 1_000_000:.4f} {currency}")
    if not found:
        print("Nothing was spent.")


def accept_run(
    project: PROJECT,
    run: RUN,
    file: Annotated[str | None, typer.Option("--edited", help="A file with the answer as you changed it.")] = None,
    store: STORE = None,
) -> None:
    """Take an answer into the document, as it is or as you changed it."""
    from pathlib import Path

    from fabula import settling

    def take(opened: Any, ident: str, run_id: str) -> None:
        text = None if file is None else Path(file).read_text("utf-8")
        revision = settling.accept(opened, ident, run_id, text=text)
        print("Accepted." if revision is None else f"Accepted; the document is at revision {revision}.")

    _settle(project, run, store, take)


def reject_run(project: PROJECT, run: RUN, store: STORE = None) -> None:
    """Leave an answer."""
    from fabula import settling

    def leave(opened: Any, ident: str, run_id: str) -> None:
        settling.reject(opened, ident, run_id)
        print("Rejected.")

    _settle(project, run, store, leave)


def _settle(project: str, run: str, store: str | None, act: Callable[[Any, str, str], None]) -> None:
    from fabula.llm import runs
    from fabula.manuscript import projects

    with open_store(store) as opened:
        card = projects.find(opened, project)
        with opened.read(project=card.id) as reading:
            found = [one.id for one in runs.listed(reading, most=1000) if one.id.startswith(run)]
        if len(found) != 1:
            many = "several runs begin" if found else "no run begins"
            raise FabulaError(Code.STORE_NOT_FOUND, f"{many.capitalize()} with {run!r}. Look at: fabula runs {project}")
        act(opened, card.id, found[0])


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
