"""`fabula synopsis`: each chapter in short; look, make, write and take away.

A chapter of the store keeps one synopsis. `make` makes what is missing or stale, of the chapters' own
sentences, and leaves alone what a person wrote. Main characters that a synopsis does not name are pointed out:
those of the codex, or, where it has no characters, those that the text itself shows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.desk import looking, print_json, writing
from fabula.cli.projects import JSON, PROJECT, STORE, bar, open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.core.view import View
    from fabula.manuscript.synopses.editing import Kept, Refreshed
    from fabula.text.names.main_characters import Cast

ANY_PROJECT = Annotated[str, typer.Argument(help="A project of the store, a folder, a text file, or sample:NAME.")]
CHAPTER = Annotated[str, typer.Argument(help="A chapter, by its id or title.")]
CHAPTERS = Annotated[list[str] | None, typer.Argument(help="Chapters, by id or title; all if left out.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    synopsis = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Each chapter in short.")
    for name, command in (
        ("list", list_synopses),
        ("show", show),
        ("make", make),
        ("edit", edit),
        ("clear", clear),
    ):
        synopsis.command(name=name)(command)
    app.add_typer(synopsis, name="synopsis")


def list_synopses(project: ANY_PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """Every chapter: who wrote its synopsis, and whether that is fresh, stale or missing."""
    with looking(project, store) as view:
        found = _all(view)
    if as_json:
        print_json([_json(kept) for kept in found])
        return
    if not found:
        print("No chapters yet.")
    for kept in found:
        names = f"  does not name {', '.join(kept.lost)}" if kept.lost else ""
        print(f"{kept.state:<8} {kept.origin or '-':<8} {kept.document_id:<24} {kept.title}{names}")


def show(project: ANY_PROJECT, chapters: CHAPTERS = None, store: STORE = None, as_json: JSON = False) -> None:
    """Synopses in full; where none is kept, what a prompt would tell instead."""
    with looking(project, store) as view:
        found = _called(_all(view), chapters)
        told = {kept.document_id: kept.text or _derived(view, kept.document_id) for kept in found}
    if as_json:
        print_json([_json(kept) | {"text": told[kept.document_id]} for kept in found])
        return
    for kept in found:
        print(f"{kept.title}  ({_described(kept)})\n{told[kept.document_id] or '(no text yet)'}")
        if kept.lost:
            print(f"! It does not name {', '.join(kept.lost)}.")
        print()


def make(
    project: PROJECT,
    chapters: CHAPTERS = None,
    again: Annotated[bool, typer.Option("--again", help="Make fresh ones anew as well.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Make the synopses that are missing or stale, of the chapters' own sentences."""
    from fabula.manuscript import projects
    from fabula.manuscript.synopses import editing as synopses
    from fabula.workspace.views import Library

    with open_store(store) as opened:
        card = projects.find(opened, project)
        view = Library(opened).view(card.id)
        only = None if not chapters else [kept.document_id for kept in _called(_all(view, _nobody()), chapters)]
        with bar(f"Telling {card.title} in short") as progress:
            done = synopses.refresh(
                opened,
                card.id,
                language=view.project.language,
                cast=_cast(view),
                only=only,
                again=again,
                progress=progress,
            )
    if as_json:
        print_json(_done_json(done))
        return
    _report(done)


def edit(
    project: PROJECT,
    chapter: CHAPTER,
    text: Annotated[str, typer.Argument(help="The chapter in short, in your words; - reads standard input.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Write a chapter's synopsis by hand; it is never written over by itself."""
    from fabula.manuscript.synopses import editing as synopses

    said = sys.stdin.read() if text == "-" else text
    with writing(project, store) as tx:
        ident = _called(synopses.listed(tx), [chapter])[0].document_id
        synopses.write(tx, ident, said)
    with looking(project, store) as view:
        kept = next(one for one in _all(view) if one.document_id == ident)
    if as_json:
        print_json(_json(kept))
        return
    print(f"{kept.title} is told in your words now.")
    if kept.lost:
        print(f"! It does not name {', '.join(kept.lost)}.")


def clear(project: PROJECT, chapter: CHAPTER, store: STORE = None) -> None:
    """Take a chapter's synopsis away; prompts tell the chapter in its own sentences again."""
    from fabula.manuscript.synopses import editing as synopses

    with writing(project, store) as tx:
        kept = _called(synopses.listed(tx), [chapter])[0]
        gone = synopses.clear(tx, kept.document_id)
    print(f"{kept.title} has no synopsis {'any more' if gone else 'anyway'}.")


def _all(view: View, cast: Cast | None = None) -> list[Kept]:
    """Every chapter of a view and how it is told."""
    from fabula.manuscript.model import Manuscript
    from fabula.manuscript.synopses.chapters import ABOVE
    from fabula.manuscript.synopses.editing import kept_of
    from fabula.manuscript.synopses.plan import Tellings

    story = view.room(Manuscript)
    chapters = (
        [] if story is None else [one for one in Tellings.of(story).chapters if one.documents[0].kind not in ABOVE]
    )
    people = _cast(view) if cast is None else cast
    return [kept_of(chapter, people) for chapter in chapters]


def _derived(view: View, chapter: str) -> str:
    """What a prompt tells of a chapter."""
    from fabula.manuscript.model import Manuscript
    from fabula.manuscript.synopses.plan import Tellings
    from fabula.workspace.characters import cast_of

    story = view.room(Manuscript)
    return "" if story is None else Tellings.of(story, cast_of(view)).by_id[chapter].told.text


def _cast(view: View) -> Cast:
    """The characters of the codex, or, where there are none, those whom the text shows."""
    from fabula.codex.model import Codex
    from fabula.manuscript.model import Manuscript
    from fabula.text.extraction.extract import propose
    from fabula.text.names.main_characters import Cast
    from fabula.workspace.characters import cast_of

    codex, story = view.room(Codex), view.room(Manuscript)
    if story is None or (codex is not None and any(entry.type == "character" for entry in codex.entries)):
        return cast_of(view)
    texts = [(document.id, document.text) for document in story.documents]
    found = propose(texts, language=view.project.language)
    return Cast.of({one.name: one.names for one in found if one.kind == "character"})


def _nobody() -> Cast:
    from fabula.text.names.main_characters import NOBODY

    return NOBODY


def _called(found: Sequence[Kept], wanted: Iterable[str] | None) -> list[Kept]:
    """The chapters of these ids or titles; all of them where none is named."""
    if not wanted:
        return list(found)
    chosen = []
    for name in wanted:
        matching = [one for one in found if one.document_id == name] or [one for one in found if one.title == name]
        if len(matching) != 1:
            known = ", ".join(one.document_id for one in (matching or found)[:12]) or "none yet"
            says = "Several chapters are" if matching else "No chapter is"
            raise FabulaError(
                Code.DOCUMENT_UNKNOWN, f"{says} called {name!r}. Name one by its id ({known}). Nothing was changed."
            )
        chosen += matching
    return chosen


_WRITERS = {"hand": "by hand", "model": "by a model", "extract": "its own sentences"}


def _described(kept: Kept) -> str:
    return "none is kept; its own sentences" if kept.origin is None else f"{_WRITERS[kept.origin]}, {kept.state}"


def _report(done: Refreshed) -> None:
    many = len(done.made)
    print(f"{many} {'synopsis' if many == 1 else 'synopses'} made." if many else "Every synopsis is fresh already.")
    for kept in done.made:
        if kept.lost:
            print(f"! {kept.title} does not name {', '.join(kept.lost)}.")
    for ident in done.left:
        print(f"- {ident} was changed after its synopsis was written by hand; that was left alone.")
    for ident in done.overtaken:
        print(f"- {ident} was changed meanwhile; make it again.")
    for ident, why in done.failed.items():
        print(f"! {ident} could not be told in short: {why}.")


def _json(kept: Kept) -> dict[str, object]:
    return {
        "documentId": kept.document_id,
        "title": kept.title,
        "state": kept.state,
        "origin": kept.origin,
        "text": kept.text,
        "lost": list(kept.lost),
    }


def _done_json(done: Refreshed) -> dict[str, object]:
    return {
        "made": [_json(kept) for kept in done.made],
        "left": done.left,
        "overtaken": done.overtaken,
        "failed": done.failed,
        "lost": {ident: list(names) for ident, names in done.lost.items()},
    }
