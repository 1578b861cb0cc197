"""Options that describe a request for a prompt, and the request they make."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from fabula.cli.commands import CommandWithOptions
from fabula.cli.opening import read_bytes
from fabula.cli.output import language_of_texts
from fabula.cli.progress import show_progress
from fabula.core.errors import FabulaError
from fabula.core.messages import message

if TYPE_CHECKING:
    from fabula.context.request import Request
    from fabula.workspace.project import ProjectHandle


DEFAULT_MODEL = "gpt-4o"


@dataclass(frozen=True)
class RequestOptions:
    """What a command line says about a request for a prompt."""

    document: Annotated[str | None, Option("--document", "-d", help="A chapter; the last one by default.")] = None
    cursor: Annotated[
        str | None,
        Option("--cursor", "-c", help="Where the cursor stands: an offset, or: after 'words'; the end by default."),
    ] = None
    skill: Annotated[
        str | None,
        Option("--skill", "-s", help="What the model is asked to do: continue, and chat where somebody speaks."),
    ] = None
    instruction: Annotated[str, Option("--input", "-i", help="Your own instruction.")] = ""
    model: Annotated[
        str,
        Option(
            "--model",
            "-m",
            help="For which model; by default the one that writes, and gpt-4o where nothing is written.",
        ),
    ] = ""
    window: Annotated[int | None, Option("--window", "-w", help="The model's window, if not its usual one.")] = None
    recipe: Annotated[str, Option("--recipe", help="How the prompt is laid out; as the skill says, by default.")] = ""
    eyes: Annotated[str | None, Option("--eyes", help="Who is looking: author, reader or character.")] = None
    character: Annotated[str | None, Option("--character", help="Through whose eyes, by any name.")] = None
    conversation: Annotated[str, Option("--conversation", help="The conversation to follow on from.")] = ""
    speaker: Annotated[str, Option("--speaker", help="Who speaks next in the conversation, by any name.")] = ""
    no_history: Annotated[bool, Option("--no-history", help="Without what you asked for in this chapter before.")] = (
        False
    )
    include: Annotated[list[str] | None, Option("--include", help="Bring in an entry, by any name.")] = None
    exclude: Annotated[list[str] | None, Option("--exclude", help="Leave out an entry, a chapter or a rule.")] = None
    late: Annotated[bool | None, Option("--late/--no-late", help="Put newly found entries after the text.")] = None
    attach: Annotated[list[Path] | None, Option("--attach", help="An image, a PDF or a text that goes along.")] = None
    request: Annotated[str | None, Option("--request", help="A whole request as JSON: a file, or -.")] = None


class RequestCommand(CommandWithOptions):
    """A command that needs a request for a prompt."""

    options = RequestOptions


def make_request(project: ProjectHandle, options: RequestOptions) -> Request:
    """Make the request that a command line describes, and wait for the search index it will need."""
    from fabula.llm.providers.attachments import make_attachment

    wait_for_index(project)
    if options.request is not None:
        return project.read_request(read_bytes(options.request))
    made = project.request(
        document_id=options.document,
        skill_id=options.skill,
        additional_input=options.instruction,
        model=options.model or DEFAULT_MODEL,
        window=options.window,
        recipe=options.recipe,
        perspective=options.eyes,
        character=options.character,
        conversation_id=options.conversation,
        speaker_id=options.speaker,
        with_history=not options.no_history,
        include=options.include or (),
        exclude=options.exclude or (),
        late_joiners=options.late,
        reader_language=language_of_texts(),
        attachments=tuple(map(make_attachment, options.attach or ())),
    )
    return made if options.cursor is None else project.place_cursor(made, options.cursor)


def wait_for_index(project: ProjectHandle) -> None:
    """Wait for the search index and the facts: a command answers once, and nobody asks it again when they are there."""
    from fabula.codex.facts import Facts
    from fabula.search.corpus import Corpus

    view = project.view
    facts = view.snapshot(Facts)
    if facts is not None and facts.per_entry:
        facts.read()
    corpus = view.snapshot(Corpus)
    if corpus is None or corpus.built is not None:
        return
    title = message("Reading {title}", title=view.project.title or view.project.id)
    with show_progress(title) as progress, suppress(FabulaError, OSError):
        corpus.build_index(progress)  # what goes wrong is the assembly's to say
