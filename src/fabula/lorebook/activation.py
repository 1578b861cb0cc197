"""Activation: decide which lorebook entries are active for a conversation (inj-6).

A scan makes several passes over all entries. Each pass checks the conditions of every entry,
resolves inclusion groups, applies probabilities and spends the budget. Another pass follows while
the texts of activated entries contain new keys (recursion), while fewer entries are active than the
settings ask for, or while entries wait for a higher recursion level.

A scan is a pure function of its arguments: timed effects come in as a value and go out as a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from msgspec.structs import replace

from fabula.core.messages import Sentence, message
from fabula.lorebook.entry_check import EntryChecker, PassKind, ScanPass
from fabula.lorebook.keys import KeyIndex, KeyMatcher, name_entry
from fabula.lorebook.model import (
    Activation,
    EntryRef,
    EntryVerdict,
    LorebookReason,
    LorebookSettings,
    LoreEntry,
    Number,
    ParsedLorebook,
    ScanContext,
    ScanMessage,
    TimedEffects,
)
from fabula.lorebook.placement import place_texts
from fabula.lorebook.rules import ActivationRules, EntryCandidate, GroupContest, RandomSource
from fabula.lorebook.scan_order import ScanEntry, list_entries
from fabula.lorebook.sillytavern_rules import EXACT
from fabula.lorebook.timed_effects import RunningEffects, find_running_effects, start_effects
from fabula.text.macros import fill_in_names
from fabula.text.tokens.tokenizer import Tokenizer

MAX_CHECKS, MIN_PASS_LIMIT = 200_000, 50  # entries times passes; passes that are always allowed
MAX_ORIGINS = 1_000  # texts of entries that one scan compares to say where a key was found
MAX_WORK = 1_000_000  # entries and keys that one scan looks at
DEFAULT_SETTINGS, NO_CONTEXT, NO_EFFECTS = LorebookSettings(), ScanContext(), TimedEffects()
MAX_NUMBER = 10**9
_RANKS = {reason: rank for rank, reason in enumerate(LorebookReason)}


def activate(
    books: Sequence[ParsedLorebook],
    messages: Sequence[ScanMessage],
    *,
    tokenizer: Tokenizer,
    random_source: RandomSource,
    settings: LorebookSettings = DEFAULT_SETTINGS,
    context: ScanContext = NO_CONTEXT,
    timed_effects: TimedEffects = NO_EFFECTS,
    rules: ActivationRules = EXACT,
    index: KeyIndex | None = None,
) -> Activation:
    """Scan the books over the messages of a conversation, oldest first.

    `index` holds the keys of these books, and may hold more, for callers that scan the same books again.
    """
    index = index or KeyIndex(books, settings, lambda text: fill_in_names(text, context.user, context.character.name))
    entries = list_entries(books, settings, context)
    running = find_running_effects(entries, NO_EFFECTS if context.dry_run else timed_effects, len(messages))
    scan = _Scan(books, entries, messages, settings, context, running, rules, tokenizer, random_source, index)
    scan.run()
    active = [candidate.entry for candidate in scan.active.values()]
    return Activation(
        rules=rules.name,
        active=tuple(entry.ref for entry in active),
        texts=place_texts(active, has_author_note=context.has_author_note),
        verdicts=tuple(scan.verdicts[entry.ref] for entry in entries),
        problems=(
            *(problem for ref, problem in index.problems if ref in scan.verdicts),
            *scan.matcher.problems.values(),
            *scan.problems,
        ),
        timed_effects=timed_effects if context.dry_run else start_effects(running.effects, active, len(messages)),
        budget=scan.budget.limit,
        used=scan.budget.used,
    )


def compute_budget(settings: LorebookSettings, context: ScanContext) -> int:
    """Return the budget in tokens: a share of the context, rounded half up, at least 1, limited by the cap if set."""
    share = min(settings.budget, MAX_NUMBER) * min(context.max_context, MAX_NUMBER) / 100
    budget = floor(share + 0.5) or 1
    return int(settings.budget_cap) if 0 < settings.budget_cap < budget else budget


class _Scan:
    """The state of a scan while it runs."""

    def __init__(
        self,
        books: Sequence[ParsedLorebook],
        entries: Sequence[ScanEntry],
        messages: Sequence[ScanMessage],
        settings: LorebookSettings,
        context: ScanContext,
        running: RunningEffects,
        rules: ActivationRules,
        tokenizer: Tokenizer,
        random_source: RandomSource,
        index: KeyIndex,
    ) -> None:
        self.books = {book.name: book for book in books}
        self.entries, self.message_count, self.settings, self.running = entries, len(messages), settings, running
        self.rules, self.random_source = rules, random_source
        self.matcher = KeyMatcher(index, rules.is_whole_word)
        self.checker = EntryChecker(messages, settings, context, running, self.matcher, books)
        self.budget = rules.make_budget(compute_budget(settings, context), tokenizer)
        self.active: dict[EntryRef, EntryCandidate] = {}
        self.problems: list[Sentence] = []
        self.verdicts = {
            entry.ref: EntryVerdict(entry.ref, entry.title, False, LorebookReason.NOT_SCANNED) for entry in entries
        }
        self._finished: set[EntryRef] = set()  # active, or failed its probability: not checked again
        self._order = {entry.ref: number for number, entry in enumerate(entries)}
        self._readers = list(
            {_name_text(entry.fields): entry for entry in entries if not entry.fields.disable}.values()
        )
        self._unsettled: set[EntryRef] = set()  # passed their conditions, and did not enter yet
        self._by_kind = {
            entry.ref for entry in entries if entry.fields.recursion_level or entry.fields.exclude_recursion
        }
        self._by_level: dict[Number, list[EntryRef]] = {}
        for entry in entries:
            self._by_level.setdefault(entry.fields.recursion_level, []).append(entry.ref)
        self._key_counts: dict[EntryRef, tuple[int, int]] = {}  # the pass, and the keys in its text
        self._last_pass: ScanPass | None = None
        self._origins_compared = 0

    def run(self) -> None:
        """Run all passes."""
        levels = sorted({entry.fields.recursion_level for entry in self.entries if entry.fields.recursion_level})
        level: Number = levels.pop(0) if levels else 0
        number, extra_depth, kind = 0, 0, PassKind.FIRST
        max_passes = self.settings.max_recursion_steps
        pass_limit = max(MIN_PASS_LIMIT, MAX_CHECKS // max(len(self.entries), 1))
        while not max_passes or number < max_passes:
            if number == pass_limit or self.checker.work > MAX_WORK:
                self._report_pass_limit(number)
                return
            number += 1
            current = ScanPass(number, kind, level, extra_depth)
            has_new_text = self._run_pass(current)
            next_kind = self._find_next_kind(current, has_new_text)
            if next_kind is None and levels:
                level, next_kind = levels.pop(0), PassKind.RECURSION
            if next_kind is None:
                return
            extra_depth += next_kind is PassKind.MINIMUM
            kind = next_kind

    def _find_next_kind(self, current: ScanPass, has_new_text: bool) -> PassKind | None:
        """Return why another pass is needed, apart from recursion levels; None if there is no reason."""
        settings = self.settings
        if self.budget.has_overflowed:
            return None
        if settings.recursive and (has_new_text or (current.kind is PassKind.MINIMUM and self.checker.recursion_texts)):
            return PassKind.RECURSION
        depth, max_depth = settings.depth + current.extra_depth, settings.min_activations_depth_max
        if len(self.active) < settings.min_activations and not 0 < max_depth < depth and depth <= self.message_count:
            return PassKind.MINIMUM
        return None

    def _run_pass(self, current: ScanPass) -> bool:
        """Make one pass over all entries; return whether it produced text for recursion."""
        contest = GroupContest(
            candidates=self._find_candidates(current),
            active=tuple(self.active.values()),
            running=self.running,
            count_keys=lambda entry: self._count_keys(entry, current),
            uses_score=self._uses_score,
            random_source=self.random_source,
        )
        result = self.rules.resolve_groups(contest)
        for loser in result.losers:
            self._note_inactive(loser, current)
        texts: list[str] = []
        for winner in result.winners:
            entry = winner.entry
            entered = self._try_to_activate(winner, result.replaced.get(entry.ref, ()), current)
            recurses = entered or (self.rules.rejected_text_recurses and entry.ref not in self._finished)
            if recurses and not entry.fields.prevent_recursion:
                texts.append(entry.text)
        if texts:
            self.checker.recursion_texts.append("\n".join(texts))  # one text for each pass
        self.budget.end_pass(texts)
        return bool(texts)

    def _find_candidates(self, current: ScanPass) -> list[EntryCandidate]:
        """Return the entries that pass their conditions, sticky ones first."""
        candidates: list[EntryCandidate] = []
        for entry in self._list_concerned(current):
            if entry.ref in self._finished:
                continue
            passed, reason, detail = self.checker.check(entry, current)
            candidate = EntryCandidate(entry, reason, detail)
            if passed:
                candidates.append(candidate)
                self._unsettled.add(entry.ref)
            else:
                self._note_inactive(candidate, current)
        return sorted(candidates, key=lambda candidate: candidate.entry.ref not in self.running.sticky)

    def _list_concerned(self, current: ScanPass) -> Sequence[ScanEntry]:
        """Return the entries of which a check may have another result than in the last pass, in order."""
        concerned = self.checker.begin_pass(self._readers, current)
        last, self._last_pass = self._last_pass, current
        if last is None:
            return self.entries
        concerned |= self._unsettled
        if current.kind is not last.kind:
            concerned |= self._by_kind
        if current.open_level != last.open_level:
            concerned.update(self._by_level.get(current.open_level, ()))
        numbers = sorted(self._order[ref] for ref in concerned - self._finished if ref in self._order)
        return [self.entries[number] for number in numbers]

    def _count_keys(self, entry: ScanEntry, current: ScanPass) -> int:
        number, count = self._key_counts.get(entry.ref, (0, 0))
        if number != current.number:
            count = self.checker.count_keys(entry, current)
            self._key_counts[entry.ref] = current.number, count
        return count

    def _report_pass_limit(self, passes: int) -> None:
        last = next(reversed(self.active.values()), None)
        if last is None:
            self.problems.append(message("The scan of the lorebooks was ended after {count} passes.", count=passes))
            return
        names = name_entry(self.books[last.entry.ref.book], last.entry.fields)
        self.problems.append(
            message(
                "Entries still activated each other after {count} passes; the last was {entry} in {book}.",
                count=passes,
                **names,
            )
        )

    def _uses_score(self, entry: ScanEntry) -> bool:
        own = entry.fields.use_group_scoring
        return self.settings.use_group_scoring if own is None else own

    def _try_to_activate(
        self, candidate: EntryCandidate, replaced: Sequence[EntryCandidate], current: ScanPass
    ) -> bool:
        entry = candidate.entry
        refusal: tuple[LorebookReason, Sentence] | None
        if self.budget.has_overflowed and not entry.fields.ignore_budget:
            limit = message("the budget is {limit} tokens", limit=self.budget.limit)
            refusal = LorebookReason.AFTER_OVERFLOW, limit
        else:
            refusal = self._draw(entry) or self.budget.admit(entry, [other.entry for other in replaced])
        if refusal is not None:
            self._note_inactive(EntryCandidate(entry, *refusal), current)
            return False
        for other in replaced:
            del self.active[other.entry.ref]
            displaced = EntryCandidate(other.entry, LorebookReason.DISPLACED, entry.title)
            self._set_verdict(displaced, False, current)
        self.active[entry.ref] = candidate
        self._finished.add(entry.ref)
        self._set_verdict(replace(candidate, detail=self._name_origin(candidate, current)), True, current)
        return True

    def _name_origin(self, candidate: EntryCandidate, current: ScanPass) -> Sentence | str:
        """Return the key that was found, with the entry in whose text it was where no message has it."""
        detail = candidate.detail
        if current.kind is not PassKind.RECURSION or candidate.reason is not LorebookReason.KEY:
            return detail
        key = self.matcher.index.keys.get(str(detail))
        if key is None or key.pattern is not None or self.checker.has_in_messages(key.text.lower()):
            return detail
        for other in self.active.values():
            self._origins_compared += 1
            if self._origins_compared > MAX_ORIGINS:
                break
            recurses = other.entry.ref != candidate.entry.ref and not other.entry.fields.prevent_recursion
            if recurses and key.text.lower() in other.entry.text.lower():
                return message("{key}, in the text of the entry {entry!r}", key=detail, entry=other.entry.title)
        return detail

    def _draw(self, entry: ScanEntry) -> tuple[LorebookReason, Sentence] | None:
        """Use a random number, except for certain and sticky entries; without a probability an entry never passes."""
        fields = entry.fields
        if not fields.use_probability or fields.probability == 100 or entry.ref in self.running.sticky:
            return None
        rolled = self.random_source() * 100
        if fields.probability is not None and rolled <= fields.probability:
            return None
        self._finished.add(entry.ref)
        detail = message("{rolled:.1f} against {probability}", rolled=rolled, probability=fields.probability)
        return LorebookReason.PROBABILITY, detail

    def _note_inactive(self, candidate: EntryCandidate, current: ScanPass) -> None:
        """Note why an entry is not active, unless it failed at a later check in an earlier pass."""
        verdict = self.verdicts[candidate.entry.ref]
        if not verdict.active and _RANKS[candidate.reason] >= _RANKS[verdict.reason]:
            self._set_verdict(candidate, False, current)

    def _set_verdict(self, candidate: EntryCandidate, active: bool, current: ScanPass) -> None:
        entry, reason, detail = candidate.entry, candidate.reason, candidate.detail
        self.verdicts[entry.ref] = EntryVerdict(entry.ref, entry.title, active, reason, detail, current.number)


def _name_text(fields: LoreEntry) -> tuple[object, ...]:
    """Return what decides in which text the keys of an entry are matched."""
    return (
        fields.scan_depth,
        bool(fields.match_persona_description),
        bool(fields.match_character_description),
        bool(fields.match_character_personality),
        bool(fields.match_character_depth_prompt),
        bool(fields.match_scenario),
        bool(fields.match_creator_notes),
    )
