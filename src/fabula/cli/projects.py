"""Commands about stored projects: make, list, bring in, take out, save, load, look after.

Long work shows a bar on the terminal; everything that can be counted can be had as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from msgspec import to_builtins

from fabula.core.errors import Code, FabulaError
from fabula.core.view import Language

if TYPE_CHECKING:
    from fabula.store.store import Store

STORE = Annotated[
    str | None,
    typer.Option("--store", envvar="FABULA_STORE", help="A data folder, or the address of a PostgreSQL server."),
]
PROJECT = Annotated[str, typer.Argument(help="A project of the store, by its id or title.")]
LANGUAGE = Annotated[str, typer.Option("--language", "-l", help="en or zh; found out from the text if left out.")]
JSON = Annotated[bool, typer.Option("--json", help="Everything as one JSON object.")]
ALONE = Annotated[
    bool, typer.Option("--without-person", help="Leave out the person's own profile, memories and settings.")
]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    for name, command in (
        ("new", new),
        ("projects", list_projects),
        ("import", bring_in),
        ("export", take_out),
        ("save", save),
        ("load", load),
        ("verify", verify),
        ("doctor", doctor),
    ):
        app.command(name=name)(command)


def new(
    title: Annotated[str, typer.Argument(help="What it is called.")],
    start: Annotated[
        str | None, typer.Option("--from", help="Begin with a project folder, a text file or sample:NAME.")
    ] = None,
    language: LANGUAGE = "",
    store: STORE = None,
) -> None:
    """Make a project in the store."""
    from fabula.manuscript import projects

    with open_store(store) as opened:
        if start is None:
            ident = projects.create(opened, title, language=_language(language) or "en")
        else:
            ident = _copied(opened, start, title)
    print(f"{title} is project {ident}.\nLook at it with: fabula assemble {ident}")


def list_projects(store: STORE = None, as_json: JSON = False) -> None:
    """All projects of the store."""
    from fabula.manuscript import projects

    with open_store(store) as opened:
        found = [(card, *projects.extent(opened, card.id)) for card in projects.everything(opened)]
    if as_json:
        _print_json([{**to_builtins(card), "documents": many, "characters": long} for card, many, long in found])
        return
    if not found:
        print('No projects yet. Make one: fabula new "A title", or fabula import a manuscript.')
    for card, _, long in found:
        print(f"{card.id:<24} {card.changed[:16].replace('T', ' ')}  {card.language}  {long:>12,}  {card.title}")


def bring_in(
    path: Annotated[Path, typer.Argument(help="Markdown, text, EPUB, DOCX, Scrivener, NovelCrafter; file or folder.")],
    into: Annotated[str | None, typer.Option("--into", help="Add to this project instead of making one.")] = None,
    title: Annotated[str, typer.Option(help="The new project's title.")] = "",
    language: LANGUAGE = "",
    store: STORE = None,
) -> None:
    """Bring a manuscript in."""
    from fabula.codex import edits as codex
    from fabula.core.ids import new_id
    from fabula.formats.manuscripts.read_write import read_book
    from fabula.manuscript import documents, projects

    folder = path.parent if path.name == "project.toml" else path
    if (folder / "project.toml").is_file() and into is None:
        with open_store(store) as opened:
            ident = _copied(opened, str(folder), title)
            many, long = projects.extent(opened, ident)
        print(f"{many} documents, {long:,} characters are in project {ident}.")
        return
    with bar(f"Reading {path.name}"):
        imported = read_book(path)
    book, notes = imported.book, list(imported.warnings)
    with open_store(store) as opened:
        ident = new_id() if into is None else projects.find(opened, into).id
        with bar(f"Keeping {book.title or path.name}") as progress, opened.write(project=ident) as tx:
            if into is None:
                said = _language(language) or _spoken(book.language, notes)
                projects.begin(tx, ident, title=title or book.title or path.stem, language=said)
            added = documents.add_book(tx, book, progress=progress)
            codex.put_all(tx, imported.entries)
    characters = sum(len(draft.text) for draft in book.walk())
    print(f"{len(added)} documents, {characters:,} characters, {len(imported.entries)} entries are in project {ident}.")
    for note in notes:
        print(f"- {note}")


def take_out(
    project: PROJECT,
    path: Annotated[Path, typer.Argument(help="Where to: .md, .txt, .epub or .docx.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    store: STORE = None,
) -> None:
    """Write a manuscript in another format."""
    from fabula.formats.manuscripts.read_write import write_book
    from fabula.manuscript import documents, projects

    with open_store(store) as opened, bar(f"Writing {path.name}"):
        card = projects.find(opened, project)
        with opened.read(project=card.id) as reading:
            book = documents.book_of(reading, title=card.title, language=card.language)
        write_book(book, path, overwrite=overwrite)
    print(f"{card.title} is in {path}.")


def save(
    project: PROJECT,
    path: Annotated[Path | None, typer.Argument(help="The file; by default the title, here.")] = None,
    without_person: ALONE = False,
    store: STORE = None,
) -> None:
    """Save a project as one file, with the person's own profile, memories and settings."""
    from fabula.manuscript import projects
    from fabula.store.save.saving import save as write_save
    from fabula.store.save.writer import slug
    from fabula.store.store import OWNER

    with open_store(store) as opened:
        card = projects.find(opened, project)
        target = path or Path(f"{slug(card.title) or 'project'}.fabula")
        user = None if without_person else OWNER
        with bar(f"Saving {card.title}") as progress:
            manifest = write_save(opened, card.id, target, user=user, progress=progress)
    size = target.stat().st_size
    print(f"{card.title} is saved in {target} ({manifest.rows} rows, {size:,} bytes).")


def load(
    path: Annotated[Path, typer.Argument(help="A .fabula file.")],
    replace: Annotated[str | None, typer.Option("--replace", help="Replace this project, after a backup.")] = None,
    without_person: ALONE = False,
    store: STORE = None,
) -> None:
    """Load a save, whole or not at all; your own profile, memories and settings are added to, never replaced."""
    from fabula.manuscript import projects
    from fabula.store.save.loading import load as read_save
    from fabula.store.store import OWNER

    with open_store(store) as opened:
        into = projects.find(opened, replace).id if replace is not None else None
        user = None if without_person else OWNER
        with bar(f"Loading {path.name}") as progress:
            loaded = read_save(opened, path, into=into, replace=replace is not None, user=user, progress=progress)
    print(f"{path.name} is loaded as project {loaded.project_id}.")
    if loaded.backup is not None:
        print(f"What was there before is in {loaded.backup}.")
    for warning in loaded.warnings:
        print(f"- {warning}")


def verify(path: Annotated[Path, typer.Argument(help="A .fabula file.")], as_json: JSON = False) -> None:
    """Would this save load? Changes nothing."""
    from fabula.store.save.loading import verify as check_save

    with bar(f"Reading {path.name}") as progress:
        report = check_save(path, progress=progress)
    if as_json:
        _print_json(
            {
                "loads": report.loads,
                "code": report.code,
                "reason": report.reason,
                "rows": report.rows,
                "warnings": report.warnings,
            }
        )
    elif report.manifest is not None and report.loads:
        about = report.manifest
        print(f"{path.name} is whole: {about.project.title}, format {about.version}, made {about.made[:16]}.")
        for table, rows in report.rows.items():
            if rows:
                print(f"  {table:<20} {rows:>9,}")
        for warning in report.warnings:
            print(f"- {warning}")
    if report.code is not None:
        raise FabulaError(report.code, report.reason)


def doctor(store: STORE = None, as_json: JSON = False) -> None:
    """Is everything whole, up to date and copied? What would be lost?"""
    from fabula.store.doctor import LOOKS, State, examine

    findings = []
    with open_store(store, as_it_is=True) as opened, bar("Looking") as progress:
        for found in examine(opened):
            findings.append(found)
            progress(len(findings), len(LOOKS))
        where = opened.file or opened.engine.url.render_as_string()
    if as_json:
        rows = [{"name": found.name, "state": found.state.value, "sentence": found.sentence} for found in findings]
        _print_json({"store": str(where), "findings": rows})
    else:
        print(f"The store at {where}")
        signs = {State.WELL: "✓", State.MIND: "!", State.ILL: "✗"}
        for found in findings:
            print(f"  {signs[found.state]} {found.name:<10} {found.sentence}")
    if any(found.state is State.ILL for found in findings):
        raise typer.Exit(1)


@contextmanager
def open_store(where: str | None, *, as_it_is: bool = False) -> Iterator[Store]:
    """A store that is closed again; what follows from changes is queued with them."""
    from fabula.jobs.triggers.connect import follow
    from fabula.store.store import Store

    store = Store.open(where, as_it_is=as_it_is)
    follow(store)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the error stream, which stays clean where nobody looks; it pulses until it is told how far we are."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(title, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=max(total, 1))


def _copied(store: Store, start: str, title: str) -> str:
    """A project folder, a text file or a sample, as a new project of the store; its id."""
    from fabula.workspace.project import read_only
    from fabula.workspace.views import copy_in

    with bar(f"Reading {start}"):
        view = read_only(start)
        if view is None:
            raise FabulaError(Code.PROJECT_NOT_FOUND, f"There is nothing at {start}. Nothing was made.")
        return copy_in(store, view, title=title)


def _language(tag: str) -> str:
    """A language as we call it: `zh-Hans` is zh."""
    return tag.lower().replace("_", "-").split("-")[0]


def _spoken(tag: str, notes: list[str]) -> str:
    """The language that a book says it is in, as far as we speak it."""
    language = _language(tag) or "en"
    if language in get_args(Language):
        return language
    notes.append(f"It says that its language is {tag!r}. We speak to models in English there; the text stays as it is.")
    return "en"


def _print_json(data: object) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=2))
