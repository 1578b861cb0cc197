"""Structured answers of models: JSON schemas, and parsing of the JSON object within an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def parse_rows(answer: str, name: str) -> list[dict[str, Any]] | None:
    """Parse the list of this name in the JSON object of an answer; None where there is none."""
    start, end = answer.find("{"), answer.rfind("}")
    if not 0 <= start < end:
        return None
    try:
        data = msgspec.json.decode(answer[start : end + 1].encode())
        return msgspec.convert(data, dict[str, list[dict[str, Any]]])[name]
    except (msgspec.MsgspecError, KeyError, RecursionError, UnicodeEncodeError):
        return None


def make_list_schema(name: str, fields: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Make the schema of an object with one list of rows, which have all of these fields."""
    row = {"type": "object", "additionalProperties": False, "required": list(fields), "properties": dict(fields)}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name],
        "properties": {name: {"type": "array", "items": row}},
    }


STRING: Mapping[str, Any] = {"type": "string"}
STRINGS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
