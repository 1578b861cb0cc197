"""`fabula memory`: what is remembered of book and writer, what is proposed, and what a prompt would hold of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.editor import edit_text, explain_conflict
from fabula.cli.opening import open_project, open_workspace, read_text
from fabula.cli.options import ANY_PROJECT, IDS, JSON, PROJECT, SINCE, STORE
from fabula.cli.output import (
    current_language,
    print_json,
    print_line,
    quote_name,
    report,
    say,
    shorten,
)
from fabula.cli.progress import show_progress
from fabula.cli.request_options import RequestCommand, make_request
from fabula.cli.tables import Column, print_list, print_table
from fabula.cli.value_names import name_value
from fabula.core.messages import Sentence, message, plural

if TYPE_CHECKING:
    from fabula.memory.preview import MemoryPreviewItem
    from fabula.workspace.memory import MemoryRecord

MEMORY = Annotated[str, Argument(help="A memory, by its number, its id or how it begins.")]
USER = Annotated[bool, Option("--user", help="What is remembered of you, in all your books.")]
KIND = Annotated[str | None, Option("--kind", help="preference, episode, style_sample or working.")]
STATE = Annotated[str | None, Option("--state", help="confirmed, proposed or dismissed.")]
_SIGNS = {"confirmed": "✓", "proposed": "?", "dismissed": "✗"}

commands = CommandGroup("memory", help="What is remembered of book and writer.")
samples = CommandGroup("sample", help="Passages in your own voice, as examples.")
commands.add_typer(samples)


@commands.command("list")
def list_memories(
    project: PROJECT,
    kind: KIND = None,
    state: STATE = None,
    user: USER = False,
    with_ids: IDS = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List what is remembered: ✓ confirmed, ? proposed, ✗ dismissed, z resting; and what contradicts what.

    Example: fabula memory list "The Lantern Coast" --state proposed
    """
    with open_project(project, store) as opened:
        found = opened.memory.list_memories(kind=kind, state=state, of_user=user)
        numbers = {record.item.id: record.number for record in opened.memory.list_memories()}
    from fabula.workspace.schemas.memory import describe_memory

    columns = list(_COLUMNS)
    if any(record.contradicts for record in found):
        columns.append(Column(message("contradicts no."), lambda one: tuple(map(numbers.get, one.contradicts))))
    empty = message("Nothing is remembered. Say so: fabula memory remember {project} TEXT", project=quote_name(project))
    print_list(
        found,
        describe_memory,
        columns,
        empty,
        as_json,
        with_ids=with_ids,
        id_of=lambda record: record.item.id,
        numbers=numbers,
    )


@commands.command()
def remember(
    project: PROJECT,
    text: Annotated[str, Argument(help="What to remember, in plain words.")] = "",
    kind: Annotated[str, Option("--kind", help="preference or episode.")] = "preference",
    outcome: Annotated[str, Option("--outcome", help="Remember a recorded outcome as an episode.")] = "",
    since: SINCE = None,
    user: USER = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Remember something you say; if it is remembered already, it becomes surer.

    Example: fabula memory remember "The Lantern Coast" "Likes short chapters."
    """
    with open_project(project, store) as opened:
        made = opened.memory.remember(text, kind=kind, outcome=outcome, since=since, of_user=user)
    _report(made, message("Remembered: {text}", text=_name(made)), as_json)


@commands.command()
def confirm(
    project: PROJECT,
    memory: MEMORY,
    everywhere: Annotated[bool, Option("--everywhere", help="It holds in all your books.")] = False,
    rule: Annotated[bool, Option("--rule", help="Make it a constraint, which outranks preferences.")] = False,
    user: USER = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Say yes to a proposal, or yes again to what is fading.

    Example: fabula memory confirm "The Lantern Coast" 7 --rule
    """
    with open_project(project, store) as opened:
        made = opened.memory.confirm(memory, everywhere=everywhere, as_constraint=rule, of_user=user)
    sentence = message(
        "Confirmed, and in force as a constraint: {text}" if rule else "Confirmed: {text}", text=_name(made)
    )
    _report(made, sentence, as_json)


@commands.command()
def dismiss(project: PROJECT, memory: MEMORY, user: USER = False, store: STORE = None, as_json: JSON = False) -> None:
    """Say no to a proposal; it does not come back on the same evidence.

    Example: fabula memory dismiss "The Lantern Coast" 7
    """
    with open_project(project, store) as opened:
        made = opened.memory.dismiss(memory, of_user=user)
    _report(made, message("Dismissed: {text}", text=_name(made)), as_json)


@commands.command()
def edit(
    project: PROJECT,
    memory: MEMORY,
    text: Annotated[str | None, Option("--text", help="The memory in your own words.")] = None,
    confidence: Annotated[float | None, Option("--confidence", help="How sure, from 0 to 1.")] = None,
    since: SINCE = None,
    user: USER = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change the words of a memory, how sure it is, or from where on it holds.

    Example: fabula memory edit "The Lantern Coast" 1 --text "Wants British spelling."
    """
    with open_project(project, store) as opened:
        made = opened.memory.edit(memory, text=text, confidence=confidence, since=since, of_user=user)
    _report(made, message("Changed: {text}", text=_name(made)), as_json)


@commands.command()
def forget(project: PROJECT, memory: MEMORY, user: USER = False, store: STORE = None) -> None:
    """Forget a memory for good, with all it was learnt from.

    Example: fabula memory forget "The Lantern Coast" 7
    """
    with open_project(project, store) as opened:
        forgotten = opened.memory.forget(memory, of_user=user)
    say("Forgotten: {text}", text=_name(forgotten))


@commands.command()
def record(
    project: PROJECT,
    suggestion: Annotated[str, Argument(metavar="OFFERED", help="The text you were offered: a file, or -.")],
    rewritten: Annotated[str, Option("--became", help="What you made of it: a file.")] = "",
    rejected: Annotated[bool, Option("--rejected", help="It was thrown away.")] = False,
    skill: Annotated[str, Option("--skill", "-s", help="What the model was asked to do.")] = "",
    at: Annotated[str | None, Option("--at", help="Where: CHAPTER, CHAPTER@OFFSET or CHAPTER:WORDS.")] = None,
    recalled: Annotated[list[str] | None, Option(help="A memory that stood in the prompt: memory:ID.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Record what became of an offered text: accepted as it is, unless --became or --rejected.

    Example: fabula memory record "The Lantern Coast" offered.md --became mine.md --at ch-03
    """
    from fabula.workspace.schemas.memory import describe_outcome

    with open_project(project, store) as opened:
        made = opened.memory.record_outcome(
            read_text(suggestion),
            rewritten_text=read_text(rewritten) if rewritten else None,
            rejected=rejected,
            skill=skill,
            place=at,
            memory_sources=recalled or (),
        )
    sentence = message("Recorded: {decision}.", decision=name_value(made.decision.value))
    report(describe_outcome(made), sentence, as_json)


@commands.command()
def learn(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """Look over what you accepted, rejected and rewrote, and propose what it shows.

    Example: fabula memory learn "The Lantern Coast"
    """
    with open_project(project, store) as opened, show_progress(message("Looking over what you decided")):
        learned = opened.memory.learn()
        numbers = {record.item.id: record.number for record in opened.memory.list_memories()}
    if as_json:
        from fabula.workspace.schemas.memory import describe_learning

        print_json(describe_learning(learned))
        return
    say(
        "{outcomes} looked over, {proposals}.",
        outcomes=plural(learned.outcome_count, "{count} outcome", "{count} outcomes"),
        proposals=plural(len(learned.proposed), "{count} new proposal", "{count} new proposals"),
    )
    number: Column[MemoryRecord] = Column(
        message("no."), lambda record: numbers.get(record.item.id), right=True, style="grey58"
    )
    evidence: Column[MemoryRecord] = Column(message("evidence"), lambda one: tuple(one.item.evidence), wraps=True)
    if learned.proposed:
        print_table(learned.proposed, [number, *_COLUMNS, evidence])
        say(
            "Say yes or no: fabula memory confirm {project} {number}, fabula memory dismiss {project} {number}",
            project=quote_name(project),
            number=numbers.get(learned.proposed[0].item.id),
        )


@commands.command(cls=RequestCommand)
def preview(context: typer.Context, project: ANY_PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """Show what a prompt would hold of memory, and why the rest stays out.

    Example: fabula memory preview sample:lantern_coast --document ch-04
    """
    with open_project(project, store) as opened:
        found = opened.memory.preview(make_request(opened, context.obj))
    if as_json:
        from fabula.workspace.schemas.memory import describe_memory_preview

        print_json(describe_memory_preview(found, current_language()))
        return
    if found.profile:
        say("Profile: {text}", text=shorten(found.profile, 100))
    columns: list[Column[MemoryPreviewItem]] = [
        Column("", lambda item: message("in") if item.included else message("out")),
        Column(message("kind"), lambda item: name_value(item.kind)),
        Column(message("score"), lambda item: f"{item.score:.2f}", right=True),
        Column(message("tokens"), lambda item: item.tokens or "", right=True),
        Column(message("text"), lambda item: shorten(item.text, 100), style="bold", wraps=True),
        Column(message("why"), lambda item: item.sentence, wraps=True),
        Column(message("code"), lambda item: item.reason, style="grey58"),
    ]
    if found.injected or found.omitted:
        print_table((*found.injected, *found.omitted), columns)
    say(
        "{included} in, {omitted} out, {tokens}.",
        included=len(found.injected),
        omitted=len(found.omitted),
        tokens=plural(found.tokens, "{count} token", "{count} tokens"),
    )


@samples.command("add")
def add_sample(
    project: PROJECT,
    document: Annotated[str, Argument(help="The chapter it stands in, by title, number or id.")],
    first: Annotated[str, Option("--from", help="The words it begins with.")],
    last: Annotated[str, Option("--to", help="The words it ends with.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Choose a passage as an example of how you write; it is copied, and used only after its place in the story.

    Example: fabula memory sample add "The Lantern Coast" ch-01 --from "There was a memory" --to "a doorpost."
    """
    with open_project(project, store) as opened:
        made = opened.memory.add_sample(document, first=first, last=last)
    _report(
        made,
        message("Chosen as a sample, {count:,} characters: {text}", count=len(made.item.text), text=_name(made)),
        as_json,
    )


@commands.command()
def profile(
    text: Annotated[str | None, Option("--set", help="Your profile, in new words.")] = None,
    file: Annotated[str | None, Option("--file", help="The same from a file, or - for stdin.")] = None,
    change: Annotated[bool, Option("--edit", help="Change it in your editor.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show or write what you say of yourself, for presets that have a place for it.

    Example: fabula memory profile --set "Writes at night, for grown-ups."
    """
    with open_workspace(store) as workspace:
        found = workspace.read_profile()
        if change:
            text = edit_text(found.text)
        elif text is None and file is not None:
            text = read_text(file)
        if text is not None:
            with explain_conflict("fabula memory profile"):
                found = workspace.write_profile(text, expected_version=found.version)
    if as_json:
        from fabula.workspace.schemas.memory import describe_profile

        print_json(describe_profile(found))
    else:
        print_line(found.text or message("No profile yet. Write one: fabula memory profile --set TEXT"))


def _name(record: MemoryRecord) -> str:
    """Return how a memory begins, which names it."""
    return shorten(record.item.text, 80)


def _describe_text(record: MemoryRecord) -> Sentence | str:
    item, text = record.item, shorten(record.item.text, 100)
    if item.origin.value != "learned":
        return text
    votes, others = item.votes_for, item.votes_against
    return message("{text}  ({votes} for, {others} against)", text=text, votes=votes, others=others)


_COLUMNS: list[Column[MemoryRecord]] = [
    Column("", lambda record: "z" if record.is_resting else _SIGNS[record.item.state.value]),
    Column(message("kind"), lambda record: name_value(record.item.kind.value)),
    Column(message("of"), lambda record: name_value(record.scope.value)),
    Column(message("sure"), lambda record: f"{record.confidence:.2f}", right=True),
    Column(message("text"), _describe_text, wraps=True),
]


def _report(record: MemoryRecord, sentence: Sentence, as_json: bool) -> None:
    from fabula.workspace.schemas.memory import describe_memory

    report(describe_memory(record), sentence, as_json)
