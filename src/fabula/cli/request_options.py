"""Options that describe a request for a prompt, and the request they make."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.opening import show_progress
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.context.request import Attachment, Request
    from fabula.workspace.project import ProjectHandle

PROJECT = Annotated[str, typer.Argument(help="A project of the store, a folder, a text file, or sample:NAME.")]
DOCUMENT = Annotated[str | None, typer.Option("--document", "-d", help="The document's id; the last one by default.")]
CURSOR = Annotated[int | None, typer.Option("--cursor", "-c", help="Where the cursor stands; the end by default.")]
SKILL = Annotated[str, typer.Option("--skill", "-s", help="What the model is asked to do.")]
INSTRUCTION = Annotated[str, typer.Option("--input", "-i", help="Your own instruction.")]
MODEL = Annotated[str, typer.Option("--model", "-m", help="For which model tokens are counted.")]
WINDOW = Annotated[int | None, typer.Option("--window", "-w", help="The model's window, if not its usual one.")]
RECIPE = Annotated[str, typer.Option("--recipe", help="How the prompt is laid out; as the skill says, by default.")]
EYES = Annotated[str | None, typer.Option("--eyes", help="Who is looking: author, reader or character.")]
CHARACTER = Annotated[str | None, typer.Option("--character", help="Through whose eyes, by name or id.")]
CONVERSATION = Annotated[str, typer.Option("--conversation", help="The conversation to follow on from.")]
INCLUDE = Annotated[list[str] | None, typer.Option("--include", help="Bring in an entry by its id.")]
EXCLUDE = Annotated[list[str] | None, typer.Option("--exclude", help="Leave something out, by source or title.")]
LATE = Annotated[bool | None, typer.Option("--late/--no-late", help="New entries stand behind the text.")]
ATTACH = Annotated[list[Path] | None, typer.Option("--attach", help="An image, a PDF or a text that goes along.")]
REQUEST = Annotated[str | None, typer.Option("--request", help="A whole request as JSON (a file, or - for stdin).")]


def make_request(
    project: ProjectHandle,
    *,
    document: str | None,
    cursor: int | None,
    skill: str,
    instruction: str,
    model: str,
    window: int | None,
    recipe: str,
    eyes: str | None,
    character: str | None,
    conversation: str,
    include: list[str] | None,
    exclude: list[str] | None,
    late: bool | None,
    attach: list[Path] | None,
    request: str | None,
) -> Request:
    """Make the request that a command line describes, and wait for the search index it will need."""
    _wait_for_index(project)
    if request is not None:
        return project.read_request(_read(request))
    return project.request(
        document_id=document,
        cursor=cursor,
        skill_id=skill,
        additional_input=instruction,
        model=model,
        window=window,
        recipe=recipe,
        perspective=eyes,
        character=_find_character(project, character),
        conversation_id=conversation,
        include=include or (),
        exclude=exclude or (),
        late_joiners=late,
        attachments=_read_attachments(attach or ()),
    )


def _find_character(project: ProjectHandle, name: str | None) -> str | None:
    """Return the id of the entry of that name."""
    from fabula.codex.model import Codex

    codex = project.view.snapshot(Codex)
    found = codex.find_entries(name) if codex is not None and name else []
    return found[0].id if len(found) == 1 else name


def _read_attachments(paths: Sequence[Path]) -> tuple[Attachment, ...]:
    if not paths:
        return ()
    from fabula.llm.providers.attachments import make_attachment

    return tuple(make_attachment(path) for path in paths)


def _wait_for_index(project: ProjectHandle) -> None:
    """Wait for the search index: a command answers once, and nobody asks it again when the index is there."""
    from fabula.search.corpus import Corpus

    view = project.view
    corpus = view.snapshot(Corpus)
    if corpus is None or corpus.built is not None:
        return
    title = view.project.title or view.project.id
    with show_progress(f"Reading {title}") as progress, suppress(FabulaError, OSError):
        corpus.build_index(progress)  # what goes wrong is the assembly's to say


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise FabulaError(Code.REQUEST_INVALID, f"{name} could not be read ({error.strerror}).") from error
