"""Merges the codex of a book with the codex of its series (man-3).

A book shares all entries of its series. It can extend a shared entry with an entry of its own that has the same id:
aliases, tags, relations, details and progressions are added to those of the series, and every other field that the
book sets replaces the one of the series. Progressions of the series are numbered first, so stored knowledge of the
book's own progressions is renumbered.

Books of a series have an order. What became true of a shared entry in an earlier book, and who learned it there, holds
in every later one: its positions are those of the earlier book. What an earlier book says without a position, and
entries that only it has, stay with it.

A save of a book has no earlier books. So what they add to shared entries is written into the book's own entries of the
save (`carry_earlier`), with positions in documents of the earlier books. Where such a book is there and comes before,
it speaks for itself, and what the save carried of it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from msgspec.structs import replace

from fabula.codex.entry import Entry, Knowledge, Progression, Relation
from fabula.codex.model import Codex
from fabula.core.story import Perspective, Position, find_earlier_book, name_earlier_document

_OVERRIDABLE = ("level", "description", "notes", "known_to", "since", "rules")
_DEFAULTS = Entry(id="-", type="-", name="-")


def merge_codexes(series: Codex, book: Codex, earlier: Sequence[tuple[str, Codex]] = ()) -> Codex:
    """Return the codex of a book with the entries its series shares, and with what became of them in earlier books.

    `earlier` has the id and the own codex of each book that comes before, the first one first.
    """
    shared = _add_earlier_books(series, earlier)
    book = _drop_carried(book, {book_id for book_id, _ in earlier})
    merged = dict(shared.by_id)
    for entry in book.entries:
        found = shared.by_id.get(entry.id)
        merged[entry.id] = entry if found is None else merge_entry(found, entry)
    return book.with_entries(
        [*merged.values()],
        knowledge=_merge_knowledge(shared, book.knowledge),
        removed_names={**series.removed_names, **book.removed_names},
    )


def carry_earlier(series: Codex, book: Codex, earlier: Sequence[tuple[str, Codex]]) -> tuple[list[Entry], Knowledge]:
    """Return the book's own entries with what earlier books add to shared ones, and all that is known in the book."""
    shared = _add_earlier_books(series, earlier)
    book = _drop_carried(book, {book_id for book_id, _ in earlier})
    entries: list[Entry] = []
    counts: dict[str, int] = {}
    knowledge: dict[str, dict[str, Position | None]] = {}
    for entry in series.entries:
        full, first = shared.by_id[entry.id], len(entry.progressions)
        steps = full.progressions[first:]
        relations = [one for one in full.relations if one not in entry.relations]
        own = book.by_id.get(entry.id) or Entry(id=entry.id, type=entry.type, name=entry.name)
        if steps or relations:
            counts[entry.source] = len(steps)
            merged = _merge_relations(relations, own.relations)
            entries.append(replace(own, progressions=(*steps, *own.progressions), relations=merged))
        facts = {f"{entry.source}#{number}": f"{entry.source}#{first + number}" for number in range(1, len(steps) + 1)}
        for fact, numbered in {entry.source: entry.source, **facts}.items():
            known = series.knowledge.get(numbered, {})
            learned = {who: at for who, at in shared.knowledge.get(numbered, {}).items() if known.get(who, ...) != at}
            if learned:
                knowledge[fact] = learned
    for fact, knowers in book.knowledge.items():
        source, mark, number = fact.partition("#")
        if mark and number.isdecimal():
            fact = f"{source}#{int(number) + counts.get(source, 0)}"
        knowledge[fact] = {**knowledge.get(fact, {}), **knowers}
    return entries, knowledge


def merge_entry(shared: Entry, own: Entry) -> Entry:
    """Return an entry of a series as extended by the entry of a book."""
    overridden = {name: getattr(own, name) for name in _OVERRIDABLE if getattr(own, name) != getattr(_DEFAULTS, name)}
    names = dict.fromkeys((shared.name, *shared.aliases, *own.aliases))
    return replace(
        shared,
        name=own.name,
        type=own.type,
        aliases=tuple(name for name in names if name != own.name),
        tags=tuple(dict.fromkeys((*shared.tags, *own.tags))),
        details={**shared.details, **own.details},
        relations=_merge_relations(shared.relations, own.relations),
        progressions=(*shared.progressions, *own.progressions),
        **overridden,
    )


def _merge_relations(shared: Sequence[Relation], own: Sequence[Relation]) -> tuple[Relation, ...]:
    """Merge relations; where both have one of the same kind to the same entry, the own one takes precedence."""
    return tuple({(relation.to, relation.kind): relation for relation in (*shared, *own)}.values())


def _merge_knowledge(shared: Codex, own: Knowledge) -> Knowledge:
    """Merge who knows what; where both speak of the same character and fact, the book takes precedence."""
    merged = {fact: dict(knowers) for fact, knowers in shared.knowledge.items()}
    for fact, knowers in own.items():
        source, mark, number = fact.partition("#")
        found = shared.by_id.get(source.removeprefix("codex:entity:")) if mark else None
        if found is not None:
            fact = f"{source}#{int(number) + len(found.progressions)}"
        merged[fact] = {**merged.get(fact, {}), **knowers}
    return merged


def _add_earlier_books(series: Codex, earlier: Sequence[tuple[str, Codex]]) -> Codex:
    shared = series
    for book_id, codex in earlier:
        shared = _add_earlier_book(shared, book_id, codex)
    return shared


def _drop_carried(book: Codex, present: Set[str]) -> Codex:
    """Leave out what a save carried of earlier books that are here, and so speak for themselves."""

    def is_carried(position: Position | None) -> bool:
        return position is not None and find_earlier_book(position.document) in present

    entries: list[Entry] = []
    numbers: dict[str, str] = {}
    for entry in book.entries:
        steps = [step for step in entry.progressions if not is_carried(step.since)]
        relations = tuple(one for one in entry.relations if not is_carried(one.since))
        if len(steps) < len(entry.progressions):
            left = (number for number, one in enumerate(entry.progressions, start=1) if not is_carried(one.since))
            dropped = (number for number, one in enumerate(entry.progressions, start=1) if is_carried(one.since))
            numbers |= {f"{entry.source}#{number}": f"{entry.source}#{new}" for new, number in enumerate(left, start=1)}
            numbers |= {f"{entry.source}#{number}": "" for number in dropped}
        if len(steps) < len(entry.progressions) or len(relations) < len(entry.relations):
            entry = replace(entry, progressions=tuple(steps), relations=relations)
        entries.append(entry)
    has_carried = any(is_carried(at) for knowers in book.knowledge.values() for at in knowers.values())
    if not has_carried and all(new is old for new, old in zip(entries, book.entries, strict=True)):
        return book
    knowledge = {
        numbers.get(fact, fact): {who: at for who, at in knowers.items() if not is_carried(at)}
        for fact, knowers in book.knowledge.items()
        if numbers.get(fact, fact)
    }
    return book.with_entries(entries, knowledge={fact: knowers for fact, knowers in knowledge.items() if knowers})


def _add_earlier_book(shared: Codex, book_id: str, book: Codex) -> Codex:
    """Add what became true of shared entries in an earlier book, and who learned of it there.

    That is its progressions, and its relations from some position on to other shared entries.
    """
    people = shared.by_id.keys() | {Perspective.READER.value}  # nobody else is the same person in both books
    entries: list[Entry] = []
    knowledge: dict[str, dict[str, Position | None]] = {}

    def add_knowledge(fact: str, knowers: Set[str]) -> None:
        for knower, since in book.knowledge.get(fact, {}).items():
            if knower in knowers:
                knowledge.setdefault(fact, {})[knower] = None if since is None else _as_earlier(book_id, since)

    for found in shared.entries:
        own = book.by_id.get(found.id)
        add_knowledge(found.source, people)
        allowed = None if own is None else _find_knowers(book, own.source, own.known_to)
        steps: list[Progression] = []
        relations: list[Relation] = []
        for number, step in enumerate(() if own is None else own.progressions, start=1):
            fact = f"{found.source}#{number}"
            known_to = _limit_knowers(people, allowed, _find_knowers(book, fact, step.known_to))
            steps.append(replace(step, since=_as_earlier(book_id, step.since), known_to=known_to))
            add_knowledge(fact, people if known_to is None else known_to)
        for one in () if own is None else own.relations:
            if one.since is not None and one.to in shared.by_id:
                since, until = _as_earlier(book_id, one.since), one.until and _as_earlier(book_id, one.until)
                known_to = _limit_knowers(people, allowed, one.known_to)
                relations.append(replace(one, since=since, until=until, known_to=known_to))
        entries.append(
            replace(
                found,
                progressions=(*found.progressions, *steps),
                relations=_merge_relations(found.relations, relations),
            )
            if steps or relations
            else found
        )
    return shared.with_entries(entries, knowledge=_merge_knowledge(shared, knowledge))


def _find_knowers(book: Codex, fact: str, known_to: frozenset[str] | None) -> frozenset[str] | None:
    """Everybody who knows a fact at the end of a book; None for all."""
    return None if known_to is None else known_to.union(book.knowledge.get(fact, ()))


def _limit_knowers(people: Set[str], *limits: frozenset[str] | None) -> frozenset[str] | None:
    """Those of the people who may know something by all limits; None for everybody."""
    given = [one for one in limits if one is not None]
    return frozenset.intersection(*given) & people if given else None


def _as_earlier(book_id: str, position: Position) -> Position:
    return Position(name_earlier_document(book_id, position.document), position.offset)
