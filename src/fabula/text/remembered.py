"""What was worked out for a text, remembered by the text itself.

Two generations are kept, so that memory has a bound: when the younger one is full, the older one goes. What is
asked for again moves to the younger generation and so stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """Answers by text. Look into `young` first; `find` looks further, and works out what nobody knows."""

    __slots__ = ("_held", "_most", "_old", "young")

    def __init__(self, characters: int) -> None:
        """`characters` of text are kept in a generation."""
        self.young: dict[str, T] = {}
        self._old: dict[str, T] = {}
        self._held = 0
        self._most = characters

    def find(self, text: str, work_out: Callable[[str], T]) -> T:
        """The answer for a text that is not in the younger generation."""
        known = self._old.get(text)
        if known is None:
            known = work_out(text)
        self._held += len(text)
        if self._held > self._most:
            self._old, self.young, self._held = self.young, {}, len(text)
        self.young[text] = known
        return known
