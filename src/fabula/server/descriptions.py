"""Descriptions for clients of the HTTP API, made of the docstrings of verbs and schemas.

A docstring is for readers of the Python: it says None, names fields in snake_case and refers to requirements. A client
reads JSON, so its description says null, names fields as they are on the wire and refers to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from fabula.workspace.arguments import to_camel

_REQUIREMENTS = re.compile(r"\s*\([a-z]{3}-\d+(?:, [a-z]{3}-\d+)*\)")
_VALUES = {"None": "null", "True": "true", "False": "false"}
_VALUE = re.compile(rf"\b(?:{'|'.join(_VALUES)})\b")
_FIELD = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")
_BREAK = re.compile(r"\s*\n\s*\n\s*")


def describe_for_clients(text: str, wire_names: Collection[str] = ()) -> str:
    """Return a docstring in the words of JSON; `wire_names` are the fields that have an underscore there too."""

    def rename(field: re.Match[str]) -> str:
        return field[0] if field[1] in wire_names else f"`{to_camel(field[1])}`"

    paragraphs = _BREAK.split(_REQUIREMENTS.sub("", text).strip())
    plain = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    return _FIELD.sub(rename, _VALUE.sub(lambda value: _VALUES[value[0]], plain))


def describe_document(document: Any, wire_names: Collection[str]) -> Any:
    """Return an OpenAPI document whose summaries and descriptions are for clients."""
    if isinstance(document, Mapping):
        return {
            name: describe_for_clients(value, wire_names)
            if name in ("description", "summary") and isinstance(value, str)
            else describe_document(value, wire_names)
            for name, value in document.items()
        }
    return [describe_document(one, wire_names) for one in document] if isinstance(document, list) else document


def name_type(schema: Mapping[str, Any]) -> str:
    """Return the type of a field in words, by its JSON Schema."""
    if "anyOf" in schema:
        return " or ".join(name_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(str(one) for one in schema["enum"])
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if schema.get("type") == "array":
        of_one_type = schema.get("items") or {}  # false where each item has a type of its own
        return f"list of {name_type(of_one_type)}"
    return str(schema.get("type", "anything"))
