"""`fabula chapter`: list, read, add, edit, replace, move, merge, split, rename and delete chapters (man-2)."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.editor import explain_conflict
from fabula.cli.opening import open_project, read_text
from fabula.cli.options import IDS, JSON, PROJECT, STORE
from fabula.cli.output import invalid_request, print_json, print_line, quote_name, say, warn
from fabula.cli.tables import Column, print_list
from fabula.core.errors import FabulaError
from fabula.core.file_errors import describe_os_error
from fabula.core.messages import message, plural

if TYPE_CHECKING:
    from fabula.workspace.chapters import ChapterRecord

CHAPTER = Annotated[str, Argument(help="A chapter, by its id, title or number.")]
AFTER = Annotated[str | None, Option("--after", help="After this chapter.")]
INTO = Annotated[str | None, Option("--into", help="At the end of this part.")]
SAME_TITLE = Annotated[bool, Option("--yes", "-y", help="Also if another chapter has this title.")]
DEFAULT_EDITOR = "notepad" if os.name == "nt" else "vi"

commands = CommandGroup("chapter", help="The text of your book, chapter by chapter.")


@commands.command("list")
def list_chapters(project: PROJECT, with_ids: IDS = False, store: STORE = None, as_json: JSON = False) -> None:
    """List the chapters in reading order, with their numbers and lengths.

    Example: fabula chapter list "The Lantern Coast"
    """
    from fabula.workspace.schemas.chapters import describe_chapter

    with open_project(project, store) as opened:
        found = opened.chapters.list_chapters()
    empty = message("No chapters yet. Write one: fabula chapter new {project} TITLE", project=quote_name(project))
    columns: list[Column[ChapterRecord]] = [
        Column(message("title"), lambda one: f"{'  ' * one.depth}{one.name}", style="bold"),
        Column(message("characters"), lambda one: f"{one.length:,}", right=True),
    ]
    numbers = {one.id: one.number for one in found}
    print_list(found, describe_chapter, columns, empty, as_json, with_ids=with_ids, numbers=numbers)


@commands.command()
def show(project: PROJECT, chapter: CHAPTER, store: STORE = None, as_json: JSON = False) -> None:
    """Print the text of a chapter.

    Example: fabula chapter show "The Lantern Coast" 3
    """
    from fabula.workspace.schemas.chapters import describe_text

    with open_project(project, store) as opened:
        found = opened.chapters.read(chapter)
    if as_json:
        print_json(describe_text(found))
    else:
        print_line(f"{found.record.name}\n\n{found.text}")


@commands.command()
def new(
    project: PROJECT,
    title: Annotated[str, Argument(help="What it is called.")],
    file: Annotated[str | None, Option("--text", help="A file with its text, or - for standard input.")] = None,
    kind: Annotated[str, Option("--kind", help="book, part, chapter, scene or note.")] = "chapter",
    after: AFTER = None,
    into: INTO = None,
    yes: SAME_TITLE = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Add a chapter, at the end unless you say where.

    Example: fabula chapter new "The Lantern Coast" "The Bell" --after 3
    """
    from fabula.workspace.schemas.chapters import describe_chapter

    text = "" if file is None else read_text(file)
    with open_project(project, store) as opened:
        made = opened.chapters.add(title, text, kind=kind, after=after, into=into, allow_duplicate=yes)
    if as_json:
        print_json(describe_chapter(made))
    else:
        say("{title} is added.", title=made.name)


@commands.command()
def edit(project: PROJECT, chapter: CHAPTER, store: STORE = None) -> None:
    """Open a chapter in your editor ($VISUAL or $EDITOR), and store it when you close it.

    Example: fabula chapter edit "The Lantern Coast" 3
    """
    with open_project(project, store) as opened:
        found = opened.chapters.read(chapter)
        record = found.record
        path = _write_copy(record.id, found.text)
        _run_editor(path)
        text = read_text(str(path))
        if text == found.text or text == f"{found.text}\n":
            path.unlink()
            say("{title} is unchanged.", title=record.name)
            return
        names = f"{quote_name(project)} {quote_name(chapter)}"
        try:
            with explain_conflict(f"fabula chapter show {names}"):
                changed = opened.chapters.write(record.id, text, expected_revision=record.revision)
        except FabulaError:
            warn("Your text was not stored. It is in {path}.", path=path)
            warn("To see what was changed meanwhile: {command}", command=f"fabula revision diff {names}")
            replace_command = f"fabula chapter replace {names} {quote_name(str(path))}"
            warn("To put your text in place of the newer one: {command}", command=replace_command)
            raise
        path.unlink()
    say("{title} is stored as revision {revision}.", title=changed.name, revision=changed.revision)


@commands.command()
def replace(
    project: PROJECT,
    chapter: Annotated[str, Argument(help="A chapter, by its id, title or number; * for all.")],
    file: Annotated[str | None, Argument(help="A file with the new text, or - for standard input.")] = None,
    words: Annotated[str | None, Option("--words", help="Replace only these words.")] = None,
    by: Annotated[str | None, Option("--by", help="What to put in place of the words.")] = None,
    store: STORE = None,
) -> None:
    """Replace the text of a chapter by that of a file, or words in it wherever they are.

    Example: fabula chapter replace "The Lantern Coast" 3 --words grey --by gray
    """
    if (file is None) == (words is None) or (words is None) != (by is None):
        raise invalid_request("Name a file with the new text, or say which --words to replace --by which.")
    with open_project(project, store) as opened:
        if words is not None and by is not None:
            counts = opened.chapters.replace_words(words, by, chapter=None if chapter == "*" else chapter)
            for title, count in counts.items():
                say(plural(count, "{title}: replaced once.", "{title}: replaced {count:,} times.", title=title))
            return
        changed = opened.chapters.write(chapter, read_text(str(file)))
    say("{title} is stored as revision {revision}.", title=changed.name, revision=changed.revision)


@commands.command()
def rename(
    project: PROJECT,
    chapter: CHAPTER,
    title: Annotated[str, Argument(help="The new title.")],
    yes: SAME_TITLE = False,
    store: STORE = None,
) -> None:
    """Give a chapter another title.

    Example: fabula chapter rename "The Lantern Coast" 3 "The Bell"
    """
    with open_project(project, store) as opened:
        old = opened.chapters.read(chapter).record.name
        changed = opened.chapters.rename(chapter, title, allow_duplicate=yes)
    say("{old} is now {new}.", old=old, new=changed.name)


@commands.command()
def move(
    project: PROJECT,
    chapter: CHAPTER,
    before: Annotated[str | None, Option("--before", help="Before this chapter.")] = None,
    after: AFTER = None,
    into: INTO = None,
    store: STORE = None,
) -> None:
    """Move a chapter, with everything below it.

    Example: fabula chapter move "The Lantern Coast" 5 --before 3
    """
    with open_project(project, store) as opened:
        moved = opened.chapters.move(chapter, before=before, after=after, into=into)
    say("{title} is moved.", title=moved.name)


@commands.command()
def happens(
    project: PROJECT,
    chapter: CHAPTER,
    before: Annotated[str | None, Option("--before", help="Before this chapter.")] = None,
    after: AFTER = None,
    store: STORE = None,
) -> None:
    """Say when a chapter happens, where that is not when it is read: before or after another one.

    Without --before and --after it happens where it is read.

    Example: fabula chapter happens "The Lantern Coast" 5 --before 3
    """
    with open_project(project, store) as opened:
        moved = opened.chapters.set_story_time(chapter, before=before, after=after)
        order = opened.view.timeline.documents_in_story_order
    say(
        "{title} happens as number {number} of {count}.",
        title=moved.name,
        number=order.index(moved.id) + 1,
        count=len(order),
    )


@commands.command()
def viewpoint(
    project: PROJECT,
    chapter: CHAPTER,
    character: Annotated[
        str | None, Argument(help="A character of the codex, by any name; nobody if left out.")
    ] = None,
    store: STORE = None,
) -> None:
    """Say through whose eyes a chapter is told; without a character, through nobody's.

    Prompts for the chapter hold what that character knows, and other characters do not know what it tells.

    Example: fabula chapter viewpoint "The Lantern Coast" 5 "Mara Venn"
    """
    with open_project(project, store) as opened:
        changed = opened.chapters.set_viewpoint(chapter, character)
        name = opened.codex.find(changed.pov).name if changed.pov else ""
    if name:
        say("{title} is told through the eyes of {name}.", title=changed.name, name=name)
    else:
        say("{title} is told through nobody's eyes in particular.", title=changed.name)


@commands.command()
def merge(
    project: PROJECT,
    chapter: CHAPTER,
    other: Annotated[str, Argument(help="The chapter to append to it.")],
    store: STORE = None,
) -> None:
    """Append a chapter to another one; what is planned, marked and known in it goes along.

    Example: fabula chapter merge "The Lantern Coast" 3 4
    """
    with open_project(project, store) as opened:
        merged = opened.chapters.merge(chapter, other)
    say("{title} holds both now: {count:,} characters.", title=merged.name, count=merged.length)


@commands.command()
def split(
    project: PROJECT,
    place: Annotated[str, Argument(help="Where: CHAPTER@OFFSET, or CHAPTER:WORDS for right after these words.")],
    title: Annotated[str, Argument(help="The title of the second part.")],
    yes: SAME_TITLE = False,
    store: STORE = None,
) -> None:
    """Split a chapter in two; what is planned and not done yet goes to the second part.

    Example: fabula chapter split "The Lantern Coast" "ch-03:she said no." "The Answer"
    """
    with open_project(project, store) as opened:
        first, second = opened.chapters.split(place, title, allow_duplicate=yes)
    say(
        "{first} has {count:,} characters now, and {second} the other {rest:,}.",
        first=first.name,
        count=first.length,
        second=second.name,
        rest=second.length,
    )


@commands.command()
def delete(project: PROJECT, chapter: CHAPTER, store: STORE = None) -> None:
    """Delete a chapter with everything below it; `fabula undo` brings it back.

    Example: fabula chapter delete "The Lantern Coast" 3
    """
    with open_project(project, store) as opened:
        removed, count = opened.chapters.remove(chapter)
    below = plural(count - 1, " and {count} document below it", " and {count} documents below it")
    say(
        "{title}{below} is deleted. To bring it back: fabula undo {project}",
        title=removed.name,
        below=below if count > 1 else "",
        project=shlex.quote(project),
    )


def _write_copy(name: str, text: str) -> Path:
    """Write a text to a file of its own, which stays where the text could not be stored."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="\n", prefix=f"fabula-{name[:20]}-", suffix=".md", delete=False
    ) as file:
        file.write(text)
    return Path(file.name)


def _run_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or DEFAULT_EDITOR
    try:
        finished = subprocess.run([*shlex.split(editor), str(path)], check=False)
    except OSError as error:
        raise invalid_request(
            "The editor {editor!r} could not be started ({reason}). Set VISUAL or EDITOR to another one.",
            editor=editor,
            reason=describe_os_error(error),
        ) from error
    if finished.returncode:
        raise invalid_request(
            "The editor {editor!r} ended with an error, so nothing was stored. Your text is in {path}.",
            editor=editor,
            path=path,
        )
