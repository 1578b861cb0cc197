"""Parse and edit lorebooks in the format they came in.

A stored lorebook keeps the JSON of its file. `parse_lorebook` says what it means. An edit changes
only the fields that it names, so everything else is written back as it came. Fields have the names
of world info, whatever the format calls them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fabula.core.errors import Code
from fabula.core.messages import join_names, message
from fabula.core.similar_names import find_similar_names
from fabula.formats.lore.cards import CARD, CHARACTER_BOOK, LOREBOOK_V3, detect_card_version
from fabula.formats.lore.characters import AGNAI_CHARACTER, BACKYARD, BACKYARD_ARCHIVE, PYGMALION
from fabula.formats.lore.field_maps import (
    ENTRY_TYPES,
    STORY,
    JsonObject,
    LorebookFormat,
    convert_value,
    find_rows,
    get_at_path,
    number_rows,
    parse_contents,
)
from fabula.formats.lore.other_programs import (
    AGNAI,
    AI_DUNGEON,
    KOBOLD,
    NOVELAI,
    NOVELAI_SCENARIO,
    NOVELAI_STORY,
    RISU,
    WORLD_INFO,
)
from fabula.formats.lore.unsupported import explain_unknown
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import LorebookContents
from fabula.lorebook.parsing import invalid_lorebook, refuse_edit
from fabula.text.lookup import find_by_name

FORMATS = (  # in the order in which they are tried
    NOVELAI,
    NOVELAI_SCENARIO,
    NOVELAI_STORY,
    AGNAI_CHARACTER,
    AGNAI,
    RISU,
    LOREBOOK_V3,
    CARD,
    PYGMALION,
    BACKYARD,
    BACKYARD_ARCHIVE,
    *AI_DUNGEON,
    *KOBOLD,
    WORLD_INFO,
    CHARACTER_BOOK,
)
_LISTED = 6  # names or numbers that a miss is answered with


def detect_format(raw: Any, label: str) -> LorebookFormat:
    """Recognise the format of a book by its JSON."""
    matching = (book_format for book_format in FORMATS if isinstance(raw, Mapping) and book_format.matches(raw))
    book_format = next(matching, None)
    if book_format is None:
        raise refuse_edit(explain_unknown(raw, label))
    return book_format


def parse_lorebook(book: Lorebook) -> LorebookContents:
    """Parse a book; values that cannot be used, and features without an equal here, become warnings."""
    return parse_contents(find_format(book), book.book, book.id or book.name, book.name, book.rules)


def find_uid(book: Lorebook, entry: str | int) -> int:
    """The number of an entry by its number, or by its name if only one has it."""
    if isinstance(entry, int) or entry.isdecimal():
        return int(entry)
    found = find_by_name(
        parse_lorebook(book).book.entries,
        entry,
        what=message("entry"),
        id_of=lambda one: str(one.uid),
        names_of=lambda one: (one.comment or "",),
        code=Code.LOREBOOK_INVALID,
    )
    return found.uid


def patch_entry(book: Lorebook, uid: int, /, **changes: Any) -> Lorebook:
    """Change some fields of one entry."""
    book_format, rows, uids = _find_rows(book)
    at = _find_entry(book, rows, uids, uid)
    rows[at] = (rows[at][0], _change_row(book_format, rows[at][1], changes))
    return _replace_rows(book, book_format, rows)


def add_entry(book: Lorebook, /, **fields: Any) -> tuple[Lorebook, int]:
    """Add an entry; return the book and the number of the entry."""
    if book.format == PYGMALION.name or (book.format == CARD.name and detect_card_version(book.book) == 1):
        problem = message("The format of {name} has no lorebook to add an entry to.", name=book.name)
        raise refuse_edit(problem)
    book_format, rows, uids = _find_rows(book)
    key = uid = max(uids, default=-1) + 1
    uid_field = book_format.uid_field
    has_uids = uid_field and (
        book_format.has_uids or all(isinstance(row, Mapping) and uid_field in row for _, row in rows)
    )
    new_row = {uid_field: uid, **book_format.new_row} if has_uids else book_format.new_row
    taken = {key for key, _ in rows}
    while str(key) in taken:
        key += 1
    rows.append((str(key), _change_row(book_format, new_row, fields)))
    return _replace_rows(book, book_format, rows), uid


def remove_entry(book: Lorebook, uid: int) -> Lorebook:
    """Remove one entry."""
    book_format, rows, uids = _find_rows(book)
    del rows[_find_entry(book, rows, uids, uid)]
    return _replace_rows(book, book_format, rows)


def find_format(book: Lorebook) -> LorebookFormat:
    """The format of a stored book."""
    known = next((book_format for book_format in FORMATS if book_format.name == book.format), None)
    return known or detect_format(book.book, book.name)


def _find_rows(book: Lorebook) -> tuple[LorebookFormat, list[tuple[str, Any]], list[int]]:
    """The format of a book, its rows with their keys, and the numbers of its entries."""
    book_format = find_format(book)
    rows = find_rows(book_format, book.book, book.name)
    return book_format, rows, number_rows(book_format, rows)[0]


def _find_entry(book: Lorebook, rows: Sequence[tuple[str, Any]], uids: list[int], uid: int) -> int:
    at = uids.index(uid) if uid in uids else -1
    if at < 0 or not isinstance(rows[at][1], Mapping):
        numbers = join_names([str(known) for known in uids[:_LISTED]] + ["…"] * (len(uids) > _LISTED))
        known = message("It has {numbers}.", numbers=numbers) if uids else message("It has none yet.")
        problem = message("The lorebook {name!r} has no entry {uid}. {known}", name=book.name, uid=uid, known=known)
        raise refuse_edit(problem)
    return at


def _replace_rows(book: Lorebook, book_format: LorebookFormat, rows: Sequence[tuple[str, Any]]) -> Lorebook:
    """The book with other rows, in an object or a list as before."""
    before, _ = get_at_path(book.book, book_format.entries_path)
    entries = dict(rows) if isinstance(before, Mapping) else [row for _, row in rows]
    return replace(book, book=_set_at_path(book.book, book_format.entries_path.split("."), entries))


def _change_row(book_format: LorebookFormat, row: JsonObject, changes: JsonObject) -> dict[str, Any]:
    """Change fields of a row by their names in world info."""
    changed: dict[str, Any] = dict(row)
    for name, value in changes.items():
        field = next((field for field in (*book_format.fields, STORY) if field.name == name), None)
        if field is None:
            fields = {field.name: None for field in book_format.fields}
            near = find_similar_names(name, fields) or list(fields)
            problem = message(
                "{name!r} cannot be changed in a book of the format {format}. The nearest are: {names}.",
                name=name,
                format=book_format.name,
                names=join_names(near[:_LISTED]),
            )
            raise refuse_edit(problem)
        if not convert_value(value, ENTRY_TYPES[name])[1]:
            raise refuse_edit(message("{value!r} cannot be the value of {name!r}.", value=value, name=name))
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
