"""Dialects: the same entry of lore, by the names another program gives to its fields.

A dialect is a table. Each line says where a field of ours stands in a row of theirs, what may stand there,
and how the one becomes the other. One table serves both directions: reading an entry here, and patching an
edit of ours into the row as it came (`book_edits`). What has no equal here is said in a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.formats.safe.json_reader import too_large
from fabula.lorebook.model import About, Book, Number, Settings, Source, Story
from fabula.lorebook.parsing import read_book

MOST_ENTRIES = 20_000
STORY = ("extensions", "fabula", "story")
Row = Mapping[str, Any]
SHIPPED = Settings(recursive=True, match_whole_words=True)  # as SillyTavern comes to its users


def _same(value: Any) -> Any:
    return value


class Field(NamedTuple):
    """Where a field of ours stands in theirs, and how it is written there."""

    ours: str  # by its name in a world book
    theirs: str  # with dots between levels
    kind: Any = object  # what may stand there
    read: Callable[[Any], Any] = _same
    write: Callable[[Any], Any] = _same


class Lost(NamedTuple):
    """A feature that has no equal here: which rows use it, and what to say about it."""

    uses: Callable[[Row], bool]
    sentence: str


class Dialect(Struct, frozen=True, kw_only=True):
    """How one program writes books."""

    name: str
    recognises: Callable[[Row], bool]
    entries: str  # where the entries are, with dots between levels
    fields: tuple[Field, ...]
    lost: tuple[Lost, ...] = ()
    uid: str = ""  # where an entry has a number of its own
    strict: bool = False  # whether that number must be one, and occur once
    settings: Callable[[Row], Settings] = lambda _: SHIPPED
    finish: Callable[[Row, Row, dict[str, Any]], None] = lambda book, row, entry: None
    title: Callable[[Row], object] = lambda book: book.get("name")
    rules: Literal["exact", "fabula"] = "exact"  # by which it is read unless somebody says otherwise
    source: Source = "global"
    blank: Row = {}  # what every row of theirs has, for a new one
    optional: bool = False  # whether there may be no entries at all
    about: Callable[[Row], About | None] = lambda book: None


class Read(Struct, frozen=True):
    """A book in our terms."""

    book: Book
    settings: Settings
    warnings: tuple[str, ...] = ()
    about: About | None = None


def read_rows(dialect: Dialect, raw: Row, ident: str, name: str) -> Read:
    """A book of a dialect in our terms, every field checked."""
    rows = rows_of(dialect, raw, name)
    uids, warnings = uids_of(dialect, rows)
    made: dict[str, dict[str, Any]] = {}
    for uid, (place, row) in zip(uids, rows, strict=True):
        where = f"entry {place[:40]!r} of the lorebook {name!r}"
        entry: dict[str, Any] = {"uid": uid}
        for field in dialect.fields:
            value = dig(row, field.theirs, where)
            if value is not None and entry.get(field.ours) is None:
                entry[field.ours] = field.read(_checked(value, field, where))
        dialect.finish(raw, row, entry)
        entry["story"] = story_of(row, where)
        made[place] = entry
    for lost in dialect.lost:
        number = sum(lost.uses(row) for _, row in rows)
        if number:
            warnings.append(f"{lost.sentence} ({number} {'entry' if number == 1 else 'entries'}).")
    book = read_book({"entries": made}, name)
    return Read(Book(ident, book.entries, dialect.source), dialect.settings(raw), tuple(warnings), dialect.about(raw))


def rows_of(dialect: Dialect, raw: Row, name: str) -> list[tuple[str, Row]]:
    """The rows of a book and where each stands."""
    found = dig(raw, dialect.entries, f"the lorebook {name!r}")
    if isinstance(found, Mapping):
        rows = [(str(place), row) for place, row in found.items()]
    elif isinstance(found, Sequence) and not isinstance(found, str | bytes):
        rows = [(str(place), row) for place, row in enumerate(found)]
    elif found is None and dialect.optional:
        rows = []
    else:
        raise invalid(f"The lorebook {name!r} has no list of entries.")
    if len(rows) > MOST_ENTRIES:
        too_large(name, f"it has {len(rows)} entries, and {MOST_ENTRIES} is the most a book may have")
    odd = next((place for place, row in rows if not isinstance(row, Mapping)), None)
    if odd is not None:
        raise invalid(f"The entry {odd[:40]!r} of the lorebook {name!r} is no object.")
    return rows


def story_of(row: Row, where: str) -> Story | None:
    """What we ourselves wrote into a row about its place in the story; whatever else stands there is not ours."""
    found: Any = row
    for step in STORY:
        found = found.get(step) if isinstance(found, Mapping) else None
    if found is None:
        return None
    try:
        return msgspec.convert(found, Story)
    except msgspec.ValidationError as error:
        raise invalid(f"The field {'.'.join(STORY)!r} of {where} is not what it should be: {error}.") from error


def invalid(sentence: str) -> FabulaError:
    """A refusal of a book."""
    return FabulaError(Code.LOREBOOK_INVALID, f"{sentence} Correct the book. Nothing was changed.")


def comma_list(text: str) -> tuple[str, ...]:
    """The words of a text that has commas between them."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def slashed(key: str) -> str:
    """A pattern as a key that says it is one."""
    written = len(key) > 2 and key.startswith("/") and "/" in key[1:]
    return key if written else f"/{key.replace('/', chr(92) + '/')}/"


NUMBER, TRUTH, TEXT, TEXTS = Number, bool, str, tuple[str, ...]


def uids_of(dialect: Dialect, rows: Sequence[tuple[str, Row]]) -> tuple[list[int], list[str]]:
    """A number for each entry: its own where all have one, else its place."""
    own = [row.get(dialect.uid) if dialect.uid else None for _, row in rows]
    whole = [uid for uid in own if type(uid) is int]
    odd = [place for (place, _), uid in zip(rows, own, strict=True) if uid is not None and type(uid) is not int]
    if dialect.strict and odd:
        raise invalid(f"The field {dialect.uid!r} of the entry {odd[0][:40]!r} is no whole number.")
    if len(whole) == len(rows) and (dialect.strict or len(set(whole)) == len(rows)):
        return whole, []
    told = dialect.strict or len(whole) == len(rows)
    return list(range(len(rows))), ["Some entries lack a number of their own, so all are numbered by place."] * told


def dig(row: Row, path: str, where: str) -> Any:
    found: Any = row
    for step in path.split("."):
        if found is None:
            return None
        if not isinstance(found, Mapping):
            raise invalid(f"The field {path!r} of {where} does not stand in an object.")
        found = found.get(step)
    return found


def _checked(value: Any, field: Field, where: str) -> Any:
    try:
        return msgspec.convert(value, field.kind)
    except (msgspec.ValidationError, OverflowError) as error:
        raise invalid(f"The field {field.theirs!r} of {where} is not what it should be: {error}.") from error
