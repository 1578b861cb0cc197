"""A cache bounded by the amount of text behind its values, with two generations.

New values go into the recent generation. When that is full it becomes the older generation, and the previous older
one is dropped. A value that is asked for again moves back to the recent generation, so frequently used values stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class BoundedCache(Generic[K, T]):
    """Values by key. Callers look into `recent` first, then at `get_older`, and `store` what they found or made."""

    __slots__ = ("_characters", "_limit", "_older", "recent")

    def __init__(self, characters: int) -> None:
        """`characters` of text fit into one generation."""
        self.recent: dict[K, T] = {}
        self._older: dict[K, T] = {}
        self._characters = 0
        self._limit = characters

    def get_older(self, key: K) -> T | None:
        """The value of a key in the older generation."""
        return self._older.get(key)

    def store(self, key: K, value: T, characters: int) -> None:
        """Put a value, made from so many characters of text, into the recent generation."""
        self._characters += characters
        if self._characters > self._limit:
            self._older, self.recent, self._characters = self.recent, {}, characters
        self.recent[key] = value

    def clear(self) -> None:
        """Drop the values of both generations."""
        self.recent, self._older, self._characters = {}, {}, 0


class BoundedTextCache(BoundedCache[str, T]):
    """Values by text. Callers look into `recent` first and call `get_or_compute` on a miss."""

    __slots__ = ()

    def get_or_compute(self, text: str, compute: Callable[[str], T]) -> T:
        """The value for a text that is not in the recent generation."""
        value = self._older.get(text)
        if value is None:
            value = compute(text)
        self.store(text, value, len(text))
        return value
