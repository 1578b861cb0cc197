"""Checking a save: whether all of it would load (sav-2).

The check finds everything that a database would refuse, before a row is written, and names the line: wrong types,
duplicate keys, references to missing rows, cycles in a tree. It also finds what a database would accept: rows that
claim another project, and settings that look like secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.core.version import __version__
from fabula.store.save import manifest as manifests
from fabula.store.save.manifest import Record, SaveManifest, save_damaged, save_unsafe
from fabula.store.save.progress import Progress, ProgressCounter
from fabula.store.save.reader import SaveLine, SaveReader
from fabula.store.save.secrets import contains_secret, is_secret
from fabula.store.save.tables import SERIES_FOLDER, TableFormat, series_formats, table_formats
from fabula.store.schema import MAX_LONG_TEXT, find_long_text, table_info

MAX_TREE_DEPTH = 100


class SaveReport(Struct, frozen=True, kw_only=True):
    """The result of checking a save."""

    manifest: SaveManifest | None = None
    row_counts: dict[str, int] = {}  # by table
    warnings: tuple[Sentence, ...] = ()
    error: FabulaError | None = None  # why it would not load

    @property
    def is_loadable(self) -> bool:
        """Whether the save would load."""
        return self.error is None

    @property
    def area_counts(self) -> dict[str, int]:
        """How many rows there are of what a person knows by one name: the manuscript, the codex and others."""
        areas = {one.name: table_info(one.table).area for one in (*table_formats(), *series_formats())}
        counts: dict[str, int] = {}
        for name, rows in self.row_counts.items():
            if rows:
                counts[areas[name]] = counts.get(areas[name], 0) + rows
        return counts

    @property
    def code(self) -> Code | None:
        """The code of the error, for programs."""
        return None if self.error is None else self.error.code

    @property
    def reason(self) -> Sentence | str:
        """Why it would not load."""
        return "" if self.error is None else self.error.message


def verify_save(path: Path, *, progress: Progress | None = None) -> SaveReport:
    """Read all of a save, and report whether it would load."""
    manifest: SaveManifest | None = None
    try:
        with SaveReader(path) as save:
            manifest = save.manifest
            counter = ProgressCounter(progress, manifest.rows)
            row_counts = check_save(save, counter)
            counter.finish()
            return SaveReport(manifest=manifest, row_counts=row_counts, warnings=tuple(list_warnings(manifest)))
    except FabulaError as error:
        return SaveReport(manifest=manifest, error=error)


def list_warnings(manifest: SaveManifest) -> list[Sentence]:
    """What a person who loads this save should know."""
    warnings = []
    if manifest.version < manifests.FORMAT_VERSION:
        warnings.append(message("It has the older format {version}. Loading upgrades it.", version=manifest.version))
    if _is_newer(manifest.program):
        warnings.append(
            message("Fabula {program} saved it; this is {this}.", program=manifest.program, this=__version__)
        )
    for table, count in manifest.omitted_rows.items():
        warnings.append(
            message(
                "It lacks what looked like a secret ({count} of {table}). Enter it again.", count=count, table=table
            )
        )
    return warnings


def check_save(save: SaveReader, counter: ProgressCounter) -> dict[str, int]:
    """Refuse a save that would not load completely; return the number of rows of each table."""
    known = (*table_formats(), *series_formats())
    unknown = sorted(set(save.tables) - {table_format.name for table_format in known})
    if unknown:
        raise _unknown_content(save, message("this program has no table {table!r}", table=unknown[0]))
    checker = _Checker(save, counter)
    counts = {table_format.name: checker.check_table(table_format) for table_format in table_formats()}
    if counts["projects"] != 1:
        problem = message("it holds {number} projects; a save holds one", number=counts["projects"])
        raise save_damaged(save.label, problem)
    series_checker = _Checker(save, counter)
    shared = {table_format.name: series_checker.check_table(table_format) for table_format in series_formats()}
    if any(shared.values()) != (save.manifest.series is not None) or shared[f"{SERIES_FOLDER}projects"] > 1:
        problem = message("it does not say which one series it holds, or holds nothing of the one it names")
        raise save_damaged(save.label, problem)
    counts |= shared
    unused = save.texts - checker.used_texts
    if unused:
        raise save_damaged(save.label, message("{file!r} belongs to no row", file=min(unused)))
    return {table: count for table, count in counts.items() if count}


class _Checker:
    """Checks the tables, parents before children, and collects the keys of their rows."""

    def __init__(self, save: SaveReader, counter: ProgressCounter) -> None:
        self.used_texts: set[str] = set()
        self._save = save
        self._counter = counter
        self._keys: dict[tuple[str, tuple[str, ...]], set[tuple[Any, ...]]] = {}

    def check_table(self, table_format: TableFormat) -> int:
        """Check one table; return the number of its rows."""
        count = 0
        table = str(table_format.table.name)
        unique = {columns: self._keys.setdefault((table, columns), set()) for columns in table_format.unique}
        parents: dict[Any, Any] = {}
        grouped: dict[Any, set[Any]] = {}
        self._check_count(table_format)
        for line in self._save.lines(table_format.name):
            self._check_columns(table_format, line)
            self._check_values(table_format, line)
            for columns, keys in unique.items():
                key = tuple([line.record.get(name, table_format.defaults.get(name)) for name in columns])
                if key in keys:
                    described = _describe_key(columns, key)
                    raise self._damaged(message("{location} repeats {key}", location=line.location, key=described))
                if None not in key:
                    keys.add(key)
            for reference in table_format.references:
                key = tuple([line.record.get(name) for name in reference.columns])
                if None not in key and key not in self._keys[reference.table, reference.to]:
                    problem = message(
                        "{location} belongs to {key}, which is not in {table}",
                        location=line.location,
                        key=_describe_key(reference.columns, key),
                        table=reference.table,
                    )
                    raise self._damaged(problem)
            if table_format.parent:
                key, parent = key_and_parent(table_format, line.record)
                parents[key] = parent
            self._check_bounds(table_format, line, grouped)
            self._counter.advance()
            count += 1
        self._check_tree(table_format, parents)
        return count

    def _check_count(self, table_format: TableFormat) -> None:
        """Refuse more rows than the services allow, before the first one is read."""
        most = table_info(table_format.table).max_rows
        rows = sum(self._save.manifest.members[name].rows or 0 for name in self._save.tables.get(table_format.name, ()))
        if most is not None and rows > most and not self._save.is_trusted:
            problem = message(
                "it has {rows} rows of {table}, and there can be {max}", rows=rows, table=table_format.name, max=most
            )
            raise save_unsafe(self._save.label, problem)

    def _check_bounds(self, table_format: TableFormat, line: SaveLine, grouped: dict[Any, set[Any]]) -> None:
        """Refuse a row that the services would not let in, and more rows of one thing than they would."""
        info, record = table_info(table_format.table), line.record
        if self._save.is_trusted or not table_format.is_portable(record):
            return
        for name in table_format.max_characters.keys() - table_format.file_columns.keys():
            self._check_length(table_format, line, name, record.get(name) or "")
        for name in table_format.json_columns:
            if find_long_text(record.get(name), MAX_LONG_TEXT) is not None:
                raise self._too_long(line, name, MAX_LONG_TEXT)
        try:
            if info.check_row is not None:
                info.check_row(record)
        except (FabulaError, ValueError) as error:
            raise self._unusable(line, error.message if isinstance(error, FabulaError) else str(error)) from None
        if info.max_each is not None:
            owner = info.max_each.group(record)
            names = grouped.setdefault(owner, set())
            names.update(info.max_each.names(record))
            if len(names) > info.max_each.most:
                reason = message("{owner!r} has more than {max} of them", owner=owner, max=info.max_each.most)
                raise self._unusable(line, reason)

    def _check_length(self, table_format: TableFormat, line: SaveLine, name: str, text: str) -> None:
        most = table_format.max_characters[name]
        if len(text) > most:
            raise self._too_long(line, name, most)

    def _too_long(self, line: SaveLine, name: str, most: int) -> FabulaError:
        return self._unusable(line, message("{column!r} has more than {max} characters", column=name, max=most))

    def _unusable(self, line: SaveLine, reason: Sentence | str) -> FabulaError:
        problem = message("{location} cannot be used ({reason})", location=line.location, reason=reason)
        return save_unsafe(self._save.label, problem)

    def _check_columns(self, table_format: TableFormat, line: SaveLine) -> None:
        unknown = line.record.keys() - table_format.columns
        if table_info(table_format.table).owner_column in unknown:
            problem = message("{location} claims an owner; rows of a save do not belong to one", location=line.location)
            raise save_unsafe(self._save.label, problem)
        if unknown:
            problem = message(
                "{location} has {column!r}, which {table} does not have",
                location=line.location,
                column=min(unknown)[:40],
                table=table_format.name,
            )
            raise _unknown_content(self._save, problem)

    def _check_values(self, table_format: TableFormat, line: SaveLine) -> None:
        record, location = line.record, line.location
        try:
            msgspec.convert(record, table_format.row_type)
        except (ValueError, RecursionError) as error:
            problem = message(
                "{location} cannot be a row of {table} ({error})",
                location=location,
                table=table_format.name,
                error=error,
            )
            raise self._damaged(problem) from None
        for name, value in record.items():
            if isinstance(value, str) and "\x00" in value:
                problem = message("{location} holds a null character in {column!r}", location=location, column=name)
                raise self._damaged(problem)
        for name in table_format.file_columns:
            if record.get(name) is not None:
                text = self._check_text(line, record[name]["file"])
                if not self._save.is_trusted:
                    self._check_length(table_format, line, name, text)
        if table_format.holds_settings:
            value = record.get("value")
            if is_secret(record["name"], value) or contains_secret(value):
                problem = message("{location} holds what looks like a secret, and no save does", location=location)
                raise save_unsafe(self._save.label, problem)

    def _check_text(self, line: SaveLine, file: str) -> str:
        if file not in self._save.texts or file in self.used_texts:
            problem = message(
                "{location} names {file!r}, which is not there or belongs to another row",
                location=line.location,
                file=file[:80],
            )
            raise self._damaged(problem)
        self.used_texts.add(file)
        return self._save.text(file)

    def _check_tree(self, table_format: TableFormat, parents: Mapping[Any, Any]) -> None:
        """Refuse a tree with a cycle and, where parents are required, one that lacks some or is too deep."""
        table = table_format.name
        missing = {key: parent for key, parent in parents.items() if parent is not None and parent not in parents}
        if missing and table_format.parent_required:
            (key, *_), (parent, *_) = next(iter(missing.items()))
            problem = message(
                "{key!r} in {table} is below {parent!r}, which is not there", key=key, table=table, parent=parent
            )
            raise self._damaged(problem)
        depths = find_depths({**parents, **dict.fromkeys(missing)})
        if len(depths) < len(parents):
            key = min(parents.keys() - depths.keys())[0]
            raise self._damaged(message("{key!r} in {table} is below itself", key=key, table=table))
        if table_format.parent_required and max(depths.values(), default=0) > MAX_TREE_DEPTH:
            problem = message("{table} has more than {max} levels", table=table, max=MAX_TREE_DEPTH)
            raise save_unsafe(self._save.label, problem)

    def _damaged(self, problem: Sentence) -> FabulaError:
        return save_damaged(self._save.label, problem)


def key_and_parent(table_format: TableFormat, record: Record) -> tuple[Any, Any]:
    """The key of a row of a tree, and the key of its parent; None where it has none."""
    parent = tuple(record.get(name) for name in table_format.parent)
    return tuple(record[name] for name in table_format.key), None if None in parent else parent


def find_depths(parents: Mapping[Any, Any]) -> dict[Any, int]:
    """The depth of each key in a tree; keys in a cycle, and those below them, are left out."""
    children: dict[Any, list[Any]] = {}
    for key, parent in parents.items():
        children.setdefault(parent, []).append(key)
    depths: dict[Any, int] = {}
    level, depth = children.get(None, []), 0
    while level:
        depths.update(dict.fromkeys(level, depth))
        level, depth = [key for parent in level for key in children.get(parent, ())], depth + 1
    return depths


def _describe_key(columns: tuple[str, ...], key: tuple[Any, ...]) -> str | Sentence:
    described = ", ".join(f"{name} {value!r}"[:120] for name, value in zip(columns, key, strict=True))
    return described or message("the one row")


def _unknown_content(save: SaveReader, problem: Sentence) -> FabulaError:
    """The error for a table or column that this program does not have: the save is newer, or damaged."""
    if not _is_newer(save.manifest.program):
        return save_damaged(save.label, problem)
    return FabulaError(
        Code.SAVE_TOO_NEW,
        message(
            "{label}: {problem}. Fabula {program} saved it, and this is {this}. "
            "Nothing was changed. Update Fabula, then load it.",
            label=save.label,
            problem=problem,
            program=save.manifest.program[:40],
            this=__version__,
        ),
    )


def _is_newer(program: str) -> bool:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(".") if part.isascii() and part.isdigit() and len(part) < 9]

    return numbers(program) > numbers(__version__)
