"""Commands about memory: what is remembered, what is proposed, and what a prompt would hold of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli import habits
from fabula.cli.desk import place_of, print_json
from fabula.cli.projects import JSON, PROJECT, STORE
from fabula.cli.remembered import desk, line, memory_json, refused, report, scope_of, shelf

if TYPE_CHECKING:
    from fabula.memory.model import Remembered
    from fabula.store.transaction import Writing

MEMORY = Annotated[str, typer.Argument(help="A memory, by its id.")]
USER = Annotated[bool, typer.Option("--user", help="What is remembered of you, in all your books.")]
KIND = Annotated[str | None, typer.Option("--kind", help="preference, episode, style_sample or working.")]
STATE = Annotated[str | None, typer.Option("--state", help="confirmed, proposed or dismissed.")]
SINCE = Annotated[str | None, typer.Option("--since", help="From where on: CHAPTER, CHAPTER@OFFSET or CHAPTER:WORDS.")]


def register(app: typer.Typer, asks: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
    """Add these commands to the command line; `asks` gives a command the options of a request."""
    memory = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What is remembered of book and writer.")
    for name, command in (
        ("list", list_memories),
        ("remember", remember),
        ("confirm", confirm),
        ("dismiss", dismiss),
        ("edit", edit),
        ("forget", forget),
        ("record", habits.record),
        ("learn", habits.learn),
        ("preview", asks(habits.preview)),
        ("profile", habits.profile),
    ):
        memory.command(name=name)(command)
    sample = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Passages in your own voice, as examples.")
    sample.command(name="add")(habits.add_sample)
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
    """Everything remembered: ✓ confirmed, ? proposed, ✗ dismissed, z resting; and what contradicts what."""
    from fabula.memory import edits as service
    from fabula.memory.model import Scope

    with shelf(project, store) as reading:
        scopes = (Scope.USER,) if user else (Scope.PROJECT, Scope.USER)
        found = [(scope, one) for scope in scopes for one in service.listed(reading, scope=scope)]
    opposed = service.contradictions([one for _, one in found])
    shown = [
        (scope, one) for scope, one in found if kind in (None, one.kind.value) and state in (None, one.state.value)
    ]
    if as_json:
        print_json([memory_json(scope, one, opposed.get(one.id, [])) for scope, one in shown])
        return
    if not shown:
        print("Nothing is remembered. Say so: fabula memory remember PROJECT TEXT")
    for scope, one in shown:
        print(line(scope, one))
        for other in opposed.get(one.id, ()):
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
    """Remember this. It is sure from the start, and joins what says the same already."""
    from fabula.memory import edits as service
    from fabula.memory.model import Kind
    from fabula.memory.outcomes import as_episode

    if kind not in ("preference", "episode"):
        raise refused(f"Preferences and episodes can be remembered, not {kind!r}; for samples, fabula memory sample.")
    with desk(project, store) as tx:
        at = None if since is None else place_of(tx, since)
        if outcome:
            words, place = as_episode(tx, outcome)
            text, kind, at = text or words, "episode", at or place
        if not text.strip():
            raise refused("Say what to remember.")
        made = service.said(tx, text, kind=Kind(kind), scope=scope_of(user), since=at)
    report(scope_of(user), made, f"Remembered as {made.id}.", as_json)


def confirm(
    project: PROJECT,
    memory: MEMORY,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="It holds in all your books.")] = False,
    rule: Annotated[bool, typer.Option("--rule", help="Make it a constraint, which outranks preferences.")] = False,
    user: USER = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Say yes to a proposal, or yes again to what is fading."""
    from fabula.core.ids import now
    from fabula.memory import edits as service

    scope = scope_of(user)
    with desk(project, store) as tx:
        made = service.confirm(tx, memory, today=now(), scope=scope)
        if rule:
            _make_rule(tx, made)
        if everywhere and not user:
            made, scope = service.give_to_person(tx, memory), scope_of(True)
    report(scope, made, f"{made.id} is confirmed{' and in force as a constraint' if rule else ''}.", as_json)


def dismiss(project: PROJECT, memory: MEMORY, user: USER = False, store: STORE = None, as_json: JSON = False) -> None:
    """Say no to a proposal; it does not come back on the same evidence."""
    from fabula.memory import edits as service

    with desk(project, store) as tx:
        made = service.dismiss(tx, memory, scope=scope_of(user))
    report(scope_of(user), made, f"{made.id} is dismissed.", as_json)


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
    """Change what is given."""
    from fabula.memory import edits as service

    with desk(project, store) as tx:
        values: dict[str, Any] = {"text": text, "confidence": confidence}
        values = {name: value for name, value in values.items() if value is not None}
        if since is not None:
            values["since"] = place_of(tx, since)
        service.edit(tx, memory, values, scope=scope_of(user))
        made = service.get(tx, memory, scope=scope_of(user))
    report(scope_of(user), made, f"{made.id} is changed.", as_json)


def forget(project: PROJECT, memory: MEMORY, user: USER = False, store: STORE = None) -> None:
    """Forget it for good, with all it was learnt from."""
    from fabula.memory import edits as service

    with desk(project, store) as tx:
        service.forget(tx, memory, scope=scope_of(user))
    print(f"{memory} is forgotten.")


def _make_rule(tx: Writing, memory: Remembered) -> None:
    from fabula.constraints import edits as service
    from fabula.constraints.model import Constraint, Kind, Origin
    from fabula.core.ids import now

    rule = Constraint(
        id=memory.id, text=memory.text, kind=Kind.STYLE, origin=Origin.LEARNED, made=now(), since=memory.since
    )
    service.create(tx, rule)
