"""A set of rules: the few places where SillyTavern's way and ours differ.

Everything else of a scan is the same for both: the gate, the passes, the timed effects and the
places of the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from fabula.lorebook.groups import Contest, Settled
from fabula.lorebook.keys import Stands
from fabula.lorebook.model import Reason
from fabula.lorebook.scan_order import Lore
from fabula.text.tokens.tokenizer import Tokenizer


class Budget(Protocol):
    """What the books may spend, and how it is spent."""

    limit: int
    overflowed: bool  # ends normal entries, recursion and the search for a minimum of entries

    @property
    def used(self) -> int: ...
    def admit(self, lore: Lore, instead_of: Sequence[Lore] = ()) -> tuple[Reason, str] | None:
        """Take the entry in, for others that then go, or say why not."""

    def end_of_pass(self, told: Sequence[str]) -> None:
        """A pass is over; these are its texts that recursion may see."""


class Rules(Struct, frozen=True):
    """One way to read books."""

    name: str
    stands: Stands
    settle: Callable[[Contest], Settled]
    budget: Callable[[int, Tokenizer], Budget]
    rejected_wake: bool  # does a text that did not fit still wake others?


class Tally:
    """The count of a text that grows by pieces, each ending with a line break."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokens = 0
        self._tokenizer = tokenizer
        self._adds_up = tokenizer.additive and tokenizer.exact
        self._pieces: list[str] = []

    def add(self, text: str) -> None:
        """Append a text and a line break."""
        self._pieces.append(text + "\n")
        # Counts add up where text follows a line break; for anything else the whole is counted again.
        if self._adds_up and text[:1].isalnum():
            self.tokens += self._tokenizer.count(text + "\n")
        else:
            self.tokens = self._tokenizer.count("".join(self._pieces))
