"""Undo: the last changes of a project or a person can be taken back, and made again (man-7).

A transaction with a label records each row as it was before its first change: absent before an insert, whole before a
delete, and rows that foreign keys delete along with it. Before the commit it stores one step, in the same transaction:
of a changed row only the columns that changed. A change of a book that touches its series as well is one step, with the
rows of both. A project that was created, or replaced by a save, is a step without its rows: the first is undone by
deleting it, the second by loading the save that was made of it before.

A step is undone if those columns, and rows that were added, are still as the change left them; otherwise it is refused,
and says what was changed since. A row that a program made again meanwhile (`TableInfo.derived`) is no reason to refuse:
it gives way to what was deleted, and otherwise stays. Undoing is a change like any other: versions rise, so that an
editor with an older text is refused, and it is recorded itself, which is the way forward for a redo. A new change ends
what can be redone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Row, Table, desc

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import Sentence, join_names, message
from fabula.store.schema import all_tables, key_columns, match_keys, table_info
from fabula.store.tables import LOCAL_USER, projects, undo_steps, user_undo_steps
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.diff import find_edits
from fabula.text.lookup import quote_sentence

MAX_STEPS = 100
MAX_CHARACTERS = 50_000_000  # of all steps of a project
_DONE, _UNDONE, _REDONE = 0, 1, 2  # in the column `undone`; what was made again is no new change
_BATCH = 500  # rows read in one query
_LISTED = 3  # things that a refusal names
_UNCHECKED = {"version", "changed"}  # columns that other changes of a row touch too
_NAME_COLUMNS = ("title", "name", "text", "document_id", "entry_id", "id")
_MAX_NAME = 40
_SHOWN_AREAS = {"project", "manuscript", "codex", "constraints", "memory", "profile", "settings", "presets", "lorebook"}
_HIDDEN_COLUMNS = {"id", "series_id", "book_order", "parent_id", "made", "changed", "at", "place"}
_POSITION_ENDINGS = ("_document", "_offset")  # of columns that hold an id, and a place in a text
_MAX_DETAILS = 3
_CONTEXT = 15  # characters around a change that a detail shows
_MAX_DETAIL = 60

Key = tuple[Any, ...]
Values = dict[str, Any]


class RowChange(Struct, frozen=True):
    """How one row is put back: the values to restore, and a hash of those that the change left."""

    table: str
    key: Key
    old: Values | None  # None: there was no row
    new_hash: str | None  # None: there is no row now
    name: str = ""  # how a refusal names it
    owner: str = ""  # the series that has the row, where it is not the project's or the person's own
    backup: str = ""  # of a project that was replaced: the save of the one before, in the folder of backups


class UndoDetail(Struct, frozen=True, kw_only=True):
    """One thing that an undo or a redo changed, before and after it; None where it is not there."""

    name: str
    before: str | None
    after: str | None


class UndoStep(Struct, frozen=True, kw_only=True):
    """A change that can be undone, or made again."""

    number: int
    label: Sentence
    made: str
    is_undone: bool
    is_redone: bool = False
    creates_project: bool = False
    backup: str = ""  # of a project that was replaced: the save of the one before, in the folder of backups
    details: tuple[UndoDetail, ...] = ()  # the first things that undoing it changed,
    more: int = 0  # and how many more places
    touched: frozenset[tuple[str, str]] = frozenset()  # tables with the ids of rows, or the columns of the only row


class ChangeRecorder:
    """Records the rows of a transaction as they were before it changed them.

    Of a project that is created or replaced, only its own row is recorded.
    """

    def __init__(self) -> None:
        self.is_undone = False  # whether the change takes another one back, and can be made again
        self.is_redone = False  # whether it makes another one again, and is no new change
        self._backup = ""
        self._before: dict[tuple[str, Key], Values | None] = {}

    def replace_project(self, backup: str) -> None:
        """Record no rows of the project from now on: all of them are replaced, and are in a save."""
        self._backup = backup
        self._before["projects", ()] = None

    def _is_recorded(self, table: Table) -> bool:
        info = table_info(table)
        is_whole = self._before.get(("projects", ()), ...) is None
        return info.tracked and (info.owner == "user" or not is_whole)

    def before_insert(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Record that these rows are not there yet."""
        if self._is_recorded(table):
            for row in rows:
                key = tuple(row[column.name] for column in key_columns(table))
                self._before.setdefault((table.name, key), None)

    def before_update(self, tx: ReadTransaction, table: Table, where: Sequence[ColumnElement[bool]]) -> None:
        """Record the rows that match, as they are."""
        if self._is_recorded(table):
            for row in tx.rows(table, *where):
                self._before.setdefault((table.name, _key_of(table, row)), _values_of(table, row))

    def before_delete(self, tx: ReadTransaction, table: Table, where: Sequence[ColumnElement[bool]]) -> None:
        """Record the rows that match, and all rows that are deleted along with them."""
        if not self._is_recorded(table):
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

    def list_changes(self, reading: ReadTransaction, owner: str = "") -> list[RowChange]:
        """Compare the recorded rows with what they are now; `owner` is the series that has them."""
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
                    backup = self._backup if table is projects else ""
                    found.append(replace(change, owner=owner, backup=backup))
        return found


@contextmanager
def unrecorded(tx: WriteTransaction) -> Iterator[None]:
    """Leave what is changed inside out of the step that can be undone; of a row, before its recorded changes."""
    recorder, tx.recorder = tx.recorder, None
    try:
        yield
    finally:
        tx.recorder = recorder


def stop_recording(tx: WriteTransaction) -> dict[str, ChangeRecorder]:
    """Record no more; return what was recorded, by series, and under an empty name of the transaction's own owners."""
    recorders = {"": tx.recorder, **{owner: one.recorder for owner, one in tx.series_transactions.items()}}
    tx.recorder = None
    for one in tx.series_transactions.values():
        one.recorder = None
    return {owner: recorder for owner, recorder in recorders.items() if recorder is not None}


def record_step(tx: WriteTransaction, recorders: Mapping[str, ChangeRecorder], label: Sentence) -> int | None:
    """Store what a transaction changed as a step that can be undone, and return its number; None if it changed nothing.

    Nothing can be redone after that.
    """
    if row_changes := _list_changes(tx, recorders):
        table = _steps_table(tx)
        last = tx.max_value(table, "number")  # also of what is deleted here: a number never means another change
        tx.delete_rows(table, table.c.undone == _UNDONE)
        number = 1 if last is None else int(last) + 1
        step = {"number": number, "label": _encode(label), "made": current_timestamp()}
        is_undone = any(recorder.is_undone for recorder in recorders.values())
        is_redone = any(recorder.is_redone for recorder in recorders.values())
        undone = _UNDONE if is_undone else _REDONE if is_redone else _DONE
        owner = {"person": tx.owner_id("user"), "undone": undone}
        tx.insert(table, {**step, **owner, **_encode_rows(row_changes)})
        _remove_oldest(tx, table)
        return number
    return None


def _list_changes(tx: WriteTransaction, recorders: Mapping[str, ChangeRecorder]) -> list[RowChange]:
    return [
        change
        for owner, recorder in recorders.items()
        for change in recorder.list_changes(tx.open_series(owner) if owner else tx, owner)
    ]


def _steps_table(reading: ReadTransaction) -> Table:
    """The table of steps: the project's, or the person's where a transaction belongs to no project."""
    return undo_steps if reading.has_owner("project") else user_undo_steps


def list_steps(reading: ReadTransaction) -> list[UndoStep]:
    """The changes that can be undone, then those that can be made again; the latest change first."""
    table = _steps_table(reading)
    order = (desc(table.c.number),)
    rows = reading.rows(table, _is_own(reading, table), order=order, only=("number", "label", "made", "undone"))
    return sorted(map(_make_step, rows), key=lambda step: step.is_undone)


def find_undo(reading: ReadTransaction, number: int | None = None) -> UndoStep:
    """The change that `undo` takes back; refused where there is none."""
    return _make_step(_find_row(reading, number, is_undone=False))


def find_redo(reading: ReadTransaction, number: int | None = None) -> UndoStep:
    """The change that `redo` makes again; refused where there is none."""
    return _make_step(_find_row(reading, number, is_undone=True))


def undo(tx: WriteTransaction, number: int | None = None) -> UndoStep:
    """Take back the last change, or the one with that number; refused if what it changed was changed since.

    Of a change that created the project, everything but the project itself is taken back: the caller deletes it.
    """
    return _reverse(tx, _find_row(tx, number, is_undone=False))


def redo(tx: WriteTransaction, number: int | None = None) -> UndoStep:
    """Make the change again that was undone last, or the one with that number."""
    return _reverse(tx, _find_row(tx, number, is_undone=True))


def _find_row(reading: ReadTransaction, number: int | None, *, is_undone: bool) -> Row[Any]:
    table = _steps_table(reading)
    order = table.c.number if is_undone else desc(table.c.number)
    undone = (_UNDONE,) if is_undone else (_DONE, _REDONE)
    named = () if number is None else (table.c.number == number,)
    rows = reading.rows(table, _is_own(reading, table), table.c.undone.in_(undone), *named, order=(order,), limit=1)
    if rows:
        return rows[0]
    if number is not None:
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            message("That change cannot be taken back or made again any more. Nothing was changed."),
        )
    nothing = message("There is nothing to undo here. Nothing was changed.")
    if is_undone:
        nothing = message("There is nothing to redo here. Nothing was changed.")
    raise FabulaError(Code.STORE_NOT_FOUND, nothing)


def _reverse(tx: WriteTransaction, row: Row[Any]) -> UndoStep:
    """Restore the rows of a step, and turn it into the step of the opposite direction."""
    step, table = _make_step(row), _steps_table(tx)
    if row.rows is None:
        raise FabulaError(
            Code.STORE_CONFLICT,
            message("This changed too much to be taken back: {label}. Nothing was changed.", label=step.label),
        )
    by_owner: dict[str, list[RowChange]] = {}
    for change in msgspec.convert(row.rows, list[RowChange]):
        if change.owner or change.table != projects.name or change.key or change.old is not None:
            by_owner.setdefault(change.owner, []).append(change)
    tx.recorder = ChangeRecorder()
    transactions = {owner: tx.open_series(owner) if owner else tx for owner in sorted(by_owner)}
    kept: dict[str, list[RowChange]] = {}
    changed: list[str] = []
    for owner, one in transactions.items():
        kept[owner], found = _check_unchanged(one, by_owner[owner])
        changed += found
    if changed:
        raise _refuse(step, list(dict.fromkeys(changed)))
    details = [
        (replace(detail, name=f"{one.require(projects).title} · {detail.name}") if owner else detail, count)
        for owner, one in transactions.items()
        for detail, count in _describe(one, kept[owner])
    ]
    for owner, one in transactions.items():
        _restore(one, kept[owner])
    values = {"undone": _REDONE if step.is_undone else _UNDONE, "made": current_timestamp()}
    values |= _encode_rows(_list_changes(tx, stop_recording(tx)))
    tx.update_rows(table, values, table.c.number == row.number)
    details.sort(key=lambda one: one[0].before is not None and one[0].after is not None)
    shown = [detail for detail, _ in details[:_MAX_DETAILS]]
    return replace(step, details=tuple(shown), more=sum(count for _, count in details) - len(shown))


def _check_unchanged(tx: ReadTransaction, row_changes: Sequence[RowChange]) -> tuple[list[RowChange], list[str]]:
    """The changes of rows that are still as they were left, and the names of those that a person changed since."""
    kept: list[RowChange] = []
    changed: list[str] = []
    is_gone = tx.has_owner("project") and tx.row(projects) is None  # a series that was deleted
    for table, own in _group(row_changes):
        current = _load_rows(tx, table, [change.key for change in own])
        changed += _find_used(tx, table, [change for change in own if change.old is None], row_changes)
        for change in own:
            now = current.get(change.key)
            is_there = not is_gone or table is projects or table_info(table).owner == "user"
            same = is_there and _hash_current(table, change, now) == change.new_hash
            if same or _gives_way(table, change, now):
                kept.append(change)
            elif not _is_derived(table, now):
                changed.append(_find_owner_name(tx, table, change) or change.name)
    return kept, changed


def _find_used(
    reading: ReadTransaction, table: Table, added: Sequence[RowChange], row_changes: Sequence[RowChange]
) -> list[str]:
    """The names of added rows that rows of other changes refer to, in a column that says so (`refers_to`)."""
    own = {(change.table, tuple(change.key)) for change in row_changes}
    names = {change.key[0]: change.name for change in added if change.key}
    used: list[str] = []
    for other in all_tables() if names else ():
        for column in other.c:
            if column.info.get("refers_to") == table.name:
                rows = reading.rows(other, column.in_(names))
                used += [
                    names[row._mapping[column.name]] for row in rows if (other.name, _key_of(other, row)) not in own
                ]
    return used


def _refuse(step: UndoStep, changed: Sequence[str]) -> FabulaError:
    """The refusal of a step whose rows were changed since."""
    more = len(changed) - _LISTED
    names: list[str | Sentence] = [*map(quote_sentence, changed[:_LISTED])]
    if more > 0:
        names.append(message("{count} more", count=more))
    return FabulaError(
        Code.STORE_CONFLICT,
        message(
            "This cannot be taken back or made again: {label}. It was changed or used since: {names}. "
            "Nothing was changed.",
            label=step.label,
            names=join_names(names),
        ),
    )


def _describe(reading: ReadTransaction, row_changes: Sequence[RowChange]) -> Iterator[tuple[UndoDetail, int]]:
    """What restoring these changes in rows that people see does to each, and in how many places."""
    shown = [change for change in row_changes if change.name not in ("", _find_name({}, change.key))]  # no ids
    for table, own in _group(shown):
        if table_info(table).area not in _SHOWN_AREAS:
            continue
        current = _load_rows(reading, table, [change.key for change in own])
        for change in own:
            now = current.get(change.key)
            if _find_owner_name(reading, table, change):
                continue  # a mark or a pin, which people see with its owner
            if change.old is None or now is None:
                before, after = (change.name, None) if change.old is None else (None, change.name)
                yield UndoDetail(name=change.name, before=before, after=after), 1
                continue
            for column, value in change.old.items():
                if column in _HIDDEN_COLUMNS or column.endswith(_POSITION_ENDINGS):
                    continue
                old, new = _show_value(value), _show_value(now._mapping[column])
                if old is not None and new is not None and old != new:
                    edits = find_edits(new, old)
                    before = _cut(new, edits[0].start, edits[0].old_end)
                    after = _cut(old, edits[0].new_start, edits[0].new_end)
                    yield UndoDetail(name=change.name, before=before, after=after), len(edits)


def _show_value(value: Any) -> str | None:
    """A text or a list of texts as a detail shows it; None for anything else."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else None


def _cut(text: str, start: int, end: int) -> str:
    first, last = max(start - _CONTEXT, 0), min(end + _CONTEXT, start + _MAX_DETAIL)
    words = " ".join(text[first:last].split())
    return f"{'…' if first else ''}{words}{'…' if last < len(text) else ''}"


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


def _find_owner_name(reading: ReadTransaction, table: Table, change: RowChange) -> str:
    """The name of what a row belongs to that has none of its own and is called by the id of that; else nothing."""
    for reference in table.foreign_keys:
        if reference.parent.name in _NAME_COLUMNS and reference.column.name == "id":
            owner = reading.row(reference.column.table, id=change.name)
            if owner is not None:
                return _find_name(_values_of(reference.column.table, owner), (change.name,))
    return ""


def _encode_rows(row_changes: Sequence[RowChange]) -> dict[str, Any]:
    size = len(msgspec.json.encode(row_changes))
    is_too_large = size > MAX_CHARACTERS
    return {"rows": None if is_too_large else msgspec.to_builtins(row_changes), "size": 0 if is_too_large else size}


def _remove_oldest(tx: WriteTransaction, table: Table) -> None:
    """Remove the oldest steps beyond the limits of number and size."""
    total = 0
    rows = tx.rows(table, order=(desc(table.c.number),), only=("number", "size"))
    for count, row in enumerate(rows, start=1):
        total += row.size
        if count > MAX_STEPS or total > MAX_CHARACTERS:
            tx.delete_rows(table, table.c.number <= row.number)
            return


def _is_own(reading: ReadTransaction, table: Table) -> ColumnElement[bool]:
    """Whether a step is of the person who reads; what was done for nobody is the owner's of the store."""
    user = reading.owner_id("user")
    return table.c.person.in_(("", LOCAL_USER) if user in ("", LOCAL_USER) else (user,))


def _make_step(row: Row[Any]) -> UndoStep:
    rows = msgspec.convert(getattr(row, "rows", None) or [], list[RowChange])
    own = next((one for one in rows if one.table == projects.name and not one.owner and one.old is None), None)
    return UndoStep(
        number=row.number,
        label=_decode(row.label),
        made=row.made,
        is_undone=row.undone == _UNDONE,
        is_redone=row.undone == _REDONE,
        creates_project=own is not None and not own.backup,
        backup="" if own is None else own.backup,
        touched=frozenset((one.table, str(name)) for one in rows for name in (one.key or one.old or ())),
    )


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
