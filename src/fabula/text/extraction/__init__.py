"""Extraction: propose codex entries from an existing manuscript, without a model (cdx-7)."""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.text.extraction.model import ProposedEntry
    from fabula.text.extraction.propose import propose_entries

__all__ = ["ProposedEntry", "propose_entries"]

__getattr__ = import_lazily(
    __name__,
    {
        "ProposedEntry": "fabula.text.extraction.model",
        "propose_entries": "fabula.text.extraction.propose",
    },
)
