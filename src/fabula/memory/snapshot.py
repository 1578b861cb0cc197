"""From rows to a snapshot: what the project remembers, then what is known of the person, as one memory.

The reading is bound to both. Only what is confirmed is read, and of what was learnt only what does not rest.
Where both use one id, the project's is meant.
"""

from __future__ import annotations

from collections.abc import Set

from fabula.context.recipes import UserProfile
from fabula.core.view import Project
from fabula.memory.confidence import RESTS
from fabula.memory.model import Kind, Memory, Note, Origin, Preference, Remembered, Scope, State
from fabula.memory.rows import memory_of
from fabula.memory.tables import memories, profiles, user_memories
from fabula.store.transaction import Reading


def load(reading: Reading, project: Project, before: Memory | None = None, moved: Set[str] | None = None) -> Memory:
    """What is remembered as it stands; the snapshot before where nothing that enters a prompt changed."""
    alike = before is not None and before.language == project.language
    if before is not None and alike and moved is not None and not moved:
        return before
    found: dict[str, tuple[Scope, Remembered]] = {}
    for scope, table in ((Scope.PROJECT, memories), (Scope.USER, user_memories)):
        where = table.c.state == State.CONFIRMED.value
        for row in reading.rows(table, where, order=(table.c.made, table.c.id)):
            found.setdefault(row.id, (scope, memory_of(row)))
    notes: dict[Kind, list[Note]] = {kind: [] for kind in Kind}
    preferences = []
    for scope, one in found.values():
        if one.origin is Origin.LEARNED and one.confidence < RESTS:
            continue
        if one.kind is Kind.PREFERENCE:
            preferences.append(Preference(one.id, one.text, one.confidence, one.since, scope, _because(one)))
        else:
            notes[one.kind].append(Note(one.id, one.text, one.since))
    memory = Memory(
        project.id,
        language=project.language,
        preferences=preferences,
        style_samples=notes[Kind.STYLE_SAMPLE],
        episodes=notes[Kind.EPISODE],
        recent=notes[Kind.WORKING],
    )
    return before if before is not None and alike and before.same(memory) else memory


def load_profile(reading: Reading) -> UserProfile | None:
    """What the person says of themselves, where they said anything."""
    row = reading.row(profiles)
    return UserProfile(row.text) if row is not None and row.text.strip() else None


def _because(memory: Remembered) -> str:
    if memory.origin is Origin.SAID:
        return ""
    return f"you confirmed it; learnt from {memory.agreeing} of your changes, {memory.against} speak against it"
