"""How sure we are of a memory: rules, not feelings.

What somebody said is sure, and stays so. What was learnt is as sure as its evidence: it grows with every
outcome that speaks for it, falls twice as fast with every one against, never passes a cap, and fades by
half in half a year without new evidence. Saying yes to it counts as much as six outcomes and makes it fade
four times as slowly. Below a floor it rests: it is kept, and enters no prompt.

Everything here is a function of its arguments; nobody asks what day it is.
"""

from __future__ import annotations

from datetime import datetime

from fabula.memory.model import Origin, Remembered, State

SURE = 0.95  # said by somebody
CAP = 0.9  # learnt
DOUBT = 2  # outcomes' worth of doubt that evidence has to overcome
OBJECTION = 2  # how many agreeing outcomes one against it undoes
YES = 6  # outcomes' worth of a person's yes
HALF_LIFE = 180.0  # days
SLOWER = 4  # by so much a confirmed one fades more slowly
RESTS = 0.2


def strength(agreeing: int, against: int, *, confirmed: bool = False) -> float:
    """What evidence is worth on the day it came: from 0 up to the cap."""
    weight = max(agreeing, 0) + (YES if confirmed else 0)
    return CAP * weight / (weight + OBJECTION * max(against, 0) + DOUBT)


def faded(value: float, days: float, *, confirmed: bool = False) -> float:
    """What is left of it after so many days without new evidence."""
    half_life = HALF_LIFE * (SLOWER if confirmed else 1)
    return float(value * 0.5 ** (max(days, 0.0) / half_life))


def days_between(earlier: str, later: str) -> float:
    """Days from one moment to another, both as the store writes them; 0 where one of them is none."""
    try:
        passed = datetime.fromisoformat(later[:10]) - datetime.fromisoformat(earlier[:10])
    except ValueError:
        return 0.0
    return float(max(passed.days, 0))


def confidence(memory: Remembered, today: str) -> float:
    """How sure we are of a memory on a day; what was said does not fade."""
    if memory.origin is Origin.SAID:
        return memory.confidence
    confirmed = memory.state is State.CONFIRMED
    value = strength(memory.agreeing, memory.against, confirmed=confirmed)
    return round(faded(value, days_between(memory.seen or memory.made, today), confirmed=confirmed), 4)
