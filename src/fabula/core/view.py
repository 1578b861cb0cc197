"""A view: an immutable snapshot of everything known about one project.

A view holds one snapshot per material package, by its type. A newer view shares the snapshots
that did not change. This module imports no material package, and they do not import each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from msgspec import Struct, field

from fabula.core.story import Timeline

Language = Literal["en", "zh"]
T = TypeVar("T")


class Project(Struct, frozen=True, kw_only=True):
    """What every package needs to know about a project."""

    id: str
    title: str = ""
    language: Language = "en"
    identity: str | None = None  # None: the built-in one; blank: none at all


class View(Struct, frozen=True, weakref=True):
    """A project, the timeline of its story, and the snapshots of its material."""

    project: Project
    timeline: Timeline = field(default_factory=Timeline)
    snapshots: Mapping[type, Any] = field(default_factory=dict)

    def snapshot(self, kind: type[T]) -> T | None:
        """The snapshot of one type; None when the project has no such material."""
        snapshot: T | None = self.snapshots.get(kind)
        return snapshot
