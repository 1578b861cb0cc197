"""Parse and edit character cards, versions 1 to 3, and the lorebook of a card.

A card is stored as its JSON. Version 1 has its six texts at the root and no book. Versions 2 and 3
have everything below `data`, and programs often repeat the six texts at the root for older readers,
so an edit changes both. SillyTavern writes the fields that its own rules need into `extensions` of
each entry.

SillyTavern also writes `use_regex: true` into every entry, and never reads it. So under its rules a key is a
regular expression only between slashes. Under our own rules the flag counts, except in an entry that
SillyTavern wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.core.decoding import explain_decode_error
from fabula.core.messages import Sentence, join_names, message
from fabula.formats.lore.field_maps import (
    SILLYTAVERN_SETTINGS,
    FieldConversion,
    IgnoredValues,
    JsonObject,
    LorebookFormat,
    convert_fields,
    get_at_path,
    is_in_range,
    make_regex_key,
    map_fields,
)
from fabula.formats.safe.import_errors import FETCH_AGAIN, refuse_unreadable
from fabula.lorebook.edits import RuleSet
from fabula.lorebook.model import CardCharacter, LorebookSettings, Number
from fabula.lorebook.parsing import refuse_edit

SPECS = {2: "chara_card_v2", 3: "chara_card_v3"}
VERSION_1_FIELDS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
_CHARACTER_TEXTS = ("description", "personality", "scenario", "creator_notes")
_POSITIONS = {"before_char": 0, "after_char": 1}
_SILLYTAVERN_FIELDS = {"selectiveLogic", "useProbability", "exclude_recursion", "probability"}  # in `extensions`
_LOREBOOK_SPEC = "lorebook_v3"
_EMPTY_DATA: JsonObject = {  # what a card of version 2 must have
    **dict.fromkeys(VERSION_1_FIELDS, ""),
    **dict.fromkeys(("creator_notes", "system_prompt", "post_history_instructions", "creator"), ""),
    "alternate_greetings": [],
    "tags": [],
    "character_version": "",
    "extensions": {},
}
_VERSION_3_FIELDS = (
    "assets",
    "nickname",
    "creator_notes_multilingual",
    "source",
    "group_only_greetings",
    "creation_date",
    "modification_date",
)
_THE_CARD = message("the card")


class CardFields(Struct, frozen=True, kw_only=True):
    """The fields of a card; None where the card has none that can be used."""

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
    group_only_greetings: tuple[str, ...] | None = None
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


def parse_card(raw: Any, label: str, ignored: IgnoredValues | None = None) -> CharacterCard:
    """Parse the JSON of a card of any version; fields that cannot be used are noted in `ignored`."""
    version = detect_card_version(raw)
    if version is None:
        if isinstance(raw, Mapping) and raw.get("spec") in SPECS.values():
            refuse_unreadable(label, message("the card has no `data`"), FETCH_AGAIN)
        refuse_unreadable(label, message("it is not a character card"), message("Name a card as JSON, PNG or CHARX."))
    ignored = IgnoredValues() if ignored is None else ignored
    spec = raw.get("spec")
    if spec != SPECS.get(version):
        ignored.remarks.append(
            message(
                "The card has the unknown version {spec!r}; it is read as version {version}.",
                spec=spec,
                version=version,
            )
            if spec is not None
            else message("The card does not name its version; it is read as version {version}.", version=version)
        )
    fields = convert_fields(raw if version == 1 else raw["data"], CardFields, _THE_CARD, ignored)
    return CharacterCard(raw=raw, version=version, fields=fields)


def make_card_json(data: JsonObject) -> JsonObject:
    """Make the JSON of a card of version 2; what is not given is empty."""
    return {"spec": SPECS[2], "spec_version": "2.0", "data": {**_EMPTY_DATA, **data}}


def detect_card_version(raw: Any) -> int | None:
    """1, 2 or 3; None for JSON that is no card. The fields decide where `spec` is missing or unknown."""
    if not isinstance(raw, Mapping) or raw.get("spec") == _LOREBOOK_SPEC:
        return None
    data = raw.get("data")
    if isinstance(data, Mapping):
        version = next((number for number, spec in SPECS.items() if spec == raw.get("spec")), None)
        if version is not None:
            return version
        if _count_texts(data) > 2 or (_count_texts(data) and "character_book" in data):
            return 3 if str(raw.get("spec_version")).startswith("3") else 2
    return 1 if "name" in raw and _count_texts(raw) > 2 else None


def _count_texts(raw: JsonObject) -> int:
    return sum(name in raw for name in VERSION_1_FIELDS)


def edit_card(card: CharacterCard, **changes: Any) -> CharacterCard:
    """Change fields of a card, in `data` and where the root repeats them."""
    unknown = set(changes) - set(CardFields.__struct_fields__)
    if unknown:
        raise refuse_edit(message("A card has no {names}.", names=join_names(sorted(unknown))))
    try:
        msgspec.convert(changes, CardFields)
    except msgspec.ValidationError as error:
        raise refuse_edit(
            message("A field of the card has the wrong type: {error}.", error=explain_decode_error(error, CardFields))
        ) from error
    raw: dict[str, Any] = dict(card.raw)
    if card.version > 1:
        raw["data"] = {**card.raw["data"], **changes}
        changes = {name: value for name, value in changes.items() if name in VERSION_1_FIELDS and name in card.raw}
    raw.update(changes)
    return replace(card, raw=raw, fields=parse_card(raw, card.name).fields)


def convert_card(card: CharacterCard, version: int) -> tuple[CharacterCard, list[Sentence]]:
    """Convert a card to another version; the second value says what is lost."""
    if version == card.version:
        return card, []
    warnings: list[Sentence] = []
    data = card.raw if card.version == 1 else card.raw["data"]
    root = {name: value for name, value in card.raw.items() if name not in ("spec", "spec_version", "data")}
    if version == 1:
        raw = root | {name: data.get(name, "") for name in VERSION_1_FIELDS}
        lost = [name for name, value in data.items() if value and name not in raw]
        if lost:
            warnings.append(message("Version 1 of a card has no {names}: left out.", names=join_names(lost)))
        return replace(card, raw=raw, version=version), warnings
    if card.version == 1:
        data = {**_EMPTY_DATA, **{name: data[name] for name in CardFields.__struct_fields__ if name in data}}
    if version == 3:
        data = {"group_only_greetings": [], **data}
        if isinstance(data.get("character_book"), Mapping):
            data["character_book"] = require_use_regex(data["character_book"])
    else:
        newer = [name for name in _VERSION_3_FIELDS if data.get(name)]
        if newer:
            warnings.append(message("Programs that know only version 2 ignore {names}.", names=join_names(newer)))
        rows, _ = get_at_path(data, "character_book.entries")
        if isinstance(rows, list) and any(isinstance(row, Mapping) and _list_decorators(row) for row in rows):
            warnings.append(message("Programs that know only version 2 send decorators (@@…) as text."))
    raw = {**card.raw, "spec": SPECS[version], "spec_version": f"{version}.0", "data": data}
    return replace(card, raw=raw, version=version), warnings


def _read_character(raw: JsonObject, ignored: IgnoredValues) -> CardCharacter:
    card = parse_card(raw, "", ignored)
    texts = {name: getattr(card.fields, name) or "" for name in _CHARACTER_TEXTS}
    prompt, _ = get_at_path(card.fields.extensions or {}, "depth_prompt.prompt")
    depth_prompt = prompt if isinstance(prompt, str) else ""
    return CardCharacter(name=card.name, tags=card.fields.tags or (), depth_prompt=depth_prompt, **texts)


def _read_title(raw: JsonObject) -> str | None:
    fields = parse_card(raw, "").fields
    return fields.nickname or fields.name


class _BookSettings(Struct, frozen=True):
    scan_depth: Number | None = None
    token_budget: Number | None = None
    recursive_scanning: bool | None = None


def _read_settings(raw: JsonObject, ignored: IgnoredValues) -> LorebookSettings:
    book = raw.get("data", raw)
    if detect_card_version(raw):
        book = get_at_path(raw, "data.character_book")[0]
    return read_book_settings(book, ignored)


def read_book_settings(book: Any, ignored: IgnoredValues) -> LorebookSettings:
    """The settings that a book asks for, where it has some; SillyTavern itself ignores them."""
    settings = _BookSettings()
    if isinstance(book, Mapping):
        settings = convert_fields(book, _BookSettings, message("the book itself"), ignored)
    changes: dict[str, Any] = {"depth": settings.scan_depth, "recursive": settings.recursive_scanning}
    if settings.token_budget:
        changes |= {"budget": 100, "budget_cap": settings.token_budget}
    return replace(SILLYTAVERN_SETTINGS, **{name: value for name, value in changes.items() if value is not None})


def _parse_position(position: str) -> int:
    if position not in _POSITIONS:
        raise ValueError(position)
    return _POSITIONS[position]


def _complete_entry(book: JsonObject, row: JsonObject, entry: dict[str, Any], rules: RuleSet) -> None:
    """Put slashes around keys that are regular expressions, read RisuAI's chance, and drop an empty outlet."""
    chance, _ = get_at_path(row, "extensions.risu_activationPercent")
    if isinstance(chance, int | float) and is_in_range(chance) and "probability" not in entry:
        entry |= {"probability": chance, "useProbability": True}
    if rules == "fabula" and means_regex(row):
        for name in ("key", "keysecondary"):
            if name in entry:
                entry[name] = tuple(make_regex_key(key) for key in entry[name])
    if entry.get("outletName") == "":
        del entry["outletName"]


def means_regex(row: JsonObject) -> bool:
    """Whether the keys of an entry are meant as regular expressions: SillyTavern sets the flag without meaning it."""
    extensions = row.get("extensions")
    is_from_sillytavern = isinstance(extensions, Mapping) and not _SILLYTAVERN_FIELDS.isdisjoint(extensions)
    return row.get("use_regex") is True and not is_from_sillytavern


def require_use_regex(book: JsonObject) -> JsonObject:
    """The book of a card with what version 3 requires of each entry: whether its keys are regular expressions."""
    rows = book.get("entries")
    if not isinstance(rows, list):
        return book
    return {
        **book,
        "entries": [
            {**row, "use_regex": row.get("use_regex", False)} if isinstance(row, Mapping) else row for row in rows
        ],
    }


def _list_decorators(row: JsonObject) -> list[str]:
    content = row.get("content")
    lines = content.splitlines() if isinstance(content, str) and content.startswith("@@") else []
    return [line.strip() for line in lines if line.startswith("@@")]


def _has_other_decorators(row: JsonObject) -> bool:
    return not {"@@activate", "@@dont_activate"}.issuperset(_list_decorators(row))


def _is_book(raw: JsonObject) -> bool:
    entries = raw.get("entries")
    rows = entries.values() if isinstance(entries, Mapping) else entries if isinstance(entries, list) else ()
    return any(isinstance(row, Mapping) for row in rows)


def _is_lorebook_v3(raw: JsonObject) -> bool:
    data = raw.get("data")
    if not isinstance(data, Mapping):
        return False
    return raw.get("spec") == _LOREBOOK_SPEC or (
        isinstance(data.get("entries"), list) and raw.get("spec") not in SPECS.values()
    )


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
    unsupported_if_exact=[
        (message("`use_regex` makes keys patterns under the fabula rules only"), means_regex),
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
    read_title=_read_title,
    read_character=_read_character,
)
LOREBOOK_V3 = replace(
    CHARACTER_BOOK,
    name="lorebook_v3",
    matches=_is_lorebook_v3,
    entries_path="data.entries",
    read_title=lambda raw: raw["data"].get("name"),
    source="global",
)
