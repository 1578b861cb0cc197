"""One scale for retrieved things of every kind, so that an entry and a passage can be compared.

A range is filled by nearness: to the cursor, in the story, or to the question.
"""

from __future__ import annotations

PULLED_IN = 1.0  # asked for by hand, or pinned
DETECTED = (0.8, 0.95)  # a name found around the cursor
RECAP = 0.75  # biography and recaps
SYNOPSIS = (0.6, 0.75)  # earlier chapters, by nearness in the story
KEPT = 0.55  # told last time and not called for now: stays while there is room
PASSAGE = (0.3, 0.7)  # found by search, by fused score
EPISODE = (0.2, 0.5)  # past interactions

NEEDED = DETECTED[0]  # from here on a fragment is wanted now, not merely welcome


def within(scale: tuple[float, float], nearness: float) -> float:
    """A score inside a range, for a nearness from 0 (far) to 1 (here)."""
    low, high = scale
    return low + (high - low) * min(max(nearness, 0.0), 1.0)
