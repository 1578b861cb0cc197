"""Explain why values could not be read, with the nearest right name or value, for people (ctx-14).

The texts of msgspec name types and paths of the program. Every edge (options, JSON, settings, files) shows the
sentences of this module in their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError
from typing import Any

import msgspec

from fabula.core.messages import Sentence, join_alternatives, join_names, message
from fabula.core.similar_names import find_similar_names

_LINE = re.compile(r"line (\d+),? column (\d+)")
_BYTE = re.compile(r"\(byte (\d+)\)")
_UNKNOWN_FIELD = re.compile(r"unknown field `(.+?)`")
_MISSING_FIELD = re.compile(r"missing required field `(.+?)`")
_VALUE = re.compile(r"Invalid (?:enum )?value (.+?)(?: - at |$)")
_BOUND = re.compile(r"Expected `(\w+)`( of length)? (>=|<=|>|<|==) (\S+?)(?: - at |$)")
_TYPE = re.compile(r"Expected `(.+?)`(?:, got `(.+?)`)?")
_FIELD = re.compile(r"`\$(.*?)`")
_TYPES = {
    "int": message("a whole number"),
    "float": message("a number"),
    "str": message("a text"),
    "bool": message("true or false"),
    "array": message("a list"),
    "object": message("a table of names and values"),
    "null": message("nothing"),
}
_MAX_LISTED = 12  # fields that a refusal lists


def explain_decode_error(error: Exception, kind: Any) -> Sentence:
    """What msgspec found wrong with values of a type, as a sentence without a full stop."""
    text = str(error)
    path = _FIELD.search(text)
    dotted = re.sub(r"\[\.*\d*\]", "", path[1]).strip(".") if path is not None else ""
    field = message("`{name}`", name=dotted) if dotted else message("the value")
    if found := _UNKNOWN_FIELD.search(text):
        near = find_similar_names(found[1], sorted(set(_field_names(_inspect(kind)))), most=1)
        if near:
            return message("there is no {name!r}; the nearest is {near!r}", name=found[1], near=near[0])
        if dotted:
            return message("there is no {name!r} in {field}", name=found[1], field=field)
        info = _inspect(kind)
        known = [one.encode_name for one in info.fields] if isinstance(info, msgspec.inspect.StructType) else []
        if 0 < len(known) <= _MAX_LISTED:
            return message("there is no {name!r}; there are {known}", name=found[1], known=join_names(known))
        return message("there is no {name!r}", name=found[1])
    if found := _MISSING_FIELD.search(text):
        return message("`{name}` is missing", name=found[1])
    if found := _VALUE.search(text):
        return _explain_value(
            field,
            found[1].strip("'\""),
            sorted(set(_allowed_values(_inspect(kind), dotted.split(".") if dotted else []))),
        )
    if found := _BOUND.search(text):
        return _explain_bound(field, bool(found[2]), found[3], found[4])
    if "out of range" in text:
        return message("{field} is a number that is too large", field=field)
    if (found := _TYPE.search(text)) and "regex" not in text:
        expected = [_TYPES.get(one.strip(), one.strip()) for one in found[1].split("|")]
        return message("{field} must be {expected}", field=field, expected=join_alternatives(expected))
    if "regex" in text:
        return message("{field} has a line break or a character that it may not have, or is empty", field=field)
    return explain_syntax_error(error)


def explain_syntax_error(error: Exception) -> Sentence:
    """What a parser of JSON or TOML found wrong with a text, as a sentence without a full stop."""
    text = str(error)
    if isinstance(error, RecursionError):
        return message("it is nested too deeply")
    if isinstance(error, UnicodeError):
        return message("it is not UTF-8 text")
    if "truncated" in text or "end of document" in text or (isinstance(error, JSONDecodeError) and _is_at_end(error)):
        return message("it ends too early")
    if found := _LINE.search(text):
        return message("something is wrong at line {line}, column {column}", line=found[1], column=found[2])
    if found := _BYTE.search(text):
        return message("something is wrong at byte {number}", number=int(found[1]) + 1)
    return message("it cannot be read")


def _is_at_end(error: JSONDecodeError) -> bool:
    return error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")


def _explain_value(field: Sentence, value: str, allowed: list[str]) -> Sentence:
    near = find_similar_names(value, allowed, most=1)
    if near:
        return message("{field} cannot be {value!r}; the nearest is {near!r}", field=field, value=value, near=near[0])
    if not allowed:
        return message("{field} cannot be {value!r}", field=field, value=value)
    values = join_alternatives(allowed)
    return message("{field} cannot be {value!r}; write {values}", field=field, value=value, values=values)


def _explain_bound(field: Sentence, is_length: bool, sign: str, bound: str) -> Sentence:
    if is_length and sign in ("<=", "<"):
        return message("{field} is longer than {bound}", field=field, bound=bound)
    if is_length:
        return message("{field} is shorter than {bound}", field=field, bound=bound)
    if sign in ("<=", "<"):
        return message("{field} must be at most {bound}", field=field, bound=bound)
    return message("{field} must be at least {bound}", field=field, bound=bound)


def _inspect(kind: Any) -> Any:
    return msgspec.inspect.type_info(kind)


def _allowed_values(info: Any, path: list[str]) -> Iterator[str]:
    """The values that the field at a path of a type may have; lists and tables are no steps of the path."""
    if isinstance(info, msgspec.inspect.EnumType) and not path:
        yield from (str(one.value) for one in info.cls)
    elif isinstance(info, msgspec.inspect.LiteralType) and not path:
        yield from map(str, info.values)
    elif isinstance(info, msgspec.inspect.StructType) and path:
        if [info.tag_field] == path and isinstance(info.tag, str):
            yield info.tag
        for field in info.fields:
            if field.encode_name == path[0]:
                yield from _allowed_values(field.type, path[1:])
    elif isinstance(info, msgspec.inspect.UnionType):
        for one in info.types:
            yield from _allowed_values(one, path)
    elif isinstance(info, msgspec.inspect.CollectionType | msgspec.inspect.VarTupleType):
        yield from _allowed_values(info.item_type, path)
    elif isinstance(info, msgspec.inspect.DictType):
        yield from _allowed_values(info.key_type, path)
        yield from _allowed_values(info.value_type, path)


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
