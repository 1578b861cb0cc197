"""Examples of answers in the description: what a real server answered to the examples of requests.

`answer_examples.json` has one for each type of answer, one for each event of a stream, some refusals by their code, and
those of the addresses that have no type, by the name of the operation. `FABULA_GOLDEN=write` writes what is missing or
no longer fits when the tests run (`tests/server/test_examples.py`). The file is read when the description is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fabula.server.requests import EVENTS

EXAMPLES_FILE = Path(__file__).with_name("answer_examples.json")
OPENAI_REFUSAL = "openai.refusal"  # the name of the example of a refusal in OpenAI's form
_REF = "#/components/examples/{name}"


def load_answer_examples() -> dict[str, Any]:
    """Return the examples by name."""
    examples: dict[str, Any] = msgspec.json.decode(EXAMPLES_FILE.read_bytes())
    return examples


def list_refusals(examples: Mapping[str, Any]) -> list[str]:
    """Return the names of the examples that are refusals: their codes."""
    return [name for name in examples if name.isupper()]


def refer_to_examples(names: list[str]) -> dict[str, Any]:
    """Return the part of a description that refers to examples; nothing where there is none."""
    return {"examples": {name: {"$ref": _REF.format(name=name)} for name in names}} if names else {}


def add_answer_examples(paths: Mapping[str, Mapping[str, Any]], examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operations of paths with the examples of their answers; a file that is downloaded has none."""
    return {
        path: {method: _add_to_operation(operation, examples) for method, operation in operations.items()}
        for path, operations in paths.items()
    }


def _add_to_operation(operation: Mapping[str, Any], examples: Mapping[str, Any]) -> dict[str, Any]:
    responses = {}
    for status, response in operation["responses"].items():
        content = response.get("content", {}) if status.isdecimal() else {}
        described = {
            media_type: {**one, **refer_to_examples(_find_names(operation, media_type, one["schema"], examples))}
            for media_type, one in content.items()
        }
        responses[status] = {**response, "content": described} if described else response
    return {**operation, "responses": responses}


def _find_names(
    operation: Mapping[str, Any], media_type: str, schema: Mapping[str, Any], examples: Mapping[str, Any]
) -> list[str]:
    """Return the names of the examples of an answer: of its types, or of the operation where it has none."""
    data = schema.get("properties", {}).get("data", {}) if media_type == EVENTS else {}
    typed = [name for name in _list_types(data.get("contentSchema", schema)) if name in examples]
    own = name_example(operation["operationId"], media_type)
    return typed or ([own] if own in examples else [])


def name_example(operation: str, media_type: str) -> str:
    """Return the name of the example of an answer without a type."""
    return f"{operation}.event" if media_type == EVENTS else operation


def _list_types(schema: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"].rpartition("/")[2]
    for one in schema.get("anyOf", ()):
        yield from _list_types(one)
