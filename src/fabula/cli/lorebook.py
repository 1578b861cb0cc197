"""Commands about lorebooks: bring in, list, look at, try, take out, turn into codex entries."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.projects import JSON, PROJECT, STORE, open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.lorebook.model import Activation
    from fabula.lorebook.service import Lorebook
    from fabula.store.transaction import Reading

BOOK = Annotated[str, typer.Argument(help="A lorebook of the project, by its id or name.")]
RULES = Annotated[str, typer.Option("--rules", help="exact (as SillyTavern reads it) or fabula (our own rules).")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    lorebook = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="World books and the books of cards.")
    for name, command in (
        ("import", bring_in),
        ("list", list_books),
        ("show", show),
        ("test", try_out),
        ("export", take_out),
        ("to-codex", to_codex),
    ):
        lorebook.command(name=name)(command)
    app.add_typer(lorebook, name="lorebook")


def bring_in(
    project: PROJECT,
    path: Annotated[Path, typer.Argument(help="World info, a card (JSON, PNG, CHARX), RisuAI, NovelAI or Agnai.")],
    rules: RULES = "",
    store: STORE = None,
) -> None:
    """Bring a lorebook in, or the one a card carries."""
    from msgspec.structs import replace

    from fabula.formats.lorebooks import parse, read_lorebook
    from fabula.lorebook import service
    from fabula.manuscript import projects

    books = read_lorebook(path)
    if not books:
        raise FabulaError(Code.IMPORT_UNREADABLE, f"{path.name}: this card carries no book. Nothing was imported.")
    # The store refuses rules that it does not know, by name.
    books = [replace(book, rules=rules) for book in books] if rules else books
    with open_store(store) as opened, opened.write(project=projects.find(opened, project).id) as tx:
        ids = [service.put(tx, book) for book in books]
    for ident, book in zip(ids, books, strict=True):
        read = parse(book)
        print(f"{book.name}: {len(read.book.entries)} entries ({book.format}, {book.rules} rules), book {ident}.")
        for warning in read.warnings:
            print(f"- {warning}")


def list_books(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """The lorebooks of a project."""
    from fabula.lorebook import service
    from fabula.manuscript import projects

    with open_store(store) as opened, opened.read(project=projects.find(opened, project).id) as reading:
        books = service.listed(reading)
    rows = [
        {
            "id": book.id,
            "name": book.name,
            "format": book.format,
            "rules": book.rules,
            "active": book.active,
            "entries": _many(book),
        }
        for book in books
    ]
    if as_json:
        _print_json(rows)
        return
    if not rows:
        print("No lorebooks yet. Bring one in: fabula lorebook import PROJECT FILE")
    for row in rows:
        state = "" if row["active"] else "  (not in use)"
        many = "unreadable" if row["entries"] is None else f"{row['entries']} entries"
        print(f"{row['id']:<24} {many:>13}  {row['format']:<14} {row['rules']:<7} {row['name']}{state}")


def show(project: PROJECT, book: BOOK, store: STORE = None, as_json: JSON = False) -> None:
    """The entries of a lorebook."""
    import msgspec

    from fabula.formats.lorebooks import parse

    found = _kept(project, book, store)
    read = parse(found)
    if as_json:
        _print_json({"name": found.name, "entries": msgspec.to_builtins(read.book.entries), "warnings": read.warnings})
        return
    print(f"{found.name} ({found.format}, {found.rules} rules)")
    for entry in read.book.entries:
        state = "off" if entry.disable else "always" if entry.constant else ", ".join(entry.key or ()) or "no key"
        text = " ".join((entry.content or "").split())
        print(f"  {entry.uid:>4}  {entry.comment or '-'}  [{state}]  {text[:80]}{'…' if len(text) > 80 else ''}")
    for warning in read.warnings:
        print(f"- {warning}")


def try_out(
    project: PROJECT,
    text: Annotated[str, typer.Argument(help="What is said; - for standard input.")],
    book: Annotated[str | None, typer.Option("--book", "-b", help="Only this book.")] = None,
    context: Annotated[int, typer.Option("--context", help="The size of the prompt, in tokens.")] = 8192,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Which entries would a text call up, and why (not)?"""
    from fabula.formats.lorebooks import parse
    from fabula.lorebook.model import Said, Scene
    from fabula.lorebook.service import listed
    from fabula.lorebook.shelf import Lorebooks, Question, Shelved
    from fabula.manuscript import projects
    from fabula.text.tokens import encoding

    with open_store(store) as opened:
        ident = projects.find(opened, project).id
        with opened.read(project=ident) as reading:
            books = [_find(reading, book)] if book is not None else [one for one in listed(reading) if one.active]
    shelved = []
    for one in books:
        read = parse(one)
        shelved.append(Shelved(id=one.id, name=one.name, rules=one.rules, book=read.book, settings=read.settings))
    said = (Said("", sys.stdin.read() if text == "-" else text),)
    question = Question(said, 0, Scene(max_context=context), (ident, "test"), names=False)
    answers = Lorebooks(ident, shelved).ask(question, encoding("o200k_base"))
    if as_json:
        _print_json([verdict for answer in answers for verdict in _verdicts(answer)])
        return
    for answer in answers:
        for row in _verdicts(answer):
            print(f"  {'✓' if row['active'] else '·'} {row['title']}: {row['why']}")
        print(f"  {answer.used} of {answer.budget} tokens, {answer.rules} rules")
        for problem in answer.problems:
            print(f"- {problem}")


def take_out(
    project: PROJECT,
    book: BOOK,
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    world_info: Annotated[bool, typer.Option("--as-world-info", help="As SillyTavern's world info.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    store: STORE = None,
) -> None:
    """Write a lorebook as it came, or as world info."""
    from fabula.formats.lorebooks import as_world_info, write_lorebook

    found = _kept(project, book, store)
    warnings: tuple[str, ...] = ()
    if world_info:
        found, warnings = as_world_info(found)
    write_lorebook(found, path, overwrite=overwrite)
    print(f"{found.name} is in {path}.")
    for warning in warnings:
        print(f"- {warning}")


def to_codex(
    project: PROJECT,
    book: BOOK,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the lorebook in use beside the entries.")] = False,
    store: STORE = None,
) -> None:
    """Turn a lorebook into codex entries; the book itself is kept, and no longer used unless --keep is given."""
    from msgspec.structs import replace

    from fabula.codex import service as codex
    from fabula.formats.lore_codex import codex_entries, lost_as_entries
    from fabula.lorebook import service
    from fabula.manuscript import projects

    with open_store(store) as opened, opened.write(project=projects.find(opened, project).id) as tx:
        found = _find(tx, book)
        entries = codex_entries(found)
        codex.put_all(tx, entries)
        if not keep:
            service.put(tx, replace(found, active=False), expected=found.version)
    print(f"{len(entries)} codex entries were made from {found.name}.")
    for warning in lost_as_entries(found):
        print(f"- {warning}")


def _kept(project: str, book: str, store: str | None) -> Lorebook:
    from fabula.manuscript import projects

    with open_store(store) as opened, opened.read(project=projects.find(opened, project).id) as reading:
        return _find(reading, book)


def _find(reading: Reading, name: str) -> Lorebook:
    from fabula.lorebook.service import listed

    books = listed(reading)
    found = [book for book in books if book.id == name] or [book for book in books if book.name == name]
    if len(found) != 1:
        which = "Several lorebooks are" if found else "No lorebook is"
        those = ", ".join(f"{book.id} ({book.name})" for book in found or books) or "none yet"
        raise FabulaError(Code.STORE_NOT_FOUND, f"{which} called {name!r}. There are: {those}. Nothing was changed.")
    return found[0]


def _many(book: Lorebook) -> int | None:
    """How many entries a book has; None where it cannot be read."""
    from fabula.formats.lorebooks import parse

    try:
        return len(parse(book).book.entries)
    except FabulaError:
        return None


def _verdicts(answer: Activation) -> list[dict[str, Any]]:
    from fabula.lorebook.source import told

    rows = [
        {
            "book": verdict.ref.book,
            "uid": verdict.ref.uid,
            "title": verdict.title,
            "active": verdict.active,
            "reason": verdict.reason.value,
            "why": told(verdict),
        }
        for verdict in answer.verdicts
    ]
    return sorted(rows, key=lambda row: not row["active"])


def _print_json(data: object) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=2))
