"""Facts: what the book itself says of each entry, sentence by sentence (cdx-10)."""

from fabula.codex.facts.model import PER_ENTRY, Fact, Facts, FactText

__all__ = ["PER_ENTRY", "Fact", "FactText", "Facts"]
