"""Commands about stored projects: make, list, bring in, take out, save, load, look after.

Long work shows a bar on the terminal; everything that can be counted can be had as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.manuscript.draft import Book
    from fabula.store.store import Store

STORE = Annotated[
    str | None,
    typer.Option("--store", envvar="FABULA_STORE", help="A data folder, or the address of a PostgreSQL server."),
]
PROJECT = Annotated[str, typer.Argument(help="A project of the store, by its id or title.")]
LANGUAGE = Annotated[str, typer.Option("--language", "-l", help="en or zh; found out from the text if left out.")]
JSON = Annotated[bool, typer.Option("--json", help="Everything as one JSON object.")]


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
    from fabula.app import read_only
    from fabula.library import copy_in
    from fabula.manuscript import projects

    with _opened(store) as opened:
        if start is None:
            ident = projects.create(opened, title, language=_language(language, ""))
        else:
            view = read_only(start)
            if view is None:
                raise FabulaError(Code.PROJECT_NOT_FOUND, f"There is nothing at {start}. Nothing was made.")
            ident = copy_in(opened, view, title=title)
    print(f"{title} is project {ident}.\nLook at it with: fabula assemble {ident}")


def list_projects(store: STORE = None, as_json: JSON = False) -> None:
    """All projects of the store."""
    from fabula.manuscript import projects

    with _opened(store) as opened:
        cards = projects.everything(opened)
    if as_json:
        _print_json([{name: getattr(card, name) for name in card.__struct_fields__} for card in cards])
        return
    if not cards:
        print('No projects yet. Make one: fabula new "A title", or fabula import a manuscript.')
    for card in cards:
        print(f"{card.id:<24} {card.changed[:16].replace('T', ' ')}  {card.language}  {card.title}")


def bring_in(
    path: Annotated[Path, typer.Argument(help="Markdown, text, EPUB, DOCX, Scrivener, NovelCrafter; file or folder.")],
    into: Annotated[str | None, typer.Option("--into", help="Add to this project instead of making one.")] = None,
    title: Annotated[str, typer.Option(help="The new project's title.")] = "",
    language: LANGUAGE = "",
    store: STORE = None,
) -> None:
    """Bring a manuscript in."""
    from fabula.codex import service as codex
    from fabula.core.ids import new_id
    from fabula.formats.manuscripts import read_book
    from fabula.manuscript import documents, projects

    imported = read_book(path)
    book = imported.book
    with _opened(store) as opened:
        ident = new_id() if into is None else projects.find(opened, into).id
        with opened.write(project=ident) as tx:
            if into is None:
                said = _language(language or book.language, _taste(book))
                projects.begin(tx, ident, title=title or book.title or path.stem, language=said)
            added = documents.add_book(tx, book)
            codex.put_all(tx, imported.entries)
    characters = sum(len(draft.text) for draft in book.walk())
    print(f"{len(added)} documents, {characters:,} characters, {len(imported.entries)} entries are in project {ident}.")
    for warning in imported.warnings:
        print(f"- {warning}")


def take_out(
    project: PROJECT,
    path: Annotated[Path, typer.Argument(help="Where to: .md, .txt, .epub, .docx, or a folder for Markdown files.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    store: STORE = None,
) -> None:
    """Write a manuscript in another format."""
    from fabula.formats.manuscripts import write_book
    from fabula.manuscript import documents, projects

    with _opened(store) as opened:
        card = projects.find(opened, project)
        with opened.read(project=card.id) as reading:
            book = documents.book_of(reading, title=card.title, language=card.language)
    write_book(book, path, overwrite=overwrite)
    print(f"{card.title} is in {path}.")


def save(
    project: PROJECT,
    path: Annotated[Path | None, typer.Argument(help="The file; by default the title, here.")] = None,
    store: STORE = None,
) -> None:
    """Save a project as one file."""
    from fabula.manuscript import projects
    from fabula.store.save import save as write_save

    with _opened(store) as opened:
        card = projects.find(opened, project)
        target = path or Path(f"{_file_name(card.title)}.fabula")
        with _bar(f"Saving {card.title}") as progress:
            manifest = write_save(opened, card.id, target, progress=progress)
    size = target.stat().st_size
    print(f"{card.title} is saved in {target} ({manifest.rows} rows, {size:,} bytes).")


def load(
    path: Annotated[Path, typer.Argument(help="A .fabula file.")],
    replace: Annotated[str | None, typer.Option("--replace", help="Replace this project, after a backup.")] = None,
    store: STORE = None,
) -> None:
    """Load a save, whole or not at all."""
    from fabula.manuscript import projects
    from fabula.store.load import load as read_save

    with _opened(store) as opened:
        into = projects.find(opened, replace).id if replace is not None else None
        with _bar(f"Loading {path.name}") as progress:
            loaded = read_save(opened, path, into=into, replace=replace is not None, progress=progress)
    print(f"{path.name} is loaded as project {loaded.project_id}.")
    if loaded.backup is not None:
        print(f"What was there before is in {loaded.backup}.")


def verify(path: Annotated[Path, typer.Argument(help="A .fabula file.")], as_json: JSON = False) -> None:
    """Would this save load? Changes nothing."""
    from fabula.store.load import verify as check_save

    report = check_save(path)
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
    from fabula.store.doctor import State, examine

    with _opened(store) as opened:
        findings = list(examine(opened))
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
def _opened(where: str | None) -> Iterator[Store]:
    from fabula.store.store import Store

    store = Store.open(where)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the error stream, which stays clean where nobody looks."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title)
        yield lambda done, total: bar.update(task, completed=done, total=max(total, 1))


def _taste(book: Book) -> str:
    """Enough of a book to tell its language by."""
    taste = ""
    for draft in book.walk():
        taste += draft.text[:2000]
        if len(taste) > 4000:
            break
    return taste


def _language(said: str, taste: str) -> str:
    """The language as said, or as it looks."""
    if said:
        return "zh" if said.lower().startswith("zh") else said.lower().split("-")[0]
    chinese = sum("\u4e00" <= character <= "\u9fff" for character in taste)
    return "zh" if chinese * 3 > len(taste) else "en"


def _file_name(title: str) -> str:
    kept = "".join(c if c.isalnum() or c in " -_" else "" for c in title).strip().replace(" ", "-")
    return kept[:60] or "project"


def _print_json(data: object) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=2))
