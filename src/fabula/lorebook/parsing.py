"""Parse lorebooks, settings and timed effects from decoded JSON, checked field by field (inj-7).

Imported files are untrusted. The types, the range of numbers and the uniqueness of uids are checked
before anything is stored. An error names the entry and the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.lorebook.model import BookSource, LorebookSettings, LoreEntry, ParsedLorebook, TimedEffects

MAX_NUMBER = 1e300
T = TypeVar("T", bound=Struct)


def parse_book(raw: object, name: str = "book", source: BookSource = "global") -> ParsedLorebook:
    """Parse a book in the format of SillyTavern's world info."""
    rows = raw.get("entries") if isinstance(raw, Mapping) else None
    if not isinstance(rows, Mapping | list | tuple):
        raise invalid_lorebook(message("The lorebook {name!r} has no list of entries.", name=name))
    entries: list[LoreEntry] = []
    keys: dict[int, str] = {}
    for key, row in rows.items() if isinstance(rows, Mapping) else enumerate(rows):
        location = message("entry {key!r} of the lorebook {book!r}", key=str(key)[:40], book=name)
        entry = _convert(row, LoreEntry, location)
        if entry.uid in keys:
            problem = message(
                "The entries {first!r} and {second!r} of the lorebook {name!r} have the same uid {uid}.",
                first=keys[entry.uid],
                second=str(key)[:40],
                name=name,
                uid=entry.uid,
            )
            raise invalid_lorebook(problem)
        keys[entry.uid] = str(key)[:40]
        entries.append(entry)
    return ParsedLorebook(name, tuple(entries), source)


def parse_settings(raw: object) -> LorebookSettings:
    """Parse the settings of a scan; unknown fields are ignored."""
    return _convert(raw, LorebookSettings, message("the lorebook settings"))


def parse_timed_effects(raw: object) -> TimedEffects:
    """Parse stored timed effects."""
    return _convert(raw, TimedEffects, message("the timed effects"))


def invalid_lorebook(problem: Sentence) -> FabulaError:
    """The error for a book that breaks its format."""
    sentence = message("{problem} Correct the book. Nothing was changed.", problem=problem)
    return FabulaError(Code.LOREBOOK_INVALID, sentence)


def refuse_edit(problem: Sentence) -> FabulaError:
    """The error for a command that asks for what a book cannot have."""
    return FabulaError(Code.LOREBOOK_INVALID, message("{problem} Nothing was changed.", problem=problem))


def _convert(raw: object, target: type[T], location: Sentence) -> T:
    """Convert to a struct; wrong types, and numbers that are not finite or too large, are refused by name."""
    try:
        value = msgspec.convert(raw, target)
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        problem = message(
            "Something in {location} has the wrong type: {error}.",
            location=location,
            error=explain_decode_error(error, target),
        )
        raise invalid_lorebook(problem) from error
    for name, number in msgspec.structs.asdict(value).items():
        if isinstance(number, int | float) and not -MAX_NUMBER <= number <= MAX_NUMBER:
            problem = message("The number {name!r} of {location} is out of range.", name=name, location=location)
            raise invalid_lorebook(problem)
    return value
