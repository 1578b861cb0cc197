"""Map the fields of other programs' lorebooks to our lorebook entries (inj-7).

A `LorebookFormat` is a table: for each field of an entry the path in a row of that program, the type
that may stand there, and the conversion in both directions. The same table serves for parsing a book
and for writing an edit into the row as it came (`editing`). Features without an equal here are named
in warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_type_hints

import msgspec
from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.formats.safe.import_errors import refuse_too_large
from fabula.lorebook.model import BookSource, CardCharacter, LorebookSettings, LoreEntry, ParsedLorebook, StoryLimits
from fabula.lorebook.parsing import parse_book

JsonObject = Mapping[str, Any]

MAX_ENTRIES = 20_000
STORY_PATH = ("extensions", "fabula", "story")  # where our own limits stand in a row
SILLYTAVERN_SETTINGS = LorebookSettings(recursive=True, match_whole_words=True)  # as SillyTavern ships them
_ENTRY_TYPES = dict(zip(LoreEntry.__struct_encode_fields__, get_type_hints(LoreEntry).values(), strict=True))


def _unchanged(value: Any) -> Any:
    return value


class FieldMapping(NamedTuple):
    """Where a field of an entry stands in a row of another program, and how it is converted."""

    name: str  # as in world info
    path: str  # with dots between levels
    value_type: Any = None  # what may stand there; None for the type of the field in our entries
    read: Callable[[Any], Any] = _unchanged
    write: Callable[[Any], Any] = _unchanged


class LorebookFormat(Struct, frozen=True, kw_only=True):
    """How one program writes lorebooks."""

    name: str
    matches: Callable[[JsonObject], bool]
    entries_path: str  # with dots between levels
    fields: tuple[FieldMapping, ...]
    unsupported: Mapping[str, Callable[[JsonObject], bool]] = {}  # a warning, and which rows cause it
    uid_field: str = ""  # where a row has a number of its own
    requires_uids: bool = False  # whether that must be an integer, and unique
    entries_optional: bool = False
    new_row: JsonObject = {}  # what every row has, for a new entry
    rules: Literal["exact", "fabula"] = "exact"  # the rule set of an imported book
    source: BookSource = "global"
    read_settings: Callable[[JsonObject], LorebookSettings] = lambda book: SILLYTAVERN_SETTINGS
    read_title: Callable[[JsonObject], object] = lambda book: book.get("name")
    read_character: Callable[[JsonObject], CardCharacter | None] = lambda book: None
    complete_entry: Callable[[JsonObject, JsonObject, dict[str, Any]], None] = lambda book, row, entry: None


class LorebookContents(Struct, frozen=True):
    """A parsed lorebook with its settings, the warnings, and the character of its card."""

    book: ParsedLorebook
    settings: LorebookSettings
    warnings: tuple[str, ...] = ()
    card_character: CardCharacter | None = None


def parse_contents(book_format: LorebookFormat, raw: JsonObject, book_id: str, name: str) -> LorebookContents:
    """Parse a book of a format; every field is checked."""
    rows = find_rows(book_format, raw, name)
    uids, warnings = number_rows(book_format, rows)
    entries: dict[str, dict[str, Any]] = {}
    for uid, (key, row) in zip(uids, rows, strict=True):
        location = f"entry {key[:40]!r} of the lorebook {name!r}"
        entry: dict[str, Any] = {"uid": uid}
        for field in book_format.fields:
            value = get_at_path(row, field.path, location)
            if value is not None and entry.get(field.name) is None:
                value_type = field.value_type or _ENTRY_TYPES[field.name]
                entry[field.name] = field.read(_convert(value, value_type, field.path, location))
        book_format.complete_entry(raw, row, entry)
        entry["story"] = _read_story(row, location)
        entries[key] = entry
    for warning, is_used in book_format.unsupported.items():
        count = sum(is_used(row) for _, row in rows)
        if count:
            warnings.append(f"{warning} ({count} {'entry' if count == 1 else 'entries'}).")
    parsed = parse_book({"entries": entries}, name)
    return LorebookContents(
        ParsedLorebook(book_id, parsed.entries, book_format.source),
        book_format.read_settings(raw),
        tuple(warnings),
        book_format.read_character(raw),
    )


def find_rows(book_format: LorebookFormat, raw: JsonObject, name: str) -> list[tuple[str, JsonObject]]:
    """The rows of a book with their keys: names in an object, positions in a list."""
    entries = get_at_path(raw, book_format.entries_path, f"the lorebook {name!r}")
    if isinstance(entries, Mapping):
        rows = [(str(key), row) for key, row in entries.items()]
    elif isinstance(entries, Sequence) and not isinstance(entries, str | bytes):
        rows = [(str(key), row) for key, row in enumerate(entries)]
    elif entries is None and book_format.entries_optional:
        rows = []
    else:
        raise invalid_lorebook(f"The lorebook {name!r} has no list of entries.")
    if len(rows) > MAX_ENTRIES:
        refuse_too_large(name, f"it has {len(rows)} entries, and {MAX_ENTRIES} is the most a book may have")
    invalid = next((key for key, row in rows if not isinstance(row, Mapping)), None)
    if invalid is not None:
        raise invalid_lorebook(f"The entry {invalid[:40]!r} of the lorebook {name!r} is no object.")
    return rows


def number_rows(book_format: LorebookFormat, rows: Sequence[tuple[str, JsonObject]]) -> tuple[list[int], list[str]]:
    """A number for each entry, its own where all rows have one, else its position; with warnings."""
    row_uids = [row.get(book_format.uid_field) if book_format.uid_field else None for _, row in rows]
    uids = [uid for uid in row_uids if type(uid) is int]
    invalid = [key for (key, _), uid in zip(rows, row_uids, strict=True) if uid is not None and type(uid) is not int]
    if book_format.requires_uids and invalid:
        field = book_format.uid_field
        raise invalid_lorebook(f"The field {field!r} of the entry {invalid[0][:40]!r} is no whole number.")
    all_have_uids = len(uids) == len(rows)
    if all_have_uids and (book_format.requires_uids or len(set(uids)) == len(rows)):
        return uids, []
    warning = "Some entries lack a number of their own, so all are numbered by place."
    return list(range(len(rows))), [warning] if book_format.requires_uids or all_have_uids else []


def get_at_path(row: JsonObject, path: str, location: str) -> Any:
    """The value at a dotted path; None where it is missing."""
    value: Any = row
    for step in path.split("."):
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise invalid_lorebook(f"The field {path!r} of {location} does not stand in an object.")
        value = value.get(step)
    return value


def invalid_lorebook(sentence: str) -> FabulaError:
    """The error for a book that breaks its format."""
    return FabulaError(Code.LOREBOOK_INVALID, f"{sentence} Correct the book. Nothing was changed.")


def negate(value: bool) -> bool:
    """Convert between `enabled` and `disable`."""
    return not value


def make_regex_key(key: str) -> str:
    """Write a regular expression as a key with slashes around it."""
    has_slashes = len(key) > 2 and key.startswith("/") and "/" in key[1:]
    return key if has_slashes else f"/{key.replace('/', chr(92) + '/')}/"


def _read_story(row: JsonObject, location: str) -> StoryLimits | None:
    """Our own limits in a row; other content of `extensions` is not ours and is not checked."""
    value: Any = row
    for step in STORY_PATH:
        value = value.get(step) if isinstance(value, Mapping) else None
    return _convert(value, StoryLimits, ".".join(STORY_PATH), location) if value is not None else None


def _convert(value: Any, value_type: Any, path: str, location: str) -> Any:
    try:
        return msgspec.convert(value, value_type)
    except (msgspec.ValidationError, OverflowError) as error:
        raise invalid_lorebook(f"The field {path!r} of {location} is not what it should be: {error}.") from error
