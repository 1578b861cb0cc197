"""Answers that must have a shape: what is asked for, and reading it out of whatever words stand around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def rows_in(answer: str, name: str) -> list[dict[str, Any]] | None:
    """The list of that name in the JSON object of an answer; None where there is none that can be read."""
    first, last = answer.find("{"), answer.rfind("}")
    if not 0 <= first < last:
        return None
    try:
        data = msgspec.json.decode(answer[first : last + 1].encode())
        return msgspec.convert(data, dict[str, list[dict[str, Any]]])[name]
    except (msgspec.MsgspecError, KeyError, RecursionError, UnicodeEncodeError):
        return None


def list_of(name: str, fields: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The schema of an object that holds one list of rows with these fields, all of them needed."""
    row = {"type": "object", "additionalProperties": False, "required": list(fields), "properties": dict(fields)}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name],
        "properties": {name: {"type": "array", "items": row}},
    }


TEXT: Mapping[str, Any] = {"type": "string"}
TEXTS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
