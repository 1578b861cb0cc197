"""Lists as tables: with headers and in colour on a terminal, as aligned lines where another program reads them.

A list shows numbers, which a person can type in place of ids; `--ids` shows the ids as well. On a terminal the table
fits its width, and long texts wrap. Elsewhere nothing is cut. Chinese characters count as two columns.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from fabula.cli.output import print_json, printable, render, say
from fabula.core.messages import Sentence, message

Item = TypeVar("Item")
_GAP = "  "
_FAINT = "grey58"
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # marks that turn the direction of all that follows


class Column(NamedTuple, Generic[Item]):
    """A column of a table: its header, what it shows of an item, and how."""

    header: Sentence | str
    cell: Callable[[Item], object]
    right: bool = False
    style: str = ""
    wraps: bool = False  # over several lines of a terminal; other columns are cut there
    most: int | None = None  # columns of a terminal that it may take


def print_list(
    items: Sequence[Item],
    describe: Callable[[Item], object],
    columns: Sequence[Column[Item]],
    empty: Sentence,
    as_json: bool,
    *,
    with_ids: bool = False,
    id_of: Callable[[Item], str] = attrgetter("id"),
    numbers: Mapping[str, object] | None = None,
) -> None:
    """Print a list: schemas as JSON, or a numbered table, or a sentence where there is none.

    `numbers` has the numbers by id, where they are not simply those of the rows.
    """
    if as_json:
        print_json([describe(item) for item in items])
    elif not items:
        say(empty)
    else:
        shown = number_in_order(map(id_of, items)) if numbers is None else numbers
        number = Column[Item](message("no."), lambda item: shown.get(id_of(item)), right=True, style=_FAINT)
        ids = [Column[Item](message("id"), id_of, style=_FAINT)] if with_ids else []
        print_table(items, [number, *ids, *columns])


def number_in_order(ids: Iterable[str]) -> dict[str, object]:
    """Return the numbers of things by id, from 1 on, for a list that shows only some of them."""
    return {ident: number for number, ident in enumerate(ids, start=1)}


def print_table(
    items: Sequence[Item], columns: Sequence[Column[Item]], row_style: Callable[[Item], str] | None = None
) -> None:
    """Print a table with headers, a row an item; `row_style` gives the style of the first column on a terminal."""
    headers = [render(column.header) for column in columns]
    rows = [[_make_cell(column.cell(item)) for column in columns] for item in items]
    if sys.stdout.isatty():
        _print_coloured(headers, rows, columns, [""] * len(rows) if row_style is None else list(map(row_style, items)))
    else:
        _print_plain(headers, rows, columns)


def _make_cell(value: object) -> str:
    """Return a value as one line of text, in which nothing turns the direction of the cells after it."""
    text = _DIRECTIONS.sub("", printable(render("" if value is None else value)))
    return " ".join(text.split("\n")).replace("\t", " ")


def _print_plain(headers: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[Column[Item]]) -> None:
    widths = [max(map(measure_width, cells)) for cells in zip(headers, *rows, strict=True)]
    for row in (headers, *rows) if any(headers) else rows:
        cells = []
        for text, width, column in zip(row, widths, columns, strict=True):
            blanks = " " * (width - measure_width(text))
            cells.append(blanks + text if column.right else text + blanks)
        print(_GAP.join(cells).rstrip())


def _print_coloured(
    headers: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[Column[Item]], styles: Sequence[str]
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style=f"bold {_FAINT}")
    table.show_header = any(headers)
    for header, column in zip(headers, columns, strict=True):
        table.add_column(
            header,
            justify="right" if column.right else "left",
            style=column.style,
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
            max_width=column.most,
        )
    for (first, *others), style in zip(rows, styles, strict=True):
        table.add_row(Text(first, style=style), *map(Text, others))
    Console().print(table)


def measure_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
