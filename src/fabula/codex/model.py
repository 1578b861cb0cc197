"""Entries and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex.portrait import portrait, progress
from fabula.core.fragments import Fragment, Layer, Terms, Tier
from fabula.core.story import Position, Timeline
from fabula.core.view import Language
from fabula.text.names import Names, Rules


class Level(StrEnum):
    """When an entry may enter a prompt."""

    ALWAYS = "always"
    WHEN_DETECTED = "when_detected"
    MANUAL = "manual"
    NEVER = "never"


class Progression(Struct, frozen=True):
    """What is true of an entry from some point of the story on, the names it gets there among it."""

    text: str
    since: Position
    known_to: frozenset[str] | None = None
    aliases: tuple[str, ...] = ()


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
    rules: Rules = Rules()  # how its names are found

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it has at any time of the story, its own first."""
        later = (alias for step in self.progressions for alias in step.aliases)
        return tuple(dict.fromkeys((self.name, *self.aliases, *later)))

    @property
    def source(self) -> str:
        """Its name among fragments."""
        return f"codex:entity:{self.id}"


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
        relation_depth: int | None = None,
    ) -> None:
        self.entries = tuple(sorted(entries, key=lambda e: (e.level is not Level.ALWAYS, e.type, e.name, e.id)))
        self.by_id = {entry.id: entry for entry in self.entries}
        self.place = {entry.id: place for place, entry in enumerate(self.entries)}
        self.pins: Pins = pins or {}
        self.knowledge: Knowledge = knowledge or {}
        self.relation_depth = relation_depth  # None leaves it to the source
        self._project_id = project_id
        self._language = language
        self._timeline = timeline or Timeline()
        self._rendered: dict[tuple[str, float, str], tuple[Fragment, ...]] = {}
        self._before: Names | None = None

    def with_entries(self, entries: Sequence[Entry], *, knowledge: Knowledge) -> Codex:
        """The same codex with other entries, and with what is known of them."""
        return Codex(
            self._project_id,
            self._language,
            entries,
            self._timeline,
            pins=self.pins,
            knowledge=knowledge,
            relation_depth=self.relation_depth,
        )

    def called(self, name: str) -> list[Entry]:
        """The entries of that id, source or name."""
        found = self.by_id.get(name.removeprefix("codex:entity:"))
        return [found] if found is not None else [entry for entry in self.entries if entry.name == name]

    @cached_property
    def names(self) -> Names:
        """Every name by which an entry may be noticed."""
        before, self._before = self._before, None
        return Names(self._surfaces(), rules=self._rules(), before=before)

    def following(self, before: Codex) -> Codex:
        """Itself, with the automaton of a snapshot before it, or what of that is still good."""
        made = before.__dict__.get("names")
        if made is not None and self._found_alike(before):
            self.names = made
        else:
            self._before = made or before._before
        return self

    def _found_alike(self, other: Codex) -> bool:
        alike = [*self._surfaces().items()] == [*other._surfaces().items()]
        return alike and self._rules() == other._rules()

    def _surfaces(self) -> dict[str, tuple[str, ...]]:
        return {
            entry.id: tuple(filter(safe, entry.names))
            for entry in self.entries
            if entry.level in (Level.ALWAYS, Level.WHEN_DETECTED)
        }

    def _rules(self) -> dict[str, Rules]:
        """How names are found, of those entries where it is not the usual way."""
        found = {}
        for entry in self.entries:
            rules = replace(entry.rules, person=True) if entry.type == "character" else entry.rules
            if rules != _USUAL:
                found[entry.id] = rules
        return found

    @cached_property
    def later(self) -> dict[str, Position]:
        """Names that come into the story at some point, and where; those that are free for others are left out."""
        free = {name for entry in self.entries if entry.since is None for name in (entry.name, *entry.aliases)}
        found: dict[str, Position] = {}
        for entry in self.entries:
            if entry.since is not None:
                found.update(dict.fromkeys((entry.name, *entry.aliases), entry.since))
        return {name: since for name, since in found.items() if name not in free and safe(name)}

    @cached_property
    def always(self) -> tuple[Entry, ...]:
        """The entries that belong to every prompt."""
        return tuple(entry for entry in self.entries if entry.level is Level.ALWAYS)

    @cached_property
    def standing(self) -> tuple[Fragment, ...]:
        """The fragments of all *always* entries when none of them is mentioned here."""
        return tuple(fragment for entry in self.always for fragment in self.rendered(entry, 0.0))

    def rendered(self, entry: Entry, score: float, because: str = "") -> tuple[Fragment, ...]:
        """An entry and its progressions as fragments; the gate decides which of them hold here."""
        key = (entry.id, score, because)
        known = self._rendered.get(key)
        if known is None:
            if len(self._rendered) > 8 * len(self.entries) + 64:
                self._rendered.clear()
            known = self._rendered[key] = tuple(self._render(entry, score, because))
        return known

    def _render(self, entry: Entry, score: float, because: str) -> list[Fragment]:
        layer = Layer.RULES if entry.level is Level.ALWAYS else Layer.RETRIEVED

        def fragment(text: str, terms: Terms, *of: Terms) -> Fragment:
            return Fragment(
                source=terms.source,
                layer=layer,
                text=text,
                project_id=self._project_id,
                title=entry.name,
                tier=Tier.ENTRY,
                score=score,
                since=terms.since,
                known_to=terms.known_to,
                derived_from=(*((terms,) if terms.learnt else ()), *of),
                because=because,
            )

        own = self._terms(entry.source, entry.since, entry.known_to)
        found = [fragment(portrait(entry, self._language), own)]
        # What becomes true of an entry can be known only where the entry itself can.
        tied = own.since is not None or own.known_to is not None or bool(own.learnt)
        for number, step in enumerate(entry.progressions, start=1):
            text = progress(entry, step, self._timeline.chapter(step.since.document), self._language)
            terms = self._terms(f"{entry.source}#{number}", step.since, step.known_to)
            found.append(fragment(text, terms, *((own,) if tied else ())))
        return found

    def _terms(self, source: str, since: Position | None, known_to: frozenset[str] | None) -> Terms:
        """Whoever `known_to` lists knows a fact, and whoever knowledge names; the latter from where that says."""
        known = self.knowledge.get(source)
        if not known:
            return Terms(source, since, None, known_to)
        learnt = tuple((who, at) for who, at in sorted(known.items(), key=lambda one: one[0]) if at is not None)
        return Terms(source, since, None, None if known_to is None else known_to.union(known), learnt)


def safe(name: str) -> bool:
    """May a name be looked for in running text? Of single letters only capitals that are no words, like K or Q."""
    return len(name) > 1 or not name.isascii() or ("B" <= name <= "Z" and name not in "IO")


_USUAL = Rules()
