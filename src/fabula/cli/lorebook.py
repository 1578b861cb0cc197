"""Commands about lorebooks: bring in, list, look at, try, take out, turn into codex entries.

What changes a book is in `lorebook_edit`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli import lorebook_edit
from fabula.cli.desk import place_of, print_json, writing
from fabula.cli.projects import JSON, PROJECT, STORE, open_store
from fabula.core.errors import FabulaError

if TYPE_CHECKING:
    from fabula.core.story import Position, Timeline
    from fabula.lorebook.books import Lorebooks, Question
    from fabula.lorebook.edits import Lorebook
    from fabula.lorebook.model import Activation, LoreEntry

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
        *lorebook_edit.COMMANDS,
    ):
        lorebook.command(name=name)(command)
    app.add_typer(lorebook, name="lorebook")


def bring_in(
    project: PROJECT,
    path: Annotated[Path, typer.Argument(help="World info, a card (JSON, PNG, CHARX), RisuAI, NovelAI or Agnai.")],
    rules: RULES = "",
    store: STORE = None,
) -> None:
    """Bring a lorebook in, or a card with the one it carries."""
    from msgspec.structs import replace

    from fabula.formats.lore.read_write import parse, read_lorebook
    from fabula.lorebook import edits as service

    book = read_lorebook(path)
    # The store refuses rules that it does not know, by name.
    book = replace(book, rules=rules) if rules else book
    with writing(project, store) as tx:
        ident = service.put(tx, book)
    read = parse(book)
    many = len(read.book.entries)
    count = f"{many} {'entry' if many == 1 else 'entries'}"
    print(f"{book.name}: {count} ({book.format}, {book.rules} rules), book {ident}.")
    warnings = list(read.warnings)
    if path.suffix.lower() in (".png", ".charx"):
        warnings.append(f"The picture or the assets are not kept: to export into them again, name {path.name} --into.")
    for warning in warnings:
        print(f"- {warning}")


def list_books(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """The lorebooks of a project."""
    from fabula.lorebook import edits as service
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
        print_json(rows)
        return
    if not rows:
        print("No lorebooks yet. Bring one in: fabula lorebook import PROJECT FILE")
    for row in rows:
        state = "" if row["active"] else "  (not in use)"
        many = "unreadable" if row["entries"] is None else f"{row['entries']} entries"
        print(f"{row['id']:<24} {many:>13}  {row['format']:<14} {row['rules']:<7} {row['name']}{state}")


def show(project: PROJECT, book: lorebook_edit.BOOK, store: STORE = None, as_json: JSON = False) -> None:
    """The entries of a lorebook."""
    import msgspec

    from fabula.formats.lore.read_write import parse

    found = _kept(project, book, store)
    read = parse(found)
    if as_json:
        print_json({"name": found.name, "entries": msgspec.to_builtins(read.book.entries), "warnings": read.warnings})
        return
    print(f"{found.name} ({found.format}, {found.rules} rules)")
    for entry in read.book.entries:
        state = "off" if entry.disable else "always" if entry.constant else ", ".join(entry.key or ()) or "no key"
        text = " ".join((entry.content or "").split())
        where = _where(entry)
        print(f"  {entry.uid:>4}  {entry.comment or '-'}  [{state}]{where}  {text[:80]}{'…' if len(text) > 80 else ''}")
    for warning in read.warnings:
        print(f"- {warning}")


def try_out(
    project: PROJECT,
    text: Annotated[str, typer.Argument(help="What is said; - for standard input.")],
    book: Annotated[str | None, typer.Option("--book", "-b", help="Only this book.")] = None,
    at: Annotated[str | None, typer.Option("--at", help="As a reader in this chapter; else as the author.")] = None,
    context: Annotated[int, typer.Option("--context", help="The size of the prompt, in tokens.")] = 8192,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Which entries would a text call up, and why (not)?"""
    from fabula.formats.lore.read_write import parse
    from fabula.lorebook.books import Lorebooks, Question
    from fabula.lorebook.edits import listed
    from fabula.lorebook.model import Said, Scene
    from fabula.lorebook.snapshot import shelved
    from fabula.manuscript import projects, snapshot
    from fabula.text.tokens.tokenizer import encoding

    with open_store(store) as opened:
        ident = projects.find(opened, project).id
        with opened.read(project=ident) as reading:
            one = None if book is None else lorebook_edit.find(reading, book)
            books = [one] if one is not None else [kept for kept in listed(reading) if kept.active]
            here = None if at is None else place_of(reading, at)
            timeline = snapshot.load(reading).timeline() if here is not None else None
    for kept in books:
        parse(kept)  # which says what is wrong with it
    shelf = Lorebooks(ident, [shelved(kept, parse) for kept in books])
    said = (Said("", sys.stdin.read() if text == "-" else text),)
    scene = Scene(max_context=context, character=shelf.about("").name)
    question = Question(said, 0, scene, (ident, "test"), names=False)
    unseen, question = _as_reader(shelf, question, here, timeline)
    answers = shelf.ask(question, encoding("o200k_base"))
    if as_json:
        print_json([*(row for answer in answers for row in _verdicts(answer)), *unseen])
        return
    for answer in answers:
        for row in _verdicts(answer):
            print(f"  {'✓' if row['active'] else '·'} {row['title']}: {row['why']}")
        print(f"  {answer.used} of {answer.budget} tokens, {answer.rules} rules")
        for problem in answer.problems:
            print(f"- {problem}")
    for row in unseen:
        print(f"  · {row['title']}: {row['why']}")


def take_out(
    project: PROJECT,
    book: lorebook_edit.BOOK,
    path: Annotated[Path, typer.Argument(help="The file to write; of a card .json, .png or .charx.")],
    into: Annotated[
        Path | None, typer.Option("--into", help="The picture or archive that a card is put into; it is not changed.")
    ] = None,
    world_info: Annotated[bool, typer.Option("--as-world-info", help="As SillyTavern's world info.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    store: STORE = None,
) -> None:
    """Write a lorebook or card as it came, or as world info."""
    from fabula.formats.lore.read_write import as_world_info, write_lorebook

    found = _kept(project, book, store)
    warnings: tuple[str, ...] = ()
    if world_info:
        found, warnings = as_world_info(found)
    write_lorebook(found, path, into=into, overwrite=overwrite)
    print(f"{found.name} is in {path}.")
    for warning in warnings:
        print(f"- {warning}")


def to_codex(
    project: PROJECT,
    book: lorebook_edit.BOOK,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the lorebook in use beside the entries.")] = False,
    store: STORE = None,
) -> None:
    """Turn a lorebook into codex entries; the book itself is kept, and no longer used unless --keep is given."""
    from msgspec.structs import replace

    from fabula.codex import edits as codex
    from fabula.formats.lore.to_codex import codex_entries, lost_as_entries
    from fabula.lorebook import edits as service

    with writing(project, store) as tx:
        found = lorebook_edit.find(tx, book)
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
        return lorebook_edit.find(reading, book)


def _where(entry: LoreEntry) -> str:
    """Where in the story an entry may be told, in a few words."""
    story = entry.story
    if story is None:
        return ""
    parts = (
        f"from {story.since}" if story.since else "",
        f"before {story.until}" if story.until else "",
        f"known to {', '.join(story.known_to) or 'nobody'}" if story.known_to is not None else "",
    )
    return f"  ({'; '.join(part for part in parts if part)})"


def _as_reader(
    shelf: Lorebooks, question: Question, here: Position | None, timeline: Timeline | None
) -> tuple[list[dict[str, Any]], Question]:
    """What a reader at a place must not see yet, and the question without it."""
    from msgspec.structs import replace

    from fabula.context.trace import EXPLAINED
    from fabula.core.story import Eyes, Vantage
    from fabula.lorebook.scan_order import title_of

    if here is None or timeline is None:
        return [], question
    kept_back = shelf.withheld(Vantage(Eyes.READER, here), timeline)
    rows = [
        {
            "book": ref.book,
            "uid": ref.uid,
            "title": title_of(ref, shelf.entries[ref]),
            "active": False,
            "reason": reason.value,
            "why": EXPLAINED[reason],
        }
        for ref, reason in kept_back.items()
    ]
    return rows, replace(question, withheld=frozenset(kept_back))


def _many(book: Lorebook) -> int | None:
    """How many entries a book has; None where it cannot be read."""
    from fabula.formats.lore.read_write import parse

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
