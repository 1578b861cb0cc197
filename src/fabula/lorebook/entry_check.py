"""The conditions of a lorebook entry: may it become active in this pass, and why (inj-6).

The checks run in a fixed order, and the first one that decides ends them. A refusal is not final:
the next pass checks the entry again with more text.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from fabula.core.messages import Sentence, join_names, message
from fabula.lorebook.keys import KeyMatcher, ScanText
from fabula.lorebook.model import LorebookReason, LorebookSettings, LoreEntry, Number, ScanContext, ScanMessage
from fabula.lorebook.scan_order import ScanEntry
from fabula.lorebook.timed_effects import RunningEffects
from fabula.text.js_regex import JS_WHITESPACE

MAX_SCAN_DEPTH = 1000  # messages that a scan reads
_SEPARATOR = "\x01"  # SillyTavern puts it in front of each message
AND_ANY, AND_ALL = 0, 3  # of secondary keys; 1 is "not all", 2 is "not any"


class PassKind(StrEnum):
    """Why a pass is made."""

    FIRST = "first"
    RECURSION = "recursion"
    MINIMUM = "minimum"


class ScanPass(Struct, frozen=True):
    """One pass over all entries."""

    number: int
    kind: PassKind
    open_level: Number  # the highest recursion level whose entries may enter
    extra_depth: int  # messages read beyond the set depth, to reach a minimum of active entries


class EntryChecker:
    """Checks the conditions of entries during one scan, and keeps the texts in which keys are matched."""

    def __init__(
        self,
        messages: Sequence[ScanMessage],
        settings: LorebookSettings,
        context: ScanContext,
        running: RunningEffects,
        matcher: KeyMatcher,
    ) -> None:
        self.recursion_texts: list[str] = []  # for each pass, the texts of its entries in which keys are matched
        self._message_count, self._settings, self._context = len(messages), settings, context
        self._running, self._matcher = running, matcher
        self._lines = [
            (f"{message.name}: {message.text}" if settings.include_names else message.text).strip(JS_WHITESPACE)
            for message in reversed(messages[-MAX_SCAN_DEPTH:])
        ]
        self._texts: dict[tuple[object, ...], ScanText] = {}
        self._pass_number = 0

    def check(self, entry: ScanEntry, current: ScanPass) -> tuple[bool, LorebookReason, Sentence | str]:
        """Return whether the entry may become active, with the reason and a detail."""
        obstacle = self._find_obstacle(entry, current)
        if obstacle is not None:
            return False, *obstacle
        if "@@activate" in entry.decorators:
            return True, LorebookReason.DECORATOR, ""
        if "@@dont_activate" in entry.decorators:
            return False, LorebookReason.FORBIDDEN, ""
        if entry.ref in self._context.forced:
            return True, LorebookReason.EXTERNAL, ""
        if entry.fields.constant:
            return True, LorebookReason.CONSTANT, ""
        if entry.ref in self._running.sticky:
            return True, LorebookReason.STICKY, ""
        return self._check_keys(entry.fields, current)

    def count_keys(self, entry: ScanEntry, current: ScanPass) -> int:
        """Return how many of the entry's keys are in the text."""
        fields = entry.fields
        text = self._get_text(fields, current, recursion=True)
        if text is None or not fields.key:
            return 0
        hits = sum(self._matches(key, fields, text) for key in fields.key)
        secondary = [self._matches(key, fields, text) for key in fields.keysecondary or ()]
        logic = fields.selective_logic or AND_ANY
        counts = logic == AND_ANY or (logic == AND_ALL and all(secondary))
        return hits + sum(secondary) if counts else hits

    def _find_obstacle(self, entry: ScanEntry, current: ScanPass) -> tuple[LorebookReason, Sentence | str] | None:
        """Return why the entry cannot become active whatever its keys are."""
        fields, sticky = entry.fields, entry.ref in self._running.sticky
        if fields.disable:
            return LorebookReason.DISABLED, ""
        if fields.triggers and self._context.trigger not in fields.triggers:
            return LorebookReason.TRIGGER, message("only for {triggers}", triggers=join_names(fields.triggers))
        if not self._is_for_character(fields):
            return LorebookReason.CHARACTER, ""
        if fields.delay and self._message_count < fields.delay:
            counts = {"count": self._message_count, "delay": fields.delay}
            return LorebookReason.DELAY, message("{count} of {delay} messages", **counts)
        if entry.ref in self._running.cooling and not sticky:
            return LorebookReason.COOLDOWN, ""
        level = fields.recursion_level
        if level and not sticky:
            if current.kind is not PassKind.RECURSION:
                return LorebookReason.AWAITS_RECURSION, ""
            if level > current.open_level:
                levels = {"level": level + 0, "open": current.open_level + 0}
                return LorebookReason.AWAITS_RECURSION, message("level {level}, and {open} is open", **levels)
        recursion = current.kind is PassKind.RECURSION and self._settings.recursive
        if recursion and fields.exclude_recursion and not sticky:
            return LorebookReason.EXCLUDES_RECURSION, ""
        return None

    def _is_for_character(self, fields: LoreEntry) -> bool:
        condition, character = fields.character_filter, self._context.character
        if condition is None:
            return True
        exclude = bool(condition.is_exclude)
        if condition.names and (character.name in condition.names) is exclude:
            return False
        return not condition.tags or bool(set(character.tags) & set(condition.tags)) is not exclude

    def _check_keys(self, fields: LoreEntry, current: ScanPass) -> tuple[bool, LorebookReason, Sentence | str]:
        if not fields.key:
            return False, LorebookReason.NO_KEYS, ""
        text = self._get_text(fields, current, recursion=current.kind is not PassKind.MINIMUM)
        if text is None:
            return False, LorebookReason.NO_DEPTH, ""
        found = next((key for key in fields.key if self._matches(key, fields, text)), None)
        if found is None:
            return False, LorebookReason.NOT_MENTIONED, ""
        if not fields.selective or not fields.keysecondary:
            return True, LorebookReason.KEY, found
        secondary = [self._matches(key, fields, text) for key in fields.keysecondary]
        outcomes = (any(secondary), not all(secondary), not any(secondary), all(secondary))
        passed = dict(enumerate(outcomes)).get(fields.selective_logic or AND_ANY, False)
        return passed, LorebookReason.KEY if passed else LorebookReason.SECONDARY, found

    def _matches(self, key: str, fields: LoreEntry, text: ScanText) -> bool:
        settings = self._settings
        case_sensitive = settings.case_sensitive if fields.case_sensitive is None else fields.case_sensitive
        whole_words = settings.match_whole_words if fields.match_whole_words is None else fields.match_whole_words
        return self._matcher.matches(key, text, case_sensitive=case_sensitive, whole_words=whole_words)

    def _get_text(self, fields: LoreEntry, current: ScanPass, *, recursion: bool) -> ScanText | None:
        """Return the text in which the entry's keys are matched; None if it reads no message."""
        depth = self._settings.depth + current.extra_depth if fields.scan_depth is None else fields.scan_depth
        if depth <= 0:
            return None
        context, character = self._context, self._context.character
        sources = (
            fields.match_persona_description and context.persona,
            fields.match_character_description and character.description,
            fields.match_character_personality and character.personality,
            fields.match_character_depth_prompt and character.depth_prompt,
            fields.match_scenario and character.scenario,
            fields.match_creator_notes and character.creator_notes,
        )
        if current.number != self._pass_number:  # texts are kept for one pass only
            self._texts, self._pass_number = {}, current.number
        key = (min(int(depth), MAX_SCAN_DEPTH), recursion, *map(bool, sources))
        text = self._texts.get(key)
        if text is None:
            recursion_texts = self.recursion_texts if recursion else ()
            parts = [*self._lines[: key[0]], *filter(None, sources), *context.extra_texts, *recursion_texts]
            text = self._texts[key] = ScanText("\n".join(_SEPARATOR + part for part in parts))
        return text
