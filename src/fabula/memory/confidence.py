"""The confidence of a memory, computed from its evidence and its age (mem-1).

A stated memory has a fixed confidence. The confidence of a learnt memory rises with each outcome that
supports it, and falls twice as fast with each outcome against it. It stays below a maximum and halves every
180 days without new evidence. A confirmation counts as six outcomes and makes the decay four times slower.
Below the minimum a learnt memory stays stored and enters no prompt.

All functions depend only on their arguments; the current day is one of them.
"""

from __future__ import annotations

from datetime import datetime

from fabula.memory.model import MemoryItem, MemoryOrigin, MemoryState

STATED_CONFIDENCE = 0.95
MAX_LEARNED_CONFIDENCE = 0.9
PRIOR_DOUBT = 2  # in outcomes; evidence has to outweigh it
OBJECTION_WEIGHT = 2  # outcomes that one outcome against the memory cancels
CONFIRMATION_WEIGHT = 6  # in outcomes
HALF_LIFE_DAYS = 180.0
CONFIRMED_FACTOR = 4  # the half-life of a confirmed memory is so many times longer
MIN_CONFIDENCE = 0.2  # of a learnt memory in a prompt


def compute_strength(votes_for: int, votes_against: int, *, confirmed: bool = False) -> float:
    """Return the confidence that evidence gives before any decay."""
    weight = max(votes_for, 0) + (CONFIRMATION_WEIGHT if confirmed else 0)
    return MAX_LEARNED_CONFIDENCE * weight / (weight + OBJECTION_WEIGHT * max(votes_against, 0) + PRIOR_DOUBT)


def apply_decay(value: float, days: float, *, confirmed: bool = False) -> float:
    """Return the confidence after some days without new evidence."""
    half_life = HALF_LIFE_DAYS * (CONFIRMED_FACTOR if confirmed else 1)
    return float(value * 0.5 ** (max(days, 0.0) / half_life))


def count_days(earlier: str, later: str) -> float:
    """Return the days between two timestamps; 0 if one of them is not a timestamp."""
    try:
        passed = datetime.fromisoformat(later[:10]) - datetime.fromisoformat(earlier[:10])
    except ValueError:
        return 0.0
    return float(max(passed.days, 0))


def compute_confidence(memory: MemoryItem, today: str) -> float:
    """Return the confidence of a memory on a day; a stated memory does not decay."""
    if memory.origin is MemoryOrigin.STATED:
        return memory.confidence
    confirmed = memory.state is MemoryState.CONFIRMED
    value = compute_strength(memory.votes_for, memory.votes_against, confirmed=confirmed)
    days = count_days(memory.last_vote_at or memory.created_at, today)
    return round(apply_decay(value, days, confirmed=confirmed), 4)
