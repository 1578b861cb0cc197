"""Where random numbers come from: always given, never fetched."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from random import Random
from typing import Protocol


class Chance(Protocol):
    """Numbers from 0 up to, but not including, 1."""

    def random(self) -> float: ...


class Queue:
    """Given numbers in their order, then the same one for ever."""

    def __init__(self, numbers: Iterable[float] = (), then: float = 0.5) -> None:
        self._numbers = deque(numbers)
        self._then = then

    def random(self) -> float:
        """The next number."""
        return self._numbers.popleft() if self._numbers else self._then


def seeded(*parts: object) -> Chance:
    """Numbers that are the same whenever the parts (a conversation, a message …) are the same."""
    return Random("\x1f".join(map(str, parts)))
