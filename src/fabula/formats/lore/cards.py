"""Parse and edit character cards, versions 1 to 3, and the lorebook of a card.

A card is stored as its JSON. Version 1 has its six texts at the root and no book. Versions 2 and 3
have everything below `data`, and programs often repeat the six texts at the root for older readers,
so an edit changes both. SillyTavern writes the fields that its own rules need into `extensions` of
each entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.core.messages import join_names, message
from fabula.formats.lore.field_maps import (
    SILLYTAVERN_SETTINGS,
    FieldConversion,
    JsonObject,
    LorebookFormat,
    convert_field,
    get_at_path,
    make_regex_key,
    map_fields,
)
from fabula.formats.safe.import_errors import CORRECT, FETCH_AGAIN, refuse_unreadable
from fabula.lorebook.model import CardCharacter, LorebookSettings, Number
from fabula.lorebook.parsing import invalid_lorebook

_VERSIONS = {"chara_card_v2": 2, "chara_card_v3": 3}
_VERSION_1_FIELDS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
_CHARACTER_TEXTS = ("description", "personality", "scenario", "creator_notes")
_POSITIONS = {"before_char": 0, "after_char": 1}


class CardFields(Struct, frozen=True, kw_only=True):
    """The fields of a card; one of the wrong type is refused by name."""

    name: str | None = None
    description: str | None = None
    personality: str | None = None
    scenario: str | None = None
    first_mes: str | None = None
    mes_example: str | None = None
    creator_notes: str | None = None
    system_prompt: str | None = None
    post_history_instructions: str | None = None
    alternate_greetings: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    creator: str | None = None
    character_version: str | None = None
    nickname: str | None = None
    extensions: dict[str, Any] | None = None
    character_book: dict[str, Any] | None = None


class CharacterCard(Struct, frozen=True, kw_only=True):
    """A card: its JSON, the picture it was embedded in, and the assets of its archive."""

    raw: JsonObject
    version: int
    fields: CardFields
    image: bytes | None = None
    assets: Mapping[str, bytes] = {}

    @property
    def name(self) -> str:
        """The name of the character."""
        return self.fields.nickname or self.fields.name or "Character"


def parse_card(raw: Any, label: str) -> CharacterCard:
    """Parse the JSON of a card of any version."""
    version = detect_card_version(raw)
    if version is None:
        refuse_unreadable(label, message("it is not a character card"), message("Name a card as JSON, PNG or CHARX."))
    data = raw if version == 1 else raw.get("data")
    if not isinstance(data, Mapping):
        refuse_unreadable(label, message("the card has no `data`"), FETCH_AGAIN)
    try:
        fields = msgspec.convert(data, CardFields)
    except msgspec.ValidationError as error:
        refuse_unreadable(label, message("something in the card has the wrong type: {error}", error=error), CORRECT)
    return CharacterCard(raw=raw, version=version, fields=fields)


def detect_card_version(raw: Any) -> int | None:
    """1, 2 or 3; None for JSON that is no card."""
    if not isinstance(raw, Mapping):
        return None
    spec = raw.get("spec")
    if isinstance(spec, str):
        return _VERSIONS.get(spec)
    return 1 if "name" in raw and sum(name in raw for name in _VERSION_1_FIELDS) > 2 else None


def edit_card(card: CharacterCard, **changes: Any) -> CharacterCard:
    """Change fields of a card, in `data` and where the root repeats them."""
    unknown = set(changes) - set(CardFields.__struct_fields__)
    if unknown:
        raise invalid_lorebook(message("A card has no {names}.", names=join_names(sorted(unknown))))
    raw: dict[str, Any] = dict(card.raw)
    if card.version > 1:
        raw["data"] = {**card.raw["data"], **changes}
        changes = {name: value for name, value in changes.items() if name in _VERSION_1_FIELDS and name in card.raw}
    raw.update(changes)
    return replace(card, raw=raw, fields=parse_card(raw, card.name).fields)


def _read_character(raw: JsonObject) -> CardCharacter:
    card = parse_card(raw, "the card")
    texts = {name: getattr(card.fields, name) or "" for name in _CHARACTER_TEXTS}
    prompt = get_at_path(card.fields.extensions or {}, "depth_prompt.prompt")
    depth_prompt = prompt if isinstance(prompt, str) else ""
    return CardCharacter(name=card.name, tags=card.fields.tags or (), depth_prompt=depth_prompt, **texts)


class _BookSettings(Struct, frozen=True):
    scan_depth: Number | None = None
    token_budget: Number | None = None
    recursive_scanning: bool | None = None


def _read_settings(raw: JsonObject) -> LorebookSettings:
    """The settings that a book asks for; SillyTavern itself ignores them."""
    book = raw.get("data", raw)
    book = book.get("character_book") or {} if detect_card_version(raw) else book
    settings = convert_field(book, _BookSettings, "character_book", message("the card"))
    changes: dict[str, Any] = {"depth": settings.scan_depth, "recursive": settings.recursive_scanning}
    if settings.token_budget:
        changes |= {"budget": 100, "budget_cap": settings.token_budget}
    return replace(SILLYTAVERN_SETTINGS, **{name: value for name, value in changes.items() if value is not None})


def _parse_position(position: Any) -> int:
    if position not in _POSITIONS:
        names = join_names(list(_POSITIONS))
        raise invalid_lorebook(message("{name!r} is not a position: use {names}.", name=position, names=names))
    return _POSITIONS[position]


def _complete_entry(book: JsonObject, row: JsonObject, entry: dict[str, Any]) -> None:
    """Put slashes around keys that are regular expressions, and drop an empty outlet."""
    if row.get("use_regex") is True:
        for name in ("key", "keysecondary"):
            if name in entry:
                entry[name] = tuple(make_regex_key(key) for key in entry[name])
    if entry.get("outletName") == "":
        del entry["outletName"]


def _has_other_decorators(row: JsonObject) -> bool:
    content = row.get("content")
    lines = content.splitlines() if isinstance(content, str) and content.startswith("@@") else []
    return any(line.startswith("@@") and line.strip() not in ("@@activate", "@@dont_activate") for line in lines)


def _is_book(raw: JsonObject) -> bool:
    entries = raw.get("entries")
    return isinstance(entries, list) and all(isinstance(row, Mapping) for row in entries)


CHARACTER_BOOK = LorebookFormat(
    name="character_book",
    matches=_is_book,
    entries_path="entries",
    fields=map_fields("character_book", position=FieldConversion(str, _parse_position, str)),
    unsupported=[
        (
            message("`priority` is kept but has no effect: `insertion_order` decides"),
            lambda row: row.get("priority") is not None,
        ),
        (
            message("Decorators other than @@activate and @@dont_activate are kept but have no effect"),
            _has_other_decorators,
        ),
    ],
    uid_field="id",
    new_row={"keys": [], "content": "", "enabled": True, "insertion_order": 100, "extensions": {}},
    source="character",
    read_settings=_read_settings,
    complete_entry=_complete_entry,
)
CARD = replace(
    CHARACTER_BOOK,
    name="card",
    matches=lambda raw: detect_card_version(raw) is not None,
    entries_path="data.character_book.entries",
    entries_optional=True,
    read_title=lambda raw: parse_card(raw, "the card").name,
    read_character=_read_character,
)
LOREBOOK_V3 = replace(
    CHARACTER_BOOK,
    name="lorebook_v3",
    matches=lambda raw: raw.get("spec") == "lorebook_v3" and isinstance(raw.get("data"), Mapping),
    entries_path="data.entries",
    read_title=lambda raw: raw["data"].get("name"),
    source="global",
)
