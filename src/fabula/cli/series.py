"""`fabula series`: several books that share a codex."""

from __future__ import annotations

from typing import Annotated

import typer

from fabula.cli.opening import open_workspace, print_json
from fabula.cli.projects import JSON, STORE

BOOK = Annotated[str, typer.Argument(help="A project of the store, by its id or title.")]
SERIES = Annotated[str, typer.Argument(help="A series, by its id or title.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    series = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Books that share a codex.")
    series.command()(new)
    series.command()(join)
    series.command()(leave)
    series.command()(books)
    app.add_typer(series, name="series")


def new(
    title: Annotated[str, typer.Argument(help="What it is called.")],
    language: Annotated[str, typer.Option("--language", "-l", help="en or zh.")] = "en",
    store: STORE = None,
) -> None:
    """Begin a series; its codex has the same commands as any other.

    Example: fabula series new "The Coast"
    """
    with open_workspace(store) as workspace:
        series_id = workspace.create_series(title, language=language)
    print(f"{title} is series {series_id}.")


def join(book: BOOK, series: SERIES, store: STORE = None) -> None:
    """Let a book share the codex of a series, in place of the one it shared before.

    Example: fabula series join "The Lantern Coast" "The Coast"
    """
    with open_workspace(store) as workspace:
        joined, shared = workspace.join_series(book, series)
    print(f"{joined.title} belongs to {shared.title}.")


def leave(book: BOOK, store: STORE = None) -> None:
    """Take a book out of its series; what the series shares stays with it.

    Example: fabula series leave "The Lantern Coast"
    """
    with open_workspace(store) as workspace:
        left = workspace.leave_series(book)
    print(f"{left.title} belongs to no series.")


def books(series: SERIES, store: STORE = None, as_json: JSON = False) -> None:
    """List the books of a series.

    Example: fabula series books "The Coast"
    """
    from fabula.workspace.schemas.projects import describe_book

    with open_workspace(store) as workspace:
        found = workspace.list_books(series)
    if as_json:
        print_json([describe_book(one) for one in found])
        return
    for one in found:
        print(f"{one.id:<36} {one.title}")
    if not found:
        print("No books yet. Add one: fabula series join BOOK SERIES")
