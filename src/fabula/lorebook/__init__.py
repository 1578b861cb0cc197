"""Lorebooks: world books and the books of character cards, and which of their entries are active (inj-6…8).

A name is imported when it is first used, because the tables of this package are loaded with every store.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabula.lorebook.activation import activate
    from fabula.lorebook.edits import Lorebook
    from fabula.lorebook.model import Activation, LorebookContents, LorebookReason, LoreEntry, ScanContext, StoryLimits
    from fabula.lorebook.snapshot import Lorebooks
    from fabula.lorebook.source import LorebookSource

_HOMES = {"activate": "activation", "Lorebook": "edits", "Lorebooks": "snapshot", "LorebookSource": "source"}

__all__ = [
    "Activation",
    "LoreEntry",
    "Lorebook",
    "LorebookContents",
    "LorebookReason",
    "LorebookSource",
    "Lorebooks",
    "ScanContext",
    "StoryLimits",
    "activate",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"fabula.lorebook.{_HOMES.get(name, 'model')}"), name)
