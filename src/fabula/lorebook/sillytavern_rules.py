"""SillyTavern's rule set, followed exactly (inj-6, inj-7).

Imported books were written against these rules, so their odd cases are kept: the first overflow
ends all normal entries, whole words are ASCII words, texts of rejected entries still take part in
recursion, and two defects in inclusion groups are reproduced. The rules were derived from recorded
answers of SillyTavern, never from its source code.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.core.messages import Sentence, message
from fabula.lorebook.keys import is_ascii_word
from fabula.lorebook.model import LorebookReason
from fabula.lorebook.rules import (
    ActivationRules,
    EntryCandidate,
    GroupContest,
    GroupResult,
    LorebookBudget,
    TokenTally,
    collect_groups,
    draw_by_weight,
    name_winner,
    split_groups_exactly,
)
from fabula.lorebook.scan_order import ScanEntry, sort_by_order
from fabula.text.tokens.tokenizer import Tokenizer


class StoppingBudget(LorebookBudget):
    """A budget that stops at the first overflow; it counts the texts of this pass and those that recursion read."""

    def __init__(self, limit: int, tokenizer: Tokenizer) -> None:
        super().__init__(limit, tokenizer)
        self._earlier_passes, self._this_pass = TokenTally(tokenizer), TokenTally(tokenizer)

    def admit(self, entry: ScanEntry, instead_of: Sequence[ScanEntry] = ()) -> tuple[LorebookReason, Sentence] | None:
        """Admit an entry below the limit; one that ignores the budget is admitted and counted."""
        self._this_pass.add(entry.text)
        if entry.fields.ignore_budget or self.used < self.limit:
            return None
        self.has_overflowed = True
        detail = message("{used} of {limit} tokens with it", used=self.used, limit=self.limit)
        return LorebookReason.OVER_BUDGET, detail

    def end_pass(self, texts: Sequence[str]) -> None:
        """Keep only the count of texts that recursion may read."""
        for text in texts:
            self._earlier_passes.add(text)
        self._this_pass = TokenTally(self.tokenizer)

    @property
    def used(self) -> int:
        """The tokens that were spent."""
        return self._earlier_passes.tokens + self._this_pass.tokens


class _RemainingCandidates:
    """The candidates of a pass while groups remove some of them."""

    def __init__(self, candidates: Sequence[EntryCandidate]) -> None:
        self.losers: list[EntryCandidate] = []
        self._remaining = {candidate.entry.ref: candidate for candidate in candidates}

    def remove(self, loser: EntryCandidate, reason: LorebookReason, detail: Sentence) -> None:
        if self._remaining.pop(loser.entry.ref, None):
            self.losers.append(EntryCandidate(loser.entry, reason, detail))
        elif self._remaining:
            # SillyTavern's defect: removing an entry a second time removes the last one of the list.
            _, last = self._remaining.popitem()
            self.losers.append(EntryCandidate(last.entry, LorebookReason.LOST_NEIGHBOUR, loser.entry.title))

    def list_remaining(self) -> list[EntryCandidate]:
        return list(self._remaining.values())


def resolve_groups(contest: GroupContest) -> GroupResult:
    """Decide groups by sticky members, then by score, then by active members, then by override or a draw."""
    candidates = _RemainingCandidates(contest.candidates)
    groups = collect_groups(contest.candidates, split_groups_exactly)
    decided = _resolve_by_timed_effects(groups, contest, candidates)
    open_groups = {name: members for name, members in groups.items() if name not in decided}
    for name, members in open_groups.items():
        _resolve_by_score(name, members, contest, candidates)
    # SillyTavern compares the whole group field of an active entry: "a,b" does not occupy the group a.
    occupied = {candidate.entry.fields.group for candidate in contest.active}
    for name, members in open_groups.items():
        if name in occupied:
            for candidate in members:
                candidates.remove(candidate, LorebookReason.GROUP_TAKEN, message("in the group {group}", group=name))
        elif len(members) > 1:
            overriding = [candidate for candidate in members if candidate.entry.fields.group_override]
            winner = _first_by_order(overriding) if overriding else draw_by_weight(members, contest.random_source)
            reason = LorebookReason.GROUP_OVERRIDE if overriding else LorebookReason.GROUP_ROLL
            for candidate in members:
                if candidate is not winner:
                    candidates.remove(candidate, reason, name_winner(winner.entry, name))
    return GroupResult(candidates.list_remaining(), candidates.losers)


def _resolve_by_timed_effects(
    groups: dict[str, list[EntryCandidate]], contest: GroupContest, candidates: _RemainingCandidates
) -> set[str]:
    """Let sticky members win unless they are in cooldown; return the groups that this decides."""
    decided: set[str] = set()
    for name, members in groups.items():
        if any(candidate.entry.ref in contest.running.sticky for candidate in members):
            decided.add(name)
            for candidate in members:
                if candidate.entry.ref not in contest.running.sticky:
                    candidates.remove(
                        candidate, LorebookReason.GROUP_STICKY, message("in the group {group}", group=name)
                    )
        for candidate in members:
            if candidate.entry.ref in contest.running.cooling:
                candidates.remove(candidate, LorebookReason.GROUP_COOLDOWN, message("in the group {group}", group=name))
    return decided


def _resolve_by_score(
    name: str, members: list[EntryCandidate], contest: GroupContest, candidates: _RemainingCandidates
) -> None:
    """Remove the members that use scoring and have fewer keys in the text than the best member of the group."""
    if not any(contest.uses_score(candidate.entry) for candidate in members):
        return
    scores = {candidate.entry.ref: contest.count_keys(candidate.entry) for candidate in members}
    best = max(scores.values())
    lower = [
        candidate for candidate in members if contest.uses_score(candidate.entry) and scores[candidate.entry.ref] < best
    ]
    for candidate in lower:
        score = scores[candidate.entry.ref]
        detail = message(
            "{score} keys, and {best} is the most in the group {group}", score=score, best=best, group=name
        )
        candidates.remove(candidate, LorebookReason.GROUP_SCORE, detail)
    removed = {candidate.entry.ref for candidate in lower}
    members[:] = [candidate for candidate in members if candidate.entry.ref not in removed]


def _first_by_order(candidates: Sequence[EntryCandidate]) -> EntryCandidate:
    first = sort_by_order([candidate.entry for candidate in candidates])[0]
    return next(candidate for candidate in candidates if candidate.entry is first)


EXACT = ActivationRules("exact", is_ascii_word, resolve_groups, StoppingBudget, rejected_text_recurses=True)
