"""`fabula timeline`: who appears where, what becomes true when, and who knows the secrets, as a picture (man-8).

Each column is a chapter. Where the terminal is too narrow, several chapters share a column.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import ANY_PROJECT, JSON, STORE
from fabula.cli.output import current_language, print_json, print_line, quote_name, render, say, shorten
from fabula.cli.progress import show_progress
from fabula.cli.tables import Column, measure_width, print_table
from fabula.cli.value_names import name_value
from fabula.core.messages import Sentence, join_names, message

if TYPE_CHECKING:
    from fabula.workspace.timeline import FactKnower, StoryDocument, StoryFact, StoryTimeline

_SHADES = "▁▂▃▄▅▆▇█"  # more mentions, more ink
_NOTHING, _BEGINS, _HOLDS = "·", "◆", "─"
_PIPE_WIDTH = 200  # columns where the output is no terminal
_NOTE_WIDTH = 40  # columns kept for what stands beside the picture

commands = CommandGroup()


class _Row(NamedTuple):
    """One row of the picture: its label, its cells, and what stands beside them."""

    label: str
    cells: str
    note: Sentence | str


@commands.command("timeline")
def show_timeline(
    project: ANY_PROJECT,
    names: Annotated[list[str] | None, Argument(help="Entries, by id or name; all people if left out.")] = None,
    kind: Annotated[str | None, Option("--type", help="Show entries of this type instead of people.")] = None,
    most: Annotated[int, Option("--most", "-n", min=1, help="How many rows of each part.")] = 30,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Draw who appears in which chapter, what becomes true when, and who knows the secrets.

    Example: fabula timeline sample:lantern_coast
    """
    from fabula.workspace.schemas.timeline import describe_timeline

    with open_project(project, store) as opened:
        title = opened.view.project.title or opened.view.project.id
        with show_progress(message("Reading {title}", title=title)):
            found = opened.timeline.read(names or (), kind=kind)
    if as_json:
        print_json(describe_timeline(found, current_language()))
    elif not found.documents:
        say("No chapters yet.")
    else:
        _draw(found, most)
        if not found.appearances:
            say("The codex has no people. Find them: fabula extract {project}", project=quote_name(project))


def _draw(found: StoryTimeline, most: int) -> None:
    people = [one for one in found.appearances if one.total][:most]
    changes = [one for one in found.facts if one.index is not None or one.end_index is not None][:most]
    secrets = [one for one in found.facts if one.is_secret][:most]
    labels = [*(one.name for one in people), *(one.name for one in (*changes, *secrets))]
    labels += [f"  {_name_knower(knower)}" for one in secrets for knower in one.knowers]
    grid = _Grid(found.documents, max(map(measure_width, labels), default=0))
    peak = max((count for one in people for count in grid.merge(one.counts)), default=0)
    _print_part(
        grid,
        message("Who appears where"),
        message("mentions"),
        [_Row(one.name, grid.draw(one.counts, lambda count: _shade(count, peak)), f"{one.total:,}") for one in people],
    )
    _print_part(
        grid,
        message("What becomes true"),
        message("what"),
        [_Row(one.name, grid.draw_since(one.index, one.end_index), shorten(render(one.text), 160)) for one in changes],
    )
    rows = [row for one in secrets for row in _draw_secret(grid, found.documents, one)]
    _print_part(grid, message("Secrets, and who knows them"), message("what, and since when"), rows)
    for line in grid.describe_columns():
        print_line(line)


def _draw_secret(grid: _Grid, documents: Sequence[StoryDocument], fact: StoryFact) -> Iterator[_Row]:
    yield _Row(fact.name, grid.draw_since(fact.index, fact.end_index), shorten(render(fact.text), 160))
    for one in fact.knowers:
        begins = max((index for index in (one.index, fact.index) if index is not None), default=None)
        yield _Row(
            f"  {_name_knower(one)}", grid.draw_since(begins, fact.end_index), _describe_since(documents, one, begins)
        )
    if not fact.knowers:
        yield _Row(f"  {render(message('nobody'))}", grid.draw(grid.zeros, lambda count: _NOTHING), "")


def _name_knower(knower: FactKnower) -> str:
    return render(name_value(knower.name) if knower.name == knower.knower_id else knower.name)


def _describe_since(documents: Sequence[StoryDocument], knower: FactKnower, begins: int | None) -> Sentence:
    if knower.since is not None and knower.index is None:
        return message("from a chapter that is gone")
    if begins is None:
        return message("from the start")
    return message("from {place}", place=_describe_document(documents[begins]))


def _describe_document(document: StoryDocument) -> Sentence | str:
    if document.number is None:
        return document.title or document.document_id
    if document.title:
        return message("chapter {number}, {title}", number=document.number, title=document.title)
    return message("chapter {number}", number=document.number)


def _shade(count: int, peak: int) -> str:
    return _SHADES[min(count * len(_SHADES) // (peak + 1), len(_SHADES) - 1)] if count else _NOTHING


def _print_part(grid: _Grid, title: Sentence, note: Sentence, rows: Sequence[_Row]) -> None:
    if not rows:
        return
    print_line("")
    columns: list[Column[_Row]] = [
        Column(title, lambda row: row.label, style="bold"),
        Column(grid.header, lambda row: row.cells, style="cyan"),
        Column(note, lambda row: row.note, wraps=True),
    ]
    print_table(rows, columns)


class _Grid:
    """The columns of the picture: chapters, or several neighbouring chapters each."""

    def __init__(self, documents: Sequence[StoryDocument], label_width: int) -> None:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH
        room = max(width - label_width - _NOTE_WIDTH, 10)
        count = len(documents)
        self._documents = documents
        self._per_column = -(-count // room)  # chapters
        self._cell = 3 if count * 3 <= room else 1
        self.zeros = (0,) * count

    def merge(self, counts: Sequence[int]) -> list[int]:
        """Add up the counts of the chapters of each column."""
        size = self._per_column
        return [sum(counts[start : start + size]) for start in range(0, len(counts), size)]

    def draw(self, counts: Sequence[int], glyph: Callable[[int], str]) -> str:
        """Draw one glyph a column."""
        return "".join(glyph(count).rjust(self._cell) for count in self.merge(counts))

    def draw_since(self, index: int | None, end: int | None = None) -> str:
        """Draw since when something holds, and before which chapter it ends; None for the whole story."""
        columns = len(self.merge(self.zeros))
        first = -1 if index is None else index // self._per_column
        glyphs = [_NOTHING if one < first else _BEGINS if one == first else _HOLDS for one in range(columns)]
        cells = [glyph.rjust(self._cell, _HOLDS if one > first else " ") for one, glyph in enumerate(glyphs)]
        last = columns if end is None else max(end // self._per_column, first + 1)
        return "".join(cells[:last]) + _NOTHING.rjust(self._cell) * (columns - last)

    @property
    def header(self) -> str:
        """The numbers of chapters above their columns, as many as there is room for."""
        line = ""
        for column, document in enumerate(self._documents[:: self._per_column]):
            number, end = str(document.number or _NOTHING), (column + 1) * self._cell
            shows = self._cell > 1 or column == 0 or (document.number or 1) % 10 == 0
            if shows and len(line) + (column > 0) + len(number) <= end:
                line = line.ljust(end - len(number)) + number
            elif shows and self._cell == 1 and len(line) < column:  # a wide number stands to the right of its column
                line = line.ljust(column) + number
        return line

    def describe_columns(self) -> Iterator[Sentence]:
        """Say what a column is, if that is not one chapter; and the titles, if they are few."""
        if self._per_column > 1:
            yield message("Each column is {count} chapters.", count=self._per_column)
        if len(self._documents) <= 40:
            titles = [f"{one.number or ''} {one.title}".strip() for one in self._documents if one.title]
            if titles:
                yield message("\nChapters: {titles}", titles=join_names(titles))
