"""Fabula's own rule set, for books made here and books of programs other than SillyTavern (inj-6).

The fields of an entry mean the same as in SillyTavern's rules. The differences:
- An entry that does not fit is skipped, and smaller entries behind it are still tried.
- Whole words are recognised in every script.
- Only texts that are in the prompt take part in recursion.
- In a group, an entry only loses to an entry that stays active, and an entry whose key was found
  replaces one that is active only because it is constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, log

from fabula.core.messages import Sentence, message
from fabula.lorebook.model import EntryRef, LorebookReason, Number
from fabula.lorebook.rules import (
    ActivationRules,
    EntryCandidate,
    GroupContest,
    GroupResult,
    LorebookBudget,
    collect_groups,
    get_weight,
    name_winner,
    split_groups,
)
from fabula.lorebook.scan_order import ScanEntry
from fabula.text.word_boundaries import is_word_at

Rank = tuple[bool, int, bool, Number, float]  # the smallest wins


class SkippingBudget(LorebookBudget):
    """A budget that skips entries that do not fit and goes on; admitted entries stay counted."""

    _used = 0

    @property
    def used(self) -> int:
        """The tokens that were spent."""
        return self._used

    def admit(self, entry: ScanEntry, instead_of: Sequence[ScanEntry] = ()) -> tuple[LorebookReason, Sentence] | None:
        """Admit an entry up to the limit; one that ignores the budget is admitted and counted."""
        price = self._count(entry)
        after = self._used - sum(map(self._count, instead_of)) + price
        if after > self.limit and not entry.fields.ignore_budget:
            left = max(self.limit - after + price, 0)
            return LorebookReason.OVER_BUDGET, message("{price} tokens, and {left} were left", price=price, left=left)
        self._used = after
        return None

    def end_pass(self, texts: Sequence[str]) -> None:
        """Admitted entries stay counted."""

    def _count(self, entry: ScanEntry) -> int:
        return self.tokenizer.count(entry.text + "\n")


def resolve_groups(contest: GroupContest) -> GroupResult:
    """Let the candidates win in the order of their rank, if no group of theirs has a winner yet."""
    groups = collect_groups(contest.candidates, split_groups)
    contested = {candidate.entry.ref: candidate for members in groups.values() for candidate in members}
    ranks = _rank(contested, groups, contest)
    active_groups = collect_groups(contest.active, split_groups)
    winners: dict[str, EntryCandidate] = {}
    replaced: dict[EntryRef, list[EntryCandidate]] = {}
    losers: list[EntryCandidate] = []
    for candidate in sorted(contested.values(), key=lambda candidate: ranks[candidate.entry.ref]):
        entry = candidate.entry
        names = split_groups(entry.fields.group)
        lost_in = next((name for name in names if name in winners), None)
        if lost_in is not None and entry.ref not in contest.running.sticky:
            winner = winners[lost_in].entry
            reason = _find_reason(ranks[winner.ref], ranks[entry.ref])
            losers.append(EntryCandidate(entry, reason, name_winner(winner, lost_in)))
            continue
        active = [member for name in names for member in active_groups.get(name, ())]
        if active and not all(_can_replace(member, candidate) for member in active):
            losers.append(EntryCandidate(entry, LorebookReason.GROUP_TAKEN, active[0].entry.title))
            continue
        winners.update(dict.fromkeys(names, candidate))
        if active:
            replaced[entry.ref] = list({member.entry.ref: member for member in active}.values())
    lost = {candidate.entry.ref for candidate in losers}
    remaining = [candidate for candidate in contest.candidates if candidate.entry.ref not in lost]
    return GroupResult(remaining, losers, replaced)


def _rank(
    contested: Mapping[EntryRef, EntryCandidate], groups: Mapping[str, Sequence[EntryCandidate]], contest: GroupContest
) -> dict[EntryRef, Rank]:
    """Rank by sticky, then by key count, then by override and order, then by a weighted draw."""
    entries = [candidate.entry for candidate in contested.values()]
    scored = any(contest.uses_score(entry) for entry in entries)
    scores = {entry.ref: contest.count_keys(entry) if scored else 0 for entry in entries}
    best = {name: max(scores[candidate.entry.ref] for candidate in members) for name, members in groups.items()}
    ranks: dict[EntryRef, Rank] = {}
    for entry in entries:
        names = split_groups(entry.fields.group)
        # An entry that its score cannot remove counts as if it had the best score.
        score = scores[entry.ref] if contest.uses_score(entry) else max(best[name] for name in names)
        ranks[entry.ref] = (
            entry.ref not in contest.running.sticky,
            -score,
            not entry.fields.group_override,
            -(entry.fields.order or 0) if entry.fields.group_override else 0,
            _draw_lot(entry, contest) if any(len(groups[name]) > 1 for name in names) else 0.0,
        )
    return ranks


def _draw_lot(entry: ScanEntry, contest: GroupContest) -> float:
    """Draw a number so that the smallest among several falls on each entry in proportion to its weight."""
    drawn = -log(1 - contest.random_source())
    return drawn / get_weight(entry) if get_weight(entry) else inf


def _find_reason(winner: Rank, loser: Rank) -> LorebookReason:
    override = LorebookReason.GROUP_OVERRIDE
    reasons = (LorebookReason.GROUP_STICKY, LorebookReason.GROUP_SCORE, override, override)
    differing = (reason for reason, one, other in zip(reasons, winner, loser, strict=False) if one != other)
    return next(differing, LorebookReason.GROUP_ROLL)


def _can_replace(active: EntryCandidate, newcomer: EntryCandidate) -> bool:
    return active.reason is LorebookReason.CONSTANT and newcomer.reason is not LorebookReason.CONSTANT


FABULA = ActivationRules("fabula", is_word_at, resolve_groups, SkippingBudget, rejected_text_recurses=False)
