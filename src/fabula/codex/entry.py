"""Data types of the codex: entries, levels, relations, progressions and pins (cdx-1, cdx-2).

An entry describes one person, place, thing, event or piece of lore. Its level says when it may enter a prompt.
A progression adds what becomes true of the entry at a position of the story. A pin includes or excludes an entry
in one document or conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from fabula.core.story import Position
from fabula.text.names.matcher import NameRules


class Level(StrEnum):
    """When an entry may enter a prompt (`aiContextLevel`)."""

    ALWAYS = "always"
    WHEN_DETECTED = "when_detected"
    MANUAL = "manual"
    NEVER = "never"


class Progression(Struct, frozen=True, gc=False):
    """What is true of an entry from a position of the story on, including the names it gets there."""

    text: str
    since: Position
    known_to: frozenset[str] | None = None
    aliases: tuple[str, ...] = ()


class Relation(Struct, frozen=True, gc=False):
    """A relation from one entry to another, such as `sister`: from when until when it holds, and who may know it."""

    to: str
    kind: str
    since: Position | None = None
    until: Position | None = None
    known_to: frozenset[str] | None = None

    @property
    def is_limited(self) -> bool:
        """Whether it does not hold in the whole story, or not everybody may know it."""
        return self.since is not None or self.until is not None or self.known_to is not None


class PinMode(StrEnum):
    """Whether a pin includes or excludes its entry."""

    INCLUDE = "include"
    EXCLUDE = "exclude"


Pins = Mapping[str, Mapping[str, PinMode]]  # document or conversation id -> entry id -> mode
Knowledge = Mapping[str, Mapping[str, Position | None]]  # fact -> character id -> since when (None: always)


class Entry(Struct, frozen=True, kw_only=True, gc=False):
    """One person, place, thing, event or piece of lore. `notes` are private and never sent to a model."""

    id: str
    type: str
    name: str
    aliases: tuple[str, ...] = ()
    level: Level = Level.WHEN_DETECTED
    description: str = ""
    details: Mapping[str, str] = {}
    tags: tuple[str, ...] = ()
    notes: str = ""
    relations: tuple[Relation, ...] = ()
    known_to: frozenset[str] | None = None
    since: Position | None = None
    progressions: tuple[Progression, ...] = ()
    rules: NameRules = NameRules()  # how its names are matched in text

    @property
    def names(self) -> tuple[str, ...]:
        """Every name the entry has at any time of the story, its main name first."""
        later = (alias for step in self.progressions for alias in step.aliases)
        return tuple(dict.fromkeys((self.name, *self.aliases, *later)))

    @property
    def source(self) -> str:
        """The source of its fragments."""
        return f"codex:entity:{self.id}"
