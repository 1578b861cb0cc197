"""The form of every schema, how a value is described by one, and how one is encoded and decoded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import msgspec

from fabula.core.decoding import explain_decode_error, explain_syntax_error
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import ENGLISH, Sentence, message, show

T = TypeVar("T", bound=msgspec.Struct)
MAX_DEPTH = 64  # of JSON that comes from outside


class Schema(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A request or an answer at the edge of the program."""


def describe(kind: type[T], value: object, language: str = ENGLISH, /, **others: object) -> T:
    """Describe a value by a schema: each field is in `others`, or is the attribute of that name.

    Messages are put into the language, and sets are sorted.
    """
    fields = {name: getattr(value, name) for name in kind.__struct_fields__ if hasattr(value, name)} | others
    shown = {name: _show(field, language) for name, field in fields.items() if field is not msgspec.UNSET}
    return msgspec.convert(SimpleNamespace(**shown), kind, from_attributes=True)


def encode(value: object) -> bytes:
    """Encode a schema, or a list of them, as readable JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def decode(data: bytes | str, kind: type[T], *, what: Sentence) -> T:
    """Decode JSON; an unknown field is refused with the nearest right one. `what` names it in the refusal."""
    try:
        found = msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        if "truncated" in str(error) and _has_half_pair(data):  # which msgspec takes for an end that is missing
            problem = message("it has half of a surrogate pair, such as `\\ud83d` without the other half")
            raise FabulaError(
                Code.REQUEST_INVALID, message("The {what} could not be read: {problem}.", what=what, problem=problem)
            ) from error
        raise refuse_data(error, kind, what=what) from error
    check_depth(data, found, what=what)
    return found


def _has_half_pair(data: bytes | str) -> bool:
    """Whether JSON is complete and has half of a surrogate pair."""
    try:
        json.dumps(json.loads(data), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except ValueError:
        return False
    return False


def check_depth(data: bytes | str, found: object, *, what: Sentence) -> None:
    """Refuse JSON that is nested so deeply that no function could follow it; `found` is what it was decoded to."""
    opening = data.count(b"{") + data.count(b"[") if isinstance(data, bytes) else data.count("{") + data.count("[")
    level: list[object] = [found] if opening > MAX_DEPTH else []
    for _ in range(MAX_DEPTH):
        level = [part for one in level for part in _list_parts(one)]
        if not level:
            return
    raise FabulaError(
        Code.REQUEST_INVALID,
        message("The {what} is nested deeper than {depth} levels. Nothing was changed.", what=what, depth=MAX_DEPTH),
    )


def _list_parts(value: object) -> Iterable[object]:
    """The parts of a value that have parts themselves."""
    if isinstance(value, msgspec.Struct):
        parts: Iterable[object] = (getattr(value, name) for name in value.__struct_fields__)
    elif isinstance(value, Mapping):
        parts = value.values()
    else:
        parts = cast("Iterable[object]", value)
    return (one for one in parts if isinstance(one, msgspec.Struct | Mapping | list | tuple))


def refuse_data(error: Exception, kind: Any, *, what: Sentence) -> FabulaError:
    """Return the refusal of data that could not be read as a type."""
    is_value = isinstance(error, msgspec.MsgspecError)
    problem = explain_decode_error(error, kind) if is_value else explain_syntax_error(error)
    return FabulaError(
        Code.REQUEST_INVALID, message("The {what} could not be read: {problem}.", what=what, problem=problem)
    )


def _show(value: Any, language: str) -> Any:
    if isinstance(value, frozenset):
        return tuple(sorted(value))
    if isinstance(value, list | tuple):
        return tuple(_show(item, language) for item in value)
    if isinstance(value, dict):
        return {name: _show(item, language) for name, item in value.items()}
    return show(value, language)
