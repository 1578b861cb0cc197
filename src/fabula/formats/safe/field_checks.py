"""Reading tables that somebody else wrote: every field checked, every complaint with its place."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from fabula.core.errors import Code, FabulaError
from fabula.text.offsets import normalise
from fabula.text.toml import too_deep

MOST_BYTES = 64_000_000
T = TypeVar("T")


def refuse(where: str, problem: str) -> NoReturn:
    """Refuse a whole project, with the place and the reason."""
    raise FabulaError(Code.PROJECT_INVALID, f"{where}: {problem}. The project was not opened; nothing was changed.")


class Row:
    """One table of a file, and where it stands."""

    __slots__ = ("_data", "where")

    def __init__(self, data: Mapping[str, Any], where: str) -> None:
        self._data = data
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def raw(self, key: str) -> object:
        """A value as it stands; None when it is absent."""
        return self._data.get(key)

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default it must be there, and not empty."""
        value = self._data.get(key, default)
        if not isinstance(value, str):
            refuse(self.where, f"`{key}` is missing" if key not in self._data else f"`{key}` must be a text")
        if default is None and not value.strip():
            refuse(self.where, f"`{key}` must not be empty")
        return value

    def number(self, key: str, default: float, *, low: float, high: float) -> float:
        """A number within bounds."""
        value = self._data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            refuse(self.where, f"`{key}` must be a number")
        if not low <= value <= high:
            refuse(self.where, f"`{key}` must lie between {low:g} and {high:g}")
        return value

    def whole_number(self, key: str, default: int, *, low: int, high: int) -> int:
        """A whole number within bounds."""
        value = self._data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            refuse(self.where, f"`{key}` must be a whole number")
        return int(self.number(key, default, low=low, high=high))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, perhaps empty."""
        values = self._data.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            refuse(self.where, f"`{key}` must be a list of texts")
        return tuple(values)

    def table(self, key: str) -> Row:
        """A table inside this one, perhaps empty."""
        value = self._data.get(key, {})
        if not isinstance(value, dict):
            refuse(self.where, f"`{key}` must be a table")
        return Row(value, f"{self.where}, {key}")

    def items(self) -> list[tuple[str, str]]:
        """All of it as texts."""
        return [(str(key), str(value)) for key, value in self._data.items()]

    def read(self, key: str, kind: Any) -> Any:
        """A value of some type, checked whole; None when it is absent."""
        if key not in self._data:
            return None
        try:
            return msgspec.convert(self._data[key], kind)
        except msgspec.ValidationError as error:
            refuse(self.where, f"`{key}` makes no sense: {error}")

    def rows(self, key: str) -> list[Row]:
        """A list of tables, perhaps empty."""
        rows = self._data.get(key, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            refuse(self.where, f"`{key}` must be a list of tables")
        return [Row(row, self.where) for row in rows]

    def named(self, key: str) -> list[tuple[str, Row]]:
        """A list of tables, each with an id of its own."""
        found: dict[str, Row] = {}
        for row in self.rows(key):
            ident = row.text("id")
            if ident in found:
                refuse(self.where, f"the id {ident!r} is used twice")
            row.where = f"{self.where}, {ident}"
            found[ident] = row
        return list(found.items())

    def choice(self, key: str, kind: Callable[[Any], T], default: str) -> T:
        """One of the known values."""
        value = self._data.get(key, default)
        try:
            return kind(value)
        except ValueError:
            refuse(self.where, f"`{key}` is {value!r}, which is none of the known values")


def inside(path: Path, root: Path, where: str) -> Path:
    """The path, if it lies in the project folder, links followed."""
    try:
        if path.resolve().is_relative_to(root.resolve()):
            return path
    except (OSError, ValueError):
        refuse(where, "no file can have the name given there")
    refuse(where, f"{path.name} lies outside the project folder")


def read_text(path: Path) -> str:
    """A text file with normalised line ends."""
    try:
        if path.stat().st_size > MOST_BYTES:
            refuse(path.name, f"it is larger than {MOST_BYTES // 1_000_000} MB")
        return normalise(path.read_text("utf-8-sig"))
    except UnicodeDecodeError:
        refuse(path.name, "it is not UTF-8 text: save it so, or use `fabula import`, which reads others")
    except OSError as error:
        refuse(path.name, f"it could not be read ({error.strerror})")


def read_toml(path: Path, root: Path) -> Row:
    """A TOML file as a table."""
    text = read_text(inside(path, root, path.name))
    if (deep := too_deep(text)) is not None:
        refuse(path.name, f"a name has too many parts (at line {deep})")
    try:
        return Row(tomllib.loads(text), path.name)
    except (ValueError, RecursionError) as error:
        refuse(path.name, str(error))
