"""Facts: what the book itself says of each entry, sentence by sentence (cdx-10)."""

from fabula.codex.facts.model import Fact, Facts, FactText

__all__ = ["Fact", "FactText", "Facts"]
