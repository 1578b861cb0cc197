"""Activation: which entries of the books speak now, and where their texts stand.

A scan is a series of passes over all entries. Each pass asks the gate, settles the groups, rolls
the dice and spends the budget; what it activates may wake more in the next. Passes follow while
recursion finds something new, while too few are active, or while a delay level is still closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from fabula.lorebook.entry_check import Gate, Kind, Pass
from fabula.lorebook.groups import Candidate, Contest
from fabula.lorebook.keys import Finder
from fabula.lorebook.model import Activation, Book, Number, Reason, Ref, Said, Scene, Settings, Timed, Verdict
from fabula.lorebook.random_source import Chance
from fabula.lorebook.rules import Rules
from fabula.lorebook.scan_order import Lore, expand, listed
from fabula.lorebook.sillytavern_rules import EXACT
from fabula.lorebook.text_positions import place
from fabula.lorebook.timed_effects import Running, running, started
from fabula.text.tokens.tokenizer import Tokenizer

ASKED, FEWEST = 200_000, 50  # entries asked in a scan; passes that are always allowed
DEFAULTS, NOWHERE, NOTHING = Settings(), Scene(), Timed()
LARGEST = 10**9
_RANK = {reason: rank for rank, reason in enumerate(Reason)}


def activate(
    books: Sequence[Book],
    said: Sequence[Said],
    *,
    tokenizer: Tokenizer,
    chance: Chance,
    settings: Settings = DEFAULTS,
    scene: Scene = NOWHERE,
    timed: Timed = NOTHING,
    rules: Rules = EXACT,
) -> Activation:
    """One scan of the books over a conversation, oldest message first."""
    lores = listed(books, settings, scene)
    now = running(lores, NOTHING if scene.dry_run else timed, len(said))
    scan = _Scan(lores, said, settings, scene, now, rules, tokenizer, chance)
    scan.run()
    placed = place([one.lore for one in scan.active], note=scene.note)
    after = timed if scene.dry_run else started(now.timed, (one.lore for one in scan.active), len(said))
    return Activation(
        rules=rules.name,
        chosen=tuple(one.lore.ref for one in scan.active),
        before=placed.before,
        after=placed.after,
        depth=placed.depth,
        an_top=placed.an_top,
        an_bottom=placed.an_bottom,
        em=placed.em,
        outlets=placed.outlets,
        verdicts=tuple(scan.verdicts[lore.ref] for lore in lores),
        problems=(*(f"The key {key!r} {why}." for key, why in scan.finder.problems.items()), *scan.problems),
        timed=after,
        budget=scan.budget.limit,
        used=scan.budget.used,
    )


def allowed(settings: Settings, scene: Scene) -> int:
    """The book's budget in tokens: a share of the context, rounded half up, never 0, under the cap if there is one."""
    share = min(settings.budget, LARGEST) * min(scene.max_context, LARGEST) / 100
    budget = floor(share + 0.5) or 1
    return int(settings.budget_cap) if 0 < settings.budget_cap < budget else budget


class _Scan:
    """What is known while a scan runs."""

    def __init__(
        self,
        lores: Sequence[Lore],
        said: Sequence[Said],
        settings: Settings,
        scene: Scene,
        now: Running,
        rules: Rules,
        tokenizer: Tokenizer,
        chance: Chance,
    ) -> None:
        self.lores, self.said, self.settings, self.running = lores, said, settings, now
        self.rules, self.chance = rules, chance
        self.finder = Finder(rules.stands, lambda text: expand(text, scene))
        self.gate = Gate(said, settings, scene, now, self.finder)
        self.budget = rules.budget(allowed(settings, scene), tokenizer)
        self.active: list[Candidate] = []
        self.problems: list[str] = []
        self.verdicts = {lore.ref: Verdict(lore.ref, lore.title, False, Reason.NOT_SCANNED) for lore in lores}
        self._done: set[Ref] = set()  # active, or failed the dice: asked no more

    def run(self) -> None:
        """All passes."""
        levels = sorted({lore.entry.level for lore in self.lores if lore.entry.level})
        level: Number = levels.pop(0) if levels else 0
        number, skew, kind = 0, 0, Kind.FIRST
        most = self.settings.max_recursion_steps
        patience = max(FEWEST, ASKED // max(len(self.lores), 1))
        while not most or number < most:
            if number == patience:
                self.problems.append(f"Entries still woke each other after {patience} passes; there it was ended.")
                return
            number += 1
            now = Pass(number, kind, level, skew)
            fresh = self._pass(now)
            following = self._next(now, fresh)
            if following is None and levels:
                level, following = levels.pop(0), Kind.RECURSION
            if following is None:
                return
            skew += following is Kind.MINIMUM
            kind = following

    def _next(self, now: Pass, fresh: bool) -> Kind | None:
        """Why there should be another pass, apart from delay levels."""
        settings = self.settings
        if self.budget.overflowed:
            return None
        if settings.recursive and (fresh or (now.kind is Kind.MINIMUM and self.gate.buffer)):
            return Kind.RECURSION
        depth, deepest = settings.depth + now.skew, settings.min_activations_depth_max
        if len(self.active) < settings.min_activations and not 0 < deepest < depth and depth <= len(self.said):
            return Kind.MINIMUM
        return None

    def _pass(self, now: Pass) -> bool:
        """One walk over all entries; whether anything came in that recursion may see."""
        contest = Contest(
            candidates=self._candidates(now),
            active=self.active,
            running=self.running,
            score=lambda lore: self.gate.score(lore, now),
            scoring=self._scoring,
            chance=self.chance,
        )
        settled = self.rules.settle(contest)
        for lost in settled.dropped:
            self._out(lost.lore, lost.reason, lost.detail, now)
        told: list[str] = []
        for one in settled.kept:
            entered = self._enters(one, settled.replaces.get(one.lore.ref, ()), now)
            wakes = entered or (self.rules.rejected_wake and one.lore.ref not in self._done)
            if wakes and not one.lore.entry.prevent_recursion:
                told.append(one.lore.text)
        if told:
            self.gate.buffer.append("\n".join(told))  # a pass leaves one text
        self.budget.end_of_pass(told)
        return bool(told)

    def _candidates(self, now: Pass) -> list[Candidate]:
        found: list[Candidate] = []
        for lore in self.lores:
            if lore.ref in self._done:
                continue
            passed, reason, detail = self.gate.asks(lore, now)
            if passed:
                found.append(Candidate(lore, reason, detail))
            else:
                self._out(lore, reason, detail, now)
        return sorted(found, key=lambda one: one.lore.ref not in self.running.sticky)

    def _scoring(self, lore: Lore) -> bool:
        own = lore.entry.use_group_scoring
        return self.settings.use_group_scoring if own is None else own

    def _enters(self, one: Candidate, instead_of: Sequence[Candidate], now: Pass) -> bool:
        lore = one.lore
        if self.budget.overflowed and not lore.entry.ignore_budget:
            self._out(lore, Reason.AFTER_OVERFLOW, f"the budget is {self.budget.limit}", now)
            return False
        if not self._lucky(lore, now):
            self._done.add(lore.ref)
            return False
        no = self.budget.admit(lore, [other.lore for other in instead_of])
        if no is not None:
            self._out(lore, *no, now)
            return False
        for other in instead_of:
            self.active.remove(other)
            gone = other.lore
            self.verdicts[gone.ref] = Verdict(gone.ref, gone.title, False, Reason.DISPLACED, lore.title, now.number)
        self.active.append(one)
        self._done.add(lore.ref)
        self.verdicts[lore.ref] = Verdict(lore.ref, lore.title, True, one.reason, one.detail, now.number)
        return True

    def _lucky(self, lore: Lore, now: Pass) -> bool:
        """The dice: not thrown for a certain or a sticky entry; an entry that forgets its chance has none."""
        entry = lore.entry
        if not entry.use_probability or entry.probability == 100 or lore.ref in self.running.sticky:
            return True
        rolled = self.chance.random() * 100
        if entry.probability is not None and rolled <= entry.probability:
            return True
        self._out(lore, Reason.PROBABILITY, f"rolled {rolled:.1f} against {entry.probability}", now)
        return False

    def _out(self, lore: Lore, reason: Reason, detail: str, now: Pass) -> None:
        """Keep the reason of the time it came furthest."""
        known = self.verdicts[lore.ref]
        if not known.active and _RANK[reason] >= _RANK[known.reason]:
            self.verdicts[lore.ref] = Verdict(lore.ref, lore.title, False, reason, detail, now.number)
