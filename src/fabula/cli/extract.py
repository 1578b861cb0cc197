"""`fabula extract`: entries for the codex, proposed from a manuscript that is already there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import JSON, PROJECT, STORE
from fabula.cli.output import print_json, say, shorten
from fabula.cli.progress import show_progress
from fabula.cli.tables import Column, print_table
from fabula.cli.value_names import name_value
from fabula.core.messages import message

if TYPE_CHECKING:
    from fabula.text.extraction.model import ProposedEntry

commands = CommandGroup()


@commands.command()
def extract(
    project: PROJECT,
    accept: Annotated[list[str] | None, Option("--accept", help="Make an entry of this one.")] = None,
    dismiss: Annotated[list[str] | None, Option("--dismiss", help="Never propose this one again.")] = None,
    most: Annotated[int, Option("--most", min=1, max=2000, help="How many to list.")] = 40,
    as_json: JSON = False,
    store: STORE = None,
) -> None:
    """Propose codex entries from the manuscript; accept or dismiss them by name.

    Example: fabula extract "The Lantern Coast" --accept "Mara Venn" --dismiss Tuesday
    """
    from fabula.workspace.schemas.extraction import describe_review

    with open_project(project, store) as opened:
        title = opened.view.project.title
        with show_progress(message("Reading {title}", title=title)) as progress:
            review = opened.extraction.review(accept=accept or (), dismiss=dismiss or (), progress=progress)
    if as_json:
        print_json(describe_review(review, limit=most))
        return
    for proposal in review.accepted:
        say("{name} is in the codex now.", name=proposal.name)
    for name in review.dismissed:
        say("{name} will not be proposed again.", name=name)
    if review.accepted or review.dismissed:
        return
    if review.proposals:
        _show(review.proposals[:most])
    else:
        say("Nothing in {title} looks like a name that the codex does not have.", title=title)


def _show(proposals: Sequence[ProposedEntry]) -> None:
    columns: list[Column[ProposedEntry]] = [
        Column(message("name"), lambda one: shorten(one.name, 60), style="bold"),
        Column(message("kind"), lambda one: name_value(one.kind)),
        Column(message("mentions"), lambda one: f"{one.mentions:,}", right=True),
        Column(message("also called"), lambda one: tuple(one.aliases), wraps=True),
        Column(message("first"), lambda one: one.evidence[0][:60] if one.evidence else "", style="grey58", wraps=True),
    ]
    print_table(proposals, columns)
    say("Make an entry of one with --accept NAME, or never see it again with --dismiss NAME.")
