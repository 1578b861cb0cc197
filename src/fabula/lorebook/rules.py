"""What the two rule sets have in common: the interface of a rule set, inclusion groups and random numbers (inj-6).

SillyTavern's rules (`sillytavern_rules`) and ours (`fabula_rules`) differ in four points: what a
whole word is, which entry of a group wins, how the budget is spent, and whether a text that did not
fit still takes part in recursion. `ActivationRules` holds these four. The rest of a scan is shared.

Random numbers are always an argument of a scan, so the same scan gives the same result.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from random import Random

from msgspec import Struct

from fabula.core.messages import Sentence, message
from fabula.lorebook.keys import WordTest
from fabula.lorebook.model import EntryRef, LorebookReason, Number
from fabula.lorebook.scan_order import ScanEntry
from fabula.lorebook.timed_effects import RunningEffects
from fabula.text.tokens.tokenizer import Tokenizer

RandomSource = Callable[[], float]  # gives numbers from 0 up to, but not including, 1
DEFAULT_WEIGHT = 100
MAX_RECOUNTED = 2_000_000  # characters
_COMMA = re.compile(r",\s*")


def make_seeded_random(*parts: object) -> RandomSource:
    """Return a random source that gives the same numbers for the same parts (a conversation, a message …)."""
    return Random("\x1f".join(map(str, parts))).random


class EntryCandidate(Struct, frozen=True):
    """An entry with the reason why it may enter in this pass, or why it lost in its group."""

    entry: ScanEntry
    reason: LorebookReason
    detail: Sentence | str = ""


class GroupContest(Struct, frozen=True):
    """Everything that decides which entries win in the inclusion groups of one pass."""

    candidates: Sequence[EntryCandidate]
    active: Sequence[EntryCandidate]  # from earlier passes
    running: RunningEffects
    count_keys: Callable[[ScanEntry], int]
    uses_score: Callable[[ScanEntry], bool]  # whether a lower score can remove the entry
    random_source: RandomSource


class GroupResult(Struct, frozen=True):
    """Winners and losers of one pass, and the active entries that each winner replaces if it enters."""

    winners: list[EntryCandidate]
    losers: list[EntryCandidate]
    replaced: Mapping[EntryRef, Sequence[EntryCandidate]] = {}


class LorebookBudget(ABC):
    """The token budget of a scan."""

    has_overflowed = False  # if True: no more normal entries, no recursion, no search for a minimum of entries

    def __init__(self, limit: int, tokenizer: Tokenizer) -> None:
        self.limit, self.tokenizer = limit, tokenizer

    @abstractmethod
    def admit(self, entry: ScanEntry, instead_of: Sequence[ScanEntry] = ()) -> tuple[LorebookReason, Sentence] | None:
        """Spend tokens on an entry, in place of others if given; return the reason if it does not fit."""

    @property
    @abstractmethod
    def used(self) -> int:
        """The tokens that were spent."""

    @abstractmethod
    def end_pass(self, texts: Sequence[str]) -> None:
        """End a pass; `texts` are those of its texts that recursion may read."""


class ActivationRules(Struct, frozen=True):
    """A rule set: how lorebooks are read."""

    name: str
    is_whole_word: WordTest
    resolve_groups: Callable[[GroupContest], GroupResult]
    make_budget: Callable[[int, Tokenizer], LorebookBudget]
    rejected_text_recurses: bool  # whether the keys of other entries are matched in a text that did not fit


def split_groups_exactly(group: str | None) -> tuple[str, ...]:
    """Return the group names as SillyTavern reads them: only white space behind a comma is removed."""
    return tuple(dict.fromkeys(name for name in _COMMA.split(group or "") if name))


def split_groups(group: str | None) -> tuple[str, ...]:
    """Return the group names, without white space around them."""
    return tuple(dict.fromkeys(name.strip() for name in (group or "").split(",") if name.strip()))


def collect_groups(
    candidates: Sequence[EntryCandidate], split: Callable[[str | None], tuple[str, ...]]
) -> dict[str, list[EntryCandidate]]:
    """Return the candidates of each group; groups are in the order of their first member."""
    groups: dict[str, list[EntryCandidate]] = {}
    for candidate in candidates:
        for name in split(candidate.entry.fields.group):
            groups.setdefault(name, []).append(candidate)
    return groups


def name_winner(winner: ScanEntry, group: str) -> Sentence:
    """Name the entry that another one lost to."""
    return message("{winner} in the group {group}", winner=winner.title, group=group)


def get_weight(entry: ScanEntry) -> Number:
    """Return the weight of an entry in a draw, at least 0."""
    weight = entry.fields.group_weight
    return DEFAULT_WEIGHT if weight is None else max(weight, 0)


def draw_by_weight(candidates: Sequence[EntryCandidate], random_source: RandomSource) -> EntryCandidate:
    """Draw one of the candidates by weight, walking through them in order."""
    total = sum(get_weight(candidate.entry) for candidate in candidates)
    target, reached = random_source() * total, 0.0
    for candidate in candidates:
        reached += get_weight(candidate.entry)
        if target <= reached:
            return candidate
    return candidates[-1]


class TokenTally:
    """The token count of a text that grows by pieces, each ending with a line break.

    Counts add up only where text follows a line break; otherwise pieces are counted together with those before them.
    What is counted again is bounded: beyond the bound every piece is counted by itself.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._adds_up = tokenizer.additive and tokenizer.exact
        self._counted = 0  # tokens of pieces to which nothing can be added
        self._pieces: list[str] = []
        self._recounted = 0  # characters
        self._tokens: int | None = 0

    def add(self, text: str) -> None:
        """Append a text and a line break."""
        if (self._adds_up and text[:1].isalnum()) or self._recounted > MAX_RECOUNTED:
            self._counted, self._pieces = self.tokens, []
        self._pieces.append(text + "\n")
        self._tokens = None

    @property
    def tokens(self) -> int:
        """The tokens of all pieces."""
        if self._tokens is None:
            text = "".join(self._pieces)
            self._recounted += len(text)
            self._tokens = self._counted + self._tokenizer.count(text)
        return self._tokens
