"""SillyTavern's rules, with their corners.

Imported books were written against these, so they are followed to the letter: the first overflow
ends all normal entries, a word is what ASCII calls one, the texts of rejected entries still wake
others, and two defects in the groups are kept. Written from observed answers, never from its source.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.lorebook.groups import Candidate, Contest, Dropped, Settled, draw, members, raw_names
from fabula.lorebook.keys import ascii_word
from fabula.lorebook.model import Reason, Ref
from fabula.lorebook.rules import Rules, Tally
from fabula.lorebook.scan_order import Lore, by_order
from fabula.text.tokens.tokenizer import Tokenizer


class StopAtOverflow:
    """The running text of a pass beside the text of the passes before; whoever reaches the limit ends it."""

    def __init__(self, limit: int, tokenizer: Tokenizer) -> None:
        self.limit, self.overflowed = limit, False
        self._tokenizer = tokenizer
        self._before, self._running = Tally(tokenizer), Tally(tokenizer)

    @property
    def used(self) -> int:
        """Tokens of this pass and of what recursion saw of those before."""
        return self._before.tokens + self._running.tokens

    def admit(self, lore: Lore, instead_of: Sequence[Lore] = ()) -> tuple[Reason, str] | None:
        """Equality is too much already; who ignores the budget enters, and counts."""
        self._running.add(lore.text)
        if lore.entry.ignore_budget or self.used < self.limit:
            return None
        self.overflowed = True
        return Reason.OVER_BUDGET, f"{self.used} tokens with it, of {self.limit}"

    def end_of_pass(self, told: Sequence[str]) -> None:
        """What recursion does not see is forgotten, by the budget too."""
        for text in told:
            self._before.add(text)
        self._running = Tally(self._tokenizer)


class _Field:
    """The candidates of a pass while groups are settled."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.dropped: list[Dropped] = []
        self._kept = {one.lore.ref: one for one in candidates}

    def drop(self, loser: Candidate, reason: Reason, detail: str) -> None:
        if self._kept.pop(loser.lore.ref, None):
            self.dropped.append(Dropped(loser.lore, reason, detail))
        elif self._kept:
            _, last = self._kept.popitem()  # the defect: whoever is last goes in its stead
            self.dropped.append(Dropped(last.lore, Reason.LOST_NEIGHBOUR, f"because of {loser.lore.title}"))

    @property
    def kept(self) -> list[Candidate]:
        return list(self._kept.values())


def settle(contest: Contest) -> Settled:
    """Sticky members, then scores, then what is active already, then override or a draw."""
    field, groups = _Field(contest.candidates), members(contest.candidates, raw_names)
    held = _sticky(groups, contest, field)
    open_groups = {name: those for name, those in groups.items() if name not in held}
    for name, those in open_groups.items():
        _score(name, those, contest, field)
    # The whole text of an active entry's groups is compared: "a,b" does not take the group a.
    taken = {one.lore.entry.group for one in contest.active}
    for name, those in open_groups.items():
        if name in taken:
            for one in those:
                field.drop(one, Reason.GROUP_TAKEN, f"the group {name}")
        elif len(those) > 1:
            first = [one for one in those if one.lore.entry.group_override]
            winner = _highest(first) if first else draw(those, contest.chance)
            reason = Reason.GROUP_OVERRIDE if first else Reason.GROUP_ROLL
            for one in those:
                if one is not winner:
                    field.drop(one, reason, f"{winner.lore.title} in the group {name}")
    return Settled(field.kept, field.dropped)


def _sticky(groups: dict[str, list[Candidate]], contest: Contest, field: _Field) -> set[str]:
    """Sticky members win, unless they rest; their groups are settled with that."""
    held: set[str] = set()
    for name, those in groups.items():
        if any(one.lore.ref in contest.running.sticky for one in those):
            held.add(name)
            for one in those:
                if one.lore.ref not in contest.running.sticky:
                    field.drop(one, Reason.GROUP_STICKY, f"in the group {name}")
        for one in those:
            if one.lore.ref in contest.running.cooling:
                field.drop(one, Reason.GROUP_COOLDOWN, f"in the group {name}")
    return held


def _score(name: str, those: list[Candidate], contest: Contest, field: _Field) -> None:
    """Who may be removed by its score is compared with everybody's."""
    if not any(contest.scoring(one.lore) for one in those):
        return
    scores: dict[Ref, int] = {one.lore.ref: contest.score(one.lore) for one in those}
    best = max(scores.values())
    behind = [one for one in those if contest.scoring(one.lore) and scores[one.lore.ref] < best]
    for one in behind:
        field.drop(one, Reason.GROUP_SCORE, f"{scores[one.lore.ref]} of {best} in the group {name}")
    gone = {one.lore.ref for one in behind}
    those[:] = [one for one in those if one.lore.ref not in gone]


def _highest(those: Sequence[Candidate]) -> Candidate:
    top = by_order([one.lore for one in those])[0]
    return next(one for one in those if one.lore is top)


EXACT = Rules("exact", ascii_word, settle, StopAtOverflow, rejected_wake=True)
