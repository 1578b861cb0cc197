"""Map the fields of other programs' lorebooks to our lorebook entries (inj-7).

A `LorebookFormat` is a table: for each field of an entry the path in a row of that program
(`field_paths.toml`), the type that may stand there, and the conversion in both directions. The same
table serves for parsing a book and for writing an edit into the row as it came (`editing`). Features
without an equal here are named in warnings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import not_
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import msgspec
from msgspec import Struct

from fabula.core.messages import Sentence, message, plural
from fabula.formats.safe.import_errors import refuse_too_large
from fabula.lorebook.edits import RuleSet
from fabula.lorebook.model import (
    BookSource,
    CardCharacter,
    LorebookContents,
    LorebookSettings,
    LoreEntry,
    ParsedLorebook,
    StoryLimits,
)
from fabula.lorebook.parsing import invalid_lorebook, name_entry, parse_book

JsonObject = Mapping[str, Any]

MAX_ENTRIES = 20_000
SILLYTAVERN_SETTINGS = LorebookSettings(recursive=True, match_whole_words=True)  # as SillyTavern ships them
_ENTRY_TYPES = dict(zip(LoreEntry.__struct_encode_fields__, get_type_hints(LoreEntry).values(), strict=True))


class FieldConversion(NamedTuple):
    """How a value is converted: the type that may stand in a file, and both directions."""

    value_type: Any
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


class FieldMapping(NamedTuple):
    """Where a field of an entry stands in a row of another program, and how it is converted."""

    name: str  # as in world info
    path: str  # with dots between levels
    conversion: FieldConversion


STORY = FieldMapping(  # our own limits; other content of `extensions` is not ours and is not checked
    "story", "extensions.fabula.story", FieldConversion(StoryLimits, lambda story: story, msgspec.to_builtins)
)


class LorebookFormat(Struct, frozen=True, kw_only=True):
    """How one program writes lorebooks."""

    name: str
    matches: Callable[[JsonObject], bool]
    entries_path: str  # with dots between levels
    fields: tuple[FieldMapping, ...]
    unsupported: Sequence[tuple[Sentence, Callable[[JsonObject], bool]]] = ()  # a warning, and which rows cause it
    uid_field: str = ""  # where a row has a number of its own
    requires_uids: bool = False  # whether that must be an integer, and unique
    entries_optional: bool = False
    new_row: JsonObject = {}  # what every row has, for a new entry
    rules: RuleSet = "exact"  # the rule set of an imported book
    source: BookSource = "global"
    read_settings: Callable[[JsonObject], LorebookSettings] = lambda book: SILLYTAVERN_SETTINGS
    read_title: Callable[[JsonObject], object] = lambda book: book.get("name")
    read_character: Callable[[JsonObject], CardCharacter | None] = lambda book: None
    complete_entry: Callable[[JsonObject, JsonObject, dict[str, Any]], None] = lambda book, row, entry: None


def map_fields(program: str, **conversions: FieldConversion) -> tuple[FieldMapping, ...]:
    """The mappings of one program; `conversions` are by path, for values that another type stands for."""
    plain = {path: map_field(name, path) for name, paths in _load_paths()[program].items() for path in paths}
    return tuple(field._replace(conversion=conversions.get(path, field.conversion)) for path, field in plain.items())


def map_field(name: str, path: str) -> FieldMapping:
    """The mapping of a field with a value of the same type; `enabled` is the opposite of `disable`."""
    if path == "enabled":
        return FieldMapping(name, path, FieldConversion(bool, not_, not_))
    write = list if name in ("key", "keysecondary") else lambda value: value
    return FieldMapping(name, path, FieldConversion(_ENTRY_TYPES[name], lambda value: value, write))


def parse_contents(book_format: LorebookFormat, raw: JsonObject, book_id: str, name: str) -> LorebookContents:
    """Parse a book of a format; every field is checked."""
    rows = find_rows(book_format, raw, name)
    uids, warnings = number_rows(book_format, rows)
    entries: dict[str, dict[str, Any]] = {}
    for uid, (key, row) in zip(uids, rows, strict=True):
        entry: dict[str, Any] = {"uid": uid}
        location = name_entry(key, name)
        for field in (*book_format.fields, STORY):
            value = get_at_path(row, field.path, None if field is STORY else location)
            if value is not None and entry.get(field.name) in (None, ""):
                checked = convert_field(value, field.conversion.value_type, field.path, location)
                entry[field.name] = field.conversion.read(checked)
        book_format.complete_entry(raw, row, entry)
        entries[key] = entry
    for warning, is_used in book_format.unsupported:
        count = sum(is_used(row) for _, row in rows)
        if count:
            warnings.append(plural(count, "{warning} (1 entry).", "{warning} ({count} entries).", warning=warning))
    return LorebookContents(
        ParsedLorebook(book_id, parse_book({"entries": entries}, name).entries, book_format.source),
        book_format.read_settings(raw),
        tuple(warnings),
        book_format.read_character(raw),
    )


def find_rows(book_format: LorebookFormat, raw: JsonObject, name: str) -> list[tuple[str, JsonObject]]:
    """The rows of a book with their keys: names in an object, positions in a list."""
    entries = get_at_path(raw, book_format.entries_path, message("the lorebook {name!r}", name=name))
    if entries is None and book_format.entries_optional:
        entries = []
    if not isinstance(entries, Mapping | list | tuple):
        raise invalid_lorebook(message("The lorebook {name!r} has no list of entries.", name=name))
    rows = [(str(key), row) for key, row in (entries.items() if isinstance(entries, Mapping) else enumerate(entries))]
    if len(rows) > MAX_ENTRIES:
        problem = message("it has {count} entries, and a book may have {most}", count=len(rows), most=MAX_ENTRIES)
        refuse_too_large(name, problem)
    for key, row in rows:
        if not isinstance(row, Mapping):
            raise invalid_lorebook(message("The {entry} is not an object.", entry=name_entry(key, name)))
    return rows


def number_rows(
    book_format: LorebookFormat, rows: Sequence[tuple[str, JsonObject]]
) -> tuple[list[int], list[Sentence]]:
    """A number for each entry, its own where all rows have one, else its position; with warnings."""
    field = book_format.uid_field
    own = [(key, row[field]) for key, row in rows if field and row.get(field) is not None]
    uids = [uid for _, uid in own if type(uid) is int]
    if book_format.requires_uids and len(uids) < len(own):
        key = next(key for key, uid in own if type(uid) is not int)[:40]
        problem = message("The field {field!r} of the entry {key!r} is not a whole number.", field=field, key=key)
        raise invalid_lorebook(problem)
    all_have_uids = len(uids) == len(rows)
    if all_have_uids and (book_format.requires_uids or len(set(uids)) == len(rows)):
        return uids, []
    warning = message("Some entries have no number of their own, so all were numbered by place.")
    return list(range(len(rows))), [warning] if book_format.requires_uids or all_have_uids else []


def get_at_path(row: JsonObject, path: str, location: Sentence | None = None) -> Any:
    """The value at a dotted path, None where it is missing; with a location, what is not an object is refused."""
    value: Any = row
    for step in path.split("."):
        if location is not None and not isinstance(value, Mapping | None):
            problem = message("The field {path!r} of {location} is not in an object.", path=path, location=location)
            raise invalid_lorebook(problem)
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def convert_field(value: Any, value_type: Any, path: str, location: Sentence) -> Any:
    """Check the type of a value; the refusal names the field and the place."""
    try:
        return msgspec.convert(value, value_type)
    except (msgspec.ValidationError, OverflowError) as error:
        problem = message(
            "The field {path!r} of {location} has the wrong type: {error}.", path=path, location=location, error=error
        )
        raise invalid_lorebook(problem) from error


def make_regex_key(key: str) -> str:
    """Write a regular expression as a key with slashes around it."""
    has_slashes = len(key) > 2 and key.startswith("/") and "/" in key[1:]
    return key if has_slashes else f"/{key.replace('/', chr(92) + '/')}/"


@cache
def _load_paths() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_name("field_paths.toml").read_text("utf-8"))
