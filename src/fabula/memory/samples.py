"""Style samples: passages of the writer's own prose, chosen as examples (man-5).

A sample is a copy with its position in the manuscript: no prompt contains it before the story has reached its
end. A prompt contains a few samples. If there are more, those are chosen whose share of dialogue fits the scene.
"""

from __future__ import annotations

from fabula.core.messages import message
from fabula.core.story import Position
from fabula.memory.edits import remember
from fabula.memory.model import MemoryItem, MemoryKind, MemoryScope, refuse
from fabula.store.transaction import WriteTransaction

MIN_CHARS, MAX_CHARS = 20, 1_200


def add_style_sample(
    tx: WriteTransaction, text: str, *, end: Position | None = None, scope: MemoryScope = MemoryScope.PROJECT
) -> MemoryItem:
    """Add a passage as an example of the writer's style; `end` is where it ends in the manuscript."""
    text = text.strip()
    if not MIN_CHARS <= len(text) <= MAX_CHARS:
        raise refuse(
            message(
                "A style sample has {minimum} to {maximum:,} characters, and this one has {length:,}. Choose a "
                "passage of a paragraph or two.",
                minimum=MIN_CHARS,
                maximum=MAX_CHARS,
                length=len(text),
            )
        )
    return remember(tx, text, kind=MemoryKind.STYLE_SAMPLE, scope=scope, since=end)


def find_passage(text: str, first: str, last: str) -> tuple[int, int]:
    """Return the range of the passage that begins and ends with these words; the beginning must be unique."""
    start = text.find(first)
    end = text.find(last, max(start, 0)) + len(last)
    if not first.strip() or text.count(first) != 1 or end < len(last) or end <= start:
        raise refuse(
            message(
                "This document has no single passage from {first!r} to {last!r}. Copy the words exactly, and enough of "
                "them that they occur once.",
                first=first,
                last=last,
            )
        )
    return start, end
