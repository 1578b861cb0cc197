"""Memory: preferences, episodes, style samples, working memory and the writer's profile (mem-1…5)."""

from fabula.memory.model import Decision, Memory, MemoryItem, MemoryKind, MemoryScope, MemoryState, SuggestionOutcome
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY, WorkingMemory

__all__ = [
    "EMPTY_WORKING_MEMORY",
    "Decision",
    "Memory",
    "MemoryItem",
    "MemoryKind",
    "MemoryScope",
    "MemoryState",
    "SuggestionOutcome",
    "WorkingMemory",
]
