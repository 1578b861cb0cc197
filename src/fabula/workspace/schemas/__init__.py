"""Schemas: every request and answer at the edges, described once.

`--json` of the command line, the HTTP API and its description, the MCP tools and the page's types come from these
Structs. Names are camelCase on the wire; an unknown field is refused.
"""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.workspace.schemas.schema import Schema, decode, describe, encode

__all__ = ["Schema", "decode", "describe", "encode"]

__getattr__ = import_lazily(
    __name__,
    {
        "Schema": "fabula.workspace.schemas.schema",
        "decode": "fabula.workspace.schemas.schema",
        "describe": "fabula.workspace.schemas.schema",
        "encode": "fabula.workspace.schemas.schema",
    },
)
