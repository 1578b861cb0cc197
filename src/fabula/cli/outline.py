"""`fabula outline`: what should happen in each document; plan it, tick it off, take it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.desk import place_of, print_json, writing
from fabula.cli.projects import JSON, PROJECT, STORE, open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from sqlalchemy import Row

    from fabula.store.transaction import Reading

BEAT = Annotated[str, typer.Argument(help="A beat, by its id or the beginning of it.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    outline = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What should happen, beat by beat.")
    for name, command in (("list", list_beats), ("add", add), ("done", done), ("remove", remove)):
        outline.command(name=name)(command)
    app.add_typer(outline, name="outline")


def list_beats(
    project: PROJECT,
    document: Annotated[str | None, typer.Argument(help="A document, by its id or title; all if left out.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """The beats of the story in their order, those that are done ticked."""
    from fabula.manuscript import projects

    with open_store(store) as opened, opened.read(project=projects.find(opened, project).id) as reading:
        found = _beats(reading, None if document is None else place_of(reading, document).document)
    if as_json:
        print_json([_json(row) for row in found])
        return
    if not found:
        print("Nothing is planned yet. Plan: fabula outline add PROJECT DOCUMENT TEXT")
    for row in found:
        print(f"{'x' if row.done else ' '} {row.id[:8]}  {row.document_id:<24} {row.text}")


def add(
    project: PROJECT,
    document: Annotated[str, typer.Argument(help="A document, by its id or title.")],
    text: Annotated[str, typer.Argument(help="What should happen, in a few words.")],
    store: STORE = None,
) -> None:
    """Plan something, after all that is planned there already."""
    from fabula.manuscript import outline

    with writing(project, store) as tx:
        ident = outline.add_beat(tx, place_of(tx, document).document, text)
    print(f"Planned as {ident[:8]}.")


def done(
    project: PROJECT,
    beat: BEAT,
    undo: Annotated[bool, typer.Option("--undo", help="It is still to be written.")] = False,
    store: STORE = None,
) -> None:
    """Tick a beat off."""
    from fabula.manuscript import outline

    with writing(project, store) as tx:
        row = _called(tx, beat)
        outline.change_beat(tx, row.id, {"done": not undo})
    print(f"{'Open again' if undo else 'Done'}: {row.text}")


def remove(project: PROJECT, beat: BEAT, store: STORE = None) -> None:
    """Take a beat out of the plan."""
    from fabula.manuscript import outline

    with writing(project, store) as tx:
        row = _called(tx, beat)
        outline.remove_beat(tx, row.id)
    print(f"No longer planned: {row.text}")


def _beats(reading: Reading, document: str | None = None) -> list[Row[Any]]:
    """The rows of the outline, document by document as they stand in the story."""
    from fabula.manuscript.tables import beats, documents
    from fabula.manuscript.tree import in_order

    places = {row.id: place for place, row in enumerate(in_order(reading.rows(documents)))}
    where = () if document is None else (beats.c.document_id == document,)
    rows = reading.rows(beats, *where, order=(beats.c.place, beats.c.id))
    return sorted(rows, key=lambda row: places.get(row.document_id, len(places)))


def _called(reading: Reading, beat: str) -> Row[Any]:
    found = [row for row in _beats(reading) if row.id.startswith(beat)]
    if len(found) != 1:
        many = "Several beats begin" if found else "No beat begins"
        raise FabulaError(Code.STORE_NOT_FOUND, f"{many} with {beat!r}. Look at: fabula outline list")
    return found[0]


def _json(row: Row[Any]) -> dict[str, object]:
    return {"id": row.id, "documentId": row.document_id, "text": row.text, "done": bool(row.done)}
