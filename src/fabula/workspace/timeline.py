"""The timeline of a story: who appears where, what becomes true when, and who learns it when (man-8).

Columns are the documents in reading order. A row of an entry counts how often its names occur in each of them. A fact
is an entry, a progression or a relation that begins or ends somewhere in the story, or that only some may know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex import Codex, Entry
from fabula.codex.entry import Level
from fabula.codex.entry_types import find_type, name_type
from fabula.codex.name_index import NameIndex
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message
from fabula.core.story import Position
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.text.names.disambiguation import resolve_mentions
from fabula.workspace.arguments import PositiveInt
from fabula.workspace.names import find_by_name
from fabula.workspace.verbs import ProjectVerbs

PEOPLE = "character"


class StoryDocument(Struct, frozen=True, kw_only=True):
    """One document of the story: its number, title, and whose point of view it has."""

    document_id: str
    number: int | None  # that a reader gives to its chapter; None for a prologue
    title: str
    pov: str = ""
    story_index: int = 0  # its place in the order in which the story happens
    happens_elsewhere: bool = False  # whether the writer gave it a time of its own


class Appearance(Struct, frozen=True, kw_only=True):
    """How often an entry is named in each document."""

    entry_id: str
    name: str
    type: str
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """How often it is named in all."""
        return sum(self.counts)


class FactKnower(Struct, frozen=True, kw_only=True):
    """Somebody who knows a fact, and from which document on; None from the start."""

    knower_id: str
    name: str
    since: Position | None = None
    index: int | None = None  # of the document in the timeline


class StoryFact(Struct, frozen=True, kw_only=True):
    """Something that becomes true in the story, or that only some know."""

    entry_id: str
    name: str
    text: str | Sentence
    progression: int = 0  # its number; 0 for the entry itself and for relations
    related_to: str | None = None  # the id of the other entry of a relation
    since: Position | None = None
    until: Position | None = None
    index: int | None = None  # of the document in the timeline
    end_index: int | None = None
    is_secret: bool = False  # only `knowers` know it
    knowers: tuple[FactKnower, ...] = ()


class StoryTimeline(Struct, frozen=True, kw_only=True):
    """The documents of a story, who appears in each, what becomes true, and who knows it."""

    documents: tuple[StoryDocument, ...]
    appearances: tuple[Appearance, ...]
    facts: tuple[StoryFact, ...]


class TimelineVerbs(ProjectVerbs):
    """The timeline of an open project."""

    def read(
        self, names: Sequence[str] = (), *, kind: str | None = None, most: PositiveInt | None = None
    ) -> StoryTimeline:
        """Read the timeline of some entries, of all entries of a kind, or of all people and all facts.

        `most` is how many entries are counted chapter by chapter: those that are named most often.
        """
        view = self._view
        codex = view.snapshot(Codex)
        entries = list(codex.entries) if codex is not None else []
        known = sorted({entry.type for entry in entries})
        kind = None if kind is None else find_type(kind, known, code=Code.REQUEST_INVALID)
        if kind is not None and kind not in known:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "No entry is of the type {kind!r}. There are: {known}.",
                    kind=kind,
                    known=join_names(map(name_type, known)),
                ),
            )
        if names:
            chosen = shown = [
                find_by_name(entries, name, what=message("entry"), names_of=lambda entry: entry.names)
                for name in dict.fromkeys(names)
            ]
        else:
            chosen = [entry for entry in entries if entry.type == (kind or PEOPLE)]
            shown = entries if kind is None else chosen
        return StoryTimeline(
            documents=tuple(_describe_documents(view, codex)),
            appearances=tuple(_count_appearances(view, codex, chosen, most)) if codex is not None else (),
            facts=tuple(_collect_facts(view, codex, shown) if codex is not None else ()),
        )


def _describe_documents(view: View, codex: Codex | None) -> list[StoryDocument]:
    places = {document: index for index, document in enumerate(view.timeline.documents_in_story_order)}
    return [
        StoryDocument(
            document_id=one.document,
            number=view.timeline.chapter_number(one.document),
            title=one.title,
            pov=codex.name_of(one.pov) if codex is not None and one.pov else one.pov or "",
            story_index=places[one.document],
            happens_elsewhere=one.when is not None,
        )
        for one in view.timeline.entries
    ]


def _count_appearances(view: View, codex: Codex, chosen: Sequence[Entry], most: int | None) -> list[Appearance]:
    """Count the names of the chosen entries in each document, the most frequent entry first."""
    found = _count_names(codex, view.snapshot(Manuscript) or Manuscript())
    counts = [found.get(one.document, Counter()) for one in view.timeline.entries]
    totals: Counter[str] = Counter()
    for one in counts:
        totals.update(one)
    ranked = sorted(chosen, key=lambda entry: totals[entry.id], reverse=True)
    return [
        Appearance(
            entry_id=entry.id, name=entry.name, type=entry.type, counts=tuple(found[entry.id] for found in counts)
        )
        for entry in ranked[:most]
    ]


class _NameCounts(Struct, frozen=True):
    """How often the entries of a codex are named in texts."""

    codex: Codex
    by_text: Mapping[str, Counter[str]]


def _count_names(codex: Codex, manuscript: Manuscript) -> Mapping[str, Counter[str]]:
    """Count all names in the text of each document; a text is searched again only when the codex was changed.

    A name may be part of another entry's longer name, so all are searched.
    """
    known = manuscript.cache.get(_NameCounts)
    counted = known.by_text if isinstance(known, _NameCounts) and known.codex is codex else {}
    if not all(one.text in counted for one in manuscript.documents):
        matcher = NameIndex(replace(entry, level=Level.ALWAYS) for entry in codex.entries).matcher
        counted = {
            text: counted.get(text) or Counter(mention.owners[0] for mention in resolve_mentions(matcher.find(text)))
            for text in {one.text for one in manuscript.documents}
        }
        manuscript.cache[_NameCounts] = _NameCounts(codex, counted)
    return {one.id: counted[one.text] for one in manuscript.documents}


def _collect_facts(view: View, codex: Codex, entries: Sequence[Entry]) -> list[StoryFact]:
    """Collect what becomes true or is secret, in the order of the story; what holds from the start comes first."""
    columns = {one.document: index for index, one in enumerate(view.timeline.entries)}
    facts = [fact for entry in entries for fact in _facts_of(codex, entry, columns)]
    return sorted(
        facts,
        key=lambda fact: (-1 if fact.index is None else fact.index, 0 if fact.since is None else fact.since.offset),
    )


def _facts_of(codex: Codex, entry: Entry, columns: Mapping[str, int]) -> Iterator[StoryFact]:
    def name_knowers(known_to: frozenset[str] | None, learned: Mapping[str, Position | None]) -> tuple[FactKnower, ...]:
        return tuple(
            FactKnower(
                knower_id=one,
                name=codex.name_of(one),
                since=learned.get(one),
                index=_find_column(learned.get(one), columns),
            )
            for one in sorted({*(codex.resolve_knowers(known_to) or ()), *learned})
        )

    steps = [(0, entry.description, entry.since, entry.known_to)]
    steps += [(number, one.text, one.since, one.known_to) for number, one in enumerate(entry.progressions, start=1)]
    for number, text, since, known_to in steps:
        learned = codex.knowledge.get(f"{entry.source}#{number}" if number else entry.source, {})
        if since is None and known_to is None and not learned:
            continue
        yield StoryFact(
            entry_id=entry.id,
            name=entry.name,
            text=text,
            progression=number,
            since=since,
            index=_find_column(since, columns),
            is_secret=known_to is not None,
            knowers=name_knowers(known_to, learned),
        )
    for relation in entry.relations:
        if relation.is_limited:
            yield StoryFact(
                entry_id=entry.id,
                name=entry.name,
                text=message(
                    "{kind}: {name}",
                    kind=relation.kind or message("related"),
                    name=codex.name_of(relation.to),
                ),
                related_to=relation.to,
                since=relation.since,
                until=relation.until,
                index=_find_column(relation.since, columns),
                end_index=_find_column(relation.until, columns),
                is_secret=relation.known_to is not None,
                knowers=name_knowers(relation.known_to, {}),
            )


def _find_column(since: Position | None, columns: Mapping[str, int]) -> int | None:
    return None if since is None else columns.get(since.document)
