"""Commands about constraints: list, add, change, take away, and hold a text against them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.desk import looking, place_of, print_json, writing
from fabula.cli.options import sharing
from fabula.cli.projects import JSON, PROJECT, STORE
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.constraints.checks import Violation
    from fabula.constraints.model import Constraint
    from fabula.core.view import View
    from fabula.store.transaction import Writing

CONSTRAINT = Annotated[str, typer.Argument(help="A constraint, by its id.")]
KIND = Annotated[str | None, typer.Option("--kind", help="narrative, character, world, style or plot.")]
ORIGIN = Annotated[str | None, typer.Option("--origin", help="user, project, learned or graph.")]
PRIORITY = Annotated[int | None, typer.Option("--priority", help="From 0 to 100; higher stands first.")]
SINCE = Annotated[str | None, typer.Option("--since", help="From where on: CHAPTER, CHAPTER@OFFSET or CHAPTER:WORDS.")]
UNTIL = Annotated[str | None, typer.Option("--until", help="Up to where it holds; `end` for good.")]
CHECK = Annotated[str | None, typer.Option("--check", help="What a program checks, as JSON; `none` for nothing.")]
FIELDS = {"kind": KIND, "origin": ORIGIN, "priority": PRIORITY, "since": SINCE, "until": UNTIL, "wanted": CHECK}


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    constraint = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What the text must not break.")
    for name, command in (
        ("list", list_constraints),
        ("add", add),
        ("edit", edit),
        ("remove", remove),
        ("check", check),
    ):
        constraint.command(name=name)(command)
    app.add_typer(constraint, name="constraint")


def list_constraints(
    project: PROJECT, kind: KIND = None, origin: ORIGIN = None, store: STORE = None, as_json: JSON = False
) -> None:
    """All constraints, as they stand in a prompt; ✓ marks those that a program can check."""
    from fabula.codex.model import Codex
    from fabula.constraints.checks import checkable
    from fabula.constraints.model import Constraints

    with looking(project, store) as view:
        rules, codex = view.room(Constraints), view.room(Codex)
        cast = {} if codex is None else {entry.id: entry.names for entry in codex.entries}
        found = [
            (rule, checkable(rule, cast))
            for rule in (rules.constraints if rules is not None else ())
            if kind in (None, rule.kind.value) and origin in (None, rule.origin.value)
        ]
    if as_json:
        print_json([constraint_json(rule) | {"checks": _plain(checks)} for rule, checks in found])
        return
    if not found:
        print("No constraints. Add one: fabula constraint add PROJECT TEXT")
    for rule, checks in found:
        sign = "✓" if checks is not None else " "
        print(f"{sign} {rule.id:<24} {rule.kind.value:<10} {rule.origin.value:<8} {rule.priority:>3}  {rule.text}")


@sharing(FIELDS)
def add(
    project: PROJECT,
    text: Annotated[str, typer.Argument(help="The rule, in plain words.")],
    ident: Annotated[str, typer.Option("--id", help="Its id; made up if left out.")] = "",
    store: STORE = None,
    as_json: JSON = False,
    **said: Any,
) -> None:
    """Add a constraint; it is in force in the next prompt."""
    import msgspec

    from fabula.constraints import edits as service
    from fabula.constraints.checks import checkable
    from fabula.constraints.model import Constraint
    from fabula.core.ids import new_id

    with writing(project, store) as tx:
        fields = {"id": ident or new_id(), "text": text, **_fields(tx, said)}
        try:
            made = msgspec.convert(fields, Constraint)
        except msgspec.ValidationError as error:
            raise _refused(f"This cannot be a constraint: {error}.") from error
        kept = service.get(tx, service.create(tx, made)).constraint
    how = "a program checks it" if checkable(kept) is not None else "left to the model to keep"
    _report(kept, f"Constraint {kept.id} is in force; {how}.", as_json)


@sharing(FIELDS)
def edit(
    project: PROJECT,
    constraint: CONSTRAINT,
    text: Annotated[str | None, typer.Option("--text", help="The rule in other words.")] = None,
    store: STORE = None,
    as_json: JSON = False,
    **said: Any,
) -> None:
    """Change what is given."""
    from fabula.constraints import edits as service

    with writing(project, store) as tx:
        service.update(tx, constraint, _fields(tx, said) | ({} if text is None else {"text": text}))
        kept = service.get(tx, constraint).constraint
    _report(kept, f"Constraint {kept.id} is changed.", as_json)


def remove(project: PROJECT, constraint: CONSTRAINT, store: STORE = None) -> None:
    """Take a constraint out of force."""
    from fabula.constraints import edits as service

    with writing(project, store) as tx:
        service.delete(tx, constraint)
    print(f"Constraint {constraint} is gone.")


def check(
    project: PROJECT,
    file: Annotated[str, typer.Argument(help="The text to hold against them: a file, or - for stdin.")],
    document: Annotated[str, typer.Option("--document", "-d", help="Where in the story it belongs.")] = "",
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Hold a text against what a program can check; ends with 1 where something is broken."""
    from fabula.text.offsets import normalise

    text = normalise(_read(file))
    with looking(project, store) as view:
        found = checked(view, text, document)
    if as_json:
        from msgspec import to_builtins

        print_json({"violations": to_builtins(found)})
    else:
        for one in found:
            line = text.count("\n", 0, one.start) + 1
            print(f"{file}:{line}: {one.sentence} [{one.constraint}]")
        print(f"{len(found)} violation{'s' if len(found) != 1 else ''}.")
    if found:
        raise typer.Exit(1)


def checked(view: View, text: str, document: str = "") -> list[Violation]:
    """What a program finds in a text that would end a document, or stand anywhere."""
    from fabula.core.story import Position
    from fabula.skills.judge import violations

    if document and document not in view.timeline:
        raise FabulaError(Code.DOCUMENT_UNKNOWN, f"The story has no document {document!r}. Look at the list.")
    return violations(text, view, Position(document, 1 << 62) if document else None)


def constraint_json(rule: Constraint) -> dict[str, Any]:
    """A constraint by the names of the specification."""
    from msgspec import to_builtins

    plain: dict[str, Any] = to_builtins(rule)
    return plain


def _fields(tx: Writing, said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a command line says something about."""
    import msgspec

    found = {name: said[name] for name in ("kind", "origin", "priority") if said[name] is not None}
    for name, nowhere in (("since", "start"), ("until", "end")):
        if said[name] is not None:
            found[name] = None if said[name] == nowhere else place_of(tx, said[name])
    if (wanted := said["wanted"]) is not None:
        try:
            found["check"] = None if wanted == "none" else msgspec.json.decode(wanted)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            raise _refused(f"What is to be checked is no JSON: {error}.") from error
    return found


def _plain(checks: object) -> object:
    from msgspec import to_builtins

    return to_builtins(checks)


def _report(rule: Constraint, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(constraint_json(rule))
    else:
        print(sentence)


def _read(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise FabulaError(Code.REQUEST_INVALID, f"{name} could not be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise FabulaError(
            Code.REQUEST_INVALID, f"{name} is not text in UTF-8. Save it as such and try again."
        ) from error


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.CONSTRAINT_VALIDATION_ERROR, f"{sentence} Nothing was changed.")
