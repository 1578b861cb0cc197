"""The codex snapshot: all entries of a project at one version, rendered as fragments (cdx-1).

A snapshot never changes. It shares the name index and its matcher with earlier snapshots, and caches the
fragments it renders. It attaches `since`, `known_to` and stored knowledge to each fragment; the gate decides which
fragments may be used at the request's position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import itemgetter

from msgspec.structs import replace

from fabula.codex.entry import Entry, Knowledge, Level, Pins, Relation
from fabula.codex.entry_text import render_entry, render_fact, render_progression, render_relation
from fabula.codex.name_index import NameIndex
from fabula.core.fragment import Fragment, Layer, Tier, Visibility
from fabula.core.messages import message
from fabula.core.story import Perspective, Position, Timeline
from fabula.core.view import Language
from fabula.text.lookup import fold_name
from fabula.text.names.matcher import NameMatcher

READER = Perspective.READER.value
RELATION_PREFIX = "to:"  # in the source of a relation, before the id of the other entry


class Codex:
    """An immutable snapshot of all entries, their pins and who knows them."""

    def __init__(
        self,
        project_id: str,
        language: Language,
        entries: Sequence[Entry] | NameIndex,
        timeline: Timeline | None = None,
        *,
        pins: Pins | None = None,
        knowledge: Knowledge | None = None,
        removed_names: Mapping[str, str] | None = None,
        relation_depth: int | None = None,
    ) -> None:
        self.name_index = entries if isinstance(entries, NameIndex) else NameIndex(entries)
        self.entries = self.name_index.entries
        self.by_id = self.name_index.by_id
        self.pins: Pins = pins or {}
        self.knowledge: Knowledge = knowledge or {}
        self.removed_names: Mapping[str, str] = removed_names or {}  # by the id that chapters and facts still hold
        self.relation_depth = relation_depth  # None: the default of the source
        self._project_id = project_id
        self._language = language
        self._timeline = timeline or Timeline()
        self._rendered: dict[tuple[str, float], tuple[Fragment, ...]] = {}

    def with_entries(
        self, entries: Sequence[Entry], *, knowledge: Knowledge, removed_names: Mapping[str, str] | None = None
    ) -> Codex:
        """Return a codex with other entries and knowledge, perhaps other names of removed entries, and the rest."""
        return Codex(
            self._project_id,
            self._language,
            entries,
            self._timeline,
            pins=self.pins,
            knowledge=knowledge,
            removed_names=self.removed_names if removed_names is None else removed_names,
            relation_depth=self.relation_depth,
        )

    def reuse_matcher(self, previous: Codex) -> Codex:
        """Take over the name matcher of an earlier snapshot where names are unchanged; return this codex."""
        self.name_index.reuse_matcher(previous.name_index)
        return self

    def resolve_knowers(self, known_to: frozenset[str] | None) -> frozenset[str] | None:
        """Return who knows something by id: earlier versions stored names as they were typed, and so do folders."""
        if known_to is None or known_to <= self.by_id.keys():
            return known_to
        return frozenset(
            name if name in self.by_id else self._ids_by_name.get(fold_name(name), name) for name in known_to
        )

    def name_of(self, ident: str) -> str:
        """Return the name of an entry, or the last one of a removed entry; what the codex never had is itself."""
        entry = self.by_id.get(ident)
        return self.removed_names.get(ident, ident) if entry is None else entry.name

    @cached_property
    def _ids_by_name(self) -> dict[str, str]:
        """The ids of entries by folded name; a name that several entries have means nobody."""
        owners: dict[str, set[str]] = {}
        for entry in self.entries:
            for name in entry.names:
                owners.setdefault(fold_name(name), set()).add(entry.id)
        return {name: next(iter(ids)) for name, ids in owners.items() if len(ids) == 1 and name != READER}

    def find_entries(self, name: str) -> list[Entry]:
        """Find entries by id, fragment source or main name."""
        entry = self.by_id.get(name.removeprefix("codex:entity:"))
        return [entry] if entry is not None else [entry for entry in self.entries if entry.name == name]

    @property
    def timeline(self) -> Timeline:
        """The timeline of the story that the entries belong to."""
        return self._timeline

    @property
    def name_matcher(self) -> NameMatcher:
        """The matcher for every name by which an entry may be detected."""
        return self.name_index.matcher

    @property
    def later_names(self) -> Mapping[str, Position]:
        """Names that enter the story at some position, and that position."""
        return self.name_index.later_names

    def render(self, entry: Entry, score: float) -> tuple[Fragment, ...]:
        """Render an entry as fragments: itself, each progression, and each relation that has limits."""
        key = (entry.id, score)
        fragments = self._rendered.get(key)
        if fragments is None:
            if len(self._rendered) > 8 * len(self.entries) + 64:
                self._rendered.clear()
            fragments = self._rendered[key] = tuple(self._render(entry, score))
        return fragments

    def _render(self, entry: Entry, score: float) -> list[Fragment]:
        layer = Layer.RULES if entry.level is Level.ALWAYS else Layer.RETRIEVED

        def fragment(text: str, visibility: Visibility, *inherited: Visibility) -> Fragment:
            return Fragment(
                source=visibility.source,
                layer=layer,
                text=text,
                project_id=self._project_id,
                title=entry.name,
                tier=Tier.ENTRY,
                score=score,
                since=visibility.since,
                until=visibility.until,
                known_to=visibility.known_to,
                derived_from=(*((visibility,) if visibility.learned_at else ()), *inherited),
            )

        own = self._visibility(entry.source, entry.since, entry.known_to)
        open_relations, limited_relations = self._sort_relations(entry)
        fragments = [fragment(render_entry(entry, self._language, open_relations), own)]
        # A progression is visible only where its entry is.
        inherited = (own,) if _is_limited(own) else ()
        for number, progression in enumerate(entry.progressions, start=1):
            chapter = self._timeline.chapter_name(progression.since.document)
            text = render_progression(entry, progression, chapter, self._language)
            visibility = self._visibility(f"{entry.source}#{number}", progression.since, progression.known_to)
            fragments.append(fragment(text, visibility, *inherited))
        # A relation names another entry, so it is visible only where both entries are.
        numbers: Counter[str] = Counter()
        for relation, other, limits in limited_relations:
            chapter = None if relation.since is None else self._timeline.chapter_name(relation.since.document)
            text = render_relation(entry, relation.kind, other.name, chapter, self._language)
            numbers[other.id] += 1
            source = f"{entry.source}#{RELATION_PREFIX}{other.id}"
            if numbers[other.id] > 1:  # another relation to the same entry
                source = f"{source}:{numbers[other.id]}"
            visibility = replace(self.find_limits(relation), source=source)
            fragments.append(fragment(text, visibility, *(one for one in (own, limits) if _is_limited(one))))
        return fragments

    def render_fact(self, entry: Entry, text: str, limits: Visibility, score: float) -> Fragment:
        """Render a sentence of the book about an entry; it is visible only where its entry is."""
        own = self.render(entry, 0.0)[0]
        chapter = None if limits.since is None else self._timeline.chapter_name(limits.since.document)
        return Fragment(
            source=limits.source,
            layer=Layer.RETRIEVED,
            text=render_fact(entry, text, chapter, self._language),
            project_id=self._project_id,
            title=entry.name,
            tier=Tier.ENTRY,
            score=score,
            since=limits.since,
            until=limits.until,
            known_to=self.resolve_knowers(limits.known_to),
            derived_from=() if own.is_unrestricted else own.visibilities,
            made_of=frozenset() if limits.since is None else frozenset({limits.since.document}),
            explanation=message("the book says so of {name}", name=entry.name),
        )

    def find_limits(self, relation: Relation) -> Visibility:
        """Return from when until when a relation holds by itself, and who may know it."""
        return Visibility("", relation.since, relation.until, self.resolve_knowers(relation.known_to))

    def _sort_relations(self, entry: Entry) -> tuple[list[tuple[str, str]], list[tuple[Relation, Entry, Visibility]]]:
        """The relations to name: those that everybody may know, by name, and those that have limits.

        The limits are those of the relation, or of the other entry, which come with it. An entry that enters no
        prompt, or only by hand, is not named.
        """
        open_relations: list[tuple[str, str]] = []
        limited: list[tuple[Relation, Entry, Visibility]] = []
        for relation in entry.relations:
            other = self.by_id.get(relation.to)
            if other is None or not relation.kind or other.level not in (Level.ALWAYS, Level.WHEN_DETECTED):
                continue
            limits = self._visibility(other.source, other.since, other.known_to)
            if relation.is_limited or _is_limited(limits):
                limited.append((relation, other, limits))
            else:
                open_relations.append((relation.kind, other.name))
        return open_relations, limited

    def _visibility(self, source: str, since: Position | None, known_to: frozenset[str] | None) -> Visibility:
        """Combine `known_to` of an entry with stored knowledge, which may start later in the story."""
        knowers, known_to = self.knowledge.get(source), self.resolve_knowers(known_to)
        if not knowers:
            return Visibility(source, since, None, known_to)
        learned_at = tuple((knower, at) for knower, at in sorted(knowers.items(), key=itemgetter(0)) if at is not None)
        return Visibility(source, since, None, None if known_to is None else known_to.union(knowers), learned_at)


def _is_limited(visibility: Visibility) -> bool:
    return visibility.since is not None or visibility.known_to is not None or bool(visibility.learned_at)
