"""`fabula extract`: entries for the codex, proposed from a manuscript that is already there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.opening import open_project, print_json, show_progress
from fabula.cli.projects import JSON, PROJECT, STORE

if TYPE_CHECKING:
    from fabula.text.extraction.model import ProposedEntry


def register(app: typer.Typer) -> None:
    """Add this command to the command line."""
    app.command(name="extract")(extract)


def extract(
    project: PROJECT,
    accept: Annotated[list[str] | None, typer.Option("--accept", help="Make an entry of this one.")] = None,
    dismiss: Annotated[list[str] | None, typer.Option("--dismiss", help="Never propose this one again.")] = None,
    most: Annotated[int, typer.Option("--most", min=1, max=2000, help="How many to list.")] = 40,
    as_json: JSON = False,
    store: STORE = None,
) -> None:
    """Propose codex entries from the manuscript; accept or dismiss them by name.

    Example: fabula extract "The Lantern Coast" --accept "Mara Venn" --dismiss Tuesday
    """
    from fabula.workspace.schemas.extraction import describe_review

    with open_project(project, store) as opened:
        title = opened.view.project.title
        with show_progress(f"Reading {title}") as progress:
            review = opened.extraction.review(accept=accept or (), dismiss=dismiss or (), progress=progress)
    if as_json:
        print_json(describe_review(review, limit=most))
        return
    for proposal in review.accepted:
        print(f"{proposal.name} is in the codex now.")
    for name in review.dismissed:
        print(f"{name} will not be proposed again.")
    if not (review.accepted or review.dismissed):
        _show(review.proposals[:most], title)


def _show(proposals: Sequence[ProposedEntry], title: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not proposals:
        print(f"Nothing in {title} looks like a name that the codex does not have.")
        return
    table = Table(box=None, pad_edge=False, header_style="grey58")
    for column in ("name", "kind", "mentions", "also called", "first"):
        table.add_column(column, justify="right" if column == "mentions" else "left", max_width=60)
    for one in proposals:
        first = one.evidence[0] if one.evidence else ""
        table.add_row(
            Text(one.name, style="bold"),
            one.kind,
            f"{one.mentions:,}",
            Text(", ".join(one.aliases)),
            Text(first[:60], style="grey58"),
        )
    Console().print(table)
    print("Make an entry of one with --accept NAME, or never see it again with --dismiss NAME.")
