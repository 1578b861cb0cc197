"""Merges the codex of a book with the codex of its series (man-3).

A book shares all entries of its series. It can extend a shared entry with an entry of its own that has the same id:
aliases, tags, relations, details and progressions are added to those of the series, and every other field that the
book sets replaces the one of the series. Progressions of the series are numbered first, so stored knowledge of the
book's own progressions is renumbered.
"""

from __future__ import annotations

from msgspec.structs import replace

from fabula.codex.entry import Entry, Knowledge
from fabula.codex.model import Codex

_OVERRIDABLE = ("level", "description", "notes", "known_to", "since", "rules")
_DEFAULTS = Entry(id="-", type="-", name="-")


def merge_codexes(series: Codex, book: Codex) -> Codex:
    """Return the codex of a book with the entries its series shares."""
    merged = dict(series.by_id)
    for entry in book.entries:
        shared = series.by_id.get(entry.id)
        merged[entry.id] = entry if shared is None else merge_entry(shared, entry)
    return book.with_entries([*merged.values()], knowledge=_merge_knowledge(series, book))


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
        relations=tuple(dict.fromkeys((*shared.relations, *own.relations))),
        progressions=(*shared.progressions, *own.progressions),
        **overridden,
    )


def _merge_knowledge(series: Codex, book: Codex) -> Knowledge:
    """Merge who knows what; where both speak of the same character and fact, the book takes precedence."""
    merged = {fact: dict(knowers) for fact, knowers in series.knowledge.items()}
    for fact, knowers in book.knowledge.items():
        source, mark, number = fact.partition("#")
        shared = series.by_id.get(source.removeprefix("codex:entity:")) if mark else None
        if shared is not None:
            fact = f"{source}#{int(number) + len(shared.progressions)}"
        merged[fact] = {**merged.get(fact, {}), **knowers}
    return merged
