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
from fabula.core.version import __version__
from fabula.store.save import manifest as manifests
from fabula.store.save.manifest import SaveManifest, save_damaged, save_unsafe
from fabula.store.save.progress import Progress, ProgressCounter
from fabula.store.save.reader import SaveLine, SaveReader
from fabula.store.save.secrets import contains_secret, is_secret
from fabula.store.save.tables import TableFormat, table_formats
from fabula.store.schema import table_info

MAX_TREE_DEPTH = 100


class SaveReport(Struct, frozen=True, kw_only=True):
    """The result of checking a save."""

    manifest: SaveManifest | None = None
    row_counts: dict[str, int] = {}  # by table
    warnings: tuple[str, ...] = ()
    code: Code | None = None
    reason: str = ""

    @property
    def is_loadable(self) -> bool:
        """Whether the save would load."""
        return self.code is None


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
        return SaveReport(manifest=manifest, code=error.code, reason=error.sentence)


def list_warnings(manifest: SaveManifest) -> list[str]:
    """What a person who loads this save should know."""
    warnings = []
    if manifest.version < manifests.FORMAT_VERSION:
        warnings.append(f"It has the older format {manifest.version} and is brought up to date when it is loaded.")
    if _is_newer(manifest.program):
        warnings.append(f"It was saved by Fabula {manifest.program}; this is {__version__}.")
    for table, count in manifest.omitted_rows.items():
        warnings.append(f"What looked like a secret was not saved ({count} of {table}): enter it again.")
    return warnings


def check_save(save: SaveReader, counter: ProgressCounter) -> dict[str, int]:
    """Refuse a save that would not load completely; return the number of rows of each table."""
    unknown = sorted(set(save.tables) - {table_format.name for table_format in table_formats()})
    if unknown:
        raise _unknown_content(save, f"there is no table {unknown[0]!r} in this program")
    checker = _Checker(save, counter)
    counts = {table_format.name: checker.check_table(table_format) for table_format in table_formats()}
    if counts["projects"] != 1:
        raise save_damaged(save.label, f"it holds {counts['projects']} projects; a save holds one")
    unused = save.texts - checker.used_texts
    if unused:
        raise save_damaged(save.label, f"{min(unused)!r} belongs to no row")
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
        unique = {
            columns: self._keys.setdefault((table_format.name, columns), set()) for columns in table_format.unique
        }
        parents: dict[Any, Any] = {}
        for line in self._save.lines(table_format.name):
            self._check_columns(table_format, line)
            self._check_values(table_format, line)
            for columns, keys in unique.items():
                key = tuple([line.record.get(name, table_format.defaults.get(name)) for name in columns])
                if key in keys:
                    raise save_damaged(self._save.label, f"{line.location} repeats {_describe_key(columns, key)}")
                if None not in key:
                    keys.add(key)
            for reference in table_format.references:
                key = tuple([line.record.get(name) for name in reference.columns])
                if None not in key and key not in self._keys[reference.table, reference.to]:
                    raise save_damaged(
                        self._save.label,
                        f"{line.location} belongs to {_describe_key(reference.columns, key)}, "
                        f"which is not among the {reference.table}",
                    )
            if table_format.parent is not None:
                key, parent = (
                    tuple([line.record.get(name) for name in columns])
                    for columns in (table_format.key, table_format.parent.columns)
                )
                parents[key] = None if None in parent else parent
            elif table_format.parent_column is not None:
                parents[line.record[table_format.key[0]]] = line.record.get(table_format.parent_column)
            self._counter.advance()
            count += 1
        if table_format.parent is not None:
            self._check_tree(table_format, parents)
        elif table_format.parent_column is not None:
            existing = {key: parent if parent in parents else None for key, parent in parents.items()}
            self._check_cycles(table_format, existing)
        return count

    def _check_columns(self, table_format: TableFormat, line: SaveLine) -> None:
        if line.record.keys() <= table_format.column_names:
            return
        unknown = [name for name in line.record if name not in table_format.column_names]
        if table_info(table_format.table).owner_column in unknown:
            problem = f"{line.location} claims to belong to a {table_format.owner}, which no row of a save does"
            raise save_unsafe(self._save.label, problem)
        problem = f"{line.location} has {unknown[0][:40]!r}, which {table_format.name} do not have"
        raise _unknown_content(self._save, problem)

    def _check_values(self, table_format: TableFormat, line: SaveLine) -> None:
        label, record = self._save.label, line.record
        try:
            msgspec.convert(record, table_format.row_type)
        except (ValueError, RecursionError) as error:
            raise save_damaged(label, f"{line.location} cannot be a row of {table_format.name} ({error})") from None
        for name, value in record.items():
            if isinstance(value, str) and "\x00" in value:
                raise save_damaged(label, f"{line.location} holds a null character in {name!r}")
        for name in table_format.file_columns:
            if record.get(name) is not None:
                self._check_text(line, record[name]["file"])
        if table_format.holds_settings:
            value = record.get("value")
            if is_secret(record["name"], value) or contains_secret(value):
                raise save_unsafe(label, f"{line.location} holds what looks like a secret, and no save does")

    def _check_text(self, line: SaveLine, file: str) -> None:
        if file not in self._save.texts or file in self.used_texts:
            raise save_damaged(
                self._save.label, f"{line.location} names {file[:80]!r}, which is not there or another row's"
            )
        self.used_texts.add(file)
        self._save.text(file)

    def _check_tree(self, table_format: TableFormat, parents: Mapping[Any, Any]) -> None:
        for key, parent in parents.items():
            if parent is not None and parent not in parents:
                problem = f"{key[0]!r} among the {table_format.name} is below {parent[0]!r}, which is not there"
                raise save_damaged(self._save.label, problem)
        depths = self._check_cycles(table_format, parents)
        if max(depths.values(), default=0) > MAX_TREE_DEPTH:
            raise save_unsafe(self._save.label, f"the {table_format.name} are more than {MAX_TREE_DEPTH} levels deep")

    def _check_cycles(self, table_format: TableFormat, parents: Mapping[Any, Any]) -> dict[Any, int]:
        """Refuse a tree with a cycle; return the depth of every row."""
        depths = find_depths(parents)
        if len(depths) < len(parents):
            key = min(key for key in parents if key not in depths)
            name = key[0] if isinstance(key, tuple) else key
            raise save_damaged(self._save.label, f"{name!r} among the {table_format.name} is below itself")
        return depths


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


def _describe_key(columns: tuple[str, ...], key: tuple[Any, ...]) -> str:
    return ", ".join(f"{name} {value!r}"[:120] for name, value in zip(columns, key, strict=True)) or "the one row"


def _unknown_content(save: SaveReader, problem: str) -> FabulaError:
    """The error for a table or column that this program does not have: the save is newer, or damaged."""
    if _is_newer(save.manifest.program):
        return FabulaError(
            Code.SAVE_TOO_NEW,
            f"{save.label}: {problem}: it was saved by Fabula {save.manifest.program[:40]}, and this is {__version__}. "
            "Nothing was changed. Update Fabula, then load it.",
        )
    return save_damaged(save.label, problem)


def _is_newer(program: str) -> bool:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(".") if part.isascii() and part.isdigit() and len(part) < 9]

    return numbers(program) > numbers(__version__)
