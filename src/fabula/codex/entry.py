"""Entries and what is known of them: the nouns of the codex."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from fabula.core.story import Position
from fabula.text.names.matcher import Rules


class Level(StrEnum):
    """When an entry may enter a prompt."""

    ALWAYS = "always"
    WHEN_DETECTED = "when_detected"
    MANUAL = "manual"
    NEVER = "never"


class Progression(Struct, frozen=True):
    """What is true of an entry from some point of the story on, the names it gets there among it."""

    text: str
    since: Position
    known_to: frozenset[str] | None = None
    aliases: tuple[str, ...] = ()


class Relation(Struct, frozen=True):
    """How one entry stands to another."""

    to: str
    kind: str


class Wish(StrEnum):
    """What a pin asks for."""

    INCLUDE = "include"
    EXCLUDE = "exclude"


Pins = Mapping[str, Mapping[str, Wish]]  # by document or conversation, then by entry
Knowledge = Mapping[str, Mapping[str, Position | None]]  # by fact, then by knower: since when


class Entry(Struct, frozen=True, kw_only=True):
    """One person, place, thing, event or piece of lore. Notes are private and never sent."""

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
    rules: Rules = Rules()  # how its names are found

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it has at any time of the story, its own first."""
        later = (alias for step in self.progressions for alias in step.aliases)
        return tuple(dict.fromkeys((self.name, *self.aliases, *later)))

    @property
    def source(self) -> str:
        """Its name among fragments."""
        return f"codex:entity:{self.id}"
