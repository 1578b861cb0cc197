"""A book as it stands in a file, checked field by field.

Books come from strangers. Everything is looked at before anything is kept: types, numbers that are
none, uids that occur twice. A refusal names the entry and the field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.lorebook.model import Book, LoreEntry, Settings, Source, Timed

LARGEST = 1e300
T = TypeVar("T")


def read_book(raw: object, name: str = "book", source: Source = "global") -> Book:
    """A book from the decoded JSON of a world book's file."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("entries"), Mapping | Sequence):
        raise _refusal(f"The lorebook {name!r} has no list of entries.")
    rows = raw["entries"]
    if isinstance(rows, str | bytes):
        raise _refusal(f"The lorebook {name!r} has no list of entries.")
    named = rows.items() if isinstance(rows, Mapping) else enumerate(rows)
    entries: list[LoreEntry] = []
    places: dict[int, object] = {}
    for place, row in named:
        entry = read_entry(row, f"entry {str(place)[:40]!r} of the lorebook {name!r}")
        if entry.uid in places:
            raise _refusal(
                f"The entries {str(places[entry.uid])[:40]!r} and {str(place)[:40]!r} of the lorebook {name!r} "
                f"have the same uid {entry.uid}. Give one of them another."
            )
        places[entry.uid] = place
        entries.append(entry)
    return Book(name, tuple(entries), source)


def read_entry(raw: object, where: str = "the entry") -> LoreEntry:
    """One entry; a field of the wrong type is refused by name."""
    entry = _converted(raw, LoreEntry, where)
    if odd := _odd(entry):
        raise _refusal(f"The field {odd!r} of {where} is no number to count with. Correct it.")
    return entry


def read_settings(raw: object) -> Settings:
    """The settings from decoded JSON; what is unknown is passed over."""
    settings = _converted(raw, Settings, "the lorebook settings")
    if odd := _odd(settings):
        raise _refusal(f"The lorebook setting {odd!r} is no number to count with. Correct it.")
    return settings


def read_timed(raw: object) -> Timed:
    """The timed effects as they were kept."""
    return _converted(raw, Timed, "the timed effects")


def _odd(made: Struct) -> str | None:
    """The first field that holds no real number, or one past all counting."""
    for name in made.__struct_fields__:
        value = getattr(made, name)
        if isinstance(value, int | float) and not -LARGEST <= value <= LARGEST:
            return name
    return None


def _converted(raw: object, kind: type[T], where: str) -> T:
    try:
        return msgspec.convert(raw, kind)
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        raise _refusal(f"Something in {where} is not what it should be: {error}. Correct it.") from error


def _refusal(sentence: str) -> FabulaError:
    return FabulaError(Code.LOREBOOK_INVALID, sentence)
