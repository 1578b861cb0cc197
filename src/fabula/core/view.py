"""A view: everything known about a project, as it stood at one moment.

A view is a set of snapshots, one a room, found by their type. It never changes; a newer one
shares what did not move. Rooms do not know each other, so nobody here imports any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from msgspec import Struct, field

from fabula.core.story import Timeline

Language = Literal["en", "zh"]
T = TypeVar("T")


class Project(Struct, frozen=True, kw_only=True):
    """What the whole house needs to know about a project."""

    id: str
    title: str = ""
    language: Language = "en"
    identity: str = ""


class View(Struct, frozen=True):
    """A project's snapshots, with the order of its story."""

    project: Project
    timeline: Timeline = field(default_factory=Timeline)
    rooms: Mapping[type, Any] = field(default_factory=dict)

    def room(self, kind: type[T]) -> T | None:
        """The snapshot of one room, or None when the project has nothing of it."""
        found: T | None = self.rooms.get(kind)
        return found
