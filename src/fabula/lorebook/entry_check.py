"""The conditions of a lorebook entry: may it become active in this pass, and why (inj-6).

The checks run in a fixed order, and the first one that decides ends them. A refusal is not final:
the next pass checks the entry again with more text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from fabula.core.messages import Sentence, join_names, message
from fabula.lorebook.keys import KeyMatcher, ScanText, is_case_sensitive, name_entry
from fabula.lorebook.model import (
    EntryRef,
    LorebookReason,
    LorebookSettings,
    LoreEntry,
    Number,
    ParsedLorebook,
    ScanContext,
    ScanMessage,
)
from fabula.lorebook.scan_order import ScanEntry
from fabula.lorebook.timed_effects import RunningEffects
from fabula.lorebook.wildcards import show_key
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
    """Checks the conditions of entries during one scan, and keeps the texts in which keys are matched.

    An entry that no new key concerns is not checked again: `begin_pass` says which ones are concerned.
    """

    def __init__(
        self,
        messages: Sequence[ScanMessage],
        settings: LorebookSettings,
        context: ScanContext,
        running: RunningEffects,
        matcher: KeyMatcher,
        books: Sequence[ParsedLorebook],
    ) -> None:
        self.work = 0  # entries and keys that were looked at
        self.recursion_texts: list[str] = []  # for each pass, the texts of its entries in which keys are matched
        self._message_count, self._settings, self._context = len(messages), settings, context
        self._running, self._matcher = running, matcher
        self._lines = [
            (f"{message.name}: {message.text}" if settings.include_names else message.text).strip(JS_WHITESPACE)
            for message in reversed(messages[-MAX_SCAN_DEPTH:])
        ]
        self._books = {book.name: book for book in books}
        self._texts: dict[tuple[object, ...], ScanText] = {}
        self._appended: dict[tuple[object, ...], int] = {}  # texts of recursion that each text holds
        self._extra_depth = 0
        self._mentioned: set[EntryRef] = set()  # entries of which some key was found in some text
        self._newly_mentioned: set[EntryRef] = set()

    def begin_pass(self, entries: Iterable[ScanEntry], current: ScanPass) -> set[EntryRef]:
        """Search the texts of a pass for all keys; return the entries that may pass now and did not before.

        `entries` has one entry for each text that is read.
        """
        if current.extra_depth != self._extra_depth:
            self._texts, self._appended, self._extra_depth = {}, {}, current.extra_depth
        for entry in entries:
            self._get_text(entry.fields, current, recursion=current.kind is not PassKind.MINIMUM)
        concerned, self._newly_mentioned = self._newly_mentioned, set()
        return concerned | self._matcher.index.entries_with_patterns

    def check(self, entry: ScanEntry, current: ScanPass) -> tuple[bool, LorebookReason, Sentence | str]:
        """Return whether the entry may become active, with the reason and a detail."""
        self.work += 1
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
        return self._check_keys(entry, current)

    def count_keys(self, entry: ScanEntry, current: ScanPass) -> int:
        """Return how many of the entry's keys are in the text."""
        fields = entry.fields
        text = self._get_text(fields, current, recursion=True)
        if text is None or not fields.key:
            return 0
        hits = sum(self._matches(key, entry, text) for key in fields.key)
        secondary = [self._matches(key, entry, text) for key in fields.keysecondary or ()]
        logic = fields.selective_logic or AND_ANY
        counts = logic == AND_ANY or (logic == AND_ALL and all(secondary))
        return hits + sum(secondary) if counts else hits

    def has_in_messages(self, text: str) -> bool:
        """Return whether a plain key, in lower case, is in a message."""
        return any(text in line.lower() for line in self._lines)

    def _find_obstacle(self, entry: ScanEntry, current: ScanPass) -> tuple[LorebookReason, Sentence | str] | None:
        """Return why the entry cannot become active whatever its keys are."""
        fields, sticky = entry.fields, entry.ref in self._running.sticky
        if fields.disable:
            return LorebookReason.DISABLED, ""
        if fields.triggers and self._context.trigger not in fields.triggers:
            detail = message(
                "only for {triggers}, and this one counts as {kind}",
                triggers=join_names(fields.triggers),
                kind=self._context.trigger,
            )
            return LorebookReason.TRIGGER, detail
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

    def _check_keys(self, entry: ScanEntry, current: ScanPass) -> tuple[bool, LorebookReason, Sentence | str]:
        fields = entry.fields
        if not fields.key:
            return False, LorebookReason.NO_KEYS, ""
        text = self._get_text(fields, current, recursion=current.kind is not PassKind.MINIMUM)
        if text is None:
            return False, LorebookReason.NO_DEPTH, ""
        if entry.ref not in self._mentioned and entry.ref not in self._matcher.index.entries_with_patterns:
            return False, LorebookReason.NOT_MENTIONED, ""
        found = next((key for key in fields.key if self._matches(key, entry, text)), None)
        if found is None:
            return False, LorebookReason.NOT_MENTIONED, ""
        if not fields.selective or not fields.keysecondary:
            return True, LorebookReason.KEY, show_key(found)
        secondary = [self._matches(key, entry, text) for key in fields.keysecondary]
        outcomes = (any(secondary), not all(secondary), not any(secondary), all(secondary))
        passed = dict(enumerate(outcomes)).get(fields.selective_logic or AND_ANY, False)
        return passed, LorebookReason.KEY if passed else LorebookReason.SECONDARY, show_key(found)

    def _matches(self, key: str, entry: ScanEntry, text: ScanText) -> bool:
        self.work += 1
        fields, settings = entry.fields, self._settings
        whole_words = settings.match_whole_words if fields.match_whole_words is None else fields.match_whole_words
        return self._matcher.matches(
            key,
            text,
            case_sensitive=is_case_sensitive(fields, settings),
            whole_words=whole_words,
            name=lambda: name_entry(self._books[entry.ref.book], fields),
        )

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
        key = (min(int(depth), len(self._lines)), recursion, *map(bool, sources))
        text = self._texts.get(key)
        if text is None:
            parts: list[str] = [*self._lines[: int(depth)], *(part for part in sources if part), *context.extra_texts]
            text = self._texts[key] = self._matcher.make_text("\n".join(_SEPARATOR + part for part in parts))
            self._appended[key] = 0
        elif self._appended[key] == len(self.recursion_texts) or not recursion:
            return text
        for part in self.recursion_texts[self._appended[key] :] if recursion else ():
            text.append(("\n" if text.text else "") + _SEPARATOR + part)
        self._appended[key] = len(self.recursion_texts)
        mentioned = self._matcher.search(text)
        self._mentioned.update(mentioned)
        self._newly_mentioned.update(mentioned)
        return text
