"""Explain why JSON could not be decoded, with the nearest right name for an unknown field (ctx-14)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from fabula.core.messages import Sentence, message

_UNKNOWN_FIELD = re.compile(r"unknown field `(.+?)`")


def explain_decode_error(error: Exception, kind: Any) -> Sentence:
    """What msgspec found wrong with JSON for a type, as one or two sentences."""
    from difflib import get_close_matches

    unknown = _UNKNOWN_FIELD.search(str(error))
    names = set(_field_names(msgspec.inspect.type_info(kind))) if unknown else set()
    near = get_close_matches(unknown[1], sorted(names), n=1) if unknown else []
    if near:
        return message("{error}. Did you mean {name!r}?", error=error, name=near[0])
    return message("{error}.", error=error)


def _field_names(info: Any, seen: frozenset[type] = frozenset()) -> Iterator[str]:
    """The names of all fields of a type as they are encoded, those of nested types included."""
    if isinstance(info, msgspec.inspect.StructType):
        if info.cls in seen:
            return
        seen |= {info.cls}
        for field in info.fields:
            yield field.encode_name
            yield from _field_names(field.type, seen)
    elif isinstance(info, msgspec.inspect.UnionType):
        for one in info.types:
            yield from _field_names(one, seen)
    elif isinstance(info, msgspec.inspect.CollectionType | msgspec.inspect.VarTupleType):
        yield from _field_names(info.item_type, seen)
    elif isinstance(info, msgspec.inspect.DictType):
        yield from _field_names(info.value_type, seen)
