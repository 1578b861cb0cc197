"""`fabula extract`: entries for the codex, proposed from a manuscript that is already there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import JSON, PROJECT, STORE
from fabula.cli.output import invalid_request, print_json, print_line, say, shorten
from fabula.cli.progress import show_progress
from fabula.cli.tables import Column, print_table
from fabula.core.messages import message

if TYPE_CHECKING:
    from fabula.text.extraction.model import ProposedEntry

commands = CommandGroup()


@commands.command()
def extract(
    project: PROJECT,
    accept: Annotated[list[str] | None, Option("--accept", help="Make an entry of this one.")] = None,
    dismiss: Annotated[list[str] | None, Option("--dismiss", help="Never propose this one again.")] = None,
    restore: Annotated[list[str] | None, Option("--restore", help="Propose this dismissed one again.")] = None,
    list_dismissed: Annotated[bool, Option("--dismissed", help="List the names that you dismissed.")] = False,
    most: Annotated[int, Option("--most", min=1, max=2000, help="How many to list.")] = 40,
    as_json: JSON = False,
    store: STORE = None,
) -> None:
    """Propose codex entries from the manuscript; accept, dismiss or restore them by name.

    Example: fabula extract "The Lantern Coast" --accept "Mara Venn" --dismiss Tuesday
    """
    from fabula.workspace.schemas.extraction import DismissedNames, describe_review

    if list_dismissed and (accept or dismiss or restore):
        raise invalid_request("--dismissed only lists names: leave out --accept, --dismiss and --restore.")
    with open_project(project, store) as opened:
        title = opened.view.project.title
        if list_dismissed:
            names = opened.extraction.list_dismissed()
            if as_json:
                print_json(DismissedNames(dismissed=tuple(names)))
            elif not names:
                say("You have dismissed no name in {title}.", title=title)
            for name in () if as_json else names:
                print_line(name)
            return
        with show_progress(message("Reading {title}", title=title)) as progress:
            review = opened.extraction.review(
                accept=accept or (), dismiss=dismiss or (), restore=restore or (), progress=progress
            )
    if as_json:
        print_json(describe_review(review, limit=most))
        return
    for proposal in review.accepted:
        say("{name} is in the codex now.", name=proposal.name)
    for name in review.dismissed:
        say("{name} will not be proposed again.", name=name)
    for name in review.restored:
        say("{name} can be proposed again.", name=name)
    if review.accepted or review.dismissed or review.restored:
        return
    if review.proposals:
        _show(review.proposals[:most], review.chapters)
    else:
        say("Nothing in {title} looks like a name that the codex does not have.", title=title)


def _show(proposals: Sequence[ProposedEntry], chapters: Mapping[str, str]) -> None:
    """Print proposals by kind, each kind with its best first."""
    headings = {
        "character": message("Characters"),
        "location": message("Places"),
        "faction": message("Groups"),
        "other": message("Things and others"),
    }
    columns: list[Column[ProposedEntry]] = [
        Column(message("name"), lambda one: one.name, style="bold", most=40),
        Column(message("mentions"), lambda one: f"{one.mentions:,}", right=True),
        Column(message("also called"), lambda one: tuple(one.aliases), wraps=True),
        Column(message("first in"), lambda one: chapters.get(one.document, ""), wraps=True),
        Column(message("evidence"), lambda one: shorten(next(iter(one.evidence), ""), 60), style="grey58", wraps=True),
    ]
    for kind, heading in headings.items():
        of_kind = [one for one in proposals if one.kind == kind]
        if of_kind:
            say(heading)
            print_table(of_kind, columns)
            print_line("")
    say("Make an entry of one with --accept NAME, or never see it again with --dismiss NAME.")
    say("List what you dismissed with --dismissed, and propose it again with --restore NAME.")
