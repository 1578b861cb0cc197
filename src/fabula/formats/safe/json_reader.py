"""JSON that somebody else wrote: bounded before it is parsed, and kept only if it can be given back.

A file can be large, deep, or full of tiny lists that weigh a hundred times their bytes; all of that is
seen before or right after parsing, never half way through an import. A number or a character that could
not be written down again as it came is refused too, because a book that is exported must be the book
that was imported.
"""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts.imported import unreadable

MOST_BYTES = 32_000_000
DEEPEST = 100  # levels; a save bears twice as many
_CONTAINERS, _COMMAS = 500_000, 4_000_000
_LARGEST = 2**63


def read_json(data: bytes, what: str) -> Any:
    """The decoded JSON of a file that is called `what`."""
    if len(data) > MOST_BYTES:
        too_large(what, f"it holds more than {MOST_BYTES // 1_000_000} MB of JSON")
    if data.count(b"[") + data.count(b"{") > _CONTAINERS or data.count(b",") > _COMMAS:
        too_large(what, "it is made of more pieces than any book")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        unreadable(what, "it is not UTF-8 text", "Save or export it again as UTF-8.")
    try:
        raw = json.loads(text, parse_int=_whole, parse_float=_real, parse_constant=_real, object_pairs_hook=_object)
        deep = _deep(raw)
    except RecursionError:
        deep = True
    except _UnkeepableError as error:
        unreadable(what, f"it holds something that cannot be kept ({error})", "Correct it.")
    except ValueError as error:
        problem = f"it is not JSON ({error})" if isinstance(error, json.JSONDecodeError) else "it is not JSON"
        unreadable(what, problem, "Export it again from the program that made it.")
    if deep:
        too_large(what, f"it is nested deeper than {DEEPEST} levels")
    try:
        msgspec.json.encode(raw)
    except UnicodeEncodeError:
        unreadable(what, "a text in it holds half a character (a lone surrogate)", "Remove it.")
    return raw


def write_json(raw: object) -> bytes:
    """A JSON value as a file, indented as such files mostly are."""
    return json.dumps(raw, ensure_ascii=False, indent=4).encode()


def read_bytes(path: Path, most: int) -> bytes:
    """A file, unless it is larger than is borne."""
    try:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        problem = f"it could not be read ({error.strerror})"
        unreadable(path.name, problem, "Check that the file is there and may be read.")
    if len(data) > most:
        too_large(path.name, f"it is larger than {most // 1_000_000} MB")
    return data


def too_large(what: str, problem: str) -> NoReturn:
    """Refuse a file that is larger, longer or deeper than is borne."""
    raise FabulaError(
        Code.IMPORT_TOO_LARGE, f"{what}: {problem}. Nothing was imported. Leave out what is not text, or split it."
    )


class _UnkeepableError(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _UnkeepableError(f"the name {name[:24]!r} stands in one object twice")
            seen.add(name)
    return made


def _whole(text: str) -> int:
    number = int(text) if len(text) < 24 else _LARGEST
    if not -_LARGEST <= number < _LARGEST:
        raise _UnkeepableError(f"the number {text[:24]}")
    return number


def _real(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _UnkeepableError(f"the number {text[:24]}")
    return number


def _deep(raw: object) -> bool:
    level, depth = [raw], 0
    while level and depth <= DEEPEST:
        depth += 1
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    return depth > DEEPEST
