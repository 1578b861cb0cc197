"""Loading a save: check all of it before the first row is written, then load it in one transaction (sav-2).

The file is read twice: first it is checked, then its rows are written. Every member must match its checksum in both
passes, so what is written is what was checked. A project that is replaced is saved first, in the same transaction, to
the folder of backups.

A save may come from anybody, so it brings a project and nothing else. The profile, memory and settings of its user are
loaded only for a user that the caller names, and only added to: rows that exist here stay as they are. Settings that no
project can have (money, prices, providers, what is kept) and values that look like keys are never loaded.

A book never joins a series of this store by what its file claims. What the series shared comes as a new series, unless
the caller names one to join, or the book replaces one that is in that very series.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import chain, count
from pathlib import Path

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import is_valid_id, new_id
from fabula.core.messages import Sentence, advise, message
from fabula.store.backup import BACKUP_FOLDER, MAX_BACKUPS, make_stamp, sort_by_number
from fabula.store.book_order import put_last
from fabula.store.save.checking import SaveReport, check_save, find_depths, key_and_parent, list_warnings, verify_save
from fabula.store.save.manifest import Record, SaveManifest, save_damaged
from fabula.store.save.progress import Progress, ProgressCounter
from fabula.store.save.reader import SaveReader
from fabula.store.save.saving import save_transaction
from fabula.store.save.tables import TableFormat, series_formats, table_formats
from fabula.store.slugs import make_slug
from fabula.store.store import Store
from fabula.store.tables import projects
from fabula.store.transaction import WriteTransaction

__all__ = ["LoadResult", "SaveReport", "load_save", "verify_save"]

_BATCH_ROWS = 500
_BATCH_CHARACTERS = 4_000_000
_ENTRIES = "codex_entries"
_FACT = "codex:entity:"  # what a fact about an entry begins with
_ENTRY_COLUMNS = {  # the column that names the entry, in each table that a series shares
    _ENTRIES: "id",
    "codex_relations": "entry_id",
    "codex_progressions": "entry_id",
    "knowledge": "fact",
}


class LoadedSeries(Struct, frozen=True, kw_only=True):
    """The series that a loaded book belongs to now, and what became of the entries that the save shares."""

    id: str
    title: str
    is_new: bool = False
    has_joined: bool = False  # because the caller said so
    added_entries: int = 0
    present_entries: int = 0  # which the series had already, and which stay as they are there
    similar: str = ""  # the title of a series of this store with the same id or title, where this one is new


class LoadResult(Struct, frozen=True, kw_only=True):
    """The result of loading a save."""

    project_id: str
    backup: Path | None = None  # a save of the project that was replaced
    series: LoadedSeries | None = None
    not_loaded: dict[str, int] = {}  # rows of the user that differ from those here, by table
    omitted: dict[str, int] = {}  # rows that no save may bring, by table
    warnings: tuple[Sentence, ...] = ()


def load_save(
    store: Store,
    path: Path,
    *,
    project_id: str | None = None,
    replace: bool = False,
    user: str | None = None,
    join_series: str | None = None,
    share_entries: bool = True,
    undo_label: Sentence | None = None,
    is_undo: bool = False,
    is_redo: bool = False,
    is_trusted: bool = False,
    checksum: str = "",
    progress: Progress | None = None,
) -> LoadResult:
    """Load a save as a new project, or in place of one that is saved first; all of it or nothing.

    `user` gets the profile, memory and settings in the save where they have none yet; None for nobody.
    The book joins the series with the id `join_series`, which gets the shared entries it lacks if `share_entries`.
    The load can be undone under `undo_label`; one that takes back another load (`is_undo`) can be made again,
    and one that makes another again (`is_redo`) is no new change.
    A trusted save was made by this program of its own store. `checksum` is that of the save which was looked at before.
    """
    with SaveReader(path, is_trusted=is_trusted) as first:
        manifest = first.manifest
        if checksum not in ("", first.checksum):
            raise save_damaged(first.label, message("it is not the file that was looked at before"))
        counter = ProgressCounter(progress, 2 * manifest.rows)
        check_save(first, counter)
    target = _choose_id(store, manifest, project_id, replace)
    before, _ = store.versions(project=target)
    backup: Path | None = None
    not_loaded: dict[str, int] = {}
    omitted: dict[str, int] = {}
    claimed_series: str | None = None
    label = undo_label or message("{title} loaded from {file}", title=manifest.project.title, file=path.name)
    try:
        with (
            SaveReader(path, is_trusted=is_trusted) as second,
            store.write(project=target, user=user, undo_label=label) as tx,
        ):
            if second.manifest != manifest:
                raise save_damaged(second.label, message("it changed while it was being read"))
            tx.is_restoring = is_trusted
            if tx.recorder is not None:
                tx.recorder.is_redone = is_redo
            replaced = tx.row(projects)
            in_series = replaced is not None and tx.of_project().series() is not None
            if replaced is not None:
                backup = _back_up_project(tx, store, target, replace)
                if tx.recorder is not None:
                    tx.recorder.replace_project(backup.name)
                    tx.recorder.is_undone = is_undo
                for table_format in reversed(table_formats()):
                    if table_format.owner == "project":
                        tx.delete_rows(table_format.table)  # each by itself, so that the change feed names them
            for table_format in table_formats():
                if not tx.has_owner(table_format.owner):
                    continue
                rows = _omit_rows(table_format, _read_rows(second, table_format), omitted)
                if table_format.table is projects:
                    (row,) = rows
                    claimed_series = row.pop("series_id", None)
                    rows = iter([row])
                if table_format.owner == "user":
                    rows = _skip_existing(tx, table_format, rows, not_loaded)
                for batch in _batches(rows):
                    tx.insert(table_format.table, *batch)
                    counter.advance(len(batch))
            stays = manifest.series is None or (replaced is not None and manifest.series.id == replaced.series_id)
            chosen = join_series or (replaced.series_id if replaced is not None and in_series and stays else None)
            series = _load_series(store, tx, second, chosen, joins=join_series is not None and share_entries)
            if series is not None:
                put_last(tx, target)
            counter.finish()  # the last chance to cancel
    except BaseException:
        if backup is not None:
            _remove_backup(store, target, before, backup)
        raise
    _prune_backups(store, target)
    differences = [
        message("{count} of {table} differ in the save and were not replaced.", count=count, table=table)
        for table, count in not_loaded.items()
    ]
    differences += [
        message("{count} of {table} stay with their person or machine and were not loaded.", count=count, table=table)
        for table, count in omitted.items()
    ]
    if claimed_series is not None and series is None:
        differences.append(
            message(
                "It belonged to a series, whose codex is not in this save. {advice}",
                advice=advise(message("Join one with: fabula series join"), message("It can join one.")),
            )
        )
    return LoadResult(
        project_id=target,
        backup=backup,
        series=series,
        not_loaded=not_loaded,
        omitted=omitted,
        warnings=(*list_warnings(manifest), *differences),
    )


def _load_series(
    store: Store, tx: WriteTransaction, save: SaveReader, chosen: str | None, *, joins: bool
) -> LoadedSeries | None:
    """Let the loaded book belong to the chosen series, else to a new one with the entries that the save shares.

    Where the book `joins` a series, the series gets the shared entries that it lacks.
    """
    if chosen is not None:
        if tx.require(projects).kind == "series":
            raise FabulaError(
                Code.PROJECT_INVALID,
                message("A series cannot belong to another series. Name a book. Nothing was changed."),
            )
        tx.update_rows(projects, {"series_id": chosen})
        series = tx.series()
        if series is None:
            raise FabulaError(
                Code.PROJECT_INVALID,
                message(
                    "There is no series {series!r} in this store. Create one first. Nothing was changed.", series=chosen
                ),
            )
        title = series.require(projects).title
        added, present = _insert_shared(series, save) if joins else (0, 0)
        return LoadedSeries(id=chosen, title=title, has_joined=joins, added_entries=added, present_entries=present)
    saved = save.manifest.series
    if saved is None:
        return None
    others = store.project_rows()
    similar = [
        one.title for one in others if one.kind == "series" and (one.project_id == saved.id or one.title == saved.title)
    ]
    series_id = new_id() if saved.id in _list_used_ids(store) else saved.id
    titles = {one.title for one in others}
    names = chain([saved.title], (f"{saved.title} ({number})" for number in count(2)))
    title = next(name for name in names if name not in titles)
    row_format = next(one for one in series_formats() if one.table is projects)
    (row,) = _read_rows(save, row_format)
    added, _ = _insert_shared(tx.create_series(series_id, {**row, "title": title}), save)
    existing = similar[0] if similar else ""
    return LoadedSeries(id=series_id, title=title, is_new=True, added_entries=added, similar=existing)


def _insert_shared(series: WriteTransaction, save: SaveReader) -> tuple[int, int]:
    """Insert the shared entries that a series lacks, with all that belongs to them; return how many it lacked and had.

    Entries that it has stay as they are there, and so do their relations, progressions and who knows them.
    """
    formats = {str(one.table.name): one for one in series_formats()}
    entry_format = formats[_ENTRIES]
    had = {row.id for row in series.rows(entry_format.table, only=("id",))}
    saved = {line.record["id"] for line in save.lines(entry_format.name)}
    for table, column in _ENTRY_COLUMNS.items():
        table_format = formats[table]
        lacking = (
            record
            for record in _read_rows(save, table_format)
            if record[column].removeprefix(_FACT).partition("#")[0] in saved - had
        )
        for batch in _batches(_skip_existing(series, table_format, lacking, {})):
            series.insert(table_format.table, *batch)
    return len(saved - had), len(saved & had)


def list_project_backups(store: Store, project_id: str) -> list[Path]:
    """The saves of a project that were made before it was replaced, the oldest first."""
    return sort_by_number((store.folder / BACKUP_FOLDER).glob(f"*-{_hash_id(project_id)}*.fabula"))


def _choose_id(store: Store, manifest: SaveManifest, requested: str | None, replace: bool) -> str:
    """The id that the loaded project gets."""
    if requested is not None and not is_valid_id(requested):
        raise FabulaError(
            Code.PROJECT_INVALID,
            message(
                "{id!r} cannot be the id of a project: an id is short and has no spaces or slashes. "
                "Nothing was changed.",
                id=requested[:80],
            ),
        )
    project_id = requested or manifest.project.id
    if replace or (requested is not None and project_id not in store.project_ids()):
        return project_id
    if requested is None:
        return new_id() if project_id in _list_used_ids(store) else project_id
    raise _duplicate_id(project_id)


def _list_used_ids(store: Store) -> set[str]:
    """The ids of all projects, and of lost series that a book still names: no file may take their place."""
    rows = store.project_rows()
    return {one.project_id for one in rows} | {one.series_id for one in rows if one.series_id is not None}


def _back_up_project(tx: WriteTransaction, store: Store, project_id: str, replace: bool) -> Path:
    """Save the project that is there now, if it may be replaced."""
    if not replace:
        raise _duplicate_id(project_id)
    folder = store.folder / BACKUP_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    stamp = make_stamp(folder)
    slug = make_slug(tx.require(projects).title)
    backup = folder / f"{stamp}-{_hash_id(project_id)}{'-' if slug else ''}{slug}.fabula"
    save_transaction(tx, backup)
    return backup


def _duplicate_id(project_id: str) -> FabulaError:
    return FabulaError(
        Code.STORE_DUPLICATE,
        message(
            "There is a project {id!r} already. Nothing was changed. "
            "Choose another id, or replace the project: Fabula saves it first.",
            id=project_id,
        ),
    )


def _read_rows(save: SaveReader, table_format: TableFormat) -> Iterator[Record]:
    """The rows of a table as they are inserted, parents before children."""
    records: Iterator[Record] = (line.record for line in save.lines(table_format.name))
    if table_format.parent_required:
        rows = [(key_and_parent(table_format, record), record) for record in records]
        depths = find_depths(dict(keys for keys, _ in rows))
        records = (record for _, record in sorted(rows, key=lambda row: depths[row[0][0]]))
    for record in records:
        for name in table_format.file_columns:
            if record.get(name) is not None:
                record[name] = save.text(record[name]["file"])
        for name in table_format.null_columns:
            if record.get(name, ...) is None:
                del record[name]
        yield record


def _omit_rows(table_format: TableFormat, records: Iterator[Record], omitted: dict[str, int]) -> Iterator[Record]:
    """The rows that a save may bring; the others are counted in `omitted`."""
    for record in records:
        if table_format.is_portable(record):
            yield record
        else:
            omitted[table_format.name] = omitted.get(table_format.name, 0) + 1


def _skip_existing(
    tx: WriteTransaction, table_format: TableFormat, records: Iterator[Record], not_loaded: dict[str, int]
) -> Iterator[Record]:
    """The user's rows whose keys do not exist here; rows that exist and differ are counted in `not_loaded`."""
    existing = {
        tuple([row._mapping[name] for name in table_format.key]): row._mapping for row in tx.rows(table_format.table)
    }
    for record in records:
        row = existing.get(tuple([record[name] for name in table_format.key]))
        if row is None:
            yield record
        elif any(row[name] != value for name, value in record.items()):
            not_loaded[table_format.name] = not_loaded.get(table_format.name, 0) + 1


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Rows in batches that are limited in number and size."""
    batch: list[Record] = []
    characters = 0
    for record in records:
        batch.append(record)
        characters += sum(len(value) for value in record.values() if isinstance(value, str))
        if len(batch) >= _BATCH_ROWS or characters > _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _hash_id(project_id: str) -> str:
    """A hash of a project's id, safe in a file name."""
    return sha256(project_id.encode()).hexdigest()[:10]


def _remove_backup(store: Store, project_id: str, version: int, backup: Path) -> None:
    """Remove the backup of a project that was not replaced after all; where that is uncertain, it stays."""
    with suppress(FabulaError, OSError):
        if store.versions(project=project_id)[0] == version:
            backup.unlink(missing_ok=True)


def _prune_backups(store: Store, project_id: str) -> None:
    for old in list_project_backups(store, project_id)[:-MAX_BACKUPS]:
        with suppress(OSError):
            old.unlink(missing_ok=True)
