"""The scores of retrieved fragments, all on one scale, so that an entry and a passage compare (bud-10).

A range is filled by nearness: to the cursor, in the story, or to the query.
"""

from __future__ import annotations

REQUESTED = 1.0  # pulled in by hand, or pinned
DETECTED = (0.8, 0.95)  # a name found around the cursor
RECAP = 0.75  # biography and recaps
SYNOPSIS = (0.6, 0.75)  # earlier chapters, by nearness in the story
FACT = (0.35, 0.65)  # what the book says of an entry in this scene, by the words it shares with the scene
PREVIOUSLY_INCLUDED = 0.55  # in the last prompt, not needed now: stays while it fits
PASSAGE = (0.3, 0.7)  # search results, by fused score
EARLIER_MESSAGE = (0.26, 0.3)  # earlier messages, by their time: where those that search found leave room
OPTIONAL_SYNOPSIS = 0.25  # earlier chapters beyond the share of synopses: only where room is left
EPISODE = (0.2, 0.5)  # past interactions

NEEDED = DETECTED[0]  # a fragment with this score or more is needed in this request


def score_in_range(scale: tuple[float, float], nearness: float) -> float:
    """The score inside a range for a nearness from 0 (far) to 1 (here)."""
    low, high = scale
    return low + (high - low) * min(max(nearness, 0.0), 1.0)
