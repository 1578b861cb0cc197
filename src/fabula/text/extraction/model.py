"""Types of name extraction: a name found in a manuscript, and the codex entry proposed for it.

A proposal is not an entry: a person accepts or dismisses it. So it carries what a person needs to decide: how often
the name occurs, where it occurs first, and a few sentences around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

Kind = Literal["character", "location", "faction", "other"]
Progress = Callable[[int, int], None]  # characters read, characters in all
Texts = Sequence[tuple[str, str]]  # document ids and texts, in the order of the story

MIN_MENTIONS = 3  # of a name that is worth proposing
MAX_EXAMPLES = 3  # places that are kept for a name


class TextPlace(Struct, frozen=True, order=True, gc=False):
    """Where a name stands: the number of the text, and the offset in it."""

    text: int
    offset: int


class ExtractedName(Struct, kw_only=True):
    """A name found in a manuscript, with its other forms."""

    name: str
    aliases: tuple[str, ...]
    kind: Kind
    mentions: int
    confidence: float  # from 0 to 1: how much it behaves like a name of its kind
    places: list[TextPlace]  # the first few


class ProposedEntry(Struct, frozen=True, kw_only=True):
    """A proposed codex entry with its evidence."""

    name: str
    aliases: tuple[str, ...] = ()
    kind: Kind = "other"
    mentions: int = 0
    document: str = ""
    offset: int = 0
    evidence: tuple[str, ...] = ()
    score: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The name and all aliases."""
        return (self.name, *self.aliases)
