"""Commands about what a model wrote: look at it, take it or leave it, and see what it cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.desk import print_json
from fabula.cli.projects import JSON, PROJECT, STORE, open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.llm.runs import Run, Spent
    from fabula.store.store import Store
    from fabula.workspace.accepting import Taken

RUN = Annotated[str, typer.Argument(help="The run's id, or the beginning of it, or: last.")]
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MONTH = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")


def plain(text: str) -> str:
    """A text for the terminal: what a model or a save made up cannot steer it."""
    return _CONTROL.sub("", text)


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    for name, command in (("runs", list_runs), ("cost", cost), ("accept", accept_run), ("reject", reject_run)):
        app.command(name=name)(command)


def list_runs(
    project: PROJECT,
    run: Annotated[str | None, typer.Argument(help="One run, whole: what it said, saw and broke.")] = None,
    most: Annotated[int, typer.Option("--most", "-n", min=1, help="How many.")] = 20,
    prompt: Annotated[bool, typer.Option("--prompt", help="The prompt of that run, where it was kept.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """What the model wrote lately, what it cost and what became of it."""
    from fabula.llm import runs
    from fabula.manuscript import projects

    with open_store(store) as opened:
        card = projects.find(opened, project)
        ident = None if run is None else run_called(opened, card.id, run)
        with opened.read(project=card.id) as reading:
            found = runs.listed(reading, most=most) if ident is None else [runs.get(reading, ident)]
    if prompt:
        print(_prompt(found[0] if ident is not None else None))
        return
    if as_json:
        print_json([_json(one) for one in found])
        return
    if ident is not None:
        _show(found[0])
        return
    if not found:
        print("No runs yet. Write: fabula write " + project)
    for one in found:
        print(_line(one))


def _prompt(run: Run | None) -> str:
    if run is None or run.prompt is None:
        raise FabulaError(
            Code.REQUEST_INVALID,
            "Name a run whose prompt was kept. Prompts are kept from now on with: "
            "fabula setting set PROJECT runs.keepPrompts true",
        )
    return run.prompt


def _show(run: Run) -> None:
    """One run, whole: a record may come out of anybody's save, so what makes no sense in it is passed over."""
    print(_line(run).splitlines()[0])
    layers = _table(run.saw.get("layers"))
    sums = ", ".join(f"{name} {tokens:,}" for name, tokens in layers.items() if isinstance(tokens, int))
    same = "the same beginning as the prompt before" if run.saw.get("prefix_unchanged") else "a new beginning"
    print(plain(f"Saw {run.saw.get('tokens', 0)} tokens ({sums}); {same}; ended: {run.saw.get('ended', '')}."))
    print(plain(f"Sources: {', '.join(map(str, _list(run.saw.get('sources')))) or 'none'}"))
    for warning in _list(run.saw.get("warnings")):
        print(plain(f"Warning: {warning}"))
    for number, verdict in enumerate(map(_table, run.verdicts), start=1):
        for finding in map(_table, _list(verdict.get("findings"))):
            said = f"“{finding.get('words')}”: {finding.get('reason')} [{finding.get('breaks')}]"
            print(plain(f"Try {number}: {said}"))
        if verdict.get("problem"):
            print(plain(f"Try {number}: {verdict['problem']}"))
        if verdict.get("text"):
            print(plain(f"Try {number}, left:\n{verdict['text']}\n"))
    print(plain(f"\n{run.answer}"))


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _json(run: Run) -> dict[str, object]:
    return {
        "id": run.id,
        "at": run.at,
        "skillId": run.skill_id,
        "model": run.model,
        "documentId": run.document_id or None,
        "conversationId": run.conversation_id or None,
        "outcome": run.outcome,
        "answer": run.answer,
        "verdicts": list(run.verdicts),
        "saw": dict(run.saw),
        "stablePrefixHash": run.prefix_hash,
        "prompt": run.prompt,
        "usage": {
            "inputTokens": run.usage.input_tokens,
            "cachedTokens": run.usage.cached_tokens,
            "writtenTokens": run.usage.written_tokens,
            "outputTokens": run.usage.output_tokens,
            "told": run.usage.told,
        },
        "cost": {"micros": run.cost.micros, "currency": run.cost.currency, "known": run.cost.known},
    }


def _line(run: Run) -> str:
    cost = f"{run.cost.amount:.4f} {run.cost.currency}" if run.cost.known else "no price"
    said = " ".join(run.answer.split())
    said = said if len(said) <= 60 else f"{said[:59]}…"
    flags = sum(len(_list(verdict.get("findings"))) for verdict in map(_table, run.verdicts[-1:]))
    judged = f" · {flags} found" if flags else ""
    head = f"{run.id[:8]}  {run.at[:16].replace('T', ' ')}  {run.skill_id:<10} {run.outcome:<8} {run.model}"
    used = f"{run.usage.input_tokens:,}+{run.usage.output_tokens:,} tokens"
    return f"{plain(head)}  {used} · {plain(cost)}{judged}\n          {plain(said)}"


def cost(
    project: PROJECT,
    month: Annotated[str, typer.Option(help="A month such as 2026-11; all of it by default.")] = "",
    by: Annotated[str, typer.Option(help="model or skill.")] = "model",
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """What was spent, and how much of what was read came from a cache."""
    from fabula.llm import runs
    from fabula.manuscript import projects

    if month and not _MONTH.fullmatch(month):
        raise FabulaError(Code.REQUEST_INVALID, "--month is a month such as 2026-11, or a year.")
    if by not in ("model", "skill"):
        raise FabulaError(Code.REQUEST_INVALID, "--by is model or skill.")
    with open_store(store) as opened:
        card = projects.find(opened, project)
        with opened.read(project=card.id) as reading:
            found = runs.spent(reading, month=month, by="model" if by == "model" else "skill")
    if as_json:
        print_json({"spent": [_spent_json(one) for one in found], "total": runs.total(found)})
        return
    for one in found:
        share = f"{one.cached_share:.0%} cached"
        print(
            f"{plain(one.name):<32} {one.runs:>5} runs  {one.input_tokens:>11,} read ({share})  "
            f"{one.output_tokens:>9,} written  {one.micros / 1_000_000:.4f} {plain(one.currency)}"
        )
    for currency, micros in runs.total(found).items():
        print(f"In all: {micros / 1_000_000:.4f} {plain(currency)}")
    if not found:
        print("Nothing was spent.")


def _spent_json(one: Spent) -> dict[str, object]:
    return {
        "name": one.name,
        "currency": one.currency,
        "runs": one.runs,
        "inputTokens": one.input_tokens,
        "cachedTokens": one.cached_tokens,
        "outputTokens": one.output_tokens,
        "micros": one.micros,
    }


def accept_run(
    project: PROJECT,
    run: RUN,
    file: Annotated[Path | None, typer.Option("--edited", help="A file with the answer as you changed it.")] = None,
    beat: Annotated[bool, typer.Option("--beat", help="The next beat of the outline is done with it.")] = False,
    store: STORE = None,
) -> None:
    """Take an answer into the document, as it is or as you changed it."""
    from fabula.workspace import accepting as settling

    text = None if file is None else _edited(file)

    def take(opened: Store, ident: str, run_id: str) -> None:
        print(taken(settling.accept(opened, ident, run_id, text=text, beat=beat)))

    _settle(project, run, store, take)


def _edited(file: Path) -> str:
    """An answer as it was changed in an editor, without the line end that editors leave behind the last line."""
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FabulaError(Code.REQUEST_INVALID, f"{file} cannot be read ({error}). Nothing was changed.") from error
    return text.removesuffix("\n")


def reject_run(project: PROJECT, run: RUN, store: STORE = None) -> None:
    """Leave an answer."""
    from fabula.workspace import accepting as settling

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
    """The run of that id, or the one whose id begins so, or the last one."""
    from fabula.llm import runs
    from fabula.llm.tables import runs as rows

    with store.read(project=project_id) as reading:
        if reading.row(rows, id=run) is not None:
            return run
        latest = runs.listed(reading, most=1 if run == "last" else 1000)
        found = [one.id for one in latest if run == "last" or one.id.startswith(run)]
    if len(found) != 1:
        many = "Several runs begin" if found else "No run begins"
        raise FabulaError(Code.STORE_NOT_FOUND, f"{many} with {run!r}. Look at: fabula runs {project_id}")
    return found[0]


def taken(made: Taken) -> str:
    """What came of an accepted answer, in words."""
    beat = f" Done: {plain(made.beat)}" if made.beat else ""
    if made.entries:
        return f"Accepted: {', '.join(plain(entry.name) for entry in made.entries)}.{beat}"
    where = "" if made.revision is None else f"; the document is at revision {made.revision}"
    return f"Accepted{where}.{beat}"
