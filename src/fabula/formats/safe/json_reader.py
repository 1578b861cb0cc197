"""Parse untrusted JSON within limits of size, depth and number of values.

Many small lists take a hundred times their bytes in memory, so brackets and commas are counted
before parsing. An exported book must equal the imported one. So a number that no column can hold
(an integer over 64 bits, a float over 1e308) is kept as an object with its digits, and written as the
number again. Values that could not be written back exactly (duplicate names, NaN, lone surrogates)
are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import msgspec

from fabula.core.decoding import explain_syntax_error
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
_LARGE_NUMBER = "fabula:number"  # the only name in the object that stands for a number too large to store
_MAX_DIGITS = 1000
_PLACEHOLDER = "\ud800"  # a lone surrogate, which no parsed text contains


def parse_json(data: bytes, label: str | Sentence) -> Any:
    """Decode the JSON of the file, or the line of one, called `label`."""
    if len(data) > MAX_JSON_BYTES:
        refuse_more_bytes(label, MAX_JSON_BYTES)
    if data.count(b"[") + data.count(b"{") > _MAX_CONTAINERS or data.count(b",") > _MAX_COMMAS:
        refuse_too_large(label, message("it has more values than any book"))
    try:
        value = json.loads(
            data.decode("utf-8-sig"),
            parse_int=_parse_int,
            parse_float=_parse_float,
            parse_constant=_refuse_constant,
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
        if not data.strip():
            refuse_unreadable(label, message("it is empty"), FETCH_AGAIN)
        refuse_unreadable(label, message("it is not JSON: {error}", error=explain_syntax_error(error)), FETCH_AGAIN)
    if too_deep:
        refuse_too_large(label, message("it is nested more than {depth} levels deep", depth=MAX_DEPTH))
    return value


def encode_json(value: object, *, indent: int | None = 4) -> bytes:
    """Encode a value as a JSON file, with the numbers that were too large to store."""
    numbers: list[str] = []
    plain = _replace_large_numbers(value, numbers)
    text = json.dumps(plain, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))
    if numbers:
        pieces = text.split(f'"{_PLACEHOLDER}"')
        text = "".join(piece + number for piece, number in zip(pieces, [*numbers, ""], strict=True))
    return text.encode()


def is_large_number(value: object) -> bool:
    """Return whether a parsed value stands for a number that is too large to store."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get(_LARGE_NUMBER), str)


class _NotRepresentableError(ValueError):
    def __init__(self, problem: Sentence) -> None:
        super().__init__()
        self.problem = problem


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values or name == _LARGE_NUMBER:
            twice = message("the name {name!r} occurs twice in one object", name=name[:24])
            reserved = message("the name {name!r} is one that Fabula uses itself", name=name)
            raise _NotRepresentableError(twice if name in values else reserved)
        values[name] = value
    return values


def _parse_int(text: str) -> Any:
    number = int(text) if len(text) < 24 else _INT64_END
    return number if -_INT64_END <= number < _INT64_END else _keep_large_number(text)


def _parse_float(text: str) -> Any:
    number = float(text)
    return number if isfinite(number) else _keep_large_number(text)


def _keep_large_number(text: str) -> dict[str, str]:
    if len(text) > _MAX_DIGITS:
        raise _NotRepresentableError(message("the number {number} is too large", number=text[:24]))
    return {_LARGE_NUMBER: text}


def _refuse_constant(text: str) -> Any:
    raise _NotRepresentableError(message("{number} is not a number of JSON", number=text))


def _replace_large_numbers(value: Any, numbers: list[str]) -> Any:
    """Copy a value with a placeholder for each large number, whose digits are added to the list."""
    if is_large_number(value):
        numbers.append(value[_LARGE_NUMBER])
        return _PLACEHOLDER
    if isinstance(value, Mapping):
        return {name: _replace_large_numbers(one, numbers) for name, one in value.items()}
    return [_replace_large_numbers(one, numbers) for one in value] if isinstance(value, list | tuple) else value


def _list_children(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
