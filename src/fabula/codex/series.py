"""A book and its series: one codex made of two (man-3).

The entries of a series are those of each of its books. A book may say more of one of them, in an entry of
its own with the same id: names, tags, relations and what becomes true are added to what the series says,
details by their names, and every other field is the book's where the book says something. Numbers of
progressions count the series' first, and what is known in the book of its own moves along.
"""

from __future__ import annotations

from msgspec.structs import replace

from fabula.codex.model import Codex, Entry, Knowledge

_SAID = ("level", "description", "notes", "known_to", "since", "rules")
_PLAIN = Entry(id="-", type="-", name="-")


def together(series: Codex, book: Codex) -> Codex:
    """The codex of a book, with all that its series shares."""
    found = {entry.id: entry for entry in series.entries}
    for entry in book.entries:
        shared = series.by_id.get(entry.id)
        found[entry.id] = entry if shared is None else extended(shared, entry)
    return book.with_entries([*found.values()], knowledge=_known(series, book))


def extended(shared: Entry, own: Entry) -> Entry:
    """An entry of a series as one of its books tells it."""
    said = {name: getattr(own, name) for name in _SAID if getattr(own, name) != getattr(_PLAIN, name)}
    also = (shared.name,) if own.name != shared.name else ()
    return replace(
        shared,
        name=own.name,
        type=own.type,
        aliases=tuple(dict.fromkeys(name for name in (*also, *shared.aliases, *own.aliases) if name != own.name)),
        tags=tuple(dict.fromkeys((*shared.tags, *own.tags))),
        details={**shared.details, **own.details},
        relations=tuple(dict.fromkeys((*shared.relations, *own.relations))),
        progressions=(*shared.progressions, *own.progressions),
        **said,
    )


def _known(series: Codex, book: Codex) -> Knowledge:
    """Who knows what, in the series and in the book; where both speak of a knower, the book is right."""
    found = {fact: dict(known) for fact, known in series.knowledge.items()}
    for fact, known in book.knowledge.items():
        source, mark, number = fact.partition("#")
        shared = series.by_id.get(source.removeprefix("codex:entity:")) if mark else None
        if shared is not None:
            fact = f"{source}#{int(number) + len(shared.progressions)}"
        found[fact] = {**found.get(fact, {}), **known}
    return found
