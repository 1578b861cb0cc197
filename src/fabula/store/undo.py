"""Undo: the last changes of a project can be taken back, and made again (man-7).

A transaction with a label records each row as it was before its first change: absent before an insert, whole before a
delete, and rows that foreign keys delete along with it. Before the commit it stores one step, in the same transaction:
of a changed row only the columns that changed.

A step is undone if those columns, and rows that were added, are still as the change left them; otherwise it is refused,
and says what was changed since. A row that a program made again meanwhile (`TableInfo.derived`) is no reason to refuse:
it gives way to what was deleted, and otherwise stays. Undoing is a change like any other: versions rise, so that an
editor with an older text is refused, and it is recorded itself, which is the way forward for a redo. A new change ends
what can be redone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Row, Table, desc, or_

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import Sentence, join_names, message
from fabula.store.schema import all_tables, key_columns, match_keys, table_info
from fabula.store.tables import undo_steps
from fabula.store.transaction import ReadTransaction, WriteTransaction

MAX_STEPS = 100
MAX_CHARACTERS = 50_000_000  # of all steps of a project
_BATCH = 500  # rows read in one query
_LISTED = 3  # things that a refusal names
_UNCHECKED = {"version", "changed"}  # columns that other changes of a row touch too
_NAME_COLUMNS = ("title", "name", "text", "document_id", "entry_id", "id")
_MAX_NAME = 40

Key = tuple[Any, ...]
Values = dict[str, Any]


class RowChange(Struct, frozen=True):
    """How one row is put back: the values to restore, and a hash of those that the change left."""

    table: str
    key: Key
    old: Values | None  # None: there was no row
    new_hash: str | None  # None: there is no row now
    name: str = ""  # how a refusal names it


class UndoStep(Struct, frozen=True, kw_only=True):
    """A change that can be undone, or made again."""

    number: int
    label: Sentence
    made: str
    is_undone: bool


class ChangeRecorder:
    """Records the rows of a transaction as they were before it changed them."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, Key], Values | None] = {}

    def before_insert(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Record that these rows are not there yet."""
        if table_info(table).tracked:
            for row in rows:
                key = tuple(row[column.name] for column in key_columns(table))
                self._before.setdefault((table.name, key), None)

    def before_update(self, tx: ReadTransaction, table: Table, where: Sequence[ColumnElement[bool]]) -> None:
        """Record the rows that match, as they are."""
        if table_info(table).tracked:
            for row in tx.rows(table, *where):
                self._before.setdefault((table.name, _key_of(table, row)), _values_of(table, row))

    def before_delete(self, tx: ReadTransaction, table: Table, where: Sequence[ColumnElement[bool]]) -> None:
        """Record the rows that match, and all rows that are deleted along with them."""
        if not table_info(table).tracked:
            return
        waiting = [(table, list(tx.rows(table, *where)))]
        visited: set[tuple[str, Key]] = set()
        while waiting:
            parent, rows = waiting.pop()
            new = {key: row for row in rows if (parent.name, key := _key_of(parent, row)) not in visited}
            visited |= {(parent.name, key) for key in new}
            for key, row in new.items():
                self._before.setdefault((parent.name, key), _values_of(parent, row))
            ids = [key[0] for key in new if key]
            for child, column in _find_children(parent):
                for start in range(0, len(ids), _BATCH):
                    below = child.c[column].in_(ids[start : start + _BATCH])
                    waiting.append((child, list(tx.rows(child, below))))

    def list_changes(self, reading: ReadTransaction) -> list[RowChange]:
        """Compare the recorded rows with what they are now."""
        by_table: dict[str, list[Key]] = {}
        for name, key in self._before:
            by_table.setdefault(name, []).append(key)
        found: list[RowChange] = []
        for table in all_tables():
            keys = by_table.get(table.name, [])
            current = _load_rows(reading, table, keys)
            for key in keys:
                change = _compare(table, key, self._before[table.name, key], current.get(key))
                if change is not None:
                    found.append(change)
        return found


def record_step(tx: WriteTransaction, recorder: ChangeRecorder, label: Sentence) -> None:
    """Store what a transaction changed as a step that can be undone; nothing can be redone after that."""
    if row_changes := recorder.list_changes(tx):
        tx.delete_rows(undo_steps, undo_steps.c.undone == 1)
        last = tx.max_value(undo_steps, "number")
        step = {"number": 1 if last is None else last + 1, "label": _encode(label), "made": current_timestamp()}
        tx.insert(undo_steps, {**step, "person": tx.owner_id("user"), **_encode_rows(row_changes)})
        _remove_oldest(tx)


def list_steps(reading: ReadTransaction) -> list[UndoStep]:
    """The changes that can be undone, then those that can be made again; the latest change first."""
    order = (undo_steps.c.undone, desc(undo_steps.c.number))
    rows = reading.rows(undo_steps, _is_own(reading), order=order, only=("number", "label", "made", "undone"))
    return [_make_step(row) for row in rows]


def undo(tx: WriteTransaction) -> UndoStep:
    """Take back the last change; refused if what it changed was changed since."""
    rows = tx.rows(undo_steps, _is_own(tx), undo_steps.c.undone == 0, order=(desc(undo_steps.c.number),), limit=1)
    if not rows:
        raise FabulaError(Code.STORE_NOT_FOUND, message("There is nothing to undo here. Nothing was changed."))
    return _reverse(tx, rows[0])


def redo(tx: WriteTransaction) -> UndoStep:
    """Make the change again that was undone last."""
    rows = tx.rows(undo_steps, _is_own(tx), undo_steps.c.undone == 1, order=(undo_steps.c.number,), limit=1)
    if not rows:
        raise FabulaError(Code.STORE_NOT_FOUND, message("There is nothing to redo here. Nothing was changed."))
    return _reverse(tx, rows[0])


def _reverse(tx: WriteTransaction, row: Row[Any]) -> UndoStep:
    """Restore the rows of a step, and turn it into the step of the opposite direction."""
    step = _make_step(row)
    if row.rows is None:
        raise FabulaError(
            Code.STORE_CONFLICT,
            message("This changed too much to be taken back: {label}. Nothing was changed.", label=step.label),
        )
    row_changes = msgspec.convert(row.rows, list[RowChange])
    row_changes = _check_unchanged(tx, step, row_changes)
    recorder = tx.recorder = ChangeRecorder()
    _restore(tx, row_changes)
    tx.recorder = None
    values = {"undone": 1 - row.undone, **_encode_rows(recorder.list_changes(tx))}
    tx.update_rows(undo_steps, values, undo_steps.c.number == row.number)
    return step


def _check_unchanged(tx: ReadTransaction, step: UndoStep, row_changes: Sequence[RowChange]) -> list[RowChange]:
    """Refuse a step if its rows were changed since; return its changes without those of rows made again meanwhile."""
    kept: list[RowChange] = []
    found: list[str] = []
    for table, own in _group(row_changes):
        current = _load_rows(tx, table, [change.key for change in own])
        for change in own:
            now = current.get(change.key)
            if _hash_current(table, change, now) == change.new_hash or _gives_way(table, change, now):
                kept.append(change)
            elif not _is_derived(table, now):
                found.append(change.name)
    if changed := list(dict.fromkeys(found)):
        more = len(changed) - _LISTED
        names: list[str | Sentence] = [*changed[:_LISTED]]
        if more > 0:
            names.append(message("{count} more", count=more))
        raise FabulaError(
            Code.STORE_CONFLICT,
            message(
                "This cannot be taken back or made again: {label}. It was changed since: {names}. Nothing was changed.",
                label=step.label,
                names=join_names(names),
            ),
        )
    return kept


def _is_derived(table: Table, now: Row[Any] | None) -> bool:
    """Whether a row is one that a program made, and can make again."""
    derived = table_info(table).derived
    return now is not None and derived is not None and now._mapping[derived[0]] in derived[1]


def _gives_way(table: Table, change: RowChange, now: Row[Any] | None) -> bool:
    """Whether a row that a program made again is replaced: by a whole row, by none, or by what a person wrote."""
    derived = table_info(table).derived
    if derived is None or not _is_derived(table, now):
        return False
    return change.old is None or change.new_hash is None or derived[0] in change.old


def _restore(tx: WriteTransaction, row_changes: Sequence[RowChange]) -> None:
    """Insert what was deleted, parents first; change what was changed; delete what was added, children first."""
    groups = list(_group(row_changes))
    for table, own in groups:
        missing = {change.key: change.old for change in own if change.old is not None and change.new_hash is None}
        if table_info(table).derived is not None:  # a program may have made them again
            _delete_keys(tx, table, list(missing))
        for old in _sort_parents_first(table, missing):
            tx.insert(table, old if "version" not in table.c else {**old, "version": old["version"] + 1})
    for table, own in groups:
        by_columns: dict[tuple[str, ...], dict[Key, Values]] = {}
        for change in own:
            if change.old is not None and change.new_hash is not None:
                by_columns.setdefault(tuple(change.old), {})[change.key] = change.old
        for changed in by_columns.values():
            tx.update_each(table, changed, raise_version="version" in table.c)
    for table, own in reversed(groups):
        _delete_keys(tx, table, [change.key for change in own if change.old is None])


def _delete_keys(tx: WriteTransaction, table: Table, keys: Sequence[Key]) -> None:
    for start in range(0, len(keys), _BATCH):
        tx.delete_rows(table, *match_keys(table, keys[start : start + _BATCH]))


def _compare(table: Table, key: Key, before: Values | None, now: Row[Any] | None) -> RowChange | None:
    """The change of one row; None where it is what it was."""
    after = None if now is None else _values_of(table, now)
    if before is not None and after is not None:
        changed = [name for name in before if before[name] != after[name] and name != "version"]
        if not changed:
            return None
        old = {name: before[name] for name in changed}
        return RowChange(str(table.name), key, old, _hash_values(after, old), _find_name(after, key))
    if before is None and after is None:
        return None
    name = _find_name(before or after or {}, key)
    return RowChange(str(table.name), key, before, None if after is None else _hash_values(after, after), name)


def _hash_current(table: Table, change: RowChange, now: Row[Any] | None) -> str | None:
    if now is None:
        return None
    values = _values_of(table, now)
    return _hash_values(values, values if change.old is None or change.new_hash is None else change.old)


def _hash_values(values: Values, of_columns: Mapping[str, Any]) -> str:
    checked = [values[name] for name in sorted(of_columns) if name not in _UNCHECKED]
    return sha256(msgspec.json.encode(checked)).hexdigest()


def _load_rows(reading: ReadTransaction, table: Table, keys: Sequence[Key]) -> dict[Key, Row[Any]]:
    batches = [keys[start : start + _BATCH] for start in range(0, len(keys), _BATCH)]
    rows = [row for batch in batches for row in reading.rows(table, *match_keys(table, batch))]
    return {_key_of(table, row): row for row in rows}


def _group(row_changes: Sequence[RowChange]) -> Iterator[tuple[Table, list[RowChange]]]:
    """The changes of each table, parents before children."""
    for table in all_tables():
        if own := [change for change in row_changes if change.table == table.name]:
            yield table, own


def _sort_parents_first(table: Table, missing: Mapping[Key, Values]) -> list[Values]:
    """Rows of a table that may refer to each other, in an order in which each refers to earlier ones."""
    own = [column for child, column in _find_children(table) if child is table]
    waiting, ordered = dict(missing), list[Values]()
    while waiting:
        ready = [key for key, row in waiting.items() if not any((row[name],) in waiting for name in own)] or [*waiting]
        ordered += [waiting.pop(key) for key in ready]
    return ordered


def _find_children(table: Table) -> list[tuple[Table, str]]:
    """The tables whose rows are deleted with rows of this one, and the column that names the row."""
    return [
        (child, column.name)
        for child in all_tables()
        for foreign_key in child.foreign_key_constraints
        for column in foreign_key.columns
        if foreign_key.referred_table is table and key_columns(table) and column.name != table_info(table).owner_column
    ]


def _key_of(table: Table, row: Row[Any]) -> Key:
    return tuple(row._mapping[column.name] for column in key_columns(table))


def _values_of(table: Table, row: Row[Any]) -> Values:
    return {str(name): value for name, value in row._mapping.items() if name != table_info(table).owner_column}


def _find_name(values: Values, key: Key) -> str:
    name = next((str(values[column]) for column in _NAME_COLUMNS if values.get(column)), ", ".join(map(str, key)))
    words = " ".join(name.split())
    return words if len(words) <= _MAX_NAME else f"{words[: _MAX_NAME - 1]}…"


def _encode_rows(row_changes: Sequence[RowChange]) -> dict[str, Any]:
    size = len(msgspec.json.encode(row_changes))
    is_too_large = size > MAX_CHARACTERS
    return {"rows": None if is_too_large else msgspec.to_builtins(row_changes), "size": 0 if is_too_large else size}


def _remove_oldest(tx: WriteTransaction) -> None:
    """Remove the oldest steps beyond the limits of number and size."""
    total = 0
    rows = tx.rows(undo_steps, order=(desc(undo_steps.c.number),), only=("number", "size"))
    for count, row in enumerate(rows, start=1):
        total += row.size
        if count > MAX_STEPS or total > MAX_CHARACTERS:
            tx.delete_rows(undo_steps, undo_steps.c.number <= row.number)
            return


def _is_own(reading: ReadTransaction) -> ColumnElement[bool]:
    return or_(undo_steps.c.person == "", undo_steps.c.person == reading.owner_id("user"))


def _make_step(row: Row[Any]) -> UndoStep:
    return UndoStep(number=row.number, label=_decode(row.label), made=row.made, is_undone=bool(row.undone))


def _encode(value: Any) -> Any:
    """Sentences among values as JSON."""
    if isinstance(value, Sentence):
        values = {name: _encode(one) for name, one in value.values.items()}
        return {"template": value.template, "values": values, "singular": value.singular}
    return [_encode(one) for one in value] if isinstance(value, tuple) else value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        values = {name: _decode(one) for name, one in value.get("values", {}).items()}
        return Sentence(value.get("template", ""), values, value.get("singular", ""))
    return tuple(_decode(one) for one in value) if isinstance(value, list) else value
