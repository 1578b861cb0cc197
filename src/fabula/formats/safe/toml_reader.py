"""Read TOML files of a project folder, every field checked.

A `CheckedTable` knows where it stands (file, then id), so every refusal names the place and the
field.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from fabula.core.decoding import explain_decode_error, explain_syntax_error
from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import describe_os_error
from fabula.core.messages import Sentence, advise, message
from fabula.core.regular_files import open_regular_file
from fabula.text.offsets import normalise
from fabula.text.toml import find_deep_key

MAX_FILE_BYTES = 64_000_000


def refuse_project(location: str, problem: Sentence | str) -> NoReturn:
    """Refuse the whole project, with the place and the reason."""
    sentence = message(
        "{location}: {problem}. The project was not opened; nothing was changed.", location=location, problem=problem
    )
    raise FabulaError(Code.PROJECT_INVALID, sentence)


class CheckedTable:
    """One table of a TOML file; its getters refuse values of the wrong type."""

    __slots__ = ("_data", "location")

    def __init__(self, data: Mapping[str, Any], location: str) -> None:
        self._data = data
        self.location = location

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def get_raw(self, key: str) -> object:
        """The unchecked value; None when it is missing."""
        return self._data.get(key)

    def get_text(self, key: str, default: str | None = None) -> str:
        """A string; without a default it must be present and not blank."""
        if default is None and key not in self._data:
            refuse_project(self.location, message("`{key}` is missing", key=key))
        value: str = self._get(key, default, str, message("`{key}` must be a text", key=key))
        if default is None and not value.strip():
            refuse_project(self.location, message("`{key}` must not be empty", key=key))
        return value

    def get_number(self, key: str, default: float, *, low: float, high: float) -> float:
        """A number within bounds."""
        value: float = self._get(key, default, float, message("`{key}` must be a number", key=key))
        if not low <= value <= high:
            problem = message("`{key}` must be between {low:g} and {high:g}", key=key, low=low, high=high)
            refuse_project(self.location, problem)
        return value

    def get_integer(self, key: str, default: int, *, low: int, high: int) -> int:
        """A whole number within bounds."""
        self._get(key, default, int, message("`{key}` must be a whole number", key=key))
        return int(self.get_number(key, default, low=low, high=high))

    def get_texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty when it is missing."""
        return tuple(self._get(key, [], list[str], message("`{key}` must be a list of texts", key=key)))

    def get_table(self, key: str) -> CheckedTable:
        """A table inside this one; empty when it is missing."""
        return CheckedTable(
            self._get(key, {}, dict, message("`{key}` must be a table", key=key)), f"{self.location}, {key}"
        )

    def get_tables(self, key: str) -> list[CheckedTable]:
        """A list of tables; empty when it is missing."""
        tables = self._get(key, [], list[dict[str, Any]], message("`{key}` must be a list of tables", key=key))
        return [CheckedTable(table, self.location) for table in tables]

    def get_tables_by_id(self, key: str) -> list[tuple[str, CheckedTable]]:
        """A list of tables with their ids, which must be unique."""
        tables: dict[str, CheckedTable] = {}
        for table in self.get_tables(key):
            ident = table.get_text("id")
            if ident in tables:
                refuse_project(self.location, message("the id {ident!r} is used twice", ident=ident))
            table.location = f"{self.location}, {ident}"
            tables[ident] = table
        return list(tables.items())

    def get_value(self, key: str, kind: Any, default: Any = None) -> Any:
        """A value of a type that msgspec knows; the default when it is missing."""
        return self._get(key, default, kind) if key in self._data else default

    def items(self) -> list[tuple[str, str]]:
        """All keys and values as strings."""
        return [(str(key), str(value)) for key, value in self._data.items()]

    def _get(self, key: str, default: object, kind: Any, problem: Sentence | None = None) -> Any:
        value = self._data.get(key, default)
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            details = {"key": key, "value": repr(value)[:80], "error": explain_decode_error(error, kind)}
            refuse_project(self.location, problem or message("`{key}` makes no sense: {value} ({error})", **details))


def check_inside(path: Path, root: Path, location: str) -> Path:
    """Return the path if it lies in the project folder, links followed; refuse it otherwise."""
    try:
        if path.resolve().is_relative_to(root.resolve()):
            return path
    except (OSError, ValueError):
        refuse_project(location, message("no file can have the name given there"))
    refuse_project(location, message("{name} lies outside the project folder", name=path.name))


def read_text_file(path: Path) -> str:
    """Read a UTF-8 text file with normalised line ends."""
    try:
        with open_regular_file(path) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            refuse_project(path.name, message("it is larger than {size} MB", size=MAX_FILE_BYTES // 1_000_000))
        return normalise(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        problem = advise(
            message("it is not UTF-8 text: save it as UTF-8, or use `fabula import`, which reads others"),
            message("it is not UTF-8 text: save it as UTF-8"),
        )
        refuse_project(path.name, problem)
    except OSError as error:
        refuse_project(path.name, message("it could not be read ({error})", error=describe_os_error(error)))


def read_toml(path: Path, root: Path) -> CheckedTable:
    """Read a TOML file of the project folder `root`."""
    text = read_text_file(check_inside(path, root, path.name))
    if (deep_line := find_deep_key(text)) is not None:
        refuse_project(path.name, message("a name has too many parts (at line {line})", line=deep_line))
    try:
        return CheckedTable(tomllib.loads(text), path.name)
    except (ValueError, RecursionError) as error:
        refuse_project(path.name, message("{error}", error=explain_syntax_error(error)))
