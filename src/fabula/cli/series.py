"""`fabula series`: several books that share a codex."""

from __future__ import annotations

from typing import Annotated

import typer

from fabula.cli.desk import print_json
from fabula.cli.projects import JSON, STORE, open_store

BOOK = Annotated[str, typer.Argument(help="A project of the store, by its id or title.")]
SERIES = Annotated[str, typer.Argument(help="A series, by its id or title.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    series = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Books that share a codex.")
    for name, command in (("new", new), ("join", join), ("leave", leave), ("books", books)):
        series.command(name=name)(command)
    app.add_typer(series, name="series")


def new(
    title: Annotated[str, typer.Argument(help="What it is called.")],
    language: Annotated[str, typer.Option("--language", "-l", help="en or zh.")] = "en",
    store: STORE = None,
) -> None:
    """Begin a series; its codex has the same commands as any other."""
    from fabula.manuscript import series

    with open_store(store) as opened:
        ident = series.begin(opened, title, language=language)
    print(f"{title} is series {ident}.")


def join(book: BOOK, shared: SERIES, store: STORE = None) -> None:
    """Let a book share the codex of a series, in place of the one it shared before."""
    from fabula.manuscript import projects, series

    with open_store(store) as opened:
        one, whole = projects.find(opened, book), projects.find(opened, shared)
        series.join(opened, one.id, whole.id)
    print(f"{one.title} belongs to {whole.title}.")


def leave(book: BOOK, store: STORE = None) -> None:
    """Take a book out of its series; what the series shares stays with it."""
    from fabula.manuscript import projects, series

    with open_store(store) as opened:
        one = projects.find(opened, book)
        series.leave(opened, one.id)
    print(f"{one.title} belongs to no series.")


def books(shared: SERIES, store: STORE = None, as_json: JSON = False) -> None:
    """The books of a series."""
    from fabula.manuscript import projects, series

    with open_store(store) as opened:
        found = series.books(opened, projects.find(opened, shared).id)
    if as_json:
        print_json([{"id": card.id, "title": card.title} for card in found])
        return
    for card in found:
        print(f"{card.id:<36} {card.title}")
    if not found:
        print("No books yet. Add one: fabula series join BOOK SERIES")
