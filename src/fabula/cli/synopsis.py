"""`fabula synopsis`: each chapter in short; list, show, make, write and clear."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import ANY_PROJECT, IDS, JSON, PROJECT, STORE
from fabula.cli.output import current_language, print_json, print_line, render, say
from fabula.cli.progress import show_progress
from fabula.cli.tables import Column, print_list
from fabula.cli.value_names import name_value
from fabula.core.messages import join_names, message, plural

if TYPE_CHECKING:
    from fabula.manuscript.synopses.editing import SynopsisRecord, SynopsisRefresh

CHAPTER = Annotated[str, Argument(help="A chapter, by its title, number or id.")]
CHAPTERS = Annotated[list[str] | None, Argument(help="Chapters, by title, number or id; all if left out.")]
WRITERS = {
    "hand": message("by hand"),
    "model": message("by a model"),
    "extract": message("its own sentences"),
}

commands = CommandGroup("synopsis", help="Each chapter in short.")


@commands.command("list")
def list_synopses(project: ANY_PROJECT, with_ids: IDS = False, store: STORE = None, as_json: JSON = False) -> None:
    """List every chapter: who wrote its synopsis, and whether that is fresh, stale or missing.

    Example: fabula synopsis list sample:lantern_coast
    """
    from fabula.workspace.schemas.synopses import describe_synopsis

    with open_project(project, store) as opened:
        found = opened.synopses.list_synopses()
        timeline = opened.view.timeline
    columns: list[Column[SynopsisRecord]] = [
        Column(message("chapter"), lambda one: one.title or one.document_id, style="bold"),
        Column(message("state"), lambda one: name_value(one.state)),
        Column(message("written"), lambda one: WRITERS[one.origin] if one.origin else ""),
        Column(message("names missing"), lambda one: tuple(one.missing_characters), wraps=True),
    ]
    print_list(
        found,
        describe_synopsis,
        columns,
        message("No chapters yet."),
        as_json,
        with_ids=with_ids,
        id_of=lambda one: one.document_id,
        numbers={one.document_id: timeline.chapter_number(one.document_id) for one in found},
    )


@commands.command()
def show(project: ANY_PROJECT, chapters: CHAPTERS = None, store: STORE = None, as_json: JSON = False) -> None:
    """Show synopses in full; where there is none, what a prompt has instead.

    Example: fabula synopsis show sample:lantern_coast ch-02
    """
    from fabula.workspace.schemas.synopses import describe_synopsis

    with open_project(project, store) as opened:
        found = opened.synopses.read(chapters or ())
    if as_json:
        print_json([describe_synopsis(record) for record in found])
        return
    for record in found:
        origin = message("none is kept; its own sentences")
        if record.origin is not None:
            origin = join_names([WRITERS[record.origin], name_value(record.state)])
        print_line(f"{record.title}  ({render(origin)})")
        print_line(record.text or message("(no text yet)"))
        _warn_of_missing(record)
        print_line("")


@commands.command()
def make(
    project: PROJECT,
    chapters: CHAPTERS = None,
    again: Annotated[bool, Option("--again", help="Make fresh ones anew as well.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Make the synopses that are missing or stale, of the chapters' own sentences; what you wrote is left alone.

    Example: fabula synopsis make "The Lantern Coast"
    """
    from fabula.workspace.schemas.synopses import describe_refresh

    with open_project(project, store) as opened, show_progress(message("Making synopses")) as progress:
        done = opened.synopses.make(chapters or (), again=again, progress=progress)
        titles = {one.document: one.title for one in opened.view.timeline.entries if one.title}
    if as_json:
        print_json(describe_refresh(done, current_language()))
    else:
        _report(done, titles)


@commands.command()
def edit(
    project: PROJECT,
    chapter: CHAPTER,
    text: Annotated[str, Argument(help="The chapter in short, in your words; - reads standard input.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Write a chapter's synopsis by hand; no program writes over it.

    Example: fabula synopsis edit "The Lantern Coast" ch-02 "Will climbs the tower."
    """
    from fabula.workspace.schemas.synopses import describe_synopsis

    with open_project(project, store) as opened:
        record = opened.synopses.write(chapter, sys.stdin.read() if text == "-" else text)
    if as_json:
        print_json(describe_synopsis(record))
        return
    say("{title} has a synopsis in your words now.", title=record.title)
    _warn_of_missing(record)


@commands.command()
def clear(project: PROJECT, chapter: CHAPTER, store: STORE = None) -> None:
    """Remove a chapter's synopsis; prompts use the chapter's own sentences again.

    Example: fabula synopsis clear "The Lantern Coast" ch-02
    """
    with open_project(project, store) as opened:
        record = opened.synopses.remove(chapter)
    had_none = record.state == "missing"
    say("{title} has no synopsis anyway." if had_none else "{title} has no synopsis any more.", title=record.title)


def _warn_of_missing(record: SynopsisRecord) -> None:
    if record.missing_characters:
        say("! It does not name {names}.", names=join_names(record.missing_characters))


def _report(done: SynopsisRefresh, titles: Mapping[str, str]) -> None:
    if done.created:
        say(plural(len(done.created), "{count} synopsis made.", "{count} synopses made."))
    else:
        say("Every synopsis is fresh already.")
    for record in done.created:
        if record.missing_characters:
            missing = join_names(record.missing_characters)
            say("! {title} does not name {names}.", title=record.title, names=missing)
    for changed in done.stale_by_hand:
        title = titles.get(changed, changed)
        say("- {title} was changed after you wrote its synopsis. Your synopsis was left as it is.", title=title)
    for changed in done.changed_meanwhile:
        say("- {title} was changed meanwhile. Make its synopsis again.", title=titles.get(changed, changed))
    for failed, reason in done.failed.items():
        say("! {title} got no synopsis: {reason}.", title=titles.get(failed, failed), reason=reason)
