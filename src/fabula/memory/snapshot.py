"""From rows to a snapshot: what the project remembers, then what is known of the person, as one memory.

The reading is bound to both. Only what is confirmed is read. Where both use one id, the project's is meant.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from sqlalchemy import Row

from fabula.context.recipes import UserProfile
from fabula.core.story import Position
from fabula.core.view import Project
from fabula.memory.model import Kind, Memory, Note, Preference, State
from fabula.memory.tables import memories, profiles, user_memories
from fabula.store.transaction import Reading


def load(reading: Reading, project: Project, before: Memory | None = None, moved: Set[str] | None = None) -> Memory:
    """What is remembered as it stands; the snapshot before where nothing that enters a prompt changed."""
    alike = before is not None and before.language == project.language
    if before is not None and alike and moved is not None and not moved:
        return before
    found: dict[str, Row[Any]] = {}
    for table in (memories, user_memories):
        where = table.c.state == State.CONFIRMED.value
        for row in reading.rows(table, where, order=(table.c.made, table.c.id)):
            found.setdefault(row.id, row)
    notes: dict[str, list[Note]] = {kind.value: [] for kind in Kind}
    preferences = []
    for row in found.values():
        if row.kind == Kind.PREFERENCE.value:
            preferences.append(Preference(row.id, row.text, row.confidence, _since(row)))
        else:
            notes[row.kind].append(Note(row.id, row.text, _since(row)))
    memory = Memory(
        project.id,
        language=project.language,
        preferences=preferences,
        style_samples=notes[Kind.STYLE_SAMPLE],
        episodes=notes[Kind.EPISODE],
        recent=notes[Kind.WORKING],
    )
    return before if before is not None and alike and before.fragments == memory.fragments else memory


def load_profile(reading: Reading) -> UserProfile | None:
    """What the person says of themselves, where they said anything."""
    row = reading.row(profiles)
    return UserProfile(row.text) if row is not None and row.text.strip() else None


def _since(row: Row[Any]) -> Position | None:
    return None if row.since_document is None else Position(row.since_document, row.since_offset or 0)
