"""Share entries: move them from a book to the codex of its series (man-3).

What is true of an entry as such goes to the series: its aliases, description, details, tags, notes, level, and how its
names are found, with relations to other shared entries that hold in the whole story. The book keeps an entry of the
same id with what belongs to its own story: progressions, relations from or until some place or to entries of its own,
where the entry begins, who knows it, and pins. So nothing changes in the prompts of the book, and later books know the
entry with what became of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex import Entry, edits
from fabula.codex.snapshot import read_entries
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, advise, message, plural
from fabula.manuscript.series import list_books
from fabula.store.store import Store
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.lookup import fold_name

_MOVED = ("aliases", "level", "description", "details", "tags", "notes", "rules")
_MOVED_NAMES = {
    "aliases": message("aliases"),
    "level": message("when it is sent"),
    "description": message("description"),
    "details": message("details"),
    "tags": message("tags"),
    "notes": message("notes"),
    "rules": message("how its names are found"),
}
_EMPTY = Entry(id="-", type="-", name="-")


class EntryShare(Struct, frozen=True, kw_only=True):
    """An entry that a book shares: what the series has of it, what stays in the book, and what to think of first."""

    shared: Entry
    own: Entry
    series: str  # its title
    moved: tuple[Sentence, ...]
    kept: tuple[Sentence, ...]
    remarks: tuple[Sentence, ...] = ()
    reveals: tuple[str, ...] = ()  # titles of books that would know the entry before it begins


def plan_shares(store: Store, reading: ReadTransaction, entry_ids: Sequence[str]) -> list[EntryShare]:
    """Plan how entries of a book go to its series; refused where they cannot."""
    series = reading.series()
    book = reading.require(projects)
    if series is None:
        raise FabulaError(
            Code.PROJECT_INVALID,
            message(
                "{title} belongs to no series. {advice} Nothing was changed.",
                title=book.title,
                advice=advise(
                    message("Join one first: fabula series join BOOK SERIES."), message("Let it join one first.")
                ),
            ),
        )
    title = series.require(projects).title
    own, shared = read_entries(reading), read_entries(series)
    for ident in entry_ids:
        _check_is_free(own.get(ident), shared, ident, title)
    together = shared.keys() | set(entry_ids)
    books = list_books(store, series.owner_id("project"))
    number = next((one.number for one in books if one.id == book.project_id), None)
    books = [one for one in books if one.id != book.project_id]
    not_later = [one for one in books if number is None or one.number is None or one.number < number]
    names_of = {one.id: _read_names(store, one.id) for one in books}
    shares = []
    for ident in dict.fromkeys(entry_ids):
        share = _split(own[ident], together, title)
        names = {fold_name(name) for name in own[ident].names}
        others = [one.title for one in books if names & names_of[one.id]]
        remarks = tuple(
            message("{book} has an entry of its own with one of its names. It will have two then.", book=other)
            for other in others
        )
        reveals = tuple(one.title for one in not_later) if own[ident].since is not None else ()
        shares.append(replace(share, remarks=remarks, reveals=reveals))
    return shares


def apply_shares(tx: WriteTransaction, shares: Sequence[EntryShare]) -> None:
    """Put entries into the series of a book, and leave in the book what is its own."""
    series = tx.series()
    assert series is not None
    for share in shares:
        edits.create(series, replace(share.shared, relations=()))
    for share in shares:  # a relation may lead to another one of them
        edits.update(series, share.shared.id, {"relations": share.shared.relations})
        values = {name: getattr(share.own, name) for name in (*_MOVED, "relations")}
        edits.update(tx, share.own.id, values)


def _check_is_free(entry: Entry | None, shared: dict[str, Entry], ident: str, series: str) -> None:
    """Refuse an entry that the series has already, or whose name an entry of the series has."""
    if ident in shared:
        sentence = message(
            "{name} is shared by {series} already. Nothing was changed.", name=shared[ident].name, series=series
        )
        raise FabulaError(Code.STORE_DUPLICATE, sentence)
    assert entry is not None
    names = {fold_name(name) for name in entry.names}
    taken = next((one for one in shared.values() if not names.isdisjoint(map(fold_name, one.names))), None)
    if taken is not None:
        raise FabulaError(
            Code.STORE_DUPLICATE,
            message(
                "{series} has an entry with a name of {name} already: {other}. Rename one of them, or remove the one "
                "in the book. Nothing was changed.",
                series=series,
                name=entry.name,
                other=taken.name,
            ),
        )


def _split(entry: Entry, together: set[str], series: str) -> EntryShare:
    """Return what the series gets of an entry, and what the book keeps."""
    moving = tuple(one for one in entry.relations if one.to in together and one.since is None and one.until is None)
    staying = tuple(one for one in entry.relations if one not in moving)
    shared = replace(entry, relations=moving, progressions=(), since=None)
    own = replace(entry, relations=staying, **{name: getattr(_EMPTY, name) for name in _MOVED})
    moved = [_MOVED_NAMES[name] for name in _MOVED if getattr(entry, name) != getattr(_EMPTY, name)]
    if moving:
        moved.append(plural(len(moving), "{count} relation", "{count} relations"))
    kept = []
    if entry.since is not None:
        kept.append(message("where it begins"))
    if entry.progressions:
        kept.append(plural(len(entry.progressions), "{count} progression", "{count} progressions"))
    if staying:
        kept.append(plural(len(staying), "{count} relation", "{count} relations"))
    return EntryShare(shared=shared, own=own, series=series, moved=tuple(moved), kept=tuple(kept))


def _read_names(store: Store, book_id: str) -> set[str]:
    with store.read(project=book_id) as reading:
        return {fold_name(name) for entry in read_entries(reading).values() for name in entry.names}
