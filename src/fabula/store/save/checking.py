"""Checking a save: would it load, all of it?

Everything a database would complain about is found here, before a row is written, and said with the place
where it stands: types, keys that occur twice, rows that refer to nothing, trees that bite their own tail.
And what a database would not mind: rows that claim another project, settings that look like secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fabula import __version__
from fabula.core.errors import Code, FabulaError
from fabula.store.save import manifest as manifests
from fabula.store.save.manifest import Manifest, damaged, unsafe
from fabula.store.save.progress import Progress, Steps
from fabula.store.save.reader import Line, OpenSave
from fabula.store.save.secrets import holds_secret, is_secret
from fabula.store.save.tables import Shape, shapes
from fabula.store.schema import about

DEEPEST = 100  # levels of a tree


class Report(Struct, frozen=True, kw_only=True):
    """What a look through a save found."""

    manifest: Manifest | None = None
    rows: dict[str, int] = {}  # by table
    warnings: tuple[str, ...] = ()
    code: Code | None = None
    reason: str = ""

    @property
    def loads(self) -> bool:
        """Would it load?"""
        return self.code is None


def verify(path: Path, *, progress: Progress | None = None) -> Report:
    """Read all of a save, and say whether it would load."""
    manifest: Manifest | None = None
    try:
        with OpenSave(path) as save:
            manifest = save.manifest
            steps = Steps(progress, manifest.rows)
            rows = check(save, steps)
            steps.finish()
            return Report(manifest=manifest, rows=rows, warnings=tuple(warnings(manifest)))
    except FabulaError as error:
        return Report(manifest=manifest, code=error.code, reason=error.sentence)


def warnings(manifest: Manifest) -> list[str]:
    """What somebody who loads this should know."""
    found = []
    if manifest.version < manifests.VERSION:
        found.append(f"It has the older format {manifest.version} and is brought up to date when it is loaded.")
    if _newer(manifest.program):
        found.append(f"It was saved by Fabula {manifest.program}; this is {__version__}.")
    for table, count in manifest.left_out.items():
        found.append(f"What looked like a secret was not saved ({count} of {table}): enter it again.")
    return found


def check(save: OpenSave, steps: Steps) -> dict[str, int]:
    """Refuse a save that would not load whole; says how many rows each table has."""
    known = shapes()
    strange = sorted(set(save.tables) - {shape.name for shape in known})
    if strange:
        raise _unknown(save, f"there is no table {strange[0]!r} in this program")
    checking = _Checking(save, steps)
    counts = {shape.name: checking.table(shape) for shape in known}
    if counts["projects"] != 1:
        raise damaged(save.label, f"it holds {counts['projects']} projects, and a save is of one")
    unused = save.texts - checking.used
    if unused:
        raise damaged(save.label, f"{min(unused)!r} belongs to no row")
    return {table: count for table, count in counts.items() if count}


class _Checking:
    """Goes through the tables, parents before children, and remembers which rows there are."""

    def __init__(self, save: OpenSave, steps: Steps) -> None:
        self.used: set[str] = set()
        self._save = save
        self._steps = steps
        self._known: dict[tuple[str, tuple[str, ...]], set[tuple[Any, ...]]] = {}

    def table(self, shape: Shape) -> int:
        """Check one table; says how many rows it has."""
        count = 0
        seen = {columns: self._known.setdefault((shape.name, columns), set()) for columns in shape.unique}
        above: dict[Any, Any] = {}
        for line in self._save.lines(shape.name):
            self._columns(shape, line)
            self._values(shape, line)
            for columns, found in seen.items():
                key = tuple([line.record.get(name, shape.defaults.get(name)) for name in columns])
                if key in found:
                    raise damaged(self._save.label, f"{line.where} repeats {_named(columns, key)}")
                if None not in key:
                    found.add(key)
            for link in shape.references:
                wanted = tuple([line.record.get(name) for name in link.columns])
                if None not in wanted and wanted not in self._known[link.table, link.to]:
                    raise damaged(
                        self._save.label,
                        f"{line.where} belongs to {_named(link.columns, wanted)}, which is not among the {link.table}",
                    )
            if shape.parent is not None:
                key, higher = (tuple([line.record.get(n) for n in c]) for c in (shape.key, shape.parent.columns))
                above[key] = None if None in higher else higher
            elif shape.above is not None:
                above[line.record[shape.key[0]]] = line.record.get(shape.above)
            self._steps.took()
            count += 1
        if shape.parent is not None:
            self._tree(shape, above)
        elif shape.above is not None:
            self._circles(shape, {key: higher if higher in above else None for key, higher in above.items()})
        return count

    def _columns(self, shape: Shape, line: Line) -> None:
        if line.record.keys() <= shape.known:
            return
        strange = [name for name in line.record if name not in shape.known]
        if about(shape.table).owner_column in strange:
            whose = f"claims to belong to a {shape.owner}"
            raise unsafe(self._save.label, f"{line.where} {whose}, which no row of a save does")
        raise _unknown(self._save, f"{line.where} has {strange[0][:40]!r}, which {shape.name} do not have")

    def _values(self, shape: Shape, line: Line) -> None:
        label, record = self._save.label, line.record
        try:
            msgspec.convert(record, shape.row)
        except (ValueError, RecursionError) as error:
            raise damaged(label, f"{line.where} cannot be a row of {shape.name} ({error})") from None
        for name, value in record.items():
            if isinstance(value, str) and "\x00" in value:
                raise damaged(label, f"{line.where} holds a null character in {name!r}")
        for name in shape.files:
            if record.get(name) is not None:
                self._text(line, record[name]["file"])
        if shape.pairs:
            value = record.get("value")
            if is_secret(record["name"], value) or holds_secret(value):
                raise unsafe(label, f"{line.where} holds what looks like a secret, and no save does")

    def _text(self, line: Line, file: str) -> None:
        if file not in self._save.texts or file in self.used:
            raise damaged(self._save.label, f"{line.where} names {file[:80]!r}, which is not there or another row's")
        self.used.add(file)
        self._save.text(file)

    def _tree(self, shape: Shape, above: Mapping[Any, Any]) -> None:
        for key, higher in above.items():
            if higher is not None and higher not in above:
                problem = f"{key[0]!r} among the {shape.name} stands below {higher[0]!r}, which is not there"
                raise damaged(self._save.label, problem)
        levels = self._circles(shape, above)
        if max(levels.values(), default=0) > DEEPEST:
            raise unsafe(self._save.label, f"the {shape.name} stand more than {DEEPEST} levels deep")

    def _circles(self, shape: Shape, above: Mapping[Any, Any]) -> dict[Any, int]:
        """Refuse a tree in which somebody stands below himself; says how deep everybody else stands."""
        levels = depths(above)
        if len(levels) < len(above):
            lost = min(key for key in above if key not in levels)
            raise damaged(
                self._save.label,
                f"{lost[0] if isinstance(lost, tuple) else lost!r} among the {shape.name} stands below itself",
            )
        return levels


def depths(above: Mapping[Any, Any]) -> dict[Any, int]:
    """How deep each one stands in a tree; those in a circle are left out."""
    below: dict[Any, list[Any]] = {}
    for key, higher in above.items():
        below.setdefault(higher, []).append(key)
    found: dict[Any, int] = {}
    level, depth = below.get(None, []), 0
    while level:
        found.update(dict.fromkeys(level, depth))
        level, depth = [key for higher in level for key in below.get(higher, ())], depth + 1
    return found


def _named(columns: tuple[str, ...], key: tuple[Any, ...]) -> str:
    return ", ".join(f"{name} {value!r}"[:120] for name, value in zip(columns, key, strict=True)) or "the one row"


def _unknown(save: OpenSave, problem: str) -> FabulaError:
    """Something this program has never heard of: of the future, or invented."""
    if _newer(save.manifest.program):
        return FabulaError(
            Code.SAVE_TOO_NEW,
            f"{save.label}: {problem}: it was saved by Fabula {save.manifest.program[:40]}, and this is {__version__}. "
            "Nothing was changed. Update Fabula, then load it.",
        )
    return damaged(save.label, problem)


def _newer(program: str) -> bool:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(".") if part.isascii() and part.isdigit() and len(part) < 9]

    return numbers(program) > numbers(__version__)
