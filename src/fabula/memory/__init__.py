"""Memory: preferences, episodes, style samples, working memory and the writer's profile (mem-1…5)."""

from fabula.memory.model import Decision, Memory, MemoryItem, MemoryKind, MemoryScope, MemoryState, SuggestionOutcome

__all__ = ["Decision", "Memory", "MemoryItem", "MemoryKind", "MemoryScope", "MemoryState", "SuggestionOutcome"]
