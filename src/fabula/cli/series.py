"""`fabula series`: several books that share a codex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import number_project, open_workspace
from fabula.cli.options import IDS, JSON, STORE
from fabula.cli.output import say, use_project_language
from fabula.cli.tables import Column, print_list
from fabula.core.messages import message

if TYPE_CHECKING:
    from fabula.manuscript.series import SeriesBook

BOOK = Annotated[str, Argument(help="A project of the store, by its title, number or id.")]
SERIES = Annotated[str, Argument(help="A series, by its title, number or id.")]

commands = CommandGroup("series", help="Books that share a codex.")


@commands.command()
def new(
    title: Annotated[str, Argument(help="What it is called.")],
    language: Annotated[str, Option("--language", "-l", help="en or zh.")] = "en",
    store: STORE = None,
) -> None:
    """Begin a series; its codex has the same commands as any other.

    Example: fabula series new "The Coast"
    """
    with open_workspace(store) as workspace:
        number = number_project(workspace, workspace.create_series(title, language=language))
    say("{title} is series {number}.", title=title, number=number)


@commands.command()
def join(book: BOOK, series: SERIES, store: STORE = None) -> None:
    """Let a book share the codex of a series, as its last book; it leaves the series it was in before.

    Example: fabula series join "The Lantern Coast" "The Coast"
    """
    with open_workspace(store) as workspace:
        joined, shared, books = workspace.join_series(book, series)
    use_project_language(joined.language)
    number = next(one.number for one in books if one.id == joined.id)
    say("{title} belongs to {series}, as book {number}.", title=joined.title, series=shared.title, number=number)
    if number != 1:
        say("It knows what the books before it tell. Change their order with: fabula series order")


@commands.command()
def leave(book: BOOK, store: STORE = None) -> None:
    """Take a book out of its series; what the series shares stays with it.

    Example: fabula series leave "The Lantern Coast"
    """
    with open_workspace(store) as workspace:
        left = workspace.leave_series(book)
    use_project_language(left.language)
    say("{title} belongs to no series.", title=left.title)


@commands.command()
def books(series: SERIES, with_ids: IDS = False, store: STORE = None, as_json: JSON = False) -> None:
    """List the books of a series in their order.

    Example: fabula series books "The Coast"
    """
    with open_workspace(store) as workspace:
        found = workspace.list_books(series)
    _print_books(found, as_json, with_ids=with_ids)


@commands.command()
def order(
    series: SERIES,
    books: Annotated[list[str], Argument(help="All its books, the first one first.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Set the order of the books: what becomes true in one is known in those after it, never before it.

    Example: fabula series order "The Coast" "The Lantern Coast" "The Drowned Bell"
    """
    with open_workspace(store) as workspace:
        found = workspace.order_books(series, books)
    _print_books(found, as_json)


def _print_books(books: Sequence[SeriesBook], as_json: bool, *, with_ids: bool = False) -> None:
    from fabula.workspace.schemas.projects import describe_book

    empty = message("No books yet. Add one: fabula series join BOOK SERIES")
    columns: list[Column[SeriesBook]] = [Column(message("title"), lambda one: one.title, style="bold")]
    numbers = {one.id: one.number for one in books}
    print_list(books, describe_book, columns, empty, as_json, with_ids=with_ids, numbers=numbers)
    if not as_json and any(one.number is None for one in books):
        say("Books without a number have no place in the order yet. Set it with: fabula series order")
