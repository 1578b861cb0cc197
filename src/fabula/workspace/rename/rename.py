"""Rename: change a name in all texts of a project, with a preview and an undo (man-4).

Names are found by the same matcher as everywhere in Fabula: 林远 is not in 树林远处, Tom is not in Tomorrow, a longer
name of another entry does not match, and endings stay (Mara's, the Venns). All texts change in one transaction.

The replaced words are stored, so a rename can be undone exactly, as long as none of the changed texts was edited
since. Marks in a document move with each single edit, not with the text as a whole.

A rename in a book spans the codex of its series as well, in the same transaction: the entries of both are renamed, and
the longer names of both are protected. The texts of other books of the series stay as they are.

Whoever takes part in conversations as the renamed character is renamed with it, so that nobody is there twice. What was
said stays as it is, unless the history is renamed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Row, Table, desc

from fabula.codex.entry import Entry
from fabula.codex.snapshot import read_entries
from fabula.codex.tables import entries, progressions, renames
from fabula.codex.validation import validate_name
from fabula.constraints.tables import constraints
from fabula.conversation import tables as conversation_tables
from fabula.conversation.model import MAX_NOTE_CHARACTERS, NOTE, find_note, hash_content
from fabula.conversation.participants import list_participants
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, new_id
from fabula.core.messages import Sentence, message
from fabula.manuscript import documents as manuscript
from fabula.manuscript.snapshot import sort_in_reading_order
from fabula.manuscript.synopses.editing import find_current, mark_current
from fabula.manuscript.tables import beats, documents, marks, synopses
from fabula.memory.tables import memories
from fabula.store.schema import Json, all_tables, table_info
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.names.matcher import NameMatcher, NameRules
from fabula.text.truncation import shorten_to_line
from fabula.workspace.names import find_own_entry
from fabula.workspace.rename.edits import (
    Edit,
    apply_edits,
    invert_edits,
    is_inside_edit,
    iterate_texts,
    make_rename_edit,
    map_texts,
    move_offset,
)
from fabula.workspace.rename.facts import FactMover

CONTEXT_CHARACTERS = 24  # on each side of a place in the preview
_COLUMNS: tuple[tuple[Table, tuple[str, ...]], ...] = (
    (projects, ("direction",)),
    (documents, ("text", "title", "notes")),  # the text first, so that the stored revision has the old title
    (beats, ("text",)),
    (synopses, ("text",)),
    (entries, ("name", "aliases", "description", "details", "tags", "notes")),
    (progressions, ("text", "aliases")),
    (constraints, ("text", "check")),
    (memories, ("text", "evidence")),
)
_SERIES_COLUMNS = tuple((table, columns) for table, columns in _COLUMNS if table in (entries, progressions))
_PARTICIPANT_COLUMNS: tuple[Table, tuple[str, ...]] = (conversation_tables.participants, ("name", "aliases", "persona"))
_TITLE_COLUMNS: tuple[Table, tuple[str, ...]] = (conversation_tables.conversations, ("title",))
_HISTORY_COLUMNS: tuple[tuple[Table, tuple[str, ...]], ...] = (
    _PARTICIPANT_COLUMNS,
    (conversation_tables.conversations, ("title", NOTE)),
    (conversation_tables.messages, ("content",)),
    (conversation_tables.summaries, ("text",)),
    (conversation_tables.recaps, ("text",)),
    (conversation_tables.fixed_prompts, ("text",)),
    (conversation_tables.biographies, ("text",)),
)
_COLUMN_LABELS = {
    "direction": message("direction"),
    "text": message("text"),
    "title": message("title"),
    "notes": message("notes"),
    "name": message("name"),
    "aliases": message("aliases"),
    "description": message("description"),
    "details": message("details"),
    "tags": message("tags"),
    "check": message("check"),
    "evidence": message("evidence"),
    "content": message("content"),
    NOTE: message("author's note"),
    "persona": message("persona"),
}
_PARTICIPANT_LABELS = {"name": message("name in conversations"), "aliases": message("aliases in conversations")}
_TEXT_LABELS = {  # of a text that stands beside others of the same chapter or entry
    beats.name: message("beat"),
    synopses.name: message("synopsis"),
    progressions.name: message("progression"),
}
_OWNER_COLUMNS = ("id", "document_id", "entry_id")  # in which a row names a document or an entry
_LABEL_COLUMNS = ("title", "name", "text", "content", "id")  # how the preview names another row; the first wins
_LABEL_LENGTH = 40  # characters


class RenamePlace(Struct, frozen=True, kw_only=True):
    """One occurrence of the name: the text it is in, its range in that text, and its replacement."""

    area: str = field(name="room")
    label: Sentence
    start: int
    end: int
    words: str
    replacement: str = field(name="becomes")
    before: str = ""
    after: str = ""
    in_series: bool = False  # in the codex of the book's series


class UndoneRename(Struct, frozen=True, kw_only=True):
    """A rename that was undone."""

    old: str
    new: str
    count: int


class _Mark(Struct, frozen=True, kw_only=True):
    """An offset inside a renamed name; it is stored because the inverse edits do not restore it."""

    table: str
    key: dict[str, Any]
    column: str
    offset: int


class _Cell(Struct, frozen=True, kw_only=True):
    """One value that a rename changed, and what is needed to restore it. Stored as JSON in `renames.changes`."""

    table: str
    key: dict[str, Any]
    column: str
    new_hash: str = field(name="now")  # of the value after the rename
    edits: tuple[Edit, ...] = ()  # the inverse edits, if the value is a text
    old_value: Any = field(default=None, name="was")  # if the value is not a text
    marks: tuple[_Mark, ...] = ()
    in_series: bool = field(default=False, name="series")


def preview_rename(
    reading: ReadTransaction, old: str, new: str, *, history: bool = False, also: Mapping[str, str] | None = None
) -> list[RenamePlace]:
    """List every place that a rename would change, in the order of the story; nothing is changed.

    `also` has further names and what each of them becomes.
    """
    renamed = validate_names(old, new, also or {})
    find = make_finder(reading, renamed)
    names = {row.id: row.title for row in reading.rows(documents, only=("id", "title")) if row.title}
    names |= {entry.id: entry.name for entry in reversed(read_all_entries(reading))}
    return [
        _make_place(table, row, column, number, text, edit, names, in_series=in_series)
        for in_series, table, row, column in iterate_cells(reading, renamed, history)
        for number, text in iterate_texts(column, read_value(row, column))
        for edit in find(text)
    ]


def apply_rename(
    tx: WriteTransaction, old: str, new: str, *, history: bool = False, also: Mapping[str, str] | None = None
) -> str:
    """Rename in every place that `preview_rename` lists; return the id by which the rename can be undone."""
    renamed = validate_names(old, new, also or {})
    find = make_finder(tx, renamed)
    cells: list[_Cell] = []
    book, facts = tx, FactMover(tx)
    for in_series, table, row, column in list(iterate_cells(book, renamed, history)):
        tx = _choose_transaction(book, in_series)
        value, key = read_value(row, column), _make_key(table, row)
        table_name = str(table.name)
        if column != NOTE and isinstance(table.c[column].type, Json):
            new_value = map_texts(column, value, lambda text: apply_edits(text, find(text)))
            if new_value != value:
                _update_value(tx, table, key, column, new_value)
                new_hash = _hash_value(new_value)
                cell = _Cell(table=table_name, key=key, column=column, new_hash=new_hash, old_value=value)
                cells.append(replace(cell, in_series=in_series))
        elif edits := find(value):
            marks_inside = tuple(_write_text(tx, table, key, column, value, edits, facts))
            new_hash, inverse = _hash_value(apply_edits(value, edits)), invert_edits(value, edits)
            cell = _Cell(table=table_name, key=key, column=column, new_hash=new_hash, edits=inverse, marks=marks_inside)
            cells.append(replace(cell, in_series=in_series))
    if not cells:
        raise FabulaError(
            Code.CODEX_INVALID,
            message("Nothing here is called {name!r}. Nothing was changed.", name=old),
        )
    facts.store_dismissed()
    rename_id = new_id()
    record = {"id": rename_id, "old": old.strip(), "new": new.strip(), "changes": msgspec.to_builtins(cells)}
    number = (book.max_value(renames, "number") or 0) + 1
    book.insert(renames, {**record, "made": current_timestamp(), "number": number})
    return rename_id


def undo_rename(tx: WriteTransaction, rename_id: str | None = None) -> UndoneRename:
    """Undo a rename, by default the latest; an error if one of its texts was changed since."""
    if rename_id is None:
        latest = tx.rows(renames, order=(desc(renames.c.number), desc(renames.c.made)), limit=1)
        if not latest:
            raise FabulaError(Code.STORE_NOT_FOUND, message("There is no rename to undo. Nothing was changed."))
        row = latest[0]
    else:
        row = tx.require(renames, id=rename_id)
    cells = msgspec.convert(row.changes, list[_Cell])
    for cell in cells:
        current = _choose_transaction(tx, cell.in_series).row(_tables_by_name()[cell.table], **cell.key)
        if current is None or _hash_value(read_value(current, cell.column)) != cell.new_hash:
            raise FabulaError(
                Code.STORE_CONFLICT,
                message(
                    "{old!r} became {new!r}, and after that the {column} of {owner} was changed (in {table}). "
                    "So the rename cannot be undone. Nothing was changed.",
                    old=row.old,
                    new=row.new,
                    owner=", ".join(map(str, cell.key.values())) or message("the project"),
                    column=_COLUMN_LABELS[cell.column],
                    table=cell.table,
                ),
            )
    facts = FactMover(tx)
    for cell in cells:
        table, owner = _tables_by_name()[cell.table], _choose_transaction(tx, cell.in_series)
        if cell.edits:
            text = read_value(owner.require(table, **cell.key), cell.column)
            _write_text(owner, table, cell.key, cell.column, text, cell.edits, facts)
        else:
            _update_value(owner, table, cell.key, cell.column, cell.old_value)
        for mark in cell.marks:
            mark_table = _tables_by_name()[mark.table]
            tx.update_rows(mark_table, {mark.column: mark.offset}, *_match_key(mark_table, mark.key))
    facts.store_dismissed()
    tx.delete_rows(renames, renames.c.id == row.id)
    return UndoneRename(old=row.old, new=row.new, count=sum(len(cell.edits) or 1 for cell in cells))


def _choose_transaction(tx: WriteTransaction, in_series: bool) -> WriteTransaction:
    """Return the transaction of the book, or of its series."""
    series = tx.series() if in_series else None
    if in_series and series is None:
        raise FabulaError(
            Code.STORE_CONFLICT,
            message(
                "The rename changed the series too, and the book belongs to no series now. "
                "So the rename cannot be undone. Nothing was changed."
            ),
        )
    return tx if series is None else series


def validate_names(old: str, new: str, also: Mapping[str, str]) -> dict[str, str]:
    """Return all names to be changed and what they become, the main one first."""
    names = {old.strip(): new.strip(), **{name.strip(): becomes.strip() for name, becomes in also.items()}}
    for name, becomes in names.items():
        if not name or not becomes or name == becomes:
            raise FabulaError(
                Code.CODEX_INVALID, message("To rename, give the present name and another one. Nothing was changed.")
            )
        validate_name(name)
        validate_name(becomes)
    return names


def read_all_entries(reading: ReadTransaction) -> list[Entry]:
    """Read the entries of a book, and those of its series."""
    series = reading.series()
    return [*read_entries(reading).values(), *(() if series is None else read_entries(series).values())]


def make_finder(reading: ReadTransaction, names: Mapping[str, str]) -> Callable[[str], list[Edit]]:
    """Make a function that finds names in a text and returns the edits that replace them."""
    matcher = make_matcher(read_all_entries(reading), names)

    def find(text: str) -> list[Edit]:
        hits = (hit for hit in matcher.find(text) if hit.owner in names)
        return [make_rename_edit(text, hit.start, hit.end, hit.owner, names[hit.owner]) for hit in hits]

    return find


def make_matcher(all_entries: Sequence[Entry], names: Iterable[str]) -> NameMatcher:
    """Make a matcher of names as the entries match them; longer names of other entries match as a whole."""
    protected: dict[str, tuple[str, ...]] = {}
    rules: dict[str, NameRules] = {}
    for old in names:
        owners = [entry for entry in all_entries if old in entry.names]
        owner_ids = {entry.id for entry in owners}
        other_names = (name for entry in all_entries if entry.id not in owner_ids for name in entry.names)
        protected |= {name: (name,) for name in other_names if name != old and old in name}
        if owners:
            is_person = any(entry.type == "character" for entry in owners)
            rules[old] = replace(owners[0].rules, is_person=is_person)
    return NameMatcher({**protected, **{old: (old,) for old in names}}, rules=rules)


def iterate_cells(
    reading: ReadTransaction, names: Iterable[str], history: bool
) -> Iterator[tuple[bool, Table, Row[Any], str]]:
    """Yield every value that may contain a name: whether the series has it, its table, its row and its column.

    What belongs to documents comes in the order of the story. Of conversations, only the participants who are one of
    the named characters and the titles of what they take part in, unless `history` is renamed too.
    """
    places = {row.id: place for place, row in enumerate(sort_in_reading_order(reading.rows(documents)))}
    for table, columns in (*_COLUMNS, *(_HISTORY_COLUMNS if history else ())):
        order = [column for column in table.primary_key if column.name != table_info(table).owner_column]
        rows = reading.rows(table, order=order)
        if table in (documents, beats, synopses):
            column_name = "id" if table is documents else "document_id"
            rows = sorted(rows, key=lambda row: (places[getattr(row, column_name)], getattr(row, "place", 0)))
        for row in rows:
            yield from ((False, table, row, column) for column in columns if read_value(row, column))
    if not history:
        yield from ((False, *cell) for cell in _iterate_participant_cells(reading, names))
    if (series := reading.series()) is not None:
        for table, columns in _SERIES_COLUMNS:
            for row in series.rows(table, order=[table.c.id]):
                yield from ((True, table, row, column) for column in columns if getattr(row, column))


def read_value(row: Row[Any], column: str) -> Any:
    """Return a value that may contain a name; the author's note is a part of the state of its conversation."""
    if column != NOTE:
        return getattr(row, column)
    note = find_note(row.mode_state)
    return "" if note is None else note.text


def _iterate_participant_cells(reading: ReadTransaction, names: Iterable[str]) -> Iterator[tuple[Table, Row[Any], str]]:
    """Yield what the participants who are one of the named characters are called, and the titles that may name them."""
    entries_by_id = {entry.id: entry for entry in reversed(read_all_entries(reading))}
    renamed = set(names)
    people = {
        one.id
        for one in list_participants(reading)
        if (own := find_own_entry(entries_by_id, one)) is not None and not renamed.isdisjoint(entries_by_id[own].names)
    }
    if not people:
        return
    table, columns = _PARTICIPANT_COLUMNS
    for row in reading.rows(table, table.c.id.in_(people), order=[table.c.id]):
        yield from ((table, row, column) for column in columns if getattr(row, column))
    table, columns = _TITLE_COLUMNS
    for row in reading.rows(table, order=[table.c.id]):
        if not people.isdisjoint(row.conv_key.split("|")):
            yield from ((table, row, column) for column in columns if getattr(row, column))


def _write_text(
    tx: WriteTransaction,
    table: Table,
    key: Mapping[str, Any],
    column: str,
    text: str,
    edits: Sequence[Edit],
    facts: FactMover,
) -> list[_Mark]:
    """Apply edits to a text, and move the marks and facts of a document; return the marks that were inside an edit."""
    new_text = apply_edits(text, edits)
    if table is not documents or column != "text":
        _update_value(tx, table, key, column, new_text)
        return []
    document_id = key["id"]
    with_current_synopsis = find_current(tx, document_id)
    facts.move(document_id, text, edits)
    mark_rows = list(_iterate_mark_rows(tx, document_id))
    manuscript.write(tx, document_id, new_text, cause="renamed")
    mark_current(tx, with_current_synopsis)  # a renamed text needs no new synopsis
    return _move_marks(tx, mark_rows, edits)


def _update_value(tx: WriteTransaction, table: Table, key: Mapping[str, Any], column: str, value: Any) -> None:
    if column == NOTE:
        state = tx.require(table, **key).mode_state
        if len(value) > MAX_NOTE_CHARACTERS:
            raise FabulaError(
                Code.CODEX_INVALID,
                message(
                    "With the new name an author's note is longer than {count:,} characters. Nothing was changed.",
                    count=MAX_NOTE_CHARACTERS,
                ),
            )
        column, value = "mode_state", {**state, NOTE: {**state[NOTE], "text": value}}
    values: dict[str, Any] = {column: value, **({"changed": current_timestamp()} if "changed" in table.c else {})}
    if table is conversation_tables.messages:
        values["content_hash"] = hash_content(value)
        tx.update_row(
            conversation_tables.conversations,
            {"id": tx.require(table, **key).conversation_id},
            {"changed": current_timestamp()},
        )
    tx.update_row(table, key, values)


def _iterate_mark_rows(tx: WriteTransaction, document_id: str) -> Iterator[tuple[Table, Row[Any], tuple[str, ...]]]:
    """Yield every row with an offset in a document: its table, the row, and the columns of its offsets."""
    for table in _tables_by_name().values():
        for column in table.columns:
            prefix, suffix, _ = column.name.rpartition("_offset")
            if suffix and "project_id" in table.c:
                rows = tx.rows(table, table.c[f"{prefix}_document"] == document_id)
                yield from ((table, row, (str(column.name),)) for row in rows)
    yield from ((marks, row, ("start", "end")) for row in tx.rows(marks, marks.c.document_id == document_id))


def _move_marks(
    tx: WriteTransaction, mark_rows: Sequence[tuple[Table, Row[Any], tuple[str, ...]]], edits: Sequence[Edit]
) -> list[_Mark]:
    """Move each mark along with its words; return those that were inside an edit.

    A mark inside an edit moves to the side on which it reveals nothing too early.
    """
    marks_inside = []
    for table, row, columns in mark_rows:
        key = _make_key(table, row)
        offsets = {name: getattr(row, name) or 0 for name in columns}
        moved = {
            name: move_offset(offset, edits, to_end=name not in ("until_offset", "start"))
            for name, offset in offsets.items()
        }
        if table is marks:  # inserted again as a whole: writing the text may have shortened or deleted it
            tx.delete_rows(marks, *_match_key(marks, key))
            tx.insert(marks, {name: value for name, value in row._mapping.items() if name != "project_id"} | moved)
        else:
            tx.update_rows(table, moved, *_match_key(table, key))
        marks_inside += [
            _Mark(table=str(table.name), key=key, column=name, offset=offset)
            for name, offset in offsets.items()
            if is_inside_edit(offset, edits)
        ]
    return marks_inside


@cache
def _tables_by_name() -> dict[str, Table]:
    return {str(table.name): table for table in all_tables()}


def _match_key(table: Table, key: Mapping[str, Any]) -> list[ColumnElement[bool]]:
    return [table.c[name] == value for name, value in key.items()]


def _make_key(table: Table, row: Row[Any]) -> dict[str, Any]:
    names = [str(column.name) for column in table.primary_key if column.name != table_info(table).owner_column]
    return {name: getattr(row, name) for name in names}


def _hash_value(value: Any) -> str:
    return sha256(msgspec.json.encode(value)).hexdigest()


def _make_place(
    table: Table,
    row: Row[Any],
    column: str,
    number: str,
    text: str,
    edit: Edit,
    names: Mapping[str, str],
    *,
    in_series: bool,
) -> RenamePlace:
    start, end, replacement = edit
    values = row._mapping
    owner = next((names[values[name]] for name in _OWNER_COLUMNS if values.get(name) in names), "")
    owner = owner or next((values[name] for name in _LABEL_COLUMNS if values.get(name)), "")
    shown = shorten_to_line(owner, _LABEL_LENGTH) if owner and table is not projects else message("the project")
    if in_series:
        shown = message("{owner} (series)", owner=shown)
    kind = _TEXT_LABELS.get(table.name, _COLUMN_LABELS["text"]) if column == "text" else _COLUMN_LABELS[column]
    if table is conversation_tables.participants:
        kind = _PARTICIPANT_LABELS.get(column, kind)
    return RenamePlace(
        area=table_info(table).area,
        label=message("{owner}, {column}{number}", owner=shown, column=kind, number=number),
        start=start,
        end=end,
        words=text[start:end],
        replacement=replacement,
        before=text[max(0, start - CONTEXT_CHARACTERS) : start].replace("\n", " "),
        after=text[end : end + CONTEXT_CHARACTERS].replace("\n", " "),
        in_series=in_series,
    )
