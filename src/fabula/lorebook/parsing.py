"""Parse lorebooks, settings and timed effects from decoded JSON, checked field by field (inj-7).

Imported files are untrusted. The types, the range of numbers and the uniqueness of uids are checked
before anything is stored. An error names the entry and the field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.lorebook.model import BookSource, LorebookSettings, LoreEntry, ParsedLorebook, TimedEffects

MAX_NUMBER = 1e300
T = TypeVar("T")


def parse_book(raw: object, name: str = "book", source: BookSource = "global") -> ParsedLorebook:
    """Parse a book in the format of SillyTavern's world info."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("entries"), Mapping | Sequence):
        raise _refusal(f"The lorebook {name!r} has no list of entries.")
    rows = raw["entries"]
    if isinstance(rows, str | bytes):
        raise _refusal(f"The lorebook {name!r} has no list of entries.")
    entries: list[LoreEntry] = []
    keys: dict[int, object] = {}
    for key, row in rows.items() if isinstance(rows, Mapping) else enumerate(rows):
        entry = parse_entry(row, f"entry {str(key)[:40]!r} of the lorebook {name!r}")
        if entry.uid in keys:
            raise _refusal(
                f"The entries {str(keys[entry.uid])[:40]!r} and {str(key)[:40]!r} of the lorebook {name!r} "
                f"have the same uid {entry.uid}. Give one of them another."
            )
        keys[entry.uid] = key
        entries.append(entry)
    return ParsedLorebook(name, tuple(entries), source)


def parse_entry(raw: object, where: str = "the entry") -> LoreEntry:
    """Parse one entry; an error names the field that has the wrong type."""
    entry = _convert(raw, LoreEntry, where)
    if name := _find_invalid_number(entry):
        raise _refusal(f"The field {name!r} of {where} is no number to count with. Correct it.")
    return entry


def parse_settings(raw: object) -> LorebookSettings:
    """Parse the settings of a scan; unknown fields are ignored."""
    settings = _convert(raw, LorebookSettings, "the lorebook settings")
    if name := _find_invalid_number(settings):
        raise _refusal(f"The lorebook setting {name!r} is no number to count with. Correct it.")
    return settings


def parse_timed_effects(raw: object) -> TimedEffects:
    """Parse stored timed effects."""
    return _convert(raw, TimedEffects, "the timed effects")


def _find_invalid_number(value: Struct) -> str | None:
    """Return the first field whose number is not finite or too large."""
    for name in value.__struct_fields__:
        number = getattr(value, name)
        if isinstance(number, int | float) and not -MAX_NUMBER <= number <= MAX_NUMBER:
            return name
    return None


def _convert(raw: object, target: type[T], where: str) -> T:
    try:
        return msgspec.convert(raw, target)
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        raise _refusal(f"Something in {where} is not what it should be: {error}. Correct it.") from error


def _refusal(sentence: str) -> FabulaError:
    return FabulaError(Code.LOREBOOK_INVALID, sentence)
