"""Parse untrusted JSON within limits of size, depth and number of values.

Many small lists take a hundred times their bytes in memory, so brackets and commas are counted
before parsing. Values that could not be written back exactly (duplicate names, integers over
64 bits, infinities, lone surrogates) are refused, because an exported book must equal the imported
one.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import msgspec

from fabula.formats.safe.import_errors import refuse_too_large, refuse_unreadable

MAX_JSON_BYTES = 32_000_000
MAX_DEPTH = 100  # a save allows 200
_MAX_CONTAINERS, _MAX_COMMAS = 500_000, 4_000_000
_INT64_END = 2**63


def parse_json(data: bytes, label: str) -> Any:
    """Decode the JSON of the file called `label`."""
    if len(data) > MAX_JSON_BYTES:
        refuse_too_large(label, f"it holds more than {MAX_JSON_BYTES // 1_000_000} MB of JSON")
    if data.count(b"[") + data.count(b"{") > _MAX_CONTAINERS or data.count(b",") > _MAX_COMMAS:
        refuse_too_large(label, "it is made of more pieces than any book")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        refuse_unreadable(label, "it is not UTF-8 text", "Save or export it again as UTF-8.")
    try:
        value = json.loads(
            text,
            parse_int=_parse_int,
            parse_float=_parse_float,
            parse_constant=_parse_float,
            object_pairs_hook=_parse_object,
        )
        too_deep = _is_too_deep(value)
    except RecursionError:
        too_deep = True
    except _NotRepresentableError as error:
        refuse_unreadable(label, f"it holds something that cannot be kept ({error})", "Correct it.")
    except ValueError as error:
        problem = f"it is not JSON ({error})" if isinstance(error, json.JSONDecodeError) else "it is not JSON"
        refuse_unreadable(label, problem, "Export it again from the program that made it.")
    if too_deep:
        refuse_too_large(label, f"it is nested deeper than {MAX_DEPTH} levels")
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        refuse_unreadable(label, "a text in it holds half a character (a lone surrogate)", "Remove it.")
    return value


def encode_json(value: object) -> bytes:
    """Encode a value as an indented JSON file."""
    return json.dumps(value, ensure_ascii=False, indent=4).encode()


class _NotRepresentableError(ValueError):
    pass


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise _NotRepresentableError(f"the name {name[:24]!r} stands in one object twice")
        names.add(name)
    return dict(pairs)


def _parse_int(text: str) -> int:
    number = int(text) if len(text) < 24 else _INT64_END
    if not -_INT64_END <= number < _INT64_END:
        raise _NotRepresentableError(f"the number {text[:24]}")
    return number


def _parse_float(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _NotRepresentableError(f"the number {text[:24]}")
    return number


def _is_too_deep(value: object) -> bool:
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return depth > MAX_DEPTH
