"""Style samples: passages of the writer's own prose, chosen as examples (man-5).

A sample is copied, with its place: it is not told before the story has come to its end. A few stand in a
prompt; where there are more, those that fit the scene (talk, or telling) do.
"""

from __future__ import annotations

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.memory import edits as service
from fabula.memory.model import Kind, Remembered, Scope
from fabula.store.transaction import Writing

SHORTEST, LONGEST = 20, 1_200  # characters


def add(tx: Writing, text: str, *, at: Position | None = None, scope: Scope = Scope.PROJECT) -> Remembered:
    """A passage as an example of how the writer writes; `at` is where it ends in the manuscript."""
    words = text.strip()
    if not SHORTEST <= len(words) <= LONGEST:
        raise FabulaError(
            Code.REQUEST_INVALID,
            f"A style sample has {SHORTEST} to {LONGEST:,} characters, and this has {len(words):,}. "
            "Choose a passage of a paragraph or two. Nothing was changed.",
        )
    return service.said(tx, words, kind=Kind.STYLE_SAMPLE, scope=scope, since=at)


def passage(text: str, first: str, last: str) -> tuple[int, int]:
    """Where a passage stands that begins and ends with these words; each must stand there once."""
    start = text.find(first)
    end = text.find(last, max(start, 0)) + len(last)
    if not first.strip() or text.count(first) != 1 or end < len(last) or end <= start:
        raise FabulaError(
            Code.REQUEST_INVALID,
            f"No one passage of this document goes from {first!r} to {last!r}. Copy the words as they stand, and "
            "enough of them to be there once. Nothing was changed.",
        )
    return start, end
