"""`fabula memory`: what is remembered of book and writer, what is proposed, and what a prompt would hold of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.opening import open_project, open_workspace, print_json, read_text
from fabula.cli.projects import JSON, PROJECT, STORE
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
    RECIPE,
    REQUEST,
    SKILL,
    WINDOW,
    make_request,
)
from fabula.cli.request_options import PROJECT as ANY_PROJECT
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.workspace.memory import MemoryRecord

MEMORY = Annotated[str, typer.Argument(help="A memory, by its id.")]
USER = Annotated[bool, typer.Option("--user", help="What is remembered of you, in all your books.")]
KIND = Annotated[str | None, typer.Option("--kind", help="preference, episode, style_sample or working.")]
STATE = Annotated[str | None, typer.Option("--state", help="confirmed, proposed or dismissed.")]
SINCE = Annotated[str | None, typer.Option("--since", help="From where on: CHAPTER, CHAPTER@OFFSET or CHAPTER:WORDS.")]
_SIGNS = {"confirmed": "✓", "proposed": "?", "dismissed": "✗"}


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    memory = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What is remembered of book and writer.")
    memory.command(name="list")(list_memories)
    memory.command()(remember)
    memory.command()(confirm)
    memory.command()(dismiss)
    memory.command()(edit)
    memory.command()(forget)
    memory.command()(record)
    memory.command()(learn)
    memory.command()(preview)
    memory.command()(profile)
    sample = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Passages in your own voice, as examples.")
    sample.command(name="add")(add_sample)
    memory.add_typer(sample, name="sample")
    app.add_typer(memory, name="memory")


def list_memories(
    project: PROJECT,
    kind: KIND = None,
    state: STATE = None,
    user: USER = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List what is remembered: ✓ confirmed, ? proposed, ✗ dismissed, z resting; and what contradicts what.

    Example: fabula memory list "The Lantern Coast" --state proposed
    """
    with open_project(project, store) as opened:
        found = opened.memory.list_memories(kind=kind, state=state, of_user=user)
    if as_json:
        from fabula.workspace.schemas.memory import describe_memory

        print_json([describe_memory(record) for record in found])
        return
    if not found:
        print("Nothing is remembered. Say so: fabula memory remember PROJECT TEXT")
    for record in found:
        print(_line(record))
        for other in record.contradicts:
            print(f"    contradicts {other}")


def remember(
    project: PROJECT,
    text: Annotated[str, typer.Argument(help="What to remember, in plain words.")] = "",
    kind: Annotated[str, typer.Option("--kind", help="preference or episode.")] = "preference",
    outcome: Annotated[str, typer.Option("--outcome", help="Remember a recorded outcome as an episode.")] = "",
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
    _report(made, f"Remembered as {made.item.id}.", as_json)


def confirm(
    project: PROJECT,
    memory: MEMORY,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="It holds in all your books.")] = False,
    rule: Annotated[bool, typer.Option("--rule", help="Make it a constraint, which outranks preferences.")] = False,
    user: USER = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Say yes to a proposal, or yes again to what is fading.

    Example: fabula memory confirm "The Lantern Coast" m-03 --rule
    """
    with open_project(project, store) as opened:
        made = opened.memory.confirm(memory, everywhere=everywhere, as_constraint=rule, of_user=user)
    _report(made, f"{made.item.id} is confirmed{' and in force as a constraint' if rule else ''}.", as_json)


def dismiss(project: PROJECT, memory: MEMORY, user: USER = False, store: STORE = None, as_json: JSON = False) -> None:
    """Say no to a proposal; it does not come back on the same evidence.

    Example: fabula memory dismiss "The Lantern Coast" m-03
    """
    with open_project(project, store) as opened:
        made = opened.memory.dismiss(memory, of_user=user)
    _report(made, f"{made.item.id} is dismissed.", as_json)


def edit(
    project: PROJECT,
    memory: MEMORY,
    text: Annotated[str | None, typer.Option("--text", help="In other words, which are yours then.")] = None,
    confidence: Annotated[float | None, typer.Option("--confidence", help="How sure, from 0 to 1.")] = None,
    since: SINCE = None,
    user: USER = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change the words of a memory, how sure it is, or from where on it holds.

    Example: fabula memory edit "The Lantern Coast" m-03 --text "Wants British spelling."
    """
    with open_project(project, store) as opened:
        made = opened.memory.edit(memory, text=text, confidence=confidence, since=since, of_user=user)
    _report(made, f"{made.item.id} is changed.", as_json)


def forget(project: PROJECT, memory: MEMORY, user: USER = False, store: STORE = None) -> None:
    """Forget a memory for good, with all it was learnt from.

    Example: fabula memory forget "The Lantern Coast" m-03
    """
    with open_project(project, store) as opened:
        opened.memory.forget(memory, of_user=user)
    print(f"{memory} is forgotten.")


def record(
    project: PROJECT,
    suggestion: Annotated[str, typer.Argument(metavar="OFFERED", help="The text you were offered: a file, or -.")],
    rewritten: Annotated[str, typer.Option("--became", help="What you made of it: a file.")] = "",
    rejected: Annotated[bool, typer.Option("--rejected", help="It was thrown away.")] = False,
    skill: Annotated[str, typer.Option("--skill", "-s", help="What the model was asked to do.")] = "",
    at: Annotated[str | None, typer.Option("--at", help="Where: CHAPTER, CHAPTER@OFFSET or CHAPTER:WORDS.")] = None,
    recalled: Annotated[list[str] | None, typer.Option(help="A memory that stood in the prompt: memory:ID.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Record what became of an offered text: accepted as it is, unless --became or --rejected.

    Example: fabula memory record "The Lantern Coast" offered.md --became mine.md --at ch-03
    """
    with open_project(project, store) as opened:
        made = opened.memory.record_outcome(
            read_text(suggestion),
            rewritten_text=read_text(rewritten) if rewritten else None,
            rejected=rejected,
            skill=skill,
            place=at,
            memory_sources=recalled or (),
        )
    if as_json:
        from fabula.workspace.schemas.memory import describe_outcome

        print_json(describe_outcome(made))
    else:
        print(f"Outcome {made.id}: {made.decision.value}.")


def learn(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """Look over what you accepted, rejected and rewrote, and propose what it shows.

    Example: fabula memory learn "The Lantern Coast"
    """
    with open_project(project, store) as opened:
        report = opened.memory.learn()
    if as_json:
        from fabula.workspace.schemas.memory import describe_learning

        print_json(describe_learning(report))
        return
    count = len(report.proposed)
    print(f"{report.outcome_count} outcomes looked over, {count} new proposal{'s' if count != 1 else ''}.")
    for proposal in report.proposed:
        print(_line(proposal))
        for quote in proposal.item.evidence:
            print(f"    {quote}")
    if report.proposed:
        print("Say yes or no: fabula memory confirm PROJECT ID, fabula memory dismiss PROJECT ID")


def preview(
    project: ANY_PROJECT,
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
    """Show what a prompt would hold of memory, and why the rest stays out.

    Example: fabula memory preview sample:lantern_coast --document ch-04
    """
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
        found = opened.memory.preview(made)
    if as_json:
        from fabula.workspace.schemas.memory import describe_memory_preview

        print_json(describe_memory_preview(found))
        return
    if found.profile:
        print(f"profile        {_shorten(found.profile)}")
    for item in (*found.injected, *found.omitted):
        sign = "+" if item.included else "-"
        print(f"{sign} {item.kind:<13} {item.score:.2f} {item.tokens or '':>5}  {_shorten(item.text)}")
        print(f"    {item.sentence}  [{item.reason}, {item.source}]")
    print(f"{len(found.injected)} in, {len(found.omitted)} out, {found.tokens} tokens.")


def add_sample(
    project: PROJECT,
    document: Annotated[str, typer.Argument(help="The document it stands in.")],
    first: Annotated[str, typer.Option("--from", help="The words it begins with.")],
    last: Annotated[str, typer.Option("--to", help="The words it ends with.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Choose a passage as an example of how you write; it is copied, and used only after its place in the story.

    Example: fabula memory sample add "The Lantern Coast" ch-01 --from "There was a memory" --to "a doorpost."
    """
    with open_project(project, store) as opened:
        made = opened.memory.add_sample(document, first=first, last=last)
    _report(made, f"Sample {made.item.id}: {len(made.item.text)} characters.", as_json)


def profile(
    text: Annotated[str | None, typer.Option("--set", help="Your profile, in new words.")] = None,
    file: Annotated[str | None, typer.Option("--file", help="The same from a file, or - for stdin.")] = None,
    change: Annotated[bool, typer.Option("--edit", help="Change it in your editor.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show or write what you say of yourself, for presets that have a place for it.

    Example: fabula memory profile --set "Writes at night, for grown-ups."
    """
    with open_workspace(store) as workspace:
        found = workspace.read_profile()
        if change:
            text = _edit(found.text)
        elif text is None and file is not None:
            text = read_text(file)
        if text is not None:
            found = workspace.write_profile(text, expected_version=found.version)
    if as_json:
        from fabula.workspace.schemas.memory import describe_profile

        print_json(describe_profile(found))
    else:
        print(found.text or "No profile yet. Write one: fabula memory profile --set TEXT")


def _edit(text: str) -> str:
    """Return a text after a person has changed it in their editor."""
    import os
    import shlex
    import subprocess
    import tempfile
    from pathlib import Path

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="fabula-") as folder:
        file = Path(folder) / "profile.md"
        file.write_text(text, "utf-8")
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except (OSError, ValueError) as error:
            raise FabulaError(
                Code.REQUEST_INVALID,
                f"The editor {editor!r} could not be started. Set EDITOR, or use --set. Nothing was changed.",
            ) from error
        if done.returncode:
            raise FabulaError(
                Code.REQUEST_INVALID, f"The editor {editor!r} ended with {done.returncode}. Nothing was changed."
            )
        return read_text(str(file))


def _line(record: MemoryRecord) -> str:
    item = record.item
    sign = "z" if record.is_resting else _SIGNS[item.state.value]
    votes = f"  ({item.votes_for} for, {item.votes_against} against)" if item.origin.value == "learned" else ""
    kind, scope = item.kind.value, record.scope.value
    return f"{sign} {item.id:<20} {kind:<12} {scope:<7} {record.confidence:.2f}  {_shorten(item.text)}{votes}"


def _report(record: MemoryRecord, sentence: str, as_json: bool) -> None:
    if as_json:
        from fabula.workspace.schemas.memory import describe_memory

        print_json(describe_memory(record))
    else:
        print(sentence)


def _shorten(text: str, limit: int = 100) -> str:
    words = " ".join(text.split())
    return words if len(words) <= limit else words[: limit - 1] + "…"
