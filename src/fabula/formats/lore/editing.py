"""Parse and edit lorebooks in the format they came in.

A stored lorebook keeps the JSON of its file. `parse_lorebook` says what it means. An edit changes
only the fields that it names, so everything else is written back as it came. Fields have the names
of world info, whatever the format calls them. `convert_to_world_info` makes another book and says
what is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fabula.formats.lore.cards import CARD, CHARACTER_BOOK, LOREBOOK_V3, detect_card_version
from fabula.formats.lore.field_maps import (
    STORY_PATH,
    JsonObject,
    LorebookContents,
    LorebookFormat,
    find_rows,
    get_at_path,
    invalid_lorebook,
    number_rows,
    parse_contents,
)
from fabula.formats.lore.other_programs import AGNAI, NOVELAI, RISU, WORLD_INFO
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import StoryLimits

FORMATS = (NOVELAI, AGNAI, RISU, LOREBOOK_V3, CARD, WORLD_INFO, CHARACTER_BOOK)  # in the order in which they are tried


def detect_format(raw: Any, label: str) -> LorebookFormat:
    """Recognise the format of a book by its JSON."""
    matching = (book_format for book_format in FORMATS if isinstance(raw, Mapping) and book_format.matches(raw))
    book_format = next(matching, None)
    if book_format is None:
        raise invalid_lorebook(f"{label}: this is no lorebook and no card that we know.")
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
        raise invalid_lorebook(f"{book.name} is a card of version 1, which has no book to put an entry into.")
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


def convert_to_world_info(book: Lorebook) -> tuple[Lorebook, tuple[str, ...]]:
    """Convert a book to SillyTavern's world info; the second value says what is lost."""
    contents = parse_lorebook(book)
    entries = {}
    for entry in contents.book.entries:
        fields = msgspec.to_builtins(replace(entry, story=None))
        row = {name: value for name, value in fields.items() if value is not None}
        entries[str(entry.uid)] = _set_story(row, entry.story)
    converted = replace(book, format=WORLD_INFO.name, book={"name": book.name, "entries": entries})
    if book.format == WORLD_INFO.name:
        return converted, contents.warnings
    return converted, (*contents.warnings, "Fields that only the other format knows are left out.")


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
        raise invalid_lorebook(f"The lorebook {book.name!r} has no entry {uid}.")
    return uids.index(uid)


def _replace_rows(book: Lorebook, book_format: LorebookFormat, rows: Sequence[tuple[str, JsonObject]]) -> Lorebook:
    """The book with other rows, in an object or a list as before; rows that the format does not allow are refused."""
    before = get_at_path(book.book, book_format.entries_path, f"the lorebook {book.name!r}")
    entries = dict(rows) if isinstance(before, Mapping) else [row for _, row in rows]
    raw = _set_at_path(book.book, book_format.entries_path.split("."), entries)
    parse_contents(book_format, raw, "", book.name)
    return replace(book, book=raw)


def _change_row(book_format: LorebookFormat, row: JsonObject, changes: JsonObject) -> dict[str, Any]:
    """Change fields of a row by their names in world info."""
    changed: dict[str, Any] = dict(row)
    for name, value in changes.items():
        if name == "story":
            changed = _set_story(changed, value, keep_extensions=STORY_PATH[0] in book_format.new_row)
            continue
        field = next((field for field in book_format.fields if field.name == name), None)
        if field is None:
            raise invalid_lorebook(f"{name!r} cannot be changed in a book of the format {book_format.name}.")
        changed = _set_at_path(changed, field.path.split("."), None if value is None else field.write(value))
    return changed


def _set_story(row: JsonObject, story: StoryLimits | None, *, keep_extensions: bool = False) -> dict[str, Any]:
    """Write our own limits into a row; objects that are left empty are removed."""
    extensions_key, our_key, story_key = STORY_PATH
    extensions = row.get(extensions_key) or {}
    ours = extensions.get(our_key) or {} if isinstance(extensions, Mapping) else None
    if not isinstance(extensions, Mapping) or not isinstance(ours, Mapping):
        raise invalid_lorebook(f"{extensions_key!r} of this entry is no object, so nothing can be added to it.")
    limits = msgspec.to_builtins(story) if story is not None else {}
    extensions = _set_or_remove(extensions, our_key, _set_or_remove(ours, story_key, limits))
    return _set_or_remove(row, extensions_key, extensions, keep_empty=keep_extensions)


def _set_or_remove(row: JsonObject, name: str, value: JsonObject, *, keep_empty: bool = False) -> dict[str, Any]:
    """Set a field in its place; an empty value removes it."""
    if value or keep_empty:
        return {**row, name: value}
    return {key: inner for key, inner in row.items() if key != name}


def _set_at_path(raw: JsonObject | None, path: Sequence[str], value: Any) -> dict[str, Any]:
    """A copy with the value at a path replaced; None removes it."""
    copy = dict(raw or {})
    step, *rest = path
    if rest:
        copy[step] = _set_at_path(copy.get(step), rest, value)
    elif value is None:
        copy.pop(step, None)
    else:
        copy[step] = value
    return copy
