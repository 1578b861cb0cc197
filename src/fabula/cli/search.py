"""`fabula search`: passages of a project that answer a few words, with their place in the story."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.desk import looking, print_json
from fabula.cli.projects import JSON, STORE, bar
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.core.view import View
    from fabula.search.find import Found

_SNIPPET = 320  # characters


def register(app: typer.Typer) -> None:
    """Add this command to the command line."""
    app.command(name="search")(search)


def search(
    project: Annotated[
        str | None, typer.Argument(help="A project of the store, a folder, a text file, or sample:NAME.")
    ] = None,
    words: Annotated[list[str] | None, typer.Argument(help="What to look for.")] = None,
    until: Annotated[
        str | None, typer.Option("--until", "-u", help="Look no further than this chapter: its id, title or number.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Look beyond that place too, and at what only some may know.")
    ] = False,
    most: Annotated[int, typer.Option("--most", "-n", min=1, max=200, help="How many passages to list.")] = 10,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make the index anew instead of using the cache.")] = False,
    by_meaning: Annotated[
        bool | None,
        typer.Option(
            "--meaning/--words",
            help="Go by meaning too (vectors are made first), or by words alone; as the settings say, by default.",
        ),
    ] = None,
    where: Annotated[bool, typer.Option("--where", help="Say where the cache folder is, and nothing else.")] = False,
    as_json: JSON = False,
    store: STORE = None,
) -> None:
    """Find passages by words.

    The index is kept in a cache folder that may be deleted at any time (--where says which); set FABULA_CACHE to
    have it elsewhere.
    """
    from fabula.core.ids import now
    from fabula.search.embeddings.choice import AUTO, OFF, Chosen, Way
    from fabula.search.index import disk_cache as cache
    from fabula.workspace.search import look_up

    if where:
        print(cache.folder())
        return
    wanted = " ".join(words or ())
    if project is None or not wanted.strip():
        raise FabulaError(
            Code.REQUEST_INVALID, "Name a project and some words to look for: fabula search PROJECT WORDS."
        )
    chosen, notes = Chosen(), list[str]()
    with looking(project, store) as view, bar(f"Reading {view.project.title or view.project.id}") as progress:
        way = Way() if by_meaning is False else chosen.way(view, AUTO if by_meaning else OFF)
        notes += filter(None, [way.warning])
        found = look_up(
            view,
            wanted,
            until=until,
            everything=everything,
            most=most,
            rebuild=rebuild,
            meaning=way.meaning,
            now=now(),
            notes=notes,
            progress=progress,
        )
    for note in notes:
        print(f"! {note}", file=sys.stderr)
    if as_json:
        print_json({"words": wanted, "passages": [_row(view, one, wanted) for one in found], "warnings": notes})
    else:
        _show(view, found, wanted)
    if not found:
        raise typer.Exit(1)


def _row(view: View, found: Found, wanted: str) -> dict[str, object]:
    from fabula.search.corpus import TALK

    passage, document = found.passage, not found.thread.startswith(TALK)
    return {
        "source": passage.source,
        "documentId": found.thread if document else None,
        "chapter": view.timeline.chapter(found.thread),
        "title": passage.title,
        "start": passage.start if document else None,
        "end": passage.end if document else None,
        "at": passage.at,
        "score": round(found.score, 4),
        "text": passage.text,
        "marks": marks(passage.text, wanted),
    }


def _show(view: View, found: Sequence[Found], wanted: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    if not found:
        print("Nothing was found. Try other words, or --all to look beyond this place.")
        return
    for one in found:
        chapter = view.timeline.chapter(one.thread)
        place = f"{one.passage.title or one.thread}" + (f" · chapter {chapter}" if chapter is not None else "")
        console.print(Text.assemble((place, "bold"), f"  {one.passage.source}  {one.score:.2f}", style="grey58"))
        text = Text(one.passage.text)
        for start, end in marks(one.passage.text, wanted):
            text.stylize("bold yellow", start, end)
        console.print(_snippet(text, one.passage.text, wanted))
        console.print()


def _snippet(text: object, plain: str, wanted: str) -> object:
    """The part of a passage around its first marked word."""
    from rich.text import Text

    assert isinstance(text, Text)
    if len(plain) <= _SNIPPET:
        return text
    first = next(iter(marks(plain, wanted)), (0, 0))[0]
    start = max(min(first - _SNIPPET // 3, len(plain) - _SNIPPET), 0)
    cut = text[start : start + _SNIPPET]
    return Text("…" if start else "").append_text(cut).append("…" if start + _SNIPPET < len(plain) else "")


def marks(text: str, wanted: str) -> list[tuple[int, int]]:
    """Where the words that were looked for stand in a text."""
    import re

    from fabula.text.terms import terms

    sought = set(terms(wanted))
    found: list[tuple[int, int]] = []
    for word in re.finditer(r"[\u2e80-\u9fff\uac00-\ud7af]+|[^\W_]+(?:['’][^\W_]+)*", text):
        pieces = [(word.start(), word.end())]
        if word[0][0] > "\u2e7f":
            pieces = [(at, at + 2) for at in range(word.start(), max(word.end() - 1, word.start() + 1))]
        for start, end in pieces:
            if sought.intersection(terms(text[start:end])):
                if found and start <= found[-1][1]:
                    found[-1] = (found[-1][0], min(end, word.end()))
                else:
                    found.append((start, min(end, word.end())))
    return found
