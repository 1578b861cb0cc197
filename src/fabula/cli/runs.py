"""`fabula runs`, `accept`, `reject` and `cost`: what a model wrote, what becomes of it, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.opening import open_project, print_json, printable, read_text
from fabula.cli.projects import JSON, PROJECT, STORE
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.llm.runs import GenerationRun
    from fabula.workspace.accepting import AcceptedAnswer

RUN = Annotated[str, typer.Argument(help="The run's id, or the beginning of it, or: last.")]
_MILLION = 1_000_000


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command(name="runs")(list_runs)
    app.command()(cost)
    app.command()(accept)
    app.command()(reject)


def list_runs(
    project: PROJECT,
    run: Annotated[str | None, typer.Argument(help="One run, with all it saw, said and broke.")] = None,
    limit: Annotated[int, typer.Option("--most", "-n", min=1, help="How many.")] = 20,
    prompt: Annotated[bool, typer.Option("--prompt", help="The prompt of that run, where it was kept.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List what the model wrote lately, what it cost and what became of it.

    Example: fabula runs "The Lantern Coast" last
    """
    with open_project(project, store) as opened:
        if prompt:
            if run is None:
                raise FabulaError(Code.REQUEST_INVALID, "Name the run whose prompt you want to see.")
            print(opened.runs.read_prompt(run))
            return
        found = opened.runs.list_runs(limit=limit) if run is None else [opened.runs.find(run)]
    if as_json:
        from fabula.workspace.schemas.runs import describe_run

        print_json([describe_run(one) for one in found])
    elif run is not None:
        _show(found[0])
    else:
        if not found:
            print("No runs yet. Write: fabula write " + project)
        for one in found:
            print(_line(one))


def cost(
    project: PROJECT,
    month: Annotated[str, typer.Option(help="A month such as 2026-11; all of it by default.")] = "",
    by: Annotated[str, typer.Option(help="model or skill.")] = "model",
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show what was spent, and how much of what was read came from a cache.

    Example: fabula cost "The Lantern Coast" --month 2026-11 --by skill
    """
    from fabula.workspace.schemas.runs import describe_run_spending

    with open_project(project, store) as opened:
        found = opened.runs.sum_spending(month=month, by=by)
    summary = describe_run_spending(found)
    if as_json:
        print_json(summary)
        return
    for one in found:
        print(
            f"{printable(one.name):<32} {one.run_count:>5} runs  "
            f"{one.input_tokens:>11,} read ({one.cached_share:.0%} cached)  "
            f"{one.output_tokens:>9,} written  {one.micros / _MILLION:.4f} {printable(one.currency)}"
        )
    for currency, micros in summary.total.items():
        print(f"In all: {micros / _MILLION:.4f} {printable(currency)}")
    if not found:
        print("Nothing was spent.")


def accept(
    project: PROJECT,
    run: RUN,
    file: Annotated[str | None, typer.Option("--edited", help="A file with the answer as you changed it.")] = None,
    beat: Annotated[bool, typer.Option("--beat", help="The next beat of the outline is done with it.")] = False,
    store: STORE = None,
) -> None:
    """Put an answer into the document, as it is or as you changed it.

    Example: fabula accept "The Lantern Coast" last --beat
    """
    # Editors end the last line of a file, which is no part of the answer.
    text = None if file is None else read_text(file).removesuffix("\n")
    with open_project(project, store) as opened:
        print(describe_accepted(opened.runs.accept(run, text=text, beat=beat)))


def reject(project: PROJECT, run: RUN, store: STORE = None) -> None:
    """Reject an answer: the document stays as it is.

    Example: fabula reject "The Lantern Coast" last
    """
    with open_project(project, store) as opened:
        opened.runs.reject(run)
    print("Rejected.")


def describe_accepted(answer: AcceptedAnswer) -> str:
    """Say what came of an accepted answer."""
    beat = f" Done: {printable(answer.beat)}" if answer.beat else ""
    if answer.entries:
        return f"Accepted: {', '.join(printable(entry.name) for entry in answer.entries)}.{beat}"
    where = "" if answer.revision is None else f"; the document is at revision {answer.revision}"
    return f"Accepted{where}.{beat}"


def _show(run: GenerationRun) -> None:
    """Print one run; a record may come out of anybody's save, so what makes no sense in it is passed over."""
    summary = run.assembly_summary
    layers = _dict(summary.get("layers"))
    sums = ", ".join(f"{name} {tokens:,}" for name, tokens in layers.items() if isinstance(tokens, int))
    same = "the same beginning as the prompt before" if summary.get("prefix_unchanged") else "a new beginning"
    lines = [
        _line(run).splitlines()[0],
        f"Saw {summary.get('tokens', 0)} tokens ({sums}); {same}; ended: {summary.get('ended', '')}.",
        f"Sources: {', '.join(map(str, _list(summary.get('sources')))) or 'none'}",
        *(f"Warning: {warning}" for warning in _list(summary.get("warnings"))),
    ]
    for number, verdict in enumerate(map(_dict, run.verdicts), start=1):
        lines.extend(
            f"Try {number}: “{finding.get('words')}”: {finding.get('reason')} [{finding.get('breaks')}]"
            for finding in map(_dict, _list(verdict.get("findings")))
        )
        if verdict.get("problem"):
            lines.append(f"Try {number}: {verdict['problem']}")
        if verdict.get("text"):
            lines.append(f"Try {number}, left:\n{verdict['text']}\n")
    for line in (*lines, f"\n{run.answer}"):
        print(printable(line))


def _line(run: GenerationRun) -> str:
    price = f"{run.cost.amount:.4f} {run.cost.currency}" if run.cost.is_known else "no price"
    answer = " ".join(run.answer.split())
    answer = answer if len(answer) <= 60 else f"{answer[:59]}…"
    count = sum(len(_list(verdict.get("findings"))) for verdict in map(_dict, run.verdicts[-1:]))
    findings = f" · {count} found" if count else ""
    head = f"{run.id[:8]}  {run.created_at[:16].replace('T', ' ')}  {run.skill_id:<10} {run.outcome:<8} {run.model}"
    tokens = f"{run.usage.input_tokens:,}+{run.usage.output_tokens:,} tokens"
    return f"{printable(head)}  {tokens} · {printable(price)}{findings}\n          {printable(answer)}"


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
