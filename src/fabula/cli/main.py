"""`fabula`: assemble a prompt, look inside it, ask why.

Heavy things are imported where they are used, so that `--help` answers at once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula import __version__
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.app import Fabula
    from fabula.context.request import Request

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="From everything known about a story to one prompt under an exact budget, with a reason for each thing.",
)

PROJECT = Annotated[str, typer.Argument(help="A project folder, a text file, or sample:NAME.")]
DOCUMENT = Annotated[str | None, typer.Option("--document", "-d", help="The document's id; the last one by default.")]
CURSOR = Annotated[int | None, typer.Option("--cursor", "-c", help="Where the cursor stands; the end by default.")]
SKILL = Annotated[str, typer.Option("--skill", "-s", help="What the model is asked to do.")]
INPUT = Annotated[str, typer.Option("--input", "-i", help="Your own instruction.")]
MODEL = Annotated[str, typer.Option("--model", "-m", help="For which model tokens are counted.")]
WINDOW = Annotated[int | None, typer.Option("--window", "-w", help="The model's window, if not its usual one.")]
RECIPE = Annotated[str, typer.Option(help="How the prompt is laid out.")]
EYES = Annotated[str | None, typer.Option(help="author, reader or character.")]
CHARACTER = Annotated[str | None, typer.Option(help="Through whose eyes.")]
TALK = Annotated[str, typer.Option("--conversation", help="The conversation to follow on from.")]
INCLUDE = Annotated[list[str] | None, typer.Option(help="Pull in an entry by its id.")]
EXCLUDE = Annotated[list[str] | None, typer.Option(help="Leave something out, by source or title.")]
LATE = Annotated[bool | None, typer.Option("--late/--no-late", help="Late joiners behind the window.")]
ASKED = Annotated[str | None, typer.Option("--request", help="A whole request as JSON (a file, or - for stdin).")]
JSON = Annotated[bool, typer.Option("--json", help="Everything as one JSON object.")]


@app.command()
def assemble(
    project: PROJECT,
    document: DOCUMENT = None,
    cursor: CURSOR = None,
    skill: SKILL = "continue",
    input: INPUT = "",  # noqa: A002
    model: MODEL = "gpt-4o",
    window: WINDOW = None,
    recipe: RECIPE = "novel",
    eyes: EYES = None,
    character: CHARACTER = None,
    conversation: TALK = "",
    include: INCLUDE = None,
    exclude: EXCLUDE = None,
    late: LATE = None,
    asked: ASKED = None,
    as_json: JSON = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="The prompt and nothing else.")] = False,
) -> None:
    """Assemble the prompt for a place in the story."""
    house, request = _open(project, locals())
    result = house.assemble(request)
    if as_json:
        from fabula.context.wire import result_json

        _print_json(result_json(result))
    elif quiet:
        print(result.prompt)
    else:
        from fabula.cli.show import show_assembly

        show_assembly(house, request, result)


@app.command()
def inspect(
    project: PROJECT,
    document: DOCUMENT = None,
    cursor: CURSOR = None,
    skill: SKILL = "continue",
    input: INPUT = "",  # noqa: A002
    model: MODEL = "gpt-4o",
    window: WINDOW = None,
    recipe: RECIPE = "novel",
    eyes: EYES = None,
    character: CHARACTER = None,
    conversation: TALK = "",
    include: INCLUDE = None,
    exclude: EXCLUDE = None,
    late: LATE = None,
    asked: ASKED = None,
    as_json: JSON = False,
) -> None:
    """Look inside: every fragment, in or out, and why."""
    house, request = _open(project, locals())
    result = house.inspect(request)
    if as_json:
        from fabula.context.wire import inspection_json

        _print_json(inspection_json(result))
    else:
        from fabula.cli.show import show_inspection

        show_inspection(house, request, result)


@app.command()
def why(
    name: Annotated[str, typer.Argument(help="A name, a title or a source.")],
    project: PROJECT,
    document: DOCUMENT = None,
    cursor: CURSOR = None,
    skill: SKILL = "continue",
    input: INPUT = "",  # noqa: A002
    model: MODEL = "gpt-4o",
    window: WINDOW = None,
    recipe: RECIPE = "novel",
    eyes: EYES = None,
    character: CHARACTER = None,
    conversation: TALK = "",
    include: INCLUDE = None,
    exclude: EXCLUDE = None,
    late: LATE = None,
    asked: ASKED = None,
    as_json: JSON = False,
) -> None:
    """Why is this (not) in the prompt?"""
    house, request = _open(project, locals())
    result = house.inspect(request)
    verdicts = result.why(name)
    if as_json:
        from fabula.context.wire import verdict_json

        _print_json({"name": name, "verdicts": [verdict_json(verdict) for verdict in verdicts]})
    else:
        from fabula.cli.show import show_why

        show_why(name, verdicts)
    if not verdicts:
        raise typer.Exit(1)


@app.command()
def samples() -> None:
    """The sample stories that come along."""
    from fabula.app import Fabula, sample_names

    for name in sample_names():
        house = Fabula.open(f"sample:{name}")
        print(f"sample:{name:<16} {house.view.project.title} ({house.view.project.language})")


@app.command(name="version")
def show_version() -> None:
    """Which version this is."""
    print(__version__)


def _open(project: str, options: dict[str, Any]) -> tuple[Fabula, Request]:
    """The project and the request that a command line describes."""
    from fabula.app import Fabula

    house = Fabula.open(project if project.startswith("sample:") else Path(project))
    if options["asked"] is not None:
        return house, house.read_request(_read(options["asked"]))
    request = house.request(
        document_id=options["document"],
        cursor=options["cursor"],
        skill_id=options["skill"],
        additional_input=options["input"],
        model=options["model"],
        window=options["window"],
        recipe=options["recipe"],
        eyes=options["eyes"],
        character=options["character"],
        conversation_id=options["conversation"],
        include=tuple(options["include"] or ()),
        exclude=tuple(options["exclude"] or ()),
        late_joiners=options["late"],
    )
    return house, request


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise FabulaError(Code.REQUEST_INVALID, f"{name} could not be read ({error.strerror}).") from error


def _print_json(data: object) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=2))


def main() -> None:
    """Run, and turn refusals into one clear line."""
    try:
        app()
    except FabulaError as error:
        print(f"{error.code.value}: {error.sentence}", file=sys.stderr)
        raise SystemExit(3 if error.code is Code.PROJECT_NOT_FOUND else 2) from None
    except BrokenPipeError:
        raise SystemExit(0) from None


if __name__ == "__main__":
    main()
