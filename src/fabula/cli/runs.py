"""`fabula runs`, `accept`, `reject` and `cost`: what a model wrote, what becomes of it, and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project, read_text
from fabula.cli.options import IDS, JSON, PROJECT, STORE
from fabula.cli.output import (
    format_time,
    invalid_request,
    language_of_texts,
    print_json,
    print_line,
    print_raw,
    quote_name,
    say,
    shorten,
)
from fabula.cli.tables import Column, print_list, print_table
from fabula.cli.value_names import add_rule_number, count_fragments, name_value
from fabula.codex import Codex
from fabula.core.messages import Sentence, join_names, message, plural
from fabula.workspace.names import ENTRY_SOURCE

if TYPE_CHECKING:
    from fabula.llm.pricing import Cost
    from fabula.llm.runs import GenerationRun, SpendingTotal
    from fabula.workspace.accepting import AcceptedAnswer

RUN = Annotated[str, Argument(help="The run's number or id, or the beginning of it, or: last.")]
_MILLION = 1_000_000

commands = CommandGroup()


@commands.command("runs")
def list_runs(
    project: PROJECT,
    run: Annotated[str | None, Argument(help="One run in full, by its number or id, or: last.")] = None,
    limit: Annotated[int, Option("--most", "-n", min=1, help="How many.")] = 20,
    prompt: Annotated[bool, Option("--prompt", help="The prompt of that run, where it was kept.")] = False,
    with_ids: IDS = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List what the model wrote lately, what it cost and what became of it.

    Example: fabula runs "The Lantern Coast" last
    """
    with open_project(project, store) as opened:
        columns = _make_columns(
            {skill.id: skill.title_in(language_of_texts()) for skill in opened.skills.list_skills().skills.values()}
        )
        codex = opened.view.snapshot(Codex)
        names = {entry.id: entry.name for entry in (codex.entries if codex is not None else ())}
        if prompt:
            if run is None:
                raise invalid_request("Name the run whose prompt you want to see.")
            print_raw(opened.runs.read_prompt(run))
            return
        rule_numbers = opened.constraints.number_all()
        found = opened.runs.list_runs(limit=limit) if run is None else [opened.runs.find(run)]
        recorded = opened.runs.find_recorded(found[0].id) if run is not None else None
        title = opened.conversations.get(found[0].conversation_id).record.title if recorded is not None else ""
    from fabula.workspace.schemas.runs import describe_run

    empty = message("No runs yet. Write: fabula write {project}", project=quote_name(project))
    if run is None or as_json:
        print_list(found, describe_run, columns, empty, as_json, with_ids=with_ids)
        return
    print_table(found, columns)
    if recorded is not None:
        number = (recorded.number or 0) + 1
        say("It is message {number} in the conversation of {title}: fabula history show", number=number, title=title)
    _print_record(found[0], names, rule_numbers)


@commands.command()
def cost(
    project: PROJECT,
    month: Annotated[str, Option(help="A month such as 2026-11; all of it by default.")] = "",
    by: Annotated[str, Option(help="model, skill or day.")] = "model",
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
    headings = {"model": message("model"), "skill": message("skill"), "day": message("day")}
    columns: list[Column[SpendingTotal]] = [
        Column(headings[by], lambda one: one.name, style="bold"),
        Column(message("runs"), lambda one: f"{one.run_count:,}", right=True),
        Column(message("tokens read"), lambda one: f"{one.input_tokens:,}", right=True),
        Column(message("from the cache"), lambda one: f"{one.cached_share:.0%}", right=True),
        Column(message("tokens written"), lambda one: f"{one.output_tokens:,}", right=True),
        Column(message("cost"), lambda one: f"{one.micros / _MILLION:.4f} {one.currency}", right=True),
    ]
    if found:
        print_table(found, columns)
    for currency, micros in summary.total.items():
        say("In all: {amount:.4f} {currency}", amount=micros / _MILLION, currency=currency)
    if not found:
        say("Nothing was spent.")


@commands.command()
def accept(
    project: PROJECT,
    run: RUN,
    file: Annotated[str | None, Option("--edited", help="A file with the answer as you changed it.")] = None,
    beat: Annotated[bool, Option("--beat", help="The next beat of the outline is done with it.")] = False,
    store: STORE = None,
) -> None:
    """Put an answer into the document, as it is or as you changed it.

    Example: fabula accept "The Lantern Coast" last --beat
    """
    # Editors end the last line of a file, which is no part of the answer.
    text = None if file is None else read_text(file).removesuffix("\n")
    from fabula.cli.answers import print_verdict

    with open_project(project, store) as opened:
        accepted = opened.runs.accept(run, text=text, beat=beat)
        numbers = opened.constraints.number_all()
    say(describe_accepted(accepted))
    print_verdict(accepted.verdict, numbers)


@commands.command()
def reject(project: PROJECT, run: RUN, store: STORE = None) -> None:
    """Reject an answer: the document stays as it is.

    Example: fabula reject "The Lantern Coast" last
    """
    with open_project(project, store) as opened:
        opened.runs.reject(run)
    say("Rejected.")


def describe_price(cost: Cost) -> Sentence:
    """Say what an answer cost."""
    return message(
        "{amount:.4f} {currency}" if cost.is_known else "no price known", amount=cost.amount, currency=cost.currency
    )


def describe_accepted(answer: AcceptedAnswer) -> Sentence:
    """Say what came of an accepted answer."""
    sentence = message("Accepted.")
    if answer.entries:
        sentence = message("Accepted: {names}.", names=join_names([entry.name for entry in answer.entries]))
    elif answer.title and answer.words_before:
        sentence = message(
            "Accepted into {title}, after “…{words}”; it is at revision {revision}.",
            title=answer.title,
            words=answer.words_before,
            revision=answer.revision,
        )
    elif answer.title:
        sentence = message(
            "Accepted at the beginning of {title}; it is at revision {revision}.",
            title=answer.title,
            revision=answer.revision,
        )
    elif answer.revision is not None:
        sentence = message("Accepted; the document is at revision {revision}.", revision=answer.revision)
    return message("{sentence} Done: {beat}", sentence=sentence, beat=answer.beat) if answer.beat else sentence


def _count_findings(run: GenerationRun) -> int:
    return sum(len(_list(verdict.get("findings"))) for verdict in map(_dict, run.verdicts[-1:]))


def _make_columns(skills: Mapping[str, str]) -> list[Column[GenerationRun]]:
    """Return the columns of a list of runs; skills go by their titles."""
    return [
        Column(message("time"), lambda run: format_time(run.created_at)),
        Column(message("skill"), lambda run: skills.get(run.skill_id, run.skill_id)),
        Column(message("outcome"), lambda run: name_value(run.outcome), style="bold"),
        Column(message("model"), lambda run: run.model),
        Column(message("tokens read"), lambda run: f"{run.usage.input_tokens:,}", right=True),
        Column(message("tokens written"), lambda run: f"{run.usage.output_tokens:,}", right=True),
        Column(message("cost"), lambda run: describe_price(run.cost), right=True),
        Column(message("findings"), lambda run: _count_findings(run) or "", right=True),
        Column(message("answer"), lambda run: shorten(run.answer, 60), wraps=True),
    ]


def _name_sources(sources: Sequence[str], entries: Mapping[str, str]) -> Sentence:
    """Name what a prompt was made of: entries of the codex by name, everything else by number."""
    found = [entries.get(source.removeprefix(ENTRY_SOURCE).partition("#")[0], "") for source in sources]
    counts = Counter(source.partition(":")[0] for source, name in zip(sources, found, strict=True) if not name)
    return join_names([*filter(None, dict.fromkeys(found)), *(count_fragments(kind, counts[kind]) for kind in counts)])


def _print_record(run: GenerationRun, entries: Mapping[str, str], rule_numbers: Mapping[str, int]) -> None:
    """Print what one run saw and said; a record may come out of anybody's save, so nonsense in it is passed over."""
    summary = run.assembly_summary
    layers = _dict(summary.get("layers"))
    tokens = summary.get("tokens", 0)
    say(
        "Saw {tokens} ({layers}); {beginning}; ended: {reason}.",
        tokens=plural(tokens if isinstance(tokens, int) else 0, "{count:,} token", "{count:,} tokens"),
        layers=join_names(
            message("{name} {tokens:,}", name=name_value(name), tokens=tokens)
            for name, tokens in layers.items()
            if isinstance(tokens, int)
        ),
        beginning=message(
            "the same beginning as the prompt before" if summary.get("prefix_unchanged") else "a new beginning"
        ),
        reason=name_value(str(summary.get("ended", ""))),
    )
    sources = [str(source) for source in _list(summary.get("sources"))]
    say("Sources: {sources}", sources=_name_sources(sources, entries) if sources else message("none"))
    for warning in _list(summary.get("warnings")):
        say("Warning: {warning}", warning=warning)
    for number, verdict in enumerate(map(_dict, run.verdicts), start=1):
        for finding in map(_dict, _list(verdict.get("findings"))):
            reason = f"“{finding.get('words')}”: {finding.get('reason')}"
            line = add_rule_number(reason, str(finding.get("breaks")), rule_numbers)
            say("Try {number}: {finding}", number=number, finding=line)
        if verdict.get("problem"):
            say("Try {number}: {finding}", number=number, finding=verdict["problem"])
        if verdict.get("text"):
            say("Try {number}, left:\n{text}\n", number=number, text=verdict["text"])
    print_line(f"\n{run.answer}")


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
