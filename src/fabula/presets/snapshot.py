"""From rows to a snapshot: the active preset, if there is one."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Row

from fabula.context.recipes import Node, Preset
from fabula.presets.tables import presets
from fabula.store.transaction import Reading


def load(reading: Reading, before: Preset | None = None) -> Preset | None:
    """The active preset as it stands; the very one before where it reads the same."""
    rows = reading.rows(presets, presets.c.active == 1, order=(presets.c.id,), limit=1)
    if not rows:
        return None
    preset = preset_of(rows[0])
    return before if before == preset else preset


def preset_of(row: Row[Any]) -> Preset:
    """One preset."""
    return Preset(id=row.id, title=row.name, nodes=msgspec.convert(row.nodes, tuple[Node, ...]))
