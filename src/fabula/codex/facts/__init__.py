"""Facts: what the book itself says of each entry, sentence by sentence (cdx-10)."""

from fabula.codex.facts.fact import Fact, FactOrigin, FactText, make_fact_id
from fabula.codex.facts.model import PER_ENTRY, Facts
from fabula.codex.facts.quotations import Quotation, Quotations

__all__ = ["PER_ENTRY", "Fact", "FactOrigin", "FactText", "Facts", "Quotation", "Quotations", "make_fact_id"]
