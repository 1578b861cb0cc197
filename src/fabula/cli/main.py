"""`fabula`: assemble a prompt, look inside it, ask why.

Heavy things are imported where they are used, so that `--help` answers at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from inspect import Parameter, Signature, signature
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula import __version__
from fabula.cli import (
    codex,
    constraint,
    extract,
    jobs,
    lorebook,
    memory,
    outline,
    preset,
    projects,
    recaps,
    runs,
    search,
    series,
    setting,
    skills,
    synopsis,
    write,
)
from fabula.cli.projects import STORE
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import now

if TYPE_CHECKING:
    from fabula.context.request import Attachment, Request
    from fabula.workspace.project import Fabula
    from fabula.workspace.views import Library

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="From everything known about a story to one prompt under an exact budget, with a reason for each thing.",
)

PROJECT = Annotated[str, typer.Argument(help="A project of the store, a folder, a text file, or sample:NAME.")]
DOCUMENT = Annotated[str | None, typer.Option("--document", "-d", help="The document's id; the last one by default.")]
CURSOR = Annotated[int | None, typer.Option("--cursor", "-c", help="Where the cursor stands; the end by default.")]
SKILL = Annotated[str, typer.Option("--skill", "-s", help="What the model is asked to do.")]
INPUT = Annotated[str, typer.Option("--input", "-i", help="Your own instruction.")]
MODEL = Annotated[str, typer.Option("--model", "-m", help="For which model tokens are counted.")]
WINDOW = Annotated[int | None, typer.Option("--window", "-w", help="The model's window, if not its usual one.")]
RECIPE = Annotated[str, typer.Option(help="How the prompt is laid out; as the skill says, by default.")]
EYES = Annotated[str | None, typer.Option(help="author, reader or character.")]
CHARACTER = Annotated[str | None, typer.Option(help="Through whose eyes, by name or id.")]
TALK = Annotated[str, typer.Option("--conversation", help="The conversation to follow on from.")]
INCLUDE = Annotated[list[str] | None, typer.Option(help="Pull in an entry by its id.")]
EXCLUDE = Annotated[list[str] | None, typer.Option(help="Leave something out, by source or title.")]
LATE = Annotated[bool | None, typer.Option("--late/--no-late", help="Late joiners behind the window.")]
ATTACH = Annotated[list[Path] | None, typer.Option(help="An image, a PDF or a text that goes along.")]
ASKED = Annotated[str | None, typer.Option("--request", help="A whole request as JSON (a file, or - for stdin).")]
JSON = Annotated[bool, typer.Option("--json", help="Everything as one JSON object.")]


def _asked(
    library: Library | None,
    *,
    project: PROJECT,
    document: DOCUMENT = None,
    cursor: CURSOR = None,
    skill: SKILL = "continue",
    instruction: INPUT = "",
    model: MODEL = "gpt-4o",
    window: WINDOW = None,
    recipe: RECIPE = "",
    eyes: EYES = None,
    character: CHARACTER = None,
    conversation: TALK = "",
    include: INCLUDE = None,
    exclude: EXCLUDE = None,
    late: LATE = None,
    attach: ATTACH = None,
    asked: ASKED = None,
) -> tuple[Fabula, Request]:
    """The project and the request that a command line describes."""
    from fabula.workspace.project import Fabula

    house = Fabula.open(project, library=library)
    if asked is not None:
        return house, house.read_request(_read(asked))
    request = house.request(
        document_id=document,
        cursor=cursor,
        skill_id=skill,
        additional_input=instruction,
        model=model,
        window=window,
        recipe=recipe,
        eyes=eyes,
        character=_known_as(house, character),
        conversation_id=conversation,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        late_joiners=late,
        attachments=_attached(attach or ()),
    )
    return house, request


def _known_as(house: Fabula, name: str | None) -> str | None:
    """The id of the entry that is called so."""
    from fabula.codex.model import Codex

    codex = house.view.room(Codex)
    found = codex.called(name) if codex is not None and name else []
    return found[0].id if len(found) == 1 else name


def _attached(paths: Sequence[Path]) -> tuple[Attachment, ...]:
    """Files that go along with a request."""
    if not paths:
        return ()
    from fabula.llm.providers.attachments import attachment

    return tuple(attachment(path) for path in paths)


@contextmanager
def _library(project: str, where: str | None) -> Iterator[Library | None]:
    """The store's projects, unless the project is a file, a folder or a sample."""
    if project.startswith("sample:") or exists(project):
        yield None
        return
    from fabula.workspace.views import Library

    with projects.open_store(where) as store:
        yield Library(store)


def _read_up(house: Fabula) -> None:
    """Wait for the search index: a command answers once, and nobody asks it again when the index is there."""
    from fabula.search.corpus import Shelf

    view = house.view
    shelf = view.room(Shelf)
    if shelf is None or shelf.made is not None:
        return
    with projects.bar(f"Reading {view.project.title or view.project.id}") as progress, suppress(FabulaError, OSError):
        shelf.finished(progress)  # what goes wrong is the assembly's to say


def asks(command: Callable[..., None]) -> Callable[..., None]:
    """A command about a request: it gets all the options that describe one, and is called with house and request."""
    late = {"Fabula": object, "Request": object, "Library": object}  # imported only when a command runs
    shared = dict(list(signature(_asked, eval_str=True, locals=late).parameters.items())[1:])
    own = list(signature(command, eval_str=True, locals=late).parameters.values())[2:]
    place = Parameter("store", Parameter.KEYWORD_ONLY, default=None, annotation=STORE)
    options = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in (*own, *shared.values(), place)]

    def run(**given: Any) -> None:
        with _library(given["project"], given.pop("store")) as library:
            house, request = _asked(library, **{name: given.pop(name) for name in shared})
            try:
                _read_up(house)
                command(house, request, **given)
            finally:
                house.close()

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__dict__["__signature__"] = Signature(options)
    return run


@app.command()
@asks
def assemble(
    house: Fabula,
    request: Request,
    as_json: JSON = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="The prompt and nothing else.")] = False,
) -> None:
    """Assemble the prompt for a place in the story."""
    result = house.assemble(request, sitting=house.sitting(now()))
    if as_json:
        from fabula.context.json_request import result_json

        _print_json(result_json(result))
    elif quiet:
        print(result.prompt)
    else:
        from fabula.cli.show import show_assembly

        show_assembly(house, request, result)


@app.command()
@asks
def inspect(house: Fabula, request: Request, as_json: JSON = False) -> None:
    """Look inside: every fragment, in or out, and why."""
    result = house.inspect(request, sitting=house.sitting(now()))
    if as_json:
        from fabula.context.json_request import inspection_json

        _print_json(inspection_json(result))
    else:
        from fabula.cli.show import show_inspection

        show_inspection(house, request, result)


@app.command()
@asks
def why(
    house: Fabula,
    request: Request,
    name: Annotated[str, typer.Argument(help="A name, a title or a source.")],
    as_json: JSON = False,
) -> None:
    """Why is this (not) in the prompt?"""
    verdicts = house.inspect(request, sitting=house.sitting(now())).why(name)
    if as_json:
        from fabula.context.json_request import verdict_json

        _print_json({"name": name, "verdicts": [verdict_json(verdict) for verdict in verdicts]})
    else:
        from fabula.cli.show import show_why

        show_why(name, verdicts)
    if not verdicts:
        raise typer.Exit(1)


@app.command()
def samples() -> None:
    """The sample stories that come along."""
    from fabula.workspace.project import Fabula, sample_names

    for name in sample_names():
        house = Fabula.open(f"sample:{name}")
        print(f"sample:{name:<16} {house.view.project.title} ({house.view.project.language})")


@app.command(name="version")
def show_version() -> None:
    """Which version this is."""
    print(__version__)


projects.register(app)
codex.register(app)
series.register(app)
constraint.register(app)
lorebook.register(app)
extract.register(app)
preset.register(app)
synopsis.register(app)
outline.register(app)
search.register(app)
jobs.register(app)
recaps.register(app)
memory.register(app, asks)
setting.register(app)
write.register(app, asks)
skills.register(app)
runs.register(app)


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
