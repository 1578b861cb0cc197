"""Parse untrusted JSON within limits of size, depth and number of values.

Many small lists take a hundred times their bytes in memory, so brackets and commas are counted
before parsing. Values that could not be written back exactly (duplicate names, integers over
64 bits, infinities, lone surrogates) are refused, because an exported book must equal the imported
one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

import msgspec

from fabula.core.messages import Sentence, message
from fabula.formats.safe.import_errors import (
    CORRECT,
    FETCH_AGAIN,
    SAVE_AS_UTF8,
    refuse_more_bytes,
    refuse_too_large,
    refuse_unreadable,
)
from fabula.formats.safe.nesting import is_deeper

MAX_JSON_BYTES = 32_000_000
MAX_DEPTH = 100  # a save allows 200
_MAX_CONTAINERS, _MAX_COMMAS = 500_000, 4_000_000
_INT64_END = 2**63


def parse_json(data: bytes, label: str) -> Any:
    """Decode the JSON of the file called `label`."""
    if len(data) > MAX_JSON_BYTES:
        refuse_more_bytes(label, MAX_JSON_BYTES)
    if data.count(b"[") + data.count(b"{") > _MAX_CONTAINERS or data.count(b",") > _MAX_COMMAS:
        refuse_too_large(label, message("it has more values than any book"))
    try:
        value = json.loads(
            data.decode("utf-8-sig"),
            parse_int=_parse_int,
            parse_float=_parse_float,
            parse_constant=_parse_float,
            object_pairs_hook=_parse_object,
        )
        too_deep = is_deeper(value, MAX_DEPTH, _list_children)
        msgspec.json.encode(value)
    except RecursionError:
        too_deep = True
    except UnicodeDecodeError:
        refuse_unreadable(label, message("it is not UTF-8 text"), SAVE_AS_UTF8)
    except UnicodeEncodeError:
        refuse_unreadable(label, message("a text in it has half a character (a lone surrogate)"), CORRECT)
    except _NotRepresentableError as error:
        refuse_unreadable(label, error.problem, CORRECT)
    except ValueError as error:
        refuse_unreadable(label, message("it is not JSON ({error})", error=str(error)[:200]), FETCH_AGAIN)
    if too_deep:
        refuse_too_large(label, message("it is nested more than {depth} levels deep", depth=MAX_DEPTH))
    return value


def encode_json(value: object) -> bytes:
    """Encode a value as an indented JSON file."""
    return json.dumps(value, ensure_ascii=False, indent=4).encode()


class _NotRepresentableError(ValueError):
    def __init__(self, problem: Sentence) -> None:
        super().__init__()
        self.problem = problem


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise _NotRepresentableError(message("the name {name!r} occurs twice in one object", name=name[:24]))
        values[name] = value
    return values


def _parse_int(text: str) -> int:
    number = int(text) if len(text) < 24 else _INT64_END
    if not -_INT64_END <= number < _INT64_END:
        raise _NotRepresentableError(message("the number {number} is too large", number=text[:24]))
    return number


def _parse_float(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _NotRepresentableError(message("the number {number} is too large", number=text[:24]))
    return number


def _list_children(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
