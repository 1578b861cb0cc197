"""`fabula revision`: earlier texts of a chapter; list, compare, restore and label them (man-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument

from fabula.cli.chapter import CHAPTER
from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import JSON, PROJECT, STORE
from fabula.cli.output import format_time, print_json, print_line, say
from fabula.cli.tables import Column, print_list
from fabula.cli.value_names import name_value
from fabula.core.messages import message

if TYPE_CHECKING:
    from fabula.manuscript.revisions import Revision, TextPart

_CONTEXT = 60  # characters beside a change

commands = CommandGroup("revision", help="Earlier texts of a chapter.")


@commands.command("list")
def list_revisions(project: PROJECT, chapter: CHAPTER, store: STORE = None, as_json: JSON = False) -> None:
    """List the earlier texts of a chapter that were kept, the latest first.

    Example: fabula revision list "The Lantern Coast" 3
    """
    from fabula.workspace.schemas.chapters import describe_revision

    with open_project(project, store) as opened:
        record, found = opened.revisions.list_revisions(chapter)
    if not as_json:
        say("{title} is at revision {revision}.", title=record.name, revision=record.revision)
    columns: list[Column[Revision]] = [
        Column(message("kept"), lambda one: format_time(one.recorded_at)),
        Column(message("characters"), lambda one: f"{one.length:,}", right=True),
        Column(message("cause"), lambda one: name_value(one.cause)),
        Column(message("label"), lambda one: one.label, wraps=True),
    ]
    numbers = {str(one.revision): one.revision for one in found}
    empty = message("No earlier text was kept yet.")
    print_list(found, describe_revision, columns, empty, as_json, id_of=lambda one: str(one.revision), numbers=numbers)


@commands.command()
def diff(
    project: PROJECT,
    chapter: CHAPTER,
    first: Annotated[int | None, Argument(help="A revision; the last one kept if left out.")] = None,
    second: Annotated[int | None, Argument(help="A later one; the present text if left out.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Compare two texts of a chapter, word by word.

    Example: fabula revision diff "The Lantern Coast" 3 12
    """
    from fabula.workspace.schemas.chapters import describe_difference

    with open_project(project, store) as opened:
        found = opened.revisions.compare(chapter, first, second)
    if as_json:
        print_json([describe_difference(one) for one in found])
        return
    for one in found:
        print_line(f"{one.line:>5}  {''.join(_mark(part) for part in one.parts)}")
    if not found:
        say("Both are the same.")


def _mark(part: TextPart) -> str:
    """Return a part of a line with signs that say what became of it; unchanged words far from a change are left out."""
    match part.kind:
        case "removed":
            return f"[-{part.text}-]"
        case "added":
            return f"{{+{part.text}+}}"
        case _ if len(part.text) > 2 * _CONTEXT:
            return f"{part.text[:_CONTEXT]} … {part.text[-_CONTEXT:]}"
        case _:
            return part.text


@commands.command()
def restore(
    project: PROJECT,
    chapter: CHAPTER,
    revision: Annotated[int, Argument(help="Which one: see `fabula revision list`.")],
    store: STORE = None,
) -> None:
    """Put an earlier text in place of the present one, which is kept.

    Example: fabula revision restore "The Lantern Coast" 3 12
    """
    with open_project(project, store) as opened:
        changed = opened.revisions.restore(chapter, revision)
    say(
        "{title} has the text of revision {restored} again, as revision {revision}.",
        title=changed.name,
        restored=revision,
        revision=changed.revision,
    )


@commands.command()
def label(
    project: PROJECT,
    chapter: CHAPTER,
    name: Annotated[str, Argument(help="What to call it.")],
    store: STORE = None,
) -> None:
    """Keep the present text of a chapter for good, under a name.

    Example: fabula revision label "The Lantern Coast" 3 "sent to the editor"
    """
    with open_project(project, store) as opened:
        revision = opened.revisions.label(chapter, name)
    say("Revision {revision} is kept as “{name}”.", revision=revision, name=name)
