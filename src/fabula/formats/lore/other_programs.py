"""The lorebook formats of SillyTavern, RisuAI, NovelAI, Agnai, AI Dungeon and KoboldAI.

SillyTavern's world info has the field names of our own entries. Its file has no settings for depth,
budget or recursion, so a book gets those that SillyTavern ships. Books of the other programs were
written for other rules, so they get our own rule set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabula.core.messages import message
from fabula.formats.lore.cards import read_book_settings
from fabula.formats.lore.field_maps import (
    COMMA_LIST,
    LIST,
    FieldConversion,
    IgnoredValues,
    JsonObject,
    LorebookFormat,
    convert_fields,
    get_at_path,
    has_value,
    make_regex_key,
    map_field,
    map_fields,
)
from fabula.lorebook.edits import RuleSet
from fabula.lorebook.model import LorebookSettings, LoreEntry, Number
from fabula.lorebook.wildcards import convert_wildcards


def _has_rows(raw: JsonObject, path: str, *fields: str) -> bool:
    """Whether a list of the file has a row with these fields."""
    rows = raw.get(path)
    return isinstance(rows, list) and any(isinstance(row, Mapping) and set(fields) <= set(row) for row in rows)


def _is_world_info(raw: JsonObject) -> bool:
    """Whether the rows have the field names of world info; some programs write the book of a card as an object too."""
    entries = raw.get("entries")
    values = entries.values() if isinstance(entries, Mapping) else entries if isinstance(entries, list) else None
    if values is None:
        return False
    rows = [row for row in values if isinstance(row, Mapping)]
    has_other_names = any("keys" in row for row in rows) and not any("key" in row for row in rows)
    return not has_other_names and (bool(rows) or not values or isinstance(entries, Mapping))


WORLD_INFO = LorebookFormat(
    name="sillytavern",
    matches=_is_world_info,
    entries_path="entries",
    fields=tuple(map_field(name, name) for name in LoreEntry.__struct_encode_fields__ if name not in ("uid", "story")),
    uid_field="uid",
    has_uids=True,
    read_settings=read_book_settings,  # which Chub writes into world info too
)


def _complete_risu_entry(book: JsonObject, row: JsonObject, entry: dict[str, Any], rules: RuleSet) -> None:
    """Read a key that is one regular expression, switch folders off, and apply the percentage."""
    if row.get("useRegex") is True and isinstance(row.get("key"), str):
        entry["key"] = (make_regex_key(row["key"]),)
    if row.get("mode") == "folder":
        entry["disable"] = True
    if "probability" in entry:
        entry["useProbability"] = True


RISU = LorebookFormat(
    name="risu",
    matches=lambda raw: raw.get("type") == "risu" or _has_rows(raw, "data", "insertorder"),
    entries_path="data",
    fields=map_fields("risu", key=COMMA_LIST, secondkey=COMMA_LIST),
    unsupported=[
        (message("Folders are kept but send nothing"), lambda row: row.get("mode") == "folder"),
        (message("Child entries are read as entries of their own"), lambda row: row.get("mode") == "child"),
        (message("Decorators are kept but have no effect"), lambda row: str(row.get("content")).startswith("@@")),
    ],
    rules="fabula",
    read_settings=lambda book, ignored: LorebookSettings(recursive=True, include_names=False),
    complete_entry=_complete_risu_entry,
)


_NOVELAI_CATEGORIES = ("categories", "lorebook.categories", "content.lorebook.categories")


def _complete_novelai_entry(book: JsonObject, row: JsonObject, entry: dict[str, Any], rules: RuleSet) -> None:
    """Add prefix and suffix to the text, and switch off the entries of a category that is off."""
    entry["excludeRecursion"] = row.get("nonStoryActivatable") is not True
    config = row.get("contextConfig")
    if isinstance(config, Mapping) and entry.get("content"):
        prefix, suffix = (text if isinstance(text := config.get(name), str) else "" for name in ("prefix", "suffix"))
        entry["content"] = f"{prefix}{entry['content']}{suffix}".strip("\n")
    categories = next((one for path in _NOVELAI_CATEGORIES if (one := get_at_path(book, path)[0]) is not None), None)
    listed = categories if isinstance(categories, list) else []
    disabled = [one.get("id") for one in listed if isinstance(one, Mapping) and one.get("enabled") is False]
    if row.get("category") and row["category"] in disabled:
        entry["disable"] = True


def _differs(row: JsonObject, name: str, *defaults: object) -> bool:
    """Has a row, or its context configuration, a value that is no default?"""
    config = row.get("contextConfig")
    value = row.get(name, config.get(name) if isinstance(config, Mapping) else None)
    return value is not None and value not in defaults


def _has_biases(row: JsonObject) -> bool:
    groups = row.get("loreBiasGroups")
    return isinstance(groups, list) and any(isinstance(group, Mapping) and group.get("phrases") for group in groups)


_MEMORY = message("a memory and an author's note")
NOVELAI = LorebookFormat(
    name="novelai",
    matches=lambda raw: "lorebookVersion" in raw and "entries" in raw,
    entries_path="entries",
    fields=map_fields("novelai"),
    unsupported=[
        (message("The search range in characters has no effect"), lambda row: _differs(row, "searchRange", 1000)),
        (message("Insertion beside the key has no effect"), lambda row: row.get("keyRelative") is True),
        (message("Insertion by line or token has no effect"), lambda row: _differs(row, "insertionPosition", -1)),
        (message("Reserved tokens have no effect"), lambda row: _differs(row, "reservedTokens", 0)),
        (
            message("Token budgets of single entries have no effect"),
            lambda row: _differs(row, "tokenBudget", 1, 2048),
        ),
        (message("Phrase biases have no effect"), _has_biases),
        (
            message("Keys joined by & are searched for as they are written"),
            lambda row: isinstance(row.get("keys"), list) and any(" & " in str(key) for key in row["keys"]),
        ),
    ],
    rules="fabula",
    read_settings=lambda book, ignored: LorebookSettings(recursive=True, match_whole_words=True, include_names=False),
    complete_entry=_complete_novelai_entry,
)
NOVELAI_SCENARIO = replace(
    NOVELAI,
    name="novelai_scenario",
    matches=lambda raw: "scenarioVersion" in raw and isinstance(raw.get("lorebook"), Mapping),
    entries_path="lorebook.entries",
    read_title=lambda raw: raw.get("title"),
    unused_texts=[("prompt", message("a prompt")), ("context", _MEMORY)],
)
NOVELAI_STORY = replace(
    NOVELAI,
    name="novelai_story",
    matches=lambda raw: "storyContainerVersion" in raw and isinstance(raw.get("content"), Mapping),
    entries_path="content.lorebook.entries",
    read_title=lambda raw: get_at_path(raw, "metadata.title")[0],
    unused_texts=[("content.story", message("a story")), ("content.context", _MEMORY)],
)


def _complete_agnai_entry(book: JsonObject, row: JsonObject, entry: dict[str, Any], rules: RuleSet) -> None:
    """Read wildcards in keys: `*` is any letters, `?` one letter, and a lone `*` is always on."""
    keys = entry.get("key", ())
    if "*" in keys:
        entry["constant"] = True
    entry["key"] = tuple(convert_wildcards(key) for key in keys if key != "*")


class _AgnaiSettings(Struct, frozen=True, rename="camel"):
    scan_depth: Number | None = None
    token_budget: Number | None = None
    recursive_scanning: bool | None = None


def _read_agnai_settings(raw: JsonObject, ignored: IgnoredValues) -> LorebookSettings:
    """The settings of a memory book, which a character has inside."""
    book = raw.get("characterBook", raw)
    found = convert_fields(
        book if isinstance(book, Mapping) else {}, _AgnaiSettings, message("the book itself"), ignored
    )
    settings = LorebookSettings(match_whole_words=True, include_names=False)
    if found.scan_depth:
        settings = replace(settings, depth=found.scan_depth)
    if found.token_budget:
        settings = replace(settings, budget=100, budget_cap=found.token_budget)
    return replace(settings, recursive=bool(found.recursive_scanning))


AGNAI = LorebookFormat(
    name="agnai",
    matches=lambda raw: raw.get("kind") == "memory" or _has_rows(raw, "entries", "keywords"),
    entries_path="entries",
    fields=map_fields("agnai"),
    unsupported=[
        (message("`priority` is kept but has no effect: `weight` decides"), lambda row: bool(row.get("priority"))),
    ],
    rules="fabula",
    read_settings=_read_agnai_settings,
    complete_entry=_complete_agnai_entry,
)


def _make_dungeon_format(name: str, entries_path: str, text_field: str) -> LorebookFormat:
    """A format of AI Dungeon: story cards have their text in `value`, and world info, as it was before, in `entry`."""
    return LorebookFormat(
        name=name,
        matches=lambda raw: _has_rows(raw, entries_path, "keys", text_field),
        entries_path=entries_path,
        fields=map_fields(f"aidungeon_{text_field}", keys=COMMA_LIST),
        unsupported=[
            (
                message("Cards for the creation of characters are read like other entries"),
                lambda row: row.get("useForCharacterCreation") is True,
            ),
            (message("A card without keys is never sent"), lambda row: not has_value(row.get("keys"))),
        ],
        unused_texts=[
            ("prompt", message("a prompt")),
            ("memory", message("a memory")),
            ("plotEssentials", message("plot essentials")),
            ("authorsNote", message("an author's note")),
            ("options", message("options to choose from")),
        ],
        rules="fabula",
        new_row={"keys": "", text_field: ""},
        read_settings=lambda book, ignored: LorebookSettings(depth=6, include_names=False),
        read_title=lambda book: book.get("title"),
    )


AI_DUNGEON = (
    _make_dungeon_format("aidungeon", LIST, "value"),
    _make_dungeon_format("aidungeon_world_info", LIST, "entry"),
    _make_dungeon_format("aidungeon_scenario", "storyCards", "value"),
    _make_dungeon_format("aidungeon_old_scenario", "worldInfo", "entry"),
)


def _complete_kobold_entry(book: JsonObject, row: JsonObject, entry: dict[str, Any], rules: RuleSet) -> None:
    """Read keys that must not be found as secondary keys, where there are no others, and apply the percentage."""
    anti, needs_others = COMMA_LIST.read(str(row.get("keyanti") or "")), entry.get("selective") is True
    if anti and not (needs_others and entry.get("keysecondary")):
        entry |= {"keysecondary": anti, "selective": True, "selectiveLogic": 2}
    if "probability" in entry:
        entry["useProbability"] = True


def _make_kobold_format(name: str, entries_path: str) -> LorebookFormat:
    """A format of KoboldAI Lite: the world info of a save, or a list of it."""
    return LorebookFormat(
        name=name,
        matches=lambda raw: _has_rows(raw, entries_path, "key", "content"),
        entries_path=entries_path,
        fields=map_fields(
            "kobold",
            key=COMMA_LIST,
            keysecondary=COMMA_LIST,
            probability=FieldConversion(int | float | str, float, lambda value: value),
            widisabled=FieldConversion(bool, bool, bool),
        ),
        unsupported=[
            (
                message("Keys that must not be found have no effect beside secondary keys"),
                lambda row: has_value(row.get("keyanti")) and row.get("selective") is True,
            ),
        ],
        unused_texts=[
            ("prompt", message("a prompt")),
            ("memory", message("a memory")),
            ("authorsnote", message("an author's note")),
            ("actions", message("a story")),
        ],
        rules="fabula",
        new_row={"key": "", "content": ""},
        read_settings=lambda book, ignored: LorebookSettings(depth=_ALL_MESSAGES, include_names=False),
        complete_entry=_complete_kobold_entry,
    )


_ALL_MESSAGES = 1000
KOBOLD = (_make_kobold_format("kobold_save", "worldinfo"), _make_kobold_format("kobold", LIST))
