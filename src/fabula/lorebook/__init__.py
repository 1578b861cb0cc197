"""Lorebooks: world books and the books of character cards, and which of their entries are active (inj-6…8).

A name is imported when it is first used, because the tables of this package are loaded with every store.
"""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.lorebook.activation import activate
    from fabula.lorebook.edits import Lorebook
    from fabula.lorebook.model import Activation, LorebookContents, LorebookReason, LoreEntry, ScanContext, StoryLimits
    from fabula.lorebook.snapshot import Lorebooks
    from fabula.lorebook.source import LorebookSource

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

__getattr__ = import_lazily(
    __name__,
    {
        "Activation": "fabula.lorebook.model",
        "LoreEntry": "fabula.lorebook.model",
        "Lorebook": "fabula.lorebook.edits",
        "LorebookContents": "fabula.lorebook.model",
        "LorebookReason": "fabula.lorebook.model",
        "LorebookSource": "fabula.lorebook.source",
        "Lorebooks": "fabula.lorebook.snapshot",
        "ScanContext": "fabula.lorebook.model",
        "StoryLimits": "fabula.lorebook.model",
        "activate": "fabula.lorebook.activation",
    },
)
