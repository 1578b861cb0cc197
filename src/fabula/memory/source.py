"""What memory offers: preferences and style, episodes, the notes of this sitting."""

from __future__ import annotations

from collections.abc import Iterable

from fabula.context.request import Ask
from fabula.context.trace import Verdict
from fabula.core.errors import Code
from fabula.core.fragments import Fragment
from fabula.core.view import View
from fabula.memory.model import Memory


class MemorySource:
    """Everything remembered, the surest first."""

    name = "memory"
    failing = Code.MEMORY_UNAVAILABLE
    waits = False
    ahead = False

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """The snapshot's fragments, made once."""
        memory = view.room(Memory)
        return memory.fragments if memory is not None else ()

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """Everything remembered is offered."""
        return ()
