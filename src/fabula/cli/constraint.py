"""`fabula constraint`: list, add, change and remove rules, and check a text against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from fabula.cli.commands import CommandGroup, CommandWithOptions
from fabula.cli.opening import open_project, read_text
from fabula.cli.options import ANY_PROJECT, IDS, JSON, PROJECT, SINCE, STORE
from fabula.cli.output import (
    current_language,
    invalid_request,
    print_json,
    print_line,
    quote_name,
    render,
    report,
    say,
    warn,
)
from fabula.cli.progress import show_progress
from fabula.cli.tables import Column, print_list
from fabula.cli.value_names import add_rule_number, name_value
from fabula.core.messages import message, plural

if TYPE_CHECKING:
    from fabula.workspace.constraints import CheckedConstraint

CONSTRAINT = Annotated[str, Argument(help="A constraint, by its number, its id or how it begins.")]
KIND = Annotated[str | None, Option("--kind", help="narrative, character, world, style or plot.")]
ORIGIN = Annotated[str | None, Option("--origin", help="user, project, learned or graph.")]

commands = CommandGroup("constraint", help="What the text must not break.")


@dataclass(frozen=True)
class ConstraintOptions:
    """What a command line says of a constraint, beside its text."""

    kind: KIND = None
    origin: ORIGIN = None
    priority: Annotated[int | None, Option("--priority", help="From 0 to 100; higher stands first.")] = None
    since: SINCE = None
    until: Annotated[str | None, Option("--until", help="Up to the beginning of this chapter; `end` for good.")] = None
    check: Annotated[str | None, Option("--check", help="What a program checks, as JSON; `none` for nothing.")] = None


class ConstraintCommand(CommandWithOptions):
    """A command that writes the fields of a constraint."""

    options = ConstraintOptions


@commands.command("list")
def list_constraints(
    project: PROJECT,
    kind: KIND = None,
    origin: ORIGIN = None,
    with_ids: IDS = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List all constraints, as JSON in their order in a prompt; ✓ marks those that a program can check.

    Example: fabula constraint list sample:lantern_coast
    """
    from fabula.workspace.schemas.constraints import describe_checked

    with open_project(project, store) as opened:
        found = opened.constraints.list_constraints(kind=kind, origin=origin)
        has_judge = opened.constraints.has_judge()
    columns: list[Column[CheckedConstraint]] = [
        Column(message("rule"), lambda one: one.constraint.text, wraps=True, style="bold"),
        Column(message("checked"), lambda one: "✓" if one.check is not None else "", style="green"),
        Column(message("who checks it"), lambda one: one.how, wraps=True),
        Column(message("kind"), lambda one: name_value(one.constraint.kind.value)),
        Column(message("from"), lambda one: name_value(one.constraint.origin.value)),
        Column(message("priority"), lambda one: one.constraint.priority, right=True),
        Column(message("since"), lambda one: one.since),
        Column(message("until"), lambda one: one.until),
    ]
    empty = message("No constraints. Add one: fabula constraint add PROJECT TEXT")
    print_list(
        found if as_json else sorted(found, key=lambda one: one.number),
        lambda one: describe_checked(one, current_language()),
        columns,
        empty,
        as_json,
        with_ids=with_ids,
        id_of=lambda one: one.constraint.id,
        numbers={one.constraint.id: one.number for one in found},
    )
    _warn_without_judge(found, has_judge, project)


@commands.command(cls=ConstraintCommand)
def add(
    context: typer.Context,
    project: PROJECT,
    text: Annotated[str, Argument(help="The rule, in plain words.")],
    constraint_id: Annotated[str, Option("--id", help="Its id; made up if left out.")] = "",
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Add a constraint; it is in force in the next prompt.

    Example: fabula constraint add "The Lantern Coast" "Nobody says 'okay'." --kind style
    """
    from fabula.workspace.schemas.constraints import describe_checked

    with open_project(project, store) as opened:
        made = opened.constraints.add(text, constraint_id=constraint_id, **asdict(context.obj))
        has_judge = opened.constraints.has_judge()
    sentence = message(
        "Constraint {number} is in force: “{text}” It is {how}.",
        number=made.number,
        text=made.constraint.text,
        how=made.how,
    )
    report(describe_checked(made, current_language()), sentence, as_json)
    _warn_of_unknown_names(made)
    _warn_without_judge([made], has_judge, project)


@commands.command(cls=ConstraintCommand)
def edit(
    context: typer.Context,
    project: PROJECT,
    constraint: CONSTRAINT,
    text: Annotated[str | None, Option("--text", help="The rule in other words.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change a constraint; what is not given stays.

    Example: fabula constraint edit "The Lantern Coast" no-okay --until ch-05
    """
    from fabula.workspace.schemas.constraints import describe_checked

    with open_project(project, store) as opened:
        changed = opened.constraints.edit(constraint, text=text, **asdict(context.obj))
        has_judge = opened.constraints.has_judge()
    sentence = message(
        "Constraint {number} is changed: “{text}” It is {how}.",
        number=changed.number,
        text=changed.constraint.text,
        how=changed.how,
    )
    report(describe_checked(changed, current_language()), sentence, as_json)
    _warn_of_unknown_names(changed)
    _warn_without_judge([changed], has_judge, project)


@commands.command()
def remove(project: PROJECT, constraint: CONSTRAINT, store: STORE = None) -> None:
    """Remove a constraint. Those that were made after it move up by one number.

    Example: fabula constraint remove "The Lantern Coast" no-okay
    """
    with open_project(project, store) as opened:
        removed = opened.constraints.remove(constraint)
    say("Constraint {number} is gone: “{text}”", number=removed.number, text=removed.constraint.text)


@commands.command()
def check(
    project: ANY_PROJECT,
    file: Annotated[str, Argument(help="A text to check: a file, or - for stdin; else the story itself.")] = "",
    document: Annotated[str, Option("--document", "-d", help="Where in the story a file belongs.")] = "",
    chapter: Annotated[str, Option("--chapter", "-c", help="Only this chapter: id, title or number.")] = "",
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Check the whole story, one chapter or a text against what a program can check.

    It ends with 1 where something is broken.

    Example: fabula constraint check sample:lantern_coast --chapter 3
    """
    if file and chapter:
        raise invalid_request("Name a file or a chapter, not both. Nothing was checked.")
    if document and not file:
        raise invalid_request("--document says where a file belongs; a chapter is checked with --chapter.")
    if not file:
        _check_story(project, chapter, store, as_json)
        return
    from fabula.workspace.schemas.constraints import describe_violations

    text = read_text(file)
    with open_project(project, store) as opened:
        with show_progress(message("Checking {title}", title=file)):
            found = opened.constraints.check_text(text, document_id=document)
        unchecked = opened.constraints.count_unchecked(chapter=document)
        numbers = opened.constraints.number_all()
    if as_json:
        print_json(describe_violations(found, unchecked, current_language()))
    else:
        for one in found:
            line = text.count("\n", 0, one.start) + 1
            print_line(f"{file}:{line}: {render(add_rule_number(one.sentence, one.constraint, numbers))}")
        say(plural(len(found), "{count} violation.", "{count} violations."))
        _say_unchecked(unchecked)
    if found:
        raise typer.Exit(1)


def _warn_of_unknown_names(checked: CheckedConstraint) -> None:
    """Say that a forbidden name is no entry's, so that only this spelling is found."""
    for name in checked.unknown_names:
        warn("No entry of the codex is called {name}. Only this spelling is looked for.", name=name)


def _warn_without_judge(checked: Sequence[CheckedConstraint], has_judge: bool, project: str) -> None:
    """Say that nobody checks rules which are left to a judge model that is off."""
    count = sum(one.check is None for one in checked)
    if count and not has_judge:
        warn(
            plural(
                count,
                "The judge model is off, so nobody checks {count} rule that is left to it. Turn it on: {command}",
                "The judge model is off, so nobody checks {count} rules that are left to it. Turn it on: {command}",
                command=f"fabula setting set {quote_name(project)} judge.withModel true",
            )
        )


def _say_unchecked(count: int) -> None:
    """Say how many rules were not checked, and who checks them."""
    if count:
        say(
            plural(
                count,
                "{count} constraint was not checked: only the judge model can. It checks what a model writes, "
                "if you say: fabula setting set PROJECT judge.withModel true",
                "{count} constraints were not checked: only the judge model can. It checks what a model writes, "
                "if you say: fabula setting set PROJECT judge.withModel true",
            )
        )


def _check_story(project: str, chapter: str, store: str | None, as_json: bool) -> None:
    """Check the documents of the story, and print what breaks a rule by chapter."""
    from fabula.workspace.schemas.constraints import describe_story_check

    with open_project(project, store) as opened:
        with show_progress(message("Checking {title}", title=opened.view.project.title)):
            checked = opened.constraints.check_story(chapter)
        unchecked = opened.constraints.count_unchecked(chapter=chapter)
        numbers = opened.constraints.number_all()
    found = describe_story_check(checked, unchecked, current_language())
    if as_json:
        print_json(found)
    else:
        for _, group in groupby(found.violations, key=lambda one: one.document_id):
            violations = list(group)
            first = violations[0]
            print_line(f"{first.title} · {first.chapter_name}" if first.chapter_name else first.title)
            for one in violations:
                print_line(f"  {one.line}: {one.quotation}")
                print_line(f"     {render(add_rule_number(one.sentence, one.constraint, numbers))}")
        say(plural(len(found.violations), "{count} violation.", "{count} violations."))
        _say_unchecked(unchecked)
    if found.violations:
        raise typer.Exit(1)
