"""Load the snapshot of memory: the confirmed memories of the project and of the user.

Learnt memories below the minimum confidence are left out. If the project and the user have a memory with
the same id, the project's is used.
"""

from __future__ import annotations

from fabula.context.recipes import UserProfile
from fabula.core.messages import Sentence, message
from fabula.core.view import Project
from fabula.memory.confidence import MIN_CONFIDENCE
from fabula.memory.edits import list_memories
from fabula.memory.model import (
    Memory,
    MemoryItem,
    MemoryKind,
    MemoryNote,
    MemoryOrigin,
    MemoryScope,
    MemoryState,
    Preference,
)
from fabula.memory.tables import profiles
from fabula.store.transaction import ReadTransaction


def load_memory(reading: ReadTransaction, project: Project, before: Memory | None = None) -> Memory:
    """Load the memory of a project and its user; return `before` if nothing that enters a prompt has changed."""
    previous = before if before is not None and before.language == project.language else None
    found: dict[str, tuple[MemoryScope, MemoryItem]] = {}
    for scope in MemoryScope:
        for item in list_memories(reading, scope=scope, state=MemoryState.CONFIRMED):
            found.setdefault(item.id, (scope, item))
    notes: dict[MemoryKind, list[MemoryNote]] = {kind: [] for kind in MemoryKind}
    preferences = []
    for scope, item in found.values():
        if item.origin is MemoryOrigin.LEARNED and item.confidence < MIN_CONFIDENCE:
            continue
        if item.kind is MemoryKind.PREFERENCE:
            preferences.append(Preference(item.id, item.text, item.confidence, item.since, scope, _explain(item)))
        else:
            notes[item.kind].append(MemoryNote(item.id, item.text, item.since))
    memory = Memory(
        project.id,
        language=project.language,
        preferences=preferences,
        style_samples=notes[MemoryKind.STYLE_SAMPLE],
        episodes=notes[MemoryKind.EPISODE],
        working_notes=notes[MemoryKind.WORKING],
    )
    return previous if previous is not None and previous.has_same_fragments(memory) else memory


def load_profile(reading: ReadTransaction) -> UserProfile | None:
    """Load the user's profile; None if it is empty (mem-5)."""
    row = reading.row(profiles)
    return UserProfile(row.text) if row is not None and row.text.strip() else None


def _explain(memory: MemoryItem) -> str | Sentence:
    if memory.origin is MemoryOrigin.STATED:
        return ""
    return message(
        "you confirmed it; {votes_for} of your changes speak for it, {votes_against} against it",
        votes_for=memory.votes_for,
        votes_against=memory.votes_against,
    )
