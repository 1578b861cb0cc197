"""Write the JSON Schema of every request and answer: `python -m fabula.workspace.schemas.json_schema > FILE`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import msgspec

from fabula.workspace import schemas
from fabula.workspace.schemas.schema import Schema


def all_schemas() -> list[type[Schema]]:
    """Return every schema of this package, by name."""
    for module in iter_modules(schemas.__path__, f"{schemas.__name__}."):
        if module.name != __name__:
            import_module(module.name)
    return sorted(set(_subclasses(Schema)), key=lambda kind: kind.__name__)


def make_json_schema() -> str:
    """Return one JSON Schema document with a definition for each schema."""
    _, definitions = msgspec.json.schema_components(all_schemas(), ref_template="#/$defs/{name}")
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Requests and answers of Fabula",
        "$defs": dict(sorted(definitions.items())),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _subclasses(kind: type[Schema]) -> Iterator[type[Schema]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


if __name__ == "__main__":
    print(make_json_schema(), end="")
