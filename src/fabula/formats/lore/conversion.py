"""Convert a lorebook to world info, or to the book of a card, and say what of it has no place there.

A book in the format that is asked for stays as it is. Otherwise each field goes where the other format has it. A value
that cannot be used, or is null, goes there as it came. World info keeps the book of a card in `originalData`, as
SillyTavern does; the book of a card has the rest in `extensions`, under the name of the format, so that world info
comes back from it as it was. What is left out, or stays without an effect, is named field by field.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from operator import not_
from typing import Any

import msgspec
from msgspec.structs import replace

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message
from fabula.formats.lore.cards import (
    CARD,
    CHARACTER_BOOK,
    LOREBOOK_V3,
    convert_card,
    detect_card_version,
    make_card_json,
    means_regex,
    parse_card,
    require_use_regex,
)
from fabula.formats.lore.editing import find_format, parse_lorebook
from fabula.formats.lore.field_maps import (
    FieldMapping,
    IgnoredValues,
    JsonObject,
    LorebookFormat,
    convert_value,
    find_rows,
    get_at_path,
    has_key_at_path,
    has_value,
    is_usable,
)
from fabula.formats.lore.other_programs import WORLD_INFO
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.keys import parse_key
from fabula.lorebook.model import LoreEntry

_CARD_FORMATS = (CARD, LOREBOOK_V3, CHARACTER_BOOK)
_SILLYTAVERN_EXTENSIONS = {  # fields that decide nothing here, and what SillyTavern calls them in a card
    "displayIndex": "display_index",
    "automationId": "automation_id",
    "vectorized": "vectorized",
}
_MAPPED_EXTENSIONS = {
    field.path.partition(".")[2] for field in CHARACTER_BOOK.fields if field.path.startswith("extensions.")
}
_BOOK_FIELDS = ("description", "scan_depth", "token_budget", "recursive_scanning")  # some write them into world info
_ROW_FIELDS = ("keys", "secondary_keys", "name", "priority", "insertion_order", "enabled", "id")  # the same of a row
_POSITIONS = {0: "before_char", 1: "after_char"}
_THE_WORLD_INFO, _THE_CARD_BOOK, _THE_CARD = message("World info"), message("The book of a card"), message("A card")


def convert_to_world_info(book: Lorebook) -> tuple[Lorebook, tuple[Sentence, ...]]:
    """Convert a book to SillyTavern's world info; the second value says what is lost."""
    source = find_format(book)
    if source.name == WORLD_INFO.name:
        return book, ()
    is_of_card = source in _CARD_FORMATS
    holder = _find_holder(source, book.book)
    entries: dict[str, Any] = {}
    unread: dict[str, None] = {}
    for row, entry in _pair_rows(book, source):
        converted: dict[str, Any] = {"uid": entry.uid}
        _copy_fields(source, WORLD_INFO, row, entry, converted)
        rest = _list_rest(source, row)
        theirs = row.get("extensions")
        if is_of_card and isinstance(theirs, Mapping):
            converted |= {name: theirs[path] for name, path in _SILLYTAVERN_EXTENSIONS.items() if path in theirs}
            restored, theirs = _take_back(theirs, {*_MAPPED_EXTENSIONS, *_SILLYTAVERN_EXTENSIONS.values()})
            converted |= {"extensions": theirs} if theirs else {}
            converted |= restored
        elif theirs is not None or (rest and not is_of_card):
            own = {} if is_of_card or not rest else {source.name: rest}
            converted["extensions"] = {**theirs, **own} if isinstance(theirs, Mapping) else own or theirs
        unread.update(dict.fromkeys(_name_used(rest, row)))
        entries[str(entry.uid)] = converted
    raw: dict[str, Any] = {"name": book.name, "entries": entries}
    losses: list[Sentence] = []
    if is_of_card:
        theirs = holder.get("extensions")
        if isinstance(theirs, Mapping) and WORLD_INFO.name in theirs:  # it was world info before
            restored, theirs = _take_back(theirs)
            raw = {**restored, **({"extensions": theirs} if theirs else {}), "entries": entries}
        elif holder:
            raw["originalData"] = holder
            unread.update(dict.fromkeys(_name_used(_leave_out(holder, "name", "entries"))))
        lost = _list_outside_book(source, book.book)
        if unread:
            losses.append(_say_unread(_THE_WORLD_INFO, unread, "originalData"))
    else:
        losses += parse_lorebook(book).warnings
        lost = _list_beside_entries(source, book.book)
        if unread:
            losses.append(_say_unread(_THE_WORLD_INFO, unread, f"extensions.{source.name}"))
    if lost:
        losses.append(_say_lost(_THE_WORLD_INFO, lost))
    return replace(book, format=WORLD_INFO.name, book=raw), tuple(losses)


def convert_to_version(book: Lorebook, version: int) -> tuple[Lorebook, tuple[Sentence, ...]]:
    """Convert a card to a version, or another book to the book of such a card; the second value says what is lost."""
    if version not in (1, 2, 3):
        raise _refuse(message("A card has version 1, 2 or 3, and not {version}.", version=version))
    source = find_format(book)
    losses: tuple[Sentence, ...] = ()
    if source.read_card is not None:
        book, losses = convert_to_card(book)
        losses = losses if version > 1 else ()  # version 1 leaves out all of it, and says so
        source = CARD
    if source.name == CARD.name:
        card, warnings = convert_card(parse_card(book.book, book.name), version)
        return replace(book, book=card.raw), (*losses, *warnings)
    if version == 1:
        raise _refuse(message("Version 1 of a card has no lorebook; use 2 or 3."))
    target = CHARACTER_BOOK if version == 2 else LOREBOOK_V3
    if source.name == target.name:
        return book, ()
    if source in _CARD_FORMATS:
        card_book = dict(_find_holder(source, book.book))
        lost = _list_outside_book(source, book.book)
        losses = (_say_lost(_THE_CARD_BOOK, lost),) if lost else ()
    else:
        card_book, losses = _make_card_book(book, source)
    if target is LOREBOOK_V3:
        raw: JsonObject = {"spec": "lorebook_v3", "data": require_use_regex(card_book)}
    else:
        raw = card_book
    return replace(book, format=target.name, book=raw), losses


def convert_to_card(book: Lorebook) -> tuple[Lorebook, tuple[Sentence, ...]]:
    """Convert the character of another program to a card of version 2, with the book it has; any other book stays.

    The second value says what other programs do not read in the card.
    """
    source = find_format(book)
    if source.read_card is None:
        return book, ()
    ignored = IgnoredValues()
    data = source.read_card(book.book, ignored)
    rows, unread = _make_card_rows(book, source)
    rest = _leave_out_empty(_remove_paths(book.book, source.read_paths))
    extensions = {**data.get("extensions", {}), **({source.name: rest} if rest else {})}
    data = {**data, "extensions": extensions}
    if rows:
        title = _find_holder(source, book.book).get("name")
        data["character_book"] = {
            "name": title if isinstance(title, str) else "",
            **_write_settings(book),
            "extensions": {},
            "entries": rows,
        }
    unread.update(dict.fromkeys(_name_used_inside(rest, source)))
    losses = [_say_unread(_THE_CARD, unread, f"extensions.{source.name}")] if unread else []
    raw = make_card_json(data)
    return replace(book, format=CARD.name, book=raw), (*ignored.make_warnings(), *losses)


def _write_settings(book: Lorebook) -> dict[str, Any]:
    """How a book of another program is scanned, as the book of a card says it."""
    settings = parse_lorebook(book).settings
    cap = {"token_budget": settings.budget_cap} if settings.budget_cap else {}
    return {"scan_depth": settings.depth, **cap, "recursive_scanning": settings.recursive}


def _make_card_book(book: Lorebook, source: LorebookFormat) -> tuple[dict[str, Any], tuple[Sentence, ...]]:
    """Make the book of a card of a book of another format, with what is lost."""
    rows, unread = _make_card_rows(book, source)
    card_book: dict[str, Any] = {"name": book.name, "extensions": {}, "entries": rows}
    losses: list[Sentence] = []
    lost: list[str] = []
    if source.name == WORLD_INFO.name:
        theirs = book.book.get("extensions")
        extensions = dict(theirs) if isinstance(theirs, Mapping) else {}
        taken = ("entries", "extensions") if extensions else ("entries",)
        beside = extensions[WORLD_INFO.name] = _leave_out(book.book, *taken)
        card_book["extensions"] = extensions
        card_book |= {name: beside[name] for name in _BOOK_FIELDS if name in beside}
        unread.update(dict.fromkeys(_name_used(_leave_out(beside, "name", *_BOOK_FIELDS))))
    else:
        card_book |= _write_settings(book)
        losses += parse_lorebook(book).warnings
        lost = _list_beside_entries(source, book.book)
    if unread:
        losses.append(_say_unread(_THE_CARD_BOOK, unread, f"extensions.{source.name}"))
    if lost:
        losses.append(_say_lost(_THE_CARD_BOOK, lost))
    return card_book, tuple(losses)


def _make_card_rows(book: Lorebook, source: LorebookFormat) -> tuple[list[dict[str, Any]], dict[str, None]]:
    """Make the entries of a card's book, and name the fields that other programs do not read there."""
    rows: list[dict[str, Any]] = []
    unread: dict[str, None] = {}
    for row, entry in _pair_rows(book, source):
        rest, theirs = _list_rest(source, row), row.get("extensions")
        extensions: dict[str, Any] = dict(theirs) if isinstance(theirs, Mapping) else {}
        if source.name == WORLD_INFO.name:
            if "extensions" in row and not extensions:
                rest["extensions"] = theirs
            known = {_SILLYTAVERN_EXTENSIONS[name]: rest.pop(name) for name in _SILLYTAVERN_EXTENSIONS if name in rest}
            extensions |= known
        if rest:
            extensions[source.name] = rest
        converted = {**CHARACTER_BOOK.new_row, "id": entry.uid, "extensions": extensions}
        _copy_fields(source, CHARACTER_BOOK, row, entry, converted)
        if entry.position is not None:
            converted["position"] = _POSITIONS.get(entry.position, "after_char")
        if entry.case_sensitive is not None:
            converted["case_sensitive"] = entry.case_sensitive
        converted["use_regex"] = bool(entry.key) and all(parse_key(key).pattern is not None for key in entry.key or ())
        if entry.character_filter is not None and (entry.character_filter.names or entry.character_filter.tags):
            unread["characterFilter"] = None
        converted |= {name: rest[name] for name in _ROW_FIELDS if name in rest and name not in converted}
        unread.update(dict.fromkeys(name for name in _name_used(rest) if name not in converted))
        rows.append(converted)
    return rows, unread


def _take_back(extensions: JsonObject, mapped: Container[str] = ()) -> tuple[JsonObject, dict[str, Any]]:
    """The fields of world info that the book of a card has in `extensions`, and what else is there."""
    restored = extensions.get(WORLD_INFO.name)
    own = restored if isinstance(restored, Mapping) else {}
    rest = {name: value for name, value in extensions.items() if name not in mapped}
    if isinstance(restored, Mapping):
        del rest[WORLD_INFO.name]
    return own, rest


def _remove_paths(raw: JsonObject, paths: Iterable[str]) -> dict[str, Any]:
    """A copy without what stands at some dotted paths, and without objects that are empty then."""
    inner: dict[str, list[str]] = {}
    for path in paths:
        step, _, rest = path.partition(".")
        inner.setdefault(step, []).append(rest)
    kept: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in inner:
            kept[name] = value
        elif "" not in inner[name] and isinstance(value, Mapping):
            value = _remove_paths(value, inner[name])
            kept |= {name: value} if value else {}
    return kept


def _pair_rows(book: Lorebook, source: LorebookFormat) -> Iterable[tuple[JsonObject, LoreEntry]]:
    """Each row of a book with the entry that it is read as."""
    rows = [row for _, row in find_rows(source, book.book, book.name) if isinstance(row, Mapping)]
    return zip(rows, parse_lorebook(book).book.entries, strict=True)


def _copy_fields(
    source: LorebookFormat, target: LorebookFormat, row: JsonObject, entry: LoreEntry, converted: dict[str, Any]
) -> None:
    """Write each field where the target has it: as it came where it is null or cannot be used, else as it is read."""
    values = msgspec.to_builtins(replace(entry, story=None))
    written: set[str] = set()
    for field in target.fields:
        if field.name in written:  # of several paths the first is written
            continue
        written.add(field.name)
        origins = [one for one in source.fields if one.name == field.name and has_key_at_path(row, one.path)]
        as_it_came = next((one for one in origins if not is_usable(row, one)), None)
        if as_it_came is None and origins and _means_the_same(row, origins[0], field, values[field.name]):
            as_it_came = origins[0]
        if as_it_came is not None:
            _put(converted, field, get_at_path(row, as_it_came.path)[0])
        elif values[field.name] is not None:
            _put(converted, field, field.conversion.write(values[field.name]))
        elif origins:
            value, _ = get_at_path(row, origins[0].path)
            _put(converted, field, value if _has_same_form(origins[0], field) else None)


def _means_the_same(row: JsonObject, origin: FieldMapping, field: FieldMapping, value: Any) -> bool:
    """Whether a value as it stands in a row is what the entry has, and the other format writes it in the same way."""
    raw, _ = get_at_path(row, origin.path)
    checked = convert_value(raw, origin.conversion.value_type)[0]
    if checked is None or not _has_same_form(origin, field):
        return checked is None and value is None
    return bool(msgspec.to_builtins(origin.conversion.read(checked)) == value)


def _has_same_form(one: FieldMapping, other: FieldMapping) -> bool:
    """Whether two formats write a value in the same way; `enabled` is the opposite of `disable`."""
    (type_1, _, write_1), (type_2, _, write_2) = one.conversion, other.conversion
    return bool(type_1 == type_2 and (write_1 is not_) == (write_2 is not_))


def _put(converted: dict[str, Any], field: FieldMapping, value: Any) -> None:
    *holders, name = field.path.split(".")
    for holder in holders:
        converted = converted.setdefault(holder, {})
    converted[name] = value


def _list_rest(source: LorebookFormat, row: JsonObject) -> dict[str, Any]:
    """The fields of a row that an entry has no name for; of an object that is read in part, the whole."""
    mapped = {field.path for field in source.fields}
    return {
        name: value
        for name, value in row.items()
        if name not in mapped and name not in (source.uid_field, "extensions")
    }


def _name_used(rest: JsonObject, row: JsonObject | None = None) -> list[str]:
    """The names of fields with a value; the flag of SillyTavern that it does not mean is not one."""
    return [
        name
        for name, value in rest.items()
        if has_value(value) and not (name == "use_regex" and row is not None and not means_regex(row))
    ]


def _find_holder(source: LorebookFormat, raw: JsonObject) -> JsonObject:
    """The object that has the entries of a book."""
    holder: Any = raw
    for step in source.entries_path.split(".")[:-1]:
        holder = holder.get(step) if isinstance(holder, Mapping) else None
    return holder if isinstance(holder, Mapping) else {}


def _list_outside_book(source: LorebookFormat, raw: JsonObject) -> list[str]:
    """The fields of a card or a file of version 3 that are not in its book."""
    if source.name == CHARACTER_BOOK.name:
        return []
    root = _leave_out(raw, "spec", "spec_version", "data")
    data = raw.get("data")
    if source.name == CARD.name and isinstance(data, Mapping) and detect_card_version(raw) != 1:
        return list(dict.fromkeys([*_name_used(_leave_out(data, "character_book")), *_name_used(root)]))
    return _name_used(root)


def _list_beside_entries(source: LorebookFormat, raw: JsonObject) -> list[str]:
    """The fields of a file of another program that are not its entries."""
    return _name_used_inside(_leave_out(_remove_paths(raw, [source.entries_path]), "name", "kind", "type"), source)


def _name_used_inside(rest: JsonObject, source: LorebookFormat) -> list[str]:
    """The names of fields with a value, also of those inside of what holds the entries."""
    holders = source.entries_path.split(".")[:-1]
    names: list[str] = []
    for name in _name_used(rest):
        inner = rest[name]
        is_holder = bool(holders) and name == holders[0] and isinstance(inner, Mapping)
        names += _name_used(inner) if is_holder else [name]
    return list(dict.fromkeys(names))


def _leave_out_empty(raw: JsonObject) -> dict[str, Any]:
    """A copy without values that say nothing; false and 0 say something."""
    inner = {name: _leave_out_empty(value) if isinstance(value, Mapping) else value for name, value in raw.items()}
    return {name: value for name, value in inner.items() if value not in ("", None, [], {})}


def _leave_out(raw: JsonObject, *names: str) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name not in names}


def _say_unread(target: Sentence, names: Iterable[str], place: str) -> Sentence:
    return message(
        "{format} has no place for {names}: kept in `{place}`, where other programs do not read it.",
        format=target,
        names=join_names(list(names)),
        place=place,
    )


def _say_lost(target: Sentence, names: Iterable[str]) -> Sentence:
    return message("{format} has no place for {names}: left out.", format=target, names=join_names(list(names)))


def _refuse(problem: Sentence) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, message("{problem} Nothing was written.", problem=problem))
