"""`fabula search`: passages of a project that answer a few words, with their place in the story."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import ANY_PROJECT, JSON, STORE
from fabula.cli.output import (
    current_language,
    format_time,
    invalid_request,
    print_json,
    print_line,
    print_text,
    printable,
    render,
    say,
    translate,
)
from fabula.cli.progress import show_progress
from fabula.core.messages import message

if TYPE_CHECKING:
    from rich.text import Text

    from fabula.workspace.schemas.search import PassageInfo

_SNIPPET = 320  # characters

commands = CommandGroup()


@commands.command()
def search(
    project: ANY_PROJECT = "",
    words: Annotated[list[str] | None, Argument(help="What to look for.")] = None,
    until: Annotated[
        str | None, Option("--until", "-u", help="The last chapter to look at: id, title or number.")
    ] = None,
    everything: Annotated[bool, Option("--all", help="Also what comes later, and what only some know.")] = False,
    most: Annotated[int, Option("--most", "-n", min=1, max=200, help="How many passages to list.")] = 10,
    rebuild: Annotated[bool, Option("--rebuild", help="Make the index anew instead of using the cache.")] = False,
    by_meaning: Annotated[
        bool | None,
        Option(
            "--meaning/--words",
            help="Go by meaning too (vectors are made first), or by words alone; as the settings say, by default.",
        ),
    ] = None,
    where: Annotated[bool, Option("--where", help="Say where the cache folder is, and nothing else.")] = False,
    as_json: JSON = False,
    store: STORE = None,
) -> None:
    """Find passages by words.

    The index is in a cache folder that may be deleted at any time (--where says which); set FABULA_CACHE to have it
    elsewhere.

    Example: fabula search sample:lantern_coast who put out the lamp --until ch-03
    """
    from fabula.core.ids import current_timestamp

    if where:
        from fabula.search.index.disk_cache import cache_folder

        print(cache_folder())
        return
    wanted = " ".join(words or ())
    if not (project and wanted.strip()):
        raise invalid_request("Name a project and some words to look for: fabula search PROJECT WORDS.")
    from fabula.workspace.schemas.search import describe_search

    warnings = list[str]()
    with open_project(project, store) as opened:
        view = opened.view
        with show_progress(message("Reading {title}", title=view.project.title or view.project.id)) as progress:
            found = opened.search(
                wanted,
                until=until,
                everything=everything,
                limit=most,
                rebuild=rebuild,
                by_meaning=by_meaning,
                make_vectors=True,
                now=current_timestamp(),
                remarks=warnings,
                progress=progress,
            )
        report = describe_search(view, wanted, found, warnings, current_language())
    for warning in warnings:
        print_line(f"! {render(warning)}", file=sys.stderr)
    if as_json:
        print_json(report)
    else:
        _show(report.passages, has_limit=until is not None and not everything)
    if not found:
        raise typer.Exit(1)


def _show(passages: Sequence[PassageInfo], *, has_limit: bool) -> None:
    from rich.text import Text

    if not passages and has_limit:
        say("Nothing was found. Try other words, or --all to look beyond this place.")
    elif not passages:
        say("Nothing was found. Try other words.")
    for one in passages:
        place = one.title or translate("Conversation")
        where = one.chapter_name or (render(format_time(one.at)) if one.at else "")
        place = printable(f"{place} · {where}" if where else place)
        print_text(Text.assemble((place, "bold"), f"  {one.score:.2f}", style="grey58"))
        print_text(_cut_snippet(one))
        print_text(Text(printable(" · ".join(one.reasons)), style="grey58"))
        print_line("")


def _cut_snippet(passage: PassageInfo) -> Text:
    """Cut the part of a passage around its first marked word, with the marked words in colour."""
    from rich.text import Text

    text, length = Text(printable(passage.text, instead=" ")), len(passage.text)
    for start, end in passage.marks:
        text.stylize("bold yellow", start, end)
    if length <= _SNIPPET:
        return text
    first = passage.marks[0][0] if passage.marks else 0
    start = max(min(first - _SNIPPET // 3, length - _SNIPPET), 0)
    cut = text[start : start + _SNIPPET]
    return Text("…" if start else "").append_text(cut).append("…" if start + _SNIPPET < length else "")
