"""Parse and edit lorebooks in the format they came in.

A stored lorebook keeps the JSON of its file. `parse_lorebook` says what it means. An edit changes
only the fields that it names, so everything else is written back as it came. Fields have the names
of world info, whatever the format calls them. `convert_to_world_info` makes another book and says
what is lost.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fabula.core.messages import Sentence, message
from fabula.formats.lore.cards import CARD, CHARACTER_BOOK, LOREBOOK_V3, detect_card_version
from fabula.formats.lore.field_maps import (
    STORY,
    JsonObject,
    LorebookFormat,
    find_rows,
    get_at_path,
    number_rows,
    parse_contents,
)
from fabula.formats.lore.other_programs import AGNAI, NOVELAI, RISU, WORLD_INFO
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import LorebookContents
from fabula.lorebook.parsing import invalid_lorebook

FORMATS = (NOVELAI, AGNAI, RISU, LOREBOOK_V3, CARD, WORLD_INFO, CHARACTER_BOOK)  # in the order in which they are tried


def detect_format(raw: Any, label: str) -> LorebookFormat:
    """Recognise the format of a book by its JSON."""
    matching = (book_format for book_format in FORMATS if isinstance(raw, Mapping) and book_format.matches(raw))
    book_format = next(matching, None)
    if book_format is None:
        problem = message("{label} is neither a lorebook nor a card that Fabula knows.", label=label)
        raise invalid_lorebook(problem)
    return book_format


def parse_lorebook(book: Lorebook) -> LorebookContents:
    """Parse a book; every field is checked, and features without an equal here become warnings."""
    return parse_contents(_find_format(book), book.book, book.id or book.name, book.name)


def patch_entry(book: Lorebook, uid: int, **changes: Any) -> Lorebook:
    """Change some fields of one entry."""
    book_format, rows, uids = _find_rows(book)
    at = _find_entry(book, uids, uid)
    rows[at] = (rows[at][0], _change_row(book_format, rows[at][1], changes))
    return _replace_rows(book, book_format, rows)


def add_entry(book: Lorebook, **fields: Any) -> tuple[Lorebook, int]:
    """Add an entry; return the book and the number of the entry."""
    if book.format == CARD.name and detect_card_version(book.book) == 1:
        problem = message("{name} is a card of version 1, which has no lorebook to add an entry to.", name=book.name)
        raise invalid_lorebook(problem)
    book_format, rows, uids = _find_rows(book)
    key = uid = max(uids, default=-1) + 1
    uid_field = book_format.uid_field
    has_uids = uid_field and (book_format.requires_uids or all(uid_field in row for _, row in rows))
    new_row = {uid_field: uid, **book_format.new_row} if has_uids else book_format.new_row
    taken = {key for key, _ in rows}
    while str(key) in taken:
        key += 1
    rows.append((str(key), _change_row(book_format, new_row, fields)))
    return _replace_rows(book, book_format, rows), uid


def remove_entry(book: Lorebook, uid: int) -> Lorebook:
    """Remove one entry."""
    book_format, rows, uids = _find_rows(book)
    del rows[_find_entry(book, uids, uid)]
    return _replace_rows(book, book_format, rows)


def convert_to_world_info(book: Lorebook) -> tuple[Lorebook, tuple[Sentence, ...]]:
    """Convert a book to SillyTavern's world info; the second value says what is lost."""
    contents = parse_lorebook(book)
    entries = {}
    for entry in contents.book.entries:
        fields = msgspec.to_builtins(replace(entry, story=None))
        row = {name: value for name, value in fields.items() if value is not None}
        entries[str(entry.uid)] = _change_row(WORLD_INFO, row, {"story": entry.story} if entry.story else {})
    converted = replace(book, format=WORLD_INFO.name, book={"name": book.name, "entries": entries})
    if book.format == WORLD_INFO.name:
        return converted, contents.warnings
    return converted, (*contents.warnings, message("Fields that only the other format has are left out."))


def _find_format(book: Lorebook) -> LorebookFormat:
    known = next((book_format for book_format in FORMATS if book_format.name == book.format), None)
    return known or detect_format(book.book, book.name)


def _find_rows(book: Lorebook) -> tuple[LorebookFormat, list[tuple[str, JsonObject]], list[int]]:
    """The format of a book, its rows with their keys, and the numbers of its entries."""
    book_format = _find_format(book)
    rows = find_rows(book_format, book.book, book.name)
    return book_format, rows, number_rows(book_format, rows)[0]


def _find_entry(book: Lorebook, uids: list[int], uid: int) -> int:
    if uid not in uids:
        raise invalid_lorebook(message("The lorebook {name!r} has no entry {uid}.", name=book.name, uid=uid))
    return uids.index(uid)


def _replace_rows(book: Lorebook, book_format: LorebookFormat, rows: Sequence[tuple[str, JsonObject]]) -> Lorebook:
    """The book with other rows, in an object or a list as before; rows that the format does not allow are refused."""
    before = get_at_path(book.book, book_format.entries_path)
    entries = dict(rows) if isinstance(before, Mapping) else [row for _, row in rows]
    raw = _set_at_path(book.book, book_format.entries_path.split("."), entries)
    parse_contents(book_format, raw, "", book.name)
    return replace(book, book=raw)


def _change_row(book_format: LorebookFormat, row: JsonObject, changes: JsonObject) -> dict[str, Any]:
    """Change fields of a row by their names in world info."""
    changed: dict[str, Any] = dict(row)
    for name, value in changes.items():
        field = next((field for field in (*book_format.fields, STORY) if field.name == name), None)
        if field is None:
            problem = message(
                "{name!r} cannot be changed in a book of the format {format}.", name=name, format=book_format.name
            )
            raise invalid_lorebook(problem)
        written = None if value is None else field.conversion.write(value)
        changed = _set_at_path(changed, field.path.split("."), written, required=book_format.new_row)
    return changed


def _set_at_path(raw: Any, path: Sequence[str], value: Any, *, required: Container[str] = ()) -> dict[str, Any]:
    """A copy with the value at a path replaced; None or an empty object removes it, unless it is required."""
    if not isinstance(raw or {}, Mapping):
        problem = message("What holds {name!r} is not an object, so nothing can be added to it.", name=path[0])
        raise invalid_lorebook(problem)
    copy = dict(raw or {})
    step, *rest = path
    if rest:
        value = _set_at_path(copy.get(step), rest, value)
    if value is None or (value == {} and step not in required):
        copy.pop(step, None)
    else:
        copy[step] = value
    return copy
