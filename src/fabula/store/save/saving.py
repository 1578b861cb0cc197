"""Saving: write a project to one file that a person can read and a program can load again, exactly (sav-2).

The file is a ZIP archive: one `.jsonl` per table with one line per row, one Markdown file per document, and the
manifest last. A book of a series takes along what it shares: the codex of the series, in a folder of its own. Nothing
in it depends on the engine or the clock, so the same project gives the same bytes. The user's
profile, memory and settings are included unless the caller leaves them out.

Everything is read in one transaction. Rows are streamed: at most one part of one table is in memory. The file is
written beside its destination and read back as a load would read it; only a complete and loadable file replaces an
older one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec
from sqlalchemy import Row, String, select

from fabula.core.ids import current_timestamp
from fabula.core.new_files import create_temporary
from fabula.core.partial_files import hold_partial, sweep_partials
from fabula.core.version import __version__
from fabula.store.save import manifest as manifests
from fabula.store.save.checking import check_save
from fabula.store.save.manifest import Record, SavedProject, SaveManifest, SaveMember
from fabula.store.save.progress import Progress, ProgressCounter
from fabula.store.save.reader import SaveReader
from fabula.store.save.secrets import contains_secret, is_secret, is_secret_value, remove_secrets
from fabula.store.save.tables import TableFormat, series_formats, table_formats
from fabula.store.slugs import make_slug
from fabula.store.store import LOCAL_USER, Store
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction

MAX_PART_BYTES = 32_000_000  # a larger table is split into several members
_COMPRESSION_LEVEL = 3
_ROWS_PER_FETCH = 500
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)


def save_project(
    store: Store,
    project_id: str,
    path: Path,
    *,
    user: str | None = LOCAL_USER,
    created_at: str | None = None,
    progress: Progress | None = None,
) -> SaveManifest:
    """Save a project; an older file is replaced only by a complete one.

    `user` is whose profile, memory and settings are included; None for nobody's.
    """
    with store.read(project=project_id, user=user) as reading:
        return save_transaction(reading, path, created_at=created_at, progress=progress)


def save_transaction(
    reading: ReadTransaction, path: Path, *, created_at: str | None = None, progress: Progress | None = None
) -> SaveManifest:
    """Save the project, and the user where there is one, as a transaction sees them."""
    reading.require(projects)
    tables = [table_format.table for table_format in table_formats() if reading.has_owner(table_format.owner)]
    series = reading.series()
    shared = 0 if series is None else sum(series.count(table_format.table) for table_format in series_formats())
    counter = ProgressCounter(progress, 2 * (shared + sum(reading.count(table) for table in tables)))
    temporary: Path | None = None
    try:
        temporary, stream = create_temporary(path, prefix=".save-")
        with stream as file:
            hold_partial(file)
            sweep_partials(path.parent, ".save-*.part")
            manifest = write_save(reading, file, created_at or current_timestamp(), counter)
            file.flush()
            os.fsync(file.fileno())
        with SaveReader(temporary, label=path.name, is_trusted=True) as reader:
            check_save(reader, counter)
        counter.finish()  # the last chance to cancel
        temporary.replace(path)
        _sync_folder(path.parent)
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    return manifest


def _sync_folder(folder: Path) -> None:
    """Wait until the new name is on disk; on systems where a folder cannot be synced, do nothing."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_save(reading: ReadTransaction, file: IO[bytes], created_at: str, counter: ProgressCounter) -> SaveManifest:
    """Write a project to an open file; return its manifest."""
    project, series = reading.require(projects), reading.series()
    shared = None if series is None else series.require(projects)
    with ZipFile(file, "w", compression=ZIP_DEFLATED, compresslevel=_COMPRESSION_LEVEL) as archive:
        writer = _Writer(archive, counter)
        for table_format in table_formats():
            if reading.has_owner(table_format.owner):
                writer.write_table(table_format, _RowStream(reading))
        if series is not None:
            for table_format in series_formats():
                writer.write_table(table_format, _RowStream(series))
        manifest = SaveManifest(
            format=manifests.FORMAT,
            version=manifests.FORMAT_VERSION,
            program=__version__,
            created_at=created_at,
            project=SavedProject(id=project.project_id, title=project.title),
            series=None if shared is None else SavedProject(id=shared.project_id, title=shared.title),
            members=dict(sorted(writer.members.items())),
            omitted_rows=writer.left_out,
        )
        writer.write_file(manifests.MANIFEST_FILE, manifests.encode_manifest(manifest))
    return manifest


class _RowStream(ReadTransaction):
    """Reads whole tables, a few rows at a time."""

    def __init__(self, reading: ReadTransaction) -> None:
        super().__init__(reading._connection, reading._owners)

    def stream(self, table_format: TableFormat) -> Iterator[Row[Any]]:
        """The owner's rows in the order of their keys; text is ordered by bytes, whatever the server's collation."""
        table = table_format.table
        order: list[Any] = [table.c[name] for name in table_format.key]
        if self._connection.dialect.name == "postgresql":
            order = [column.collate("C") if isinstance(column.type, String) else column for column in order]
        query = select(*[table.c[name] for name in table_format.columns]).where(self._owned(table)).order_by(*order)
        with self._connection.execute(query.execution_options(yield_per=_ROWS_PER_FETCH)) as rows:
            yield from rows


class _Writer:
    """Writes tables to an archive, and collects the manifest's members."""

    def __init__(self, archive: ZipFile, counter: ProgressCounter) -> None:
        self.members: dict[str, SaveMember] = {}
        self.left_out: dict[str, int] = {}
        self._archive = archive
        self._counter = counter

    def write_table(self, table_format: TableFormat, rows: _RowStream) -> None:
        """Write all rows of a table, and the files that belong to them."""
        encode = msgspec.json.Encoder().encode
        numbers = _number_rows(rows, table_format) if table_format.file_columns else {}
        lines: list[bytes] = []
        size, part = 0, 1
        for row in rows.stream(table_format):
            record: Record = dict(zip(table_format.columns, row, strict=True))
            self._counter.advance()
            if not table_format.is_portable(record):
                if is_secret_value(record.get("value")):
                    self._count_omitted(table_format)
                continue
            if table_format.holds_settings and not self._remove_secrets(table_format, record):
                continue
            for name in table_format.float_columns:
                if record[name] is not None and not isfinite(record[name]):
                    del record[name]  # JSON has no NaN and no infinity
            for name in table_format.file_columns:
                record[name] = self._write_text(table_format, name, record, numbers)
            line = encode(record) + b"\n"
            if lines and size + len(line) > MAX_PART_BYTES:
                self._write_part(table_format, part, lines)
                lines, size, part = [], 0, part + 1
            lines.append(line)
            size += len(line)
        if lines:
            self._write_part(table_format, part, lines)

    def write_file(self, name: str, data: bytes) -> None:
        """Write one file; the bytes in the archive do not depend on time or system."""
        info = ZipInfo(name, _FIXED_TIME)
        info.compress_type = ZIP_DEFLATED
        info.create_system = 3
        info.external_attr = 0o100644 << 16
        self._archive.writestr(info, data, compresslevel=_COMPRESSION_LEVEL)

    def _write_part(self, table_format: TableFormat, part: int, lines: list[bytes]) -> None:
        name = f"{table_format.name}.jsonl" if part == 1 else f"{table_format.name}-{part}.jsonl"
        self._write_member(name, b"".join(lines), rows=len(lines))

    def _write_text(
        self, table_format: TableFormat, column: str, record: Record, numbers: dict[Any, int]
    ) -> dict[str, str] | None:
        """Write a text to a file of its own; return what its row holds instead."""
        text = record[column]
        if text is None:
            return None
        number = numbers[tuple(record[name] for name in table_format.key)]
        slug = make_slug(str(record.get("title") or record.get("name") or ""))
        name = f"{table_format.name}/{number:04}{'-' if slug else ''}{slug}.{table_format.file_columns[column]}"
        self._write_member(name, text.encode())
        return {"file": name}

    def _write_member(self, name: str, data: bytes, rows: int | None = None) -> None:
        self.members[name] = SaveMember(sha256=sha256(data).hexdigest(), size=len(data), rows=rows)
        self.write_file(name, data)

    def _remove_secrets(self, table_format: TableFormat, record: Record) -> bool:
        """Remove what looks like a secret from a setting; return whether the setting can be saved at all."""
        secret = is_secret(record["name"], record["value"])
        if secret or contains_secret(record["value"]):
            self._count_omitted(table_format)
            record["value"] = remove_secrets(record["value"])
        return not secret

    def _count_omitted(self, table_format: TableFormat) -> None:
        self.left_out[table_format.name] = self.left_out.get(table_format.name, 0) + 1


def _number_rows(reading: ReadTransaction, table_format: TableFormat) -> dict[Any, int]:
    """The number of every row: in a tree from top to bottom, else in the order of the keys."""
    is_tree = bool(table_format.parent) and "place" in table_format.columns
    parent_columns = table_format.parent
    children: dict[Any, list[tuple[Any, Any]]] = {}
    columns = (*table_format.key, *parent_columns, *(("place",) if is_tree else ()))
    for row in reading.rows(table_format.table, only=columns):
        values = row._mapping
        key = tuple(values[name] for name in table_format.key)
        parent = tuple(values[name] for name in parent_columns)
        siblings = children.setdefault(parent if is_tree and None not in parent else None, [])
        siblings.append((values["place"] if is_tree else 0, key))
    numbers: dict[Any, int] = {}
    stack = [key for _, key in sorted(children.get(None, ()), reverse=True)]
    while stack:
        key = stack.pop()
        numbers[key] = len(numbers) + 1
        stack.extend(child for _, child in sorted(children.get(key, ()), reverse=True))
    unreachable = {key for siblings in children.values() for _, key in siblings} - numbers.keys()
    for key in sorted(unreachable):
        numbers[key] = len(numbers) + 1
    return numbers
