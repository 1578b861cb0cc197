"""Map the fields of other programs' lorebooks to our lorebook entries (inj-7).

A `LorebookFormat` is a table: for each field of an entry the path in a row of that program
(`field_paths.toml`), the type that may stand there, and the conversion in both directions. The same
table serves for parsing a book and for writing an edit into the row as it came (`editing`). Features
without an equal here are named in warnings.

Programs write odd values: a number as text, a list where an object belongs. Such a value stays in the
book as it came, a default is used in its place, and a warning names the field and the entry.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import not_
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

import msgspec
from msgspec import Struct

from fabula.core.messages import Sentence, join_names, message, plural
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
from fabula.lorebook.parsing import parse_book

JsonObject = Mapping[str, Any]
T = TypeVar("T", bound=Struct)

MAX_ENTRIES = 20_000
LIST = "fabula:list"  # the name under which a file that is a list is stored, because a book is an object
SILLYTAVERN_SETTINGS = LorebookSettings(recursive=True, match_whole_words=True)  # as SillyTavern ships them
ENTRY_TYPES = dict(zip(LoreEntry.__struct_encode_fields__, get_type_hints(LoreEntry).values(), strict=True))
_NUMBER_END = 2**63
_NAMED_ENTRIES = 10  # in a warning
_RANGES: Mapping[str, int | None] = {  # the largest number that means something, from 0 on; None: no limit
    "selectiveLogic": 3,
    "position": 7,
    "role": 2,
    "probability": 100,
    **dict.fromkeys(("depth", "scanDepth", "sticky", "cooldown", "delay", "groupWeight")),
}
_DEFAULTS: JsonObject = {  # in place of a value that cannot be used; what SillyTavern writes into a new entry
    "order": 100,
    "probability": 100,
    "depth": 4,
    "selective": True,
    "useProbability": True,
    "story": StoryLimits(known_to=()),  # hidden from everybody, because a lost limit would reveal the entry
}


class IgnoredValues:
    """The values of a book that cannot be used, by the path of the field, with the names of the entries."""

    def __init__(self) -> None:
        self._owners: dict[str, dict[tuple[str | Sentence, str], None]] = {}  # names and keys in order, each once
        self._beyond: dict[str, dict[tuple[str | Sentence, str], None]] = {}  # numbers that mean nothing
        self.remarks: list[Sentence] = []

    def add(self, path: str, owner: str | Sentence, key: str = "") -> None:
        """Note that the field of an entry, or of the card or the book itself, has a value that cannot be used."""
        self._owners.setdefault(path, {})[owner, key] = None

    def add_beyond(self, name: str, owner: str | Sentence, key: str) -> None:
        """Note that a number of an entry is outside of the range that means something."""
        self._beyond.setdefault(name, {})[owner, key] = None

    def make_warnings(self) -> list[Sentence]:
        """Return one warning for all values that cannot be used, by field with the entries, and one for odd numbers."""
        warnings = list(self.remarks)
        if self._owners:
            warnings.append(
                message(
                    "Values that cannot be used: {fields}. The default is used there, "
                    "and the value is kept as it came.",
                    fields=join_names([_name_owners(path, owners) for path, owners in self._owners.items()]),
                )
            )
        if self._beyond:
            warnings.append(
                message(
                    "Numbers that mean nothing: {fields}. They are used as they came.",
                    fields=join_names(
                        [
                            message("{field} (0 to {most})", field=_name_owners(name, owners), most=most)
                            if (most := _RANGES[name]) is not None
                            else message("{field} (0 or more)", field=_name_owners(name, owners))
                            for name, owners in self._beyond.items()
                        ]
                    ),
                )
            )
        return warnings


def _name_owners(field: str, owners: Iterable[tuple[str | Sentence, str]]) -> Sentence:
    """A field with the entries that have it; entries of one name are counted."""
    counts: dict[str | Sentence, int] = {}
    for owner, _ in owners:
        counts[owner] = counts.get(owner, 0) + 1
    names = [
        owner if count == 1 else message("{name} ({count} entries)", name=owner, count=count)
        for owner, count in counts.items()
    ]
    return message("{field!r} in {entries}", field=field, entries=_join_first(names))


def _join_first(names: Sequence[str | Sentence]) -> Sentence:
    more = len(names) - _NAMED_ENTRIES
    first = join_names(names[:_NAMED_ENTRIES])
    return message("{names} and {count} more", names=first, count=more) if more > 0 else first


class FieldConversion(NamedTuple):
    """How a value is converted: the type that may stand in a file, and both directions."""

    value_type: Any
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


def _split_commas(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


COMMA_LIST = FieldConversion(str, _split_commas, ", ".join)


class FieldMapping(NamedTuple):
    """Where a field of an entry stands in a row of another program, and how it is converted."""

    name: str  # as in world info
    path: str  # with dots between levels
    conversion: FieldConversion


STORY = FieldMapping(  # our own limits; other content of `extensions` is not ours and is not checked
    "story", "extensions.fabula.story", FieldConversion(StoryLimits, lambda story: story, msgspec.to_builtins)
)


EntryCompletion = Callable[[JsonObject, JsonObject, dict[str, Any], RuleSet], None]  # (book, row, entry, rules)


class LorebookFormat(Struct, frozen=True, kw_only=True):
    """How one program writes lorebooks."""

    name: str
    matches: Callable[[JsonObject], bool]
    entries_path: str  # with dots between levels
    fields: tuple[FieldMapping, ...]
    unsupported: Sequence[tuple[Sentence, Callable[[JsonObject], bool]]] = ()  # a warning, and which rows cause it
    unsupported_if_exact: Sequence[tuple[Sentence, Callable[[JsonObject], bool]]] = ()  # under SillyTavern's rules only
    unused_texts: Sequence[tuple[str, Sentence]] = ()  # paths of texts beside the entries, and what they are
    uid_field: str = ""  # where a row has a number of its own
    has_uids: bool = False  # whether each row should have one
    new_row: JsonObject = {}  # what every row has, for a new entry
    rules: RuleSet = "exact"  # the rule set of an imported book
    source: BookSource = "global"
    read_settings: Callable[[JsonObject, IgnoredValues], LorebookSettings] = lambda book, ignored: SILLYTAVERN_SETTINGS
    read_title: Callable[[JsonObject], object] = lambda book: book.get("name")
    read_character: Callable[[JsonObject, IgnoredValues], CardCharacter | None] = lambda book, ignored: None
    complete_entry: EntryCompletion = lambda book, row, entry, rules: None
    read_card: Callable[[JsonObject, IgnoredValues], JsonObject] | None = None  # a character of another program, as
    read_paths: tuple[str, ...] = ()  # the data of a card, and what of the file is in it


def map_fields(program: str, **conversions: FieldConversion) -> tuple[FieldMapping, ...]:
    """The mappings of one program; `conversions` are by path, for values that another type stands for."""
    plain = {path: map_field(name, path) for name, paths in _load_paths()[program].items() for path in paths}
    return tuple(field._replace(conversion=conversions.get(path, field.conversion)) for path, field in plain.items())


def map_field(name: str, path: str) -> FieldMapping:
    """The mapping of a field with a value of the same type; `enabled` is the opposite of `disable`."""
    if path == "enabled":
        return FieldMapping(name, path, FieldConversion(bool, not_, not_))
    write = list if name in ("key", "keysecondary") else lambda value: value
    return FieldMapping(name, path, FieldConversion(ENTRY_TYPES[name], lambda value: value, write))


def parse_contents(
    book_format: LorebookFormat, raw: JsonObject, book_id: str, name: str, rules: RuleSet
) -> LorebookContents:
    """Parse a book of a format; what cannot be used is replaced by a default and named in a warning."""
    ignored = IgnoredValues()
    rows = find_rows(book_format, raw, name, ignored)
    uids, warnings = number_rows(book_format, rows)
    entries: dict[str, dict[str, Any]] = {}
    for uid, (key, row) in zip(uids, rows, strict=True):
        if isinstance(row, Mapping):
            entries[key] = entry = _parse_row(book_format, row, key, ignored)
            entry["uid"] = uid
            _check_ranges(entry, key, ignored)
            book_format.complete_entry(raw, row, entry, rules)
        else:
            ignored.add(book_format.entries_path, _name_row(key), key)
    for warning, is_used in (*book_format.unsupported, *(book_format.unsupported_if_exact if rules == "exact" else ())):
        count = sum(is_used(row) for _, row in rows if isinstance(row, Mapping))
        if count:
            warnings.append(plural(count, "{warning} (1 entry).", "{warning} ({count} entries).", warning=warning))
    unused = [text for path, text in book_format.unused_texts if has_value(get_at_path(raw, path)[0])]
    if unused:
        warnings.append(message("The file also holds {texts}: kept, but not used.", texts=join_names(unused)))
    settings, character = book_format.read_settings(raw, ignored), book_format.read_character(raw, ignored)
    book = ParsedLorebook(book_id, parse_book({"entries": entries}, name).entries, book_format.source, name)
    return LorebookContents(book, settings, (*ignored.make_warnings(), *warnings), character)


def _parse_row(book_format: LorebookFormat, row: JsonObject, key: str, ignored: IgnoredValues) -> dict[str, Any]:
    """Parse the fields of an entry."""
    entry: dict[str, Any] = {}
    unusable: dict[str, str] = {}  # names of fields by path
    for field in (*book_format.fields, STORY):
        value, broken_path = get_at_path(row, field.path)
        if broken_path and field is not STORY:  # other programs may write what they like beside our own limits
            unusable[broken_path] = ""
        if value is None:
            if field.name == "content" and has_key_at_path(row, field.path):
                unusable[field.path] = field.name
            continue
        checked, is_valid = convert_value(value, field.conversion.value_type)
        if checked is not None:
            try:
                converted = field.conversion.read(checked)
            except ValueError:
                is_valid = False
            else:
                if entry.get(field.name) in (None, ""):  # of several paths the first counts
                    entry[field.name] = converted
        if not is_valid:
            unusable[field.path] = field.name
    for path, name in unusable.items():
        ignored.add(path, _name_entry(entry, key), key)
        if name in _DEFAULTS:
            entry.setdefault(name, _DEFAULTS[name])
    return entry


def _check_ranges(entry: JsonObject, key: str, ignored: IgnoredValues) -> None:
    for name, most in _RANGES.items():
        number = entry.get(name)
        if isinstance(number, int | float) and (number < 0 or (most is not None and number > most)):
            ignored.add_beyond(name, _name_entry(entry, key), key)


def is_usable(row: JsonObject, field: FieldMapping) -> bool:
    """Whether the value of a field in a row can be used; a missing one or null can."""
    value, _ = get_at_path(row, field.path)
    if value is None:
        return True
    checked, is_valid = convert_value(value, field.conversion.value_type)
    if not is_valid:
        return False
    try:
        field.conversion.read(checked)
    except ValueError:
        return False
    return True


def has_value(value: Any) -> bool:
    """Whether a value of a file says anything: an empty text, list or object, null and false do not."""
    if isinstance(value, list):
        return any(map(has_value, value))
    return bool(value.get("text", value) if isinstance(value, Mapping) else value)


def _name_entry(entry: JsonObject, key: str) -> str | Sentence:
    title = " ".join((entry.get("comment") or next(iter(entry.get("key") or ()), "")).split())
    return title[:60] or _name_row(key)


def _name_row(key: str) -> Sentence:
    return message("entry {key!r}", key=key[:40])


def find_rows(
    book_format: LorebookFormat, raw: JsonObject, name: str, ignored: IgnoredValues | None = None
) -> list[tuple[str, Any]]:
    """The rows of a book with their keys: names in an object, positions in a list. A row may be no object."""
    entries, broken_path = get_at_path(raw, book_format.entries_path)
    if not isinstance(entries, Mapping | list | tuple):
        if (broken_path or entries is not None) and ignored is not None:
            ignored.add(broken_path or book_format.entries_path, message("the book itself"))
        entries = []
    rows = [(str(key), row) for key, row in (entries.items() if isinstance(entries, Mapping) else enumerate(entries))]
    if len(rows) > MAX_ENTRIES:
        problem = message("it has {count} entries, and a book may have {most}", count=len(rows), most=MAX_ENTRIES)
        refuse_too_large(name, problem)
    return rows


def number_rows(book_format: LorebookFormat, rows: Sequence[tuple[str, Any]]) -> tuple[list[int], list[Sentence]]:
    """A number for each entry, its own where all rows have one, else its position; with warnings."""
    field = book_format.uid_field
    own = [row.get(field) if isinstance(row, Mapping) else -1 - at for at, (_, row) in enumerate(rows)]
    uids = [uid for uid in own if type(uid) is int]
    if len(set(uids)) == len(rows):
        return uids, []
    warning = message("Some entries have no number of their own, so all were numbered by place.")
    return list(range(len(rows))), [warning] if book_format.has_uids or len(uids) == len(rows) else []


def get_at_path(row: JsonObject, path: str) -> tuple[Any, str]:
    """The value at a dotted path, None where it is missing, and the path of what should be an object and is not."""
    value: Any = row
    steps = path.split(".")
    for at, step in enumerate(steps):
        if not isinstance(value, Mapping):
            return None, "" if value is None else ".".join(steps[:at])
        value = value.get(step)
    return value, ""


def has_key_at_path(row: JsonObject, path: str) -> bool:
    """Whether a row has the field at a dotted path, if only as null."""
    holder, _, name = path.rpartition(".")
    found = get_at_path(row, holder)[0] if holder else row
    return isinstance(found, Mapping) and name in found


def convert_value(value: Any, value_type: Any) -> tuple[Any, bool]:
    """The value as its type asks and whether it is valid; of a list with some odd items, the others."""
    try:
        converted = msgspec.convert(value, value_type)
    except (msgspec.ValidationError, OverflowError):
        texts = [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []
        return (convert_value(texts, value_type)[0] if texts and len(texts) < len(value) else None), False
    return (converted, True) if is_in_range(converted) else (None, False)


def is_in_range(value: Any) -> bool:
    """Whether a number, if the value is one, is finite and fits into 64 bits."""
    return not isinstance(value, int | float) or -_NUMBER_END <= value < _NUMBER_END


def convert_fields(raw: JsonObject, target: type[T], owner: Sentence, ignored: IgnoredValues) -> T:
    """Make a struct of the fields that can be used; the others have their defaults."""
    values: dict[str, Any] = {}
    encoded = dict(zip(target.__struct_fields__, target.__struct_encode_fields__, strict=True))
    for name, value_type in get_type_hints(target).items():
        checked, is_valid = convert_value(raw.get(encoded[name]), value_type)
        if not is_valid:
            ignored.add(encoded[name], owner)
        if checked is not None:
            values[name] = checked
    return target(**values)


def make_regex_key(key: str) -> str:
    """Write a regular expression as a key with slashes around it."""
    has_slashes = len(key) > 2 and key.startswith("/") and "/" in key[1:]
    return key if has_slashes else f"/{key.replace('/', chr(92) + '/')}/"


@cache
def _load_paths() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_name("field_paths.toml").read_text("utf-8"))
