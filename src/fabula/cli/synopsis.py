"""`fabula synopsis`: each chapter in short; list, show, make, write and clear."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.opening import open_project, print_json, show_progress
from fabula.cli.projects import JSON, PROJECT, STORE

if TYPE_CHECKING:
    from fabula.manuscript.synopses.editing import SynopsisRecord, SynopsisRefresh

ANY_PROJECT = Annotated[str, typer.Argument(help="A project of the store, a folder, a text file, or sample:NAME.")]
CHAPTER = Annotated[str, typer.Argument(help="A chapter, by its id or title.")]
CHAPTERS = Annotated[list[str] | None, typer.Argument(help="Chapters, by id or title; all if left out.")]
_WRITERS = {"hand": "by hand", "model": "by a model", "extract": "its own sentences"}


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    synopsis = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Each chapter in short.")
    synopsis.command(name="list")(list_synopses)
    synopsis.command()(show)
    synopsis.command()(make)
    synopsis.command()(edit)
    synopsis.command()(clear)
    app.add_typer(synopsis, name="synopsis")


def list_synopses(project: ANY_PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """List every chapter: who wrote its synopsis, and whether that is fresh, stale or missing.

    Example: fabula synopsis list sample:lantern_coast
    """
    from fabula.workspace.schemas.synopses import describe_synopsis

    with open_project(project, store) as opened:
        found = opened.synopses.list_synopses()
    if as_json:
        print_json([describe_synopsis(record) for record in found])
        return
    if not found:
        print("No chapters yet.")
    for record in found:
        names = f"  does not name {', '.join(record.missing_characters)}" if record.missing_characters else ""
        print(f"{record.state:<8} {record.origin or '-':<8} {record.document_id:<24} {record.title}{names}")


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
        origin = "none is kept; its own sentences"
        if record.origin is not None:
            origin = f"{_WRITERS[record.origin]}, {record.state}"
        print(f"{record.title}  ({origin})\n{record.text or '(no text yet)'}")
        _warn_of_missing(record)
        print()


def make(
    project: PROJECT,
    chapters: CHAPTERS = None,
    again: Annotated[bool, typer.Option("--again", help="Make fresh ones anew as well.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Make the synopses that are missing or stale, of the chapters' own sentences; what you wrote is left alone.

    Example: fabula synopsis make "The Lantern Coast"
    """
    from fabula.workspace.schemas.synopses import describe_refresh

    with open_project(project, store) as opened, show_progress("Making synopses") as progress:
        done = opened.synopses.make(chapters or (), again=again, progress=progress)
    if as_json:
        print_json(describe_refresh(done))
    else:
        _report(done)


def edit(
    project: PROJECT,
    chapter: CHAPTER,
    text: Annotated[str, typer.Argument(help="The chapter in short, in your words; - reads standard input.")],
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
    print(f"{record.title} has a synopsis in your words now.")
    _warn_of_missing(record)


def clear(project: PROJECT, chapter: CHAPTER, store: STORE = None) -> None:
    """Remove a chapter's synopsis; prompts use the chapter's own sentences again.

    Example: fabula synopsis clear "The Lantern Coast" ch-02
    """
    with open_project(project, store) as opened:
        record = opened.synopses.remove(chapter)
    print(f"{record.title} has no synopsis {'anyway' if record.state == 'missing' else 'any more'}.")


def _warn_of_missing(record: SynopsisRecord) -> None:
    if record.missing_characters:
        print(f"! It does not name {', '.join(record.missing_characters)}.")


def _report(done: SynopsisRefresh) -> None:
    count = len(done.created)
    print(f"{count} {'synopsis' if count == 1 else 'synopses'} made." if count else "Every synopsis is fresh already.")
    for record in done.created:
        if record.missing_characters:
            print(f"! {record.title} does not name {', '.join(record.missing_characters)}.")
    for document_id in done.stale_by_hand:
        print(f"- {document_id} was changed after its synopsis was written by hand; that was left alone.")
    for document_id in done.changed_meanwhile:
        print(f"- {document_id} was changed meanwhile; make it again.")
    for document_id, reason in done.failed.items():
        print(f"! {document_id} got no synopsis: {reason}.")
