"""Rename: a name changed wherever it is written, with a look first and a way back (man-4).

Names are found as everywhere in the house: 林远 is not in 树林远处 and Tom is not in Tomorrow, a longer name of
another entry is another name, and endings stay (Mara's, the Venns). All places change in one transaction.
What was replaced is kept, so that a rename can be taken back exactly, as long as none of the texts it
touched has changed since. Marks in the story move with each single place, not with the text as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Row, Table, desc

from fabula.codex.snapshot import read
from fabula.codex.tables import entries, progressions, renames
from fabula.codex.validation import check_name, refused
from fabula.constraints.tables import constraints
from fabula.conversation import tables as talk
from fabula.conversation.model import content_hash
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id, now
from fabula.manuscript import documents as manuscript
from fabula.manuscript.synopses.editing import still_told, tell_still
from fabula.manuscript.tables import beats, documents, marks, synopses
from fabula.memory.tables import memories
from fabula.store.schema import Json, about, all_tables
from fabula.store.tables import projects
from fabula.store.transaction import Reading, Writing
from fabula.text.names.matcher import Names
from fabula.workspace.rename.edits import Edit, edited, inside, mapped, moved, renamed, texts, turned

AROUND = 24  # characters of context each side of a place
_WHERE: tuple[tuple[Table, tuple[str, ...]], ...] = (
    (projects, ("direction",)),
    (documents, ("text", "title", "notes")),  # its text first: the revision that is kept has the old title
    (beats, ("text",)),
    (synopses, ("text",)),
    (entries, ("name", "aliases", "description", "details", "tags", "notes")),
    (progressions, ("text", "aliases")),
    (constraints, ("text", "check")),
    (memories, ("text", "evidence")),
)
_HISTORY: tuple[tuple[Table, tuple[str, ...]], ...] = (
    (talk.participants, ("name",)),
    (talk.conversations, ("title",)),
    (talk.messages, ("content",)),
    (talk.summaries, ("text",)),
    (talk.recaps, ("text",)),
    (talk.fixed_prompts, ("text",)),
    (talk.biographies, ("text",)),
)
_CALLED = ("title", "name", "document_id", "entry_id", "id")  # what a row is called, the best first


class Place(Struct, frozen=True, kw_only=True):
    """One place where the name is written: in which text, where in it, and what will stand there."""

    room: str
    label: str
    start: int
    end: int
    words: str
    becomes: str
    before: str = ""
    after: str = ""


class Undone(Struct, frozen=True, kw_only=True):
    """A rename that was taken back."""

    old: str
    new: str
    count: int


class _Mark(Struct, frozen=True, kw_only=True):
    """A mark that stood inside the name itself, where nothing leads back to."""

    table: str
    key: dict[str, Any]
    column: str
    offset: int


class _Cell(Struct, frozen=True, kw_only=True):
    """One value that a rename changed, and how it becomes again what it was."""

    table: str
    key: dict[str, Any]
    column: str
    now: str  # hash of the value after the rename
    edits: tuple[Edit, ...] = ()  # of a text: those that lead back
    was: Any = None  # of anything else: all of it
    marks: tuple[_Mark, ...] = ()


def preview(reading: Reading, old: str, new: str, *, history: bool = False) -> list[Place]:
    """Every place that a rename would change; nothing is changed."""
    find = _finder(reading, *_checked(old, new))
    return [
        _place(table, row, f"{column}{which}", text, edit)
        for table, row, column in _cells(reading, history)
        for which, text in texts(column, getattr(row, column))
        for edit in find(text)
    ]


def apply(tx: Writing, old: str, new: str, *, history: bool = False) -> str:
    """Rename in every place that `preview` shows; the id by which it can be taken back."""
    find = _finder(tx, *_checked(old, new))
    changed: list[_Cell] = []
    for table, row, column in _cells(tx, history):
        value, key = getattr(row, column), _key(table, row)
        if isinstance(table.c[column].type, Json):
            fresh = mapped(column, value, lambda text: edited(text, find(text)))
            if fresh != value:
                _put(tx, table, key, column, fresh)
                changed.append(_Cell(table=str(table.name), key=key, column=column, now=_hash(fresh), was=value))
        elif edits := find(value):
            lost = tuple(_write(tx, table, key, column, value, edits))
            fresh, back = edited(value, edits), turned(value, edits)
            changed.append(
                _Cell(table=str(table.name), key=key, column=column, now=_hash(fresh), edits=back, marks=lost)
            )
    if not changed:
        raise refused(f"{old!r} is written nowhere here as a name.")
    ident = new_id()
    record = {"id": ident, "old": old.strip(), "new": new.strip(), "changes": msgspec.to_builtins(changed)}
    tx.add(renames, {**record, "made": now()})
    return ident


def undo(tx: Writing, rename_id: str | None = None) -> Undone:
    """Take a rename back, the latest unless one is named; refused where one of its texts has changed since."""
    if rename_id is None:
        latest = tx.rows(renames, order=(desc(renames.c.made), renames.c.id), limit=1)
        if not latest:
            raise FabulaError(Code.STORE_NOT_FOUND, "There is no rename to take back. Nothing was changed.")
        row = latest[0]
    else:
        row = tx.need(renames, id=rename_id)
    cells = msgspec.convert(row.changes, list[_Cell])
    for cell in cells:
        there = tx.row(_tables()[cell.table], **cell.key)
        if there is None or _hash(getattr(there, cell.column)) != cell.now:
            which = ", ".join(map(str, cell.key.values())) or "the project"
            raise FabulaError(
                Code.STORE_CONFLICT,
                f"The {cell.column} of {which} (among the {cell.table}) was changed after {row.old!r} became "
                f"{row.new!r}, so that cannot be taken back. Nothing was changed.",
            )
    for cell in cells:
        table = _tables()[cell.table]
        if cell.edits:
            _write(tx, table, cell.key, cell.column, getattr(tx.need(table, **cell.key), cell.column), cell.edits)
        else:
            _put(tx, table, cell.key, cell.column, cell.was)
        for mark in cell.marks:
            held = _tables()[mark.table]
            tx.change(held, {mark.column: mark.offset}, *_at(held, mark.key))
    tx.remove(renames, renames.c.id == row.id)
    return Undone(old=row.old, new=row.new, count=sum(len(cell.edits) or 1 for cell in cells))


def _checked(old: str, new: str) -> tuple[str, str]:
    old, new = old.strip(), new.strip()
    if not old or not new or old == new:
        raise refused("To rename, give a name as it is and another one that it shall be.")
    check_name(old)
    check_name(new)
    return old, new


def _finder(reading: Reading, old: str, new: str) -> Callable[[str], list[Edit]]:
    """What finds the name in a text, and says what will stand in each place."""
    known = read(reading).values()
    owners = [entry for entry in known if old in entry.names]
    others = (name for entry in known if entry not in owners for name in entry.names)
    longer = {name: (name,) for name in others if name != old and old in name}
    person = any(entry.type == "character" for entry in owners)
    rules = {old: replace(owners[0].rules, person=person)} if owners else {}
    names = Names({**longer, old: (old,)}, rules=rules)

    def find(text: str) -> list[Edit]:
        hits = (hit for hit in names.find(text) if hit.owner == old)
        return [renamed(text, hit.start, hit.end, old, new) for hit in hits]

    return find


def _cells(reading: Reading, history: bool) -> Iterator[tuple[Table, Row[Any], str]]:
    """Every value in which a name may be written."""
    for table, columns in (*_WHERE, *(_HISTORY if history else ())):
        order = [column for column in table.primary_key if column.name != about(table).owner_column]
        for row in reading.rows(table, order=order):
            yield from ((table, row, column) for column in columns if getattr(row, column))


def _write(
    tx: Writing, table: Table, key: Mapping[str, Any], column: str, text: str, edits: Sequence[Edit]
) -> list[_Mark]:
    """A text with its places changed, a document's with all marks; says which of them stood inside the name."""
    fresh = edited(text, edits)
    if table is not documents or column != "text":
        _put(tx, table, key, column, fresh)
        return []
    ident = key["id"]
    told = still_told(tx, ident)
    held = list(_marked(tx, ident))
    manuscript.write(tx, ident, fresh, cause="renamed")
    tell_still(tx, told)  # what told this text in short tells it still
    return _carry(tx, held, edits)


def _put(tx: Writing, table: Table, key: Mapping[str, Any], column: str, value: Any) -> None:
    values = {column: value, **({"changed": now()} if "changed" in table.c else {})}
    if table is talk.messages:
        values["content_hash"] = content_hash(value)
        tx.edit(talk.conversations, {"id": tx.need(table, **key).conversation_id}, {"changed": now()})
    tx.edit(table, key, values)


def _marked(tx: Writing, document_id: str) -> Iterator[tuple[Table, Row[Any], tuple[str, ...]]]:
    """Every mark in a document, of the story and on its text: its table, its row, the columns of its offsets."""
    for table in _tables().values():
        for column in table.columns:
            prefix, found, _ = column.name.rpartition("_offset")
            if found and "project_id" in table.c:
                here = tx.rows(table, table.c[f"{prefix}_document"] == document_id)
                yield from ((table, row, (str(column.name),)) for row in here)
    yield from ((marks, row, ("start", "end")) for row in tx.rows(marks, marks.c.document_id == document_id))


def _carry(tx: Writing, held: Sequence[tuple[Table, Row[Any], tuple[str, ...]]], edits: Sequence[Edit]) -> list[_Mark]:
    """Each mark goes where its words went; one inside a name goes where nothing is told too early."""
    lost = []
    for table, row, columns in held:
        key = _key(table, row)
        was = {name: getattr(row, name) or 0 for name in columns}
        moves = {name: moved(at, edits, late=name not in ("until_offset", "start")) for name, at in was.items()}
        if table is marks:  # as a whole: writing the text may have cut it, or taken it away
            tx.remove(marks, *_at(marks, key))
            tx.add(marks, {name: value for name, value in row._mapping.items() if name != "project_id"} | moves)
        else:
            tx.change(table, moves, *_at(table, key))
        gone = [name for name, at in was.items() if inside(at, edits)]
        lost += [_Mark(table=str(table.name), key=key, column=name, offset=was[name]) for name in gone]
    return lost


@cache
def _tables() -> dict[str, Table]:
    return {str(table.name): table for table in all_tables()}


def _at(table: Table, key: Mapping[str, Any]) -> list[ColumnElement[bool]]:
    return [table.c[name] == value for name, value in key.items()]


def _key(table: Table, row: Row[Any]) -> dict[str, Any]:
    names = [str(column.name) for column in table.primary_key if column.name != about(table).owner_column]
    return {name: getattr(row, name) for name in names}


def _hash(value: Any) -> str:
    return sha256(msgspec.json.encode(value)).hexdigest()


def _place(table: Table, row: Row[Any], what: str, text: str, edit: Edit) -> Place:
    start, end, becomes = edit
    owner = next((getattr(row, name) for name in _CALLED if name in row._fields), "") or "the project"
    return Place(
        room=about(table).room,
        label=f"{owner}, {what}",
        start=start,
        end=end,
        words=text[start:end],
        becomes=becomes,
        before=text[max(0, start - AROUND) : start].replace("\n", " "),
        after=text[end : end + AROUND].replace("\n", " "),
    )
