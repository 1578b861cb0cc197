"""What was worked out, remembered within a bound: for a text by the text itself, for other things by a key.

Two generations are kept, so that memory has a bound: when the younger one is full, the older one goes. What is
asked for again moves to the younger generation and so stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class Generations(Generic[K, T]):
    """Answers by key. Look into `young` first, then ask for `older`, and keep what was found or worked out."""

    __slots__ = ("_held", "_most", "_old", "young")

    def __init__(self, characters: int) -> None:
        """`characters` of text are kept in a generation."""
        self.young: dict[K, T] = {}
        self._old: dict[K, T] = {}
        self._held = 0
        self._most = characters

    def older(self, key: K) -> T | None:
        """What the older generation knows."""
        return self._old.get(key)

    def keep(self, key: K, answer: T, characters: int) -> None:
        """Put an answer, made for so many characters of text, into the younger generation."""
        self._held += characters
        if self._held > self._most:
            self._old, self.young, self._held = self.young, {}, characters
        self.young[key] = answer


class Remembered(Generations[str, T]):
    """Answers by text. Look into `young` first; `find` looks further, and works out what nobody knows."""

    __slots__ = ()

    def find(self, text: str, work_out: Callable[[str], T]) -> T:
        """The answer for a text that is not in the younger generation."""
        known = self._old.get(text)
        if known is None:
            known = work_out(text)
        self.keep(text, known, len(text))
        return known
