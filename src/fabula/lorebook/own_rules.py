"""Our rules, for books made here.

The same fields mean the same things, without the corners: an entry that does not fit is passed over
and smaller ones behind it are tried; a word is a word in any script; only what is in the prompt
wakes others. In groups everybody who loses, loses to one who stays, and an entry that was mentioned
takes the place of one that was there only because it always is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, log

from fabula.lorebook.groups import Candidate, Contest, Dropped, Settled, members, names, weight
from fabula.lorebook.model import Number, Reason, Ref
from fabula.lorebook.rules import Rules
from fabula.lorebook.scan_order import Lore
from fabula.text.tokens.tokenizer import Tokenizer
from fabula.text.whole_words import as_a_word

Rank = tuple[bool, int, bool, Number, float]  # the smaller, the better


class GreedyFit:
    """Each text has its price; whatever fits into what is left goes in."""

    overflowed = False  # one that does not fit ends nothing

    def __init__(self, limit: int, tokenizer: Tokenizer) -> None:
        self.limit, self.used = limit, 0
        self._tokenizer = tokenizer

    def admit(self, lore: Lore, instead_of: Sequence[Lore] = ()) -> tuple[Reason, str] | None:
        """Up to the limit and not past it; who ignores the budget enters, and counts."""
        price = self._price(lore)
        after = self.used - sum(map(self._price, instead_of)) + price
        if after > self.limit and not lore.entry.ignore_budget:
            return Reason.OVER_BUDGET, f"{price} tokens, and {max(self.limit - after + price, 0)} were left"
        self.used = after
        return None

    def end_of_pass(self, told: Sequence[str]) -> None:
        """Nothing is forgotten."""

    def _price(self, lore: Lore) -> int:
        return self._tokenizer.count(lore.text + "\n")


def settle(contest: Contest) -> Settled:
    """By rank, each candidate enters whose groups are all still free."""
    groups = members(contest.candidates, names)
    contested = {one.lore.ref: one for those in groups.values() for one in those}
    ranks = _ranks(contested, groups, contest)
    holders = members(contest.active, names)
    winners: dict[str, Candidate] = {}
    replaces: dict[Ref, list[Candidate]] = {}
    dropped: list[Dropped] = []
    for one in sorted(contested.values(), key=lambda one: ranks[one.lore.ref]):
        own = names(one.lore.entry.group)
        beaten = next((name for name in own if name in winners), None)
        if beaten is not None and one.lore.ref not in contest.running.sticky:
            winner = winners[beaten]
            reason = _why(ranks[winner.lore.ref], ranks[one.lore.ref])
            dropped.append(Dropped(one.lore, reason, f"{winner.lore.title} in the group {beaten}"))
            continue
        before = [holder for name in own for holder in holders.get(name, ())]
        if before and not all(_yields(holder, one) for holder in before):
            dropped.append(Dropped(one.lore, Reason.GROUP_TAKEN, f"by {before[0].lore.title}"))
            continue
        winners.update(dict.fromkeys(own, one))
        if before:
            replaces[one.lore.ref] = list({holder.lore.ref: holder for holder in before}.values())
    lost = {one.lore.ref for one in dropped}
    return Settled([one for one in contest.candidates if one.lore.ref not in lost], dropped, replaces)


def _ranks(
    contested: Mapping[Ref, Candidate], groups: Mapping[str, Sequence[Candidate]], contest: Contest
) -> dict[Ref, Rank]:
    """Sticky ones first, then the better matched, then those that go first by order, then a weighted draw."""
    lores = [one.lore for one in contested.values()]
    scored = any(contest.scoring(lore) for lore in lores)
    scores = {lore.ref: contest.score(lore) if scored else 0 for lore in lores}
    best = {name: max(scores[one.lore.ref] for one in those) for name, those in groups.items()}
    return {
        lore.ref: (
            lore.ref not in contest.running.sticky,
            # Who cannot be removed by its score counts as well matched as the best.
            -(scores[lore.ref] if contest.scoring(lore) else max(best[name] for name in names(lore.entry.group))),
            not lore.entry.group_override,
            -(lore.entry.order or 0) if lore.entry.group_override else 0,
            _lot(lore, contest) if any(len(groups[name]) > 1 for name in names(lore.entry.group)) else 0.0,
        )
        for lore in lores
    }


def _lot(lore: Lore, contest: Contest) -> float:
    """Sorted by these, the first is each with a chance in proportion to its weight."""
    drawn = -log(1 - contest.chance.random())
    return drawn / weight(lore) if weight(lore) else inf


def _why(winner: Rank, loser: Rank) -> Reason:
    for place, reason in enumerate((Reason.GROUP_STICKY, Reason.GROUP_SCORE, Reason.GROUP_OVERRIDE)):
        if winner[place] != loser[place]:
            return reason
    return Reason.GROUP_OVERRIDE if winner[3] != loser[3] else Reason.GROUP_ROLL


def _yields(holder: Candidate, newcomer: Candidate) -> bool:
    return holder.reason is Reason.CONSTANT and newcomer.reason is not Reason.CONSTANT


FABULA = Rules("fabula", as_a_word, settle, GreedyFit, rejected_wake=False)
