"""The codex: the characters, places and things of the story, and what becomes true of them when."""

from fabula.codex.entry import Entry, Knowledge, Level, PinMode, Pins, Progression, Relation
from fabula.codex.model import Codex

__all__ = ["Codex", "Entry", "Knowledge", "Level", "PinMode", "Pins", "Progression", "Relation"]
