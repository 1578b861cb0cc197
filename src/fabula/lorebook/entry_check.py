"""The gate: may this entry enter in this pass, and what woke it?

The questions are asked in one fixed order and the first answer counts. A no is not final: the next
pass asks again with more text.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from fabula.lorebook.keys import Finder, Haystack
from fabula.lorebook.model import LoreEntry, Number, Reason, Said, Scene, Settings
from fabula.lorebook.scan_order import Lore
from fabula.lorebook.timed_effects import Running
from fabula.text.js_regex import WHITE

DEEPEST = 1000
_MARK = "\x01"
AND_ANY, NOT_ALL, NOT_ANY, AND_ALL = range(4)


class Kind(StrEnum):
    """Why a pass is run."""

    FIRST = "first"
    RECURSION = "recursion"
    MINIMUM = "minimum"


class Pass(Struct, frozen=True):
    """One walk over all entries."""

    number: int
    kind: Kind
    level: Number  # the highest delay level that is open
    skew: int  # how much deeper than set, to find a minimum of entries


class Gate:
    """Asks every entry; keeps the texts that are searched."""

    def __init__(
        self, said: Sequence[Said], settings: Settings, scene: Scene, running: Running, finder: Finder
    ) -> None:
        self.buffer: list[str] = []  # what each pass activated that may wake others
        self._said, self._settings, self._scene = said, settings, scene
        self._running, self._finder = running, finder
        self._lines = [
            (f"{one.name}: {one.text}" if settings.include_names else one.text).strip(WHITE)
            for one in reversed(said[-DEEPEST:])
        ]
        self._texts: dict[tuple[object, ...], Haystack] = {}
        self._number = 0

    def asks(self, lore: Lore, now: Pass) -> tuple[bool, Reason, str]:
        """Whether it may enter, and why or why not."""
        no = self._held_back(lore, now)
        if no is not None:
            return False, *no
        entry = lore.entry
        if "@@activate" in lore.decorators:
            return True, Reason.DECORATOR, ""
        if "@@dont_activate" in lore.decorators:
            return False, Reason.FORBIDDEN, ""
        if lore.ref in self._scene.external:
            return True, Reason.EXTERNAL, ""
        if entry.constant:
            return True, Reason.CONSTANT, ""
        if lore.ref in self._running.sticky:
            return True, Reason.STICKY, ""
        return self._by_keys(entry, now)

    def score(self, lore: Lore, now: Pass) -> int:
        """How many of its keys are in the text."""
        entry = lore.entry
        hay = self._hay(entry, now, recursion=True)
        if hay is None or not entry.key:
            return 0
        hits = sum(self._finds(key, entry, hay) for key in entry.key)
        second = [self._finds(key, entry, hay) for key in entry.keysecondary or ()]
        match entry.selective_logic or AND_ANY:
            case 0:
                return hits + sum(second)
            case 3 if second and all(second):
                return hits + len(second)
        return hits

    def _held_back(self, lore: Lore, now: Pass) -> tuple[Reason, str] | None:
        entry, scene, sticky = lore.entry, self._scene, lore.ref in self._running.sticky
        if entry.disable:
            return Reason.DISABLED, ""
        if entry.triggers and scene.trigger not in entry.triggers:
            return Reason.TRIGGER, f"only for {', '.join(entry.triggers)}"
        if not self._for_character(entry):
            return Reason.CHARACTER, ""
        if entry.delay and len(self._said) < entry.delay:
            return Reason.DELAY, f"{len(self._said)} of {entry.delay} messages"
        if lore.ref in self._running.cooling and not sticky:
            return Reason.COOLDOWN, ""
        if entry.level and not sticky:
            if now.kind is not Kind.RECURSION:
                return Reason.AWAITS_RECURSION, ""
            if entry.level > now.level:
                return Reason.AWAITS_RECURSION, f"level {entry.level + 0}, and {now.level + 0} is open"
        if now.kind is Kind.RECURSION and self._settings.recursive and entry.exclude_recursion and not sticky:
            return Reason.EXCLUDES_RECURSION, ""
        return None

    def _for_character(self, entry: LoreEntry) -> bool:
        wanted, scene = entry.character_filter, self._scene
        if wanted is None:
            return True
        exclude = bool(wanted.is_exclude)
        if wanted.names and (scene.character in wanted.names) is exclude:
            return False
        return not wanted.tags or bool(set(scene.tags) & set(wanted.tags)) is not exclude

    def _by_keys(self, entry: LoreEntry, now: Pass) -> tuple[bool, Reason, str]:
        if not entry.key:
            return False, Reason.NO_KEYS, ""
        hay = self._hay(entry, now, recursion=now.kind is not Kind.MINIMUM)
        if hay is None:
            return False, Reason.NO_DEPTH, ""
        found = next((key for key in entry.key if self._finds(key, entry, hay)), None)
        if found is None:
            return False, Reason.NOT_MENTIONED, ""
        if not entry.selective or not entry.keysecondary:
            return True, Reason.KEY, found
        second = [self._finds(key, entry, hay) for key in entry.keysecondary]
        match entry.selective_logic or AND_ANY:
            case 0:
                passed = any(second)
            case 1:
                passed = not all(second)
            case 2:
                passed = not any(second)
            case 3:
                passed = all(second)
            case _:
                passed = False
        return passed, Reason.KEY if passed else Reason.SECONDARY, found

    def _finds(self, key: str, entry: LoreEntry, hay: Haystack) -> bool:
        settings = self._settings
        cased = settings.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        whole = settings.match_whole_words if entry.match_whole_words is None else entry.match_whole_words
        return self._finder.found(key, hay, case_sensitive=cased, whole_words=whole)

    def _hay(self, entry: LoreEntry, now: Pass, *, recursion: bool) -> Haystack | None:
        """The text an entry looks in; None when it looks at no message."""
        depth = self._settings.depth + now.skew if entry.scan_depth is None else entry.scan_depth
        if depth <= 0:
            return None
        scene = self._scene
        sources = (
            entry.match_persona_description and scene.persona,
            entry.match_character_description and scene.description,
            entry.match_character_personality and scene.personality,
            entry.match_character_depth_prompt and scene.depth_prompt,
            entry.match_scenario and scene.scenario,
            entry.match_creator_notes and scene.creator_notes,
        )
        if now.number != self._number:  # texts are kept for one pass only
            self._texts, self._number = {}, now.number
        name = (min(int(depth), DEEPEST), recursion, *map(bool, sources))
        hay = self._texts.get(name)
        if hay is None:
            told = self.buffer if recursion else ()
            parts = [*self._lines[: name[0]], *filter(None, sources), *scene.scanned, *told]
            hay = self._texts[name] = Haystack("\n".join(_MARK + part for part in parts))
        return hay
