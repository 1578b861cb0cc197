"""Commands about what a model wrote: look at it, take it or leave it, and see what it cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.desk import print_json
from fabula.cli.projects import JSON, PROJECT, STORE, open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.llm.runs import Run
    from fabula.settling import Taken
    from fabula.store.store import Store

RUN = Annotated[str, typer.Argument(help="The run's id, or the beginning of it.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    for name, command in (("runs", list_runs), ("cost", cost), ("accept", accept_run), ("reject", reject_run)):
        app.command(name=name)(command)


def list_runs(
    project: PROJECT,
    run: Annotated[str | None, typer.Argument(help="One run, whole: what it said, saw and broke.")] = None,
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
        ident = None if run is None else run_called(opened, card.id, run)
        with opened.read(project=card.id) as reading:
            found = runs.listed(reading, most=most) if ident is None else [runs.get(reading, ident)]
    if ident is not None and not as_json:
        _show(found[0])
        return
    if as_json:
        print_json([to_builtins(one) for one in found])
        return
    if not found:
        print("No runs yet. Write: fabula write " + project)
    for one in found:
        print(_line(one))


def _show(run: Run) -> None:
    """One run, whole."""
    print(_line(run).splitlines()[0])
    layers = ", ".join(f"{name} {tokens:,}" for name, tokens in run.saw.get("layers", {}).items())
    same = "the same beginning as the prompt before" if run.saw.get("prefix_unchanged") else "a new beginning"
    print(f"Saw {run.saw.get('tokens', 0):,} tokens ({layers}); {same}; ended: {run.saw.get('ended', '')}.")
    print(f"Sources: {', '.join(run.saw.get('sources', ())) or 'none'}")
    for warning in run.saw.get("warnings", ()):
        print(f"Warning: {warning}")
    for number, verdict in enumerate(run.verdicts, start=1):
        for finding in verdict.get("findings", ()):
            print(f"Try {number}: “{finding['words']}”: {finding['reason']} [{finding['breaks']}]")
        if verdict.get("problem"):
            print(f"Try {number}: {verdict['problem']}")
    print(f"\n{run.answer}")


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

    def take(opened: Store, ident: str, run_id: str) -> None:
        text = None if file is None else Path(file).read_text("utf-8")
        print(taken(settling.accept(opened, ident, run_id, text=text)))

    _settle(project, run, store, take)


def reject_run(project: PROJECT, run: RUN, store: STORE = None) -> None:
    """Leave an answer."""
    from fabula import settling

    def leave(opened: Store, ident: str, run_id: str) -> None:
        settling.reject(opened, ident, run_id)
        print("Rejected.")

    _settle(project, run, store, leave)


def _settle(project: str, run: str, store: str | None, act: Callable[[Store, str, str], None]) -> None:
    from fabula.manuscript import projects

    with open_store(store) as opened:
        card = projects.find(opened, project)
        act(opened, card.id, run_called(opened, card.id, run))


def run_called(store: Store, project_id: str, run: str) -> str:
    """The run whose id begins so."""
    from fabula.llm import runs

    with store.read(project=project_id) as reading:
        found = [one.id for one in runs.listed(reading, most=1000) if one.id.startswith(run)]
    if len(found) != 1:
        many = "Several runs begin" if found else "No run begins"
        raise FabulaError(Code.STORE_NOT_FOUND, f"{many} with {run!r}. Look at: fabula runs {project_id}")
    return found[0]


def taken(made: Taken) -> str:
    """What came of an accepted answer, in words."""
    if made.entries:
        return f"Accepted: {', '.join(entry.name for entry in made.entries)}."
    return "Accepted." if made.revision is None else f"Accepted; the document is at revision {made.revision}."
