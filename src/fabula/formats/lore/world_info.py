"""SillyTavern's world info: an object of entries, each with its uid.

Its field names are those our own model has, so the table is the model itself. The file says nothing about
how it is to be read: depth, budget and recursion are settings of whoever reads, and we take the ones
SillyTavern ships.
"""

from __future__ import annotations

from collections.abc import Mapping

from fabula.formats.lore.field_maps import Dialect, Field, Row
from fabula.lorebook.model import LoreEntry


def _recognises(raw: Row) -> bool:
    entries = raw.get("entries")
    return isinstance(entries, Mapping) or (
        isinstance(entries, list) and all(isinstance(row, Mapping) and "keys" not in row for row in entries)
    )


WORLD_INFO = Dialect(
    name="sillytavern",
    recognises=_recognises,
    entries="entries",
    fields=tuple(Field(name, name) for name in LoreEntry.__struct_encode_fields__ if name not in ("uid", "story")),
    uid="uid",
    strict=True,
)
