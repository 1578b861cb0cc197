"""`fabula constraint`: list, add, change and remove rules, and check a text against them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.opening import open_project, print_json, read_text
from fabula.cli.projects import JSON, PROJECT, STORE

if TYPE_CHECKING:
    from fabula.constraints import Constraint

CONSTRAINT = Annotated[str, typer.Argument(help="A constraint, by its id.")]
KIND = Annotated[str | None, typer.Option("--kind", help="narrative, character, world, style or plot.")]
ORIGIN = Annotated[str | None, typer.Option("--origin", help="user, project, learned or graph.")]
PRIORITY = Annotated[int | None, typer.Option("--priority", help="From 0 to 100; higher stands first.")]
SINCE = Annotated[str | None, typer.Option("--since", help="From where on: CHAPTER, CHAPTER@OFFSET or CHAPTER:WORDS.")]
UNTIL = Annotated[str | None, typer.Option("--until", help="Up to where it holds; `end` for good.")]
CHECK = Annotated[str | None, typer.Option("--check", help="What a program checks, as JSON; `none` for nothing.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    constraint = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What the text must not break.")
    constraint.command(name="list")(list_constraints)
    constraint.command()(add)
    constraint.command()(edit)
    constraint.command()(remove)
    constraint.command()(check)
    app.add_typer(constraint, name="constraint")


def list_constraints(
    project: PROJECT, kind: KIND = None, origin: ORIGIN = None, store: STORE = None, as_json: JSON = False
) -> None:
    """List all constraints, as they stand in a prompt; ✓ marks those that a program can check.

    Example: fabula constraint list sample:lantern_coast
    """
    from fabula.workspace.schemas.constraints import describe_checked

    with open_project(project, store) as opened:
        found = opened.constraints.list_constraints(kind=kind, origin=origin)
    if as_json:
        print_json([describe_checked(one) for one in found])
        return
    if not found:
        print("No constraints. Add one: fabula constraint add PROJECT TEXT")
    for one in found:
        rule, sign = one.constraint, "✓" if one.check is not None else " "
        print(f"{sign} {rule.id:<24} {rule.kind.value:<10} {rule.origin.value:<8} {rule.priority:>3}  {rule.text}")


def add(
    project: PROJECT,
    text: Annotated[str, typer.Argument(help="The rule, in plain words.")],
    kind: KIND = None,
    origin: ORIGIN = None,
    priority: PRIORITY = None,
    since: SINCE = None,
    until: UNTIL = None,
    wanted: CHECK = None,
    constraint_id: Annotated[str, typer.Option("--id", help="Its id; made up if left out.")] = "",
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Add a constraint; it is in force in the next prompt.

    Example: fabula constraint add "The Lantern Coast" "Nobody says 'okay'." --kind style
    """
    with open_project(project, store) as opened:
        made = opened.constraints.add(
            text,
            constraint_id=constraint_id,
            kind=kind,
            origin=origin,
            priority=priority,
            since=since,
            until=until,
            check=wanted,
        )
    how = "a program checks it" if made.check is not None else "left to the model to keep"
    _report(made.constraint, f"Constraint {made.constraint.id} is in force; {how}.", as_json)


def edit(
    project: PROJECT,
    constraint: CONSTRAINT,
    text: Annotated[str | None, typer.Option("--text", help="The rule in other words.")] = None,
    kind: KIND = None,
    origin: ORIGIN = None,
    priority: PRIORITY = None,
    since: SINCE = None,
    until: UNTIL = None,
    wanted: CHECK = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change what is given.

    Example: fabula constraint edit "The Lantern Coast" no-okay --until ch-05
    """
    with open_project(project, store) as opened:
        changed = opened.constraints.edit(
            constraint,
            text=text,
            kind=kind,
            origin=origin,
            priority=priority,
            since=since,
            until=until,
            check=wanted,
        )
    _report(changed, f"Constraint {changed.id} is changed.", as_json)


def remove(project: PROJECT, constraint: CONSTRAINT, store: STORE = None) -> None:
    """Remove a constraint.

    Example: fabula constraint remove "The Lantern Coast" no-okay
    """
    with open_project(project, store) as opened:
        opened.constraints.remove(constraint)
    print(f"Constraint {constraint} is gone.")


def check(
    project: PROJECT,
    file: Annotated[str, typer.Argument(help="The text to check: a file, or - for stdin.")],
    document: Annotated[str, typer.Option("--document", "-d", help="Where in the story it belongs.")] = "",
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Check a text against what a program can check; ends with 1 where something is broken.

    Example: fabula constraint check "The Lantern Coast" draft.txt --document ch-03
    """
    from fabula.workspace.schemas.constraints import describe_violations

    text = read_text(file)
    with open_project(project, store) as opened:
        found = opened.constraints.check_text(text, document_id=document)
    if as_json:
        print_json(describe_violations(found))
    else:
        for one in found:
            line = text.count("\n", 0, one.start) + 1
            print(f"{file}:{line}: {one.sentence} [{one.constraint}]")
        print(f"{len(found)} violation{'s' if len(found) != 1 else ''}.")
    if found:
        raise typer.Exit(1)


def _report(rule: Constraint, sentence: str, as_json: bool) -> None:
    if as_json:
        from fabula.workspace.schemas.constraints import describe_constraint

        print_json(describe_constraint(rule))
    else:
        print(sentence)
