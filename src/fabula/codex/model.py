"""The codex as a snapshot: who and what there is, and how it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from fabula.codex.entry import Entry, Knowledge, Level, Pins, Progression, Relation, Wish
from fabula.codex.entry_text import portrait, progress
from fabula.codex.name_index import Roll
from fabula.core.fragment import Fragment, Layer, Terms, Tier
from fabula.core.story import Position, Timeline
from fabula.core.view import Language
from fabula.text.names.matcher import Names

__all__ = ["Codex", "Entry", "Knowledge", "Level", "Pins", "Progression", "Relation", "Wish"]


class Codex:
    """A snapshot of all entries, with the automaton and the rendered fragments that hang off it."""

    def __init__(
        self,
        project_id: str,
        language: Language,
        entries: Sequence[Entry] | Roll,
        timeline: Timeline | None = None,
        *,
        pins: Pins | None = None,
        knowledge: Knowledge | None = None,
        relation_depth: int | None = None,
    ) -> None:
        self.roll = entries if isinstance(entries, Roll) else Roll(entries)
        self.entries = self.roll.entries
        self.by_id = self.roll.by_id
        self.pins: Pins = pins or {}
        self.knowledge: Knowledge = knowledge or {}
        self.relation_depth = relation_depth  # None leaves it to the source
        self._project_id = project_id
        self._language = language
        self._timeline = timeline or Timeline()
        self._rendered: dict[tuple[str, float, str], tuple[Fragment, ...]] = {}

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

    def following(self, before: Codex) -> Codex:
        """Itself, with the automaton of a snapshot before it, or what of that is still good."""
        self.roll.following(before.roll)
        return self

    def called(self, name: str) -> list[Entry]:
        """The entries of that id, source or name."""
        found = self.by_id.get(name.removeprefix("codex:entity:"))
        return [found] if found is not None else [entry for entry in self.entries if entry.name == name]

    @property
    def names(self) -> Names:
        """Every name by which an entry may be noticed."""
        return self.roll.names

    @property
    def later(self) -> Mapping[str, Position]:
        """Names that come into the story at some point, and where."""
        return self.roll.later

    @property
    def always(self) -> tuple[Entry, ...]:
        """The entries that belong to every prompt."""
        return self.roll.always

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
