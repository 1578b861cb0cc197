"""Entries and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from fabula.core.fragments import Fragment, Layer, Terms, Tier
from fabula.core.story import Position, Timeline
from fabula.core.view import Language
from fabula.text.names import Names


class Level(StrEnum):
    """When an entry may enter a prompt."""

    ALWAYS = "always"
    WHEN_DETECTED = "when_detected"
    MANUAL = "manual"
    NEVER = "never"


class Progression(Struct, frozen=True):
    """What is true of an entry from some point of the story on."""

    text: str
    since: Position
    known_to: frozenset[str] | None = None


class Relation(Struct, frozen=True):
    """How one entry stands to another."""

    to: str
    kind: str


class Wish(StrEnum):
    """What a pin asks for."""

    INCLUDE = "include"
    EXCLUDE = "exclude"


Pins = Mapping[str, Mapping[str, Wish]]  # by document or conversation, then by entry
Knowledge = Mapping[str, Mapping[str, Position | None]]  # by fact, then by knower: since when


class Entry(Struct, frozen=True, kw_only=True):
    """One person, place, thing, event or piece of lore. Notes are private and never sent."""

    id: str
    type: str
    name: str
    aliases: tuple[str, ...] = ()
    level: Level = Level.WHEN_DETECTED
    description: str = ""
    details: Mapping[str, str] = {}
    tags: tuple[str, ...] = ()
    notes: str = ""
    relations: tuple[Relation, ...] = ()
    known_to: frozenset[str] | None = None
    since: Position | None = None
    progressions: tuple[Progression, ...] = ()

    @property
    def source(self) -> str:
        """Its name among fragments."""
        return f"codex:entity:{self.id}"


_TYPES_ZH = {
    "character": "人物",
    "location": "地点",
    "event": "事件",
    "item": "物件",
    "faction": "势力",
    "lore": "设定",
    "other": "其他",
}


class Codex:
    """A snapshot of all entries, with the automaton and the rendered fragments that hang off it."""

    def __init__(
        self,
        project_id: str,
        language: Language,
        entries: Sequence[Entry],
        timeline: Timeline | None = None,
        *,
        pins: Pins | None = None,
        knowledge: Knowledge | None = None,
    ) -> None:
        self.entries = tuple(sorted(entries, key=lambda e: (e.level is not Level.ALWAYS, e.type, e.name, e.id)))
        self.by_id = {entry.id: entry for entry in self.entries}
        self.place = {entry.id: place for place, entry in enumerate(self.entries)}
        self.pins: Pins = pins or {}
        self.knowledge: Knowledge = knowledge or {}
        self._project_id = project_id
        self._language = language
        self._timeline = timeline or Timeline()
        self._rendered: dict[tuple[str, float], tuple[Fragment, ...]] = {}

    def called(self, name: str) -> list[Entry]:
        """The entries of that id, source or name."""
        found = self.by_id.get(name.removeprefix("codex:entity:"))
        return [found] if found is not None else [entry for entry in self.entries if entry.name == name]

    @cached_property
    def names(self) -> Names:
        """Every name by which an entry may be noticed."""
        return Names(self._surfaces())

    def following(self, before: Codex) -> Codex:
        """Itself, with the automaton of a snapshot before it, where every name is still the same."""
        made = before.__dict__.get("names")
        if made is not None and [*self._surfaces().items()] == [*before._surfaces().items()]:
            self.names = made
        return self

    def _surfaces(self) -> dict[str, tuple[str, ...]]:
        return {
            entry.id: (entry.name, *entry.aliases)
            for entry in self.entries
            if entry.level in (Level.ALWAYS, Level.WHEN_DETECTED)
        }

    @cached_property
    def always(self) -> tuple[Entry, ...]:
        """The entries that belong to every prompt."""
        return tuple(entry for entry in self.entries if entry.level is Level.ALWAYS)

    @cached_property
    def standing(self) -> tuple[Fragment, ...]:
        """The fragments of all *always* entries when none of them is mentioned here."""
        return tuple(fragment for entry in self.always for fragment in self.rendered(entry, 0.0))

    def rendered(self, entry: Entry, score: float) -> tuple[Fragment, ...]:
        """An entry and its progressions as fragments; the gate decides which of them hold here."""
        key = (entry.id, score)
        known = self._rendered.get(key)
        if known is None:
            if len(self._rendered) > 8 * len(self.entries) + 64:
                self._rendered.clear()
            known = self._rendered[key] = tuple(self._render(entry, score))
        return known

    def _render(self, entry: Entry, score: float) -> list[Fragment]:
        layer = Layer.RULES if entry.level is Level.ALWAYS else Layer.RETRIEVED

        def fragment(
            source: str, text: str, since: Position | None, known_to: frozenset[str] | None, *of: Terms
        ) -> Fragment:
            return Fragment(
                source=source,
                layer=layer,
                text=text,
                project_id=self._project_id,
                title=entry.name,
                tier=Tier.ENTRY,
                score=score,
                since=since,
                known_to=known_to,
                derived_from=of,
            )

        # What becomes true of an entry can be known only where the entry itself can.
        tied = entry.since is not None or entry.known_to is not None
        own = (Terms(entry.source, entry.since, None, entry.known_to),) if tied else ()
        found = [fragment(entry.source, self._portrait(entry), entry.since, entry.known_to)]
        for number, step in enumerate(entry.progressions, start=1):
            text = f"{self._since(entry, step)}{step.text}"
            found.append(fragment(f"{entry.source}#{number}", text, step.since, step.known_to, *own))
        return found

    def _since(self, entry: Entry, step: Progression) -> str:
        """Whose it is and since when, so that a later one is seen to supersede an earlier one."""
        chapter = self._timeline.chapter(step.since.document)
        if self._language == "zh":
            return f"{entry.name}（第{chapter}章起）：" if chapter else f"{entry.name}（此后）："
        return f"{entry.name} (from chapter {chapter} on): " if chapter else f"{entry.name} (by now): "

    def _portrait(self, entry: Entry) -> str:
        """`Mara Venn (character; also Mara): …`; details follow."""
        if self._language == "zh":
            also = f"，又名{'、'.join(entry.aliases)}" if entry.aliases else ""
            head = f"{entry.name}（{_TYPES_ZH.get(entry.type, entry.type)}{also}）：{entry.description}"
            return head + "".join(f"{key}：{_closed(value, '。')}" for key, value in entry.details.items())
        also = f"; also {', '.join(entry.aliases)}" if entry.aliases else ""
        head = f"{entry.name} ({entry.type}{also}): {entry.description}"
        return head + "".join(f" {key.capitalize()}: {_closed(value, '.')}" for key, value in entry.details.items())


def _closed(text: str, stop: str) -> str:
    """A text that ends like a sentence."""
    return text if text.endswith((".", "!", "?", "。", "！", "？", "”")) else text + stop
