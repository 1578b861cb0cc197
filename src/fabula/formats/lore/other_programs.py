"""The lorebook formats of SillyTavern, RisuAI, NovelAI and Agnai.

SillyTavern's world info has the field names of our own entries. Its file has no settings for depth,
budget or recursion, so a book gets those that SillyTavern ships. Books of the other programs were
written for other rules, so they get our own rule set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fabula.core.messages import message
from fabula.formats.lore.field_maps import (
    FieldConversion,
    JsonObject,
    LorebookFormat,
    make_regex_key,
    map_field,
    map_fields,
)
from fabula.lorebook.model import LorebookSettings, LoreEntry


def _is_world_info(raw: JsonObject) -> bool:
    entries = raw.get("entries")
    return isinstance(entries, Mapping) or (
        isinstance(entries, list) and all(isinstance(row, Mapping) and "keys" not in row for row in entries)
    )


WORLD_INFO = LorebookFormat(
    name="sillytavern",
    matches=_is_world_info,
    entries_path="entries",
    fields=tuple(map_field(name, name) for name in LoreEntry.__struct_encode_fields__ if name not in ("uid", "story")),
    uid_field="uid",
    requires_uids=True,
)


def _split_commas(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _complete_risu_entry(book: JsonObject, row: JsonObject, entry: dict[str, Any]) -> None:
    """Read a key that is one regular expression, switch folders off, and apply the percentage."""
    if row.get("useRegex") is True and isinstance(row.get("key"), str):
        entry["key"] = (make_regex_key(row["key"]),)
    if row.get("mode") == "folder":
        entry["disable"] = True
    if row.get("activationPercent") is not None:
        entry["useProbability"] = True


_COMMA_LIST = FieldConversion(str, _split_commas, ", ".join)
RISU = LorebookFormat(
    name="risu",
    matches=lambda raw: raw.get("type") == "risu" and isinstance(raw.get("data"), list),
    entries_path="data",
    fields=map_fields("risu", key=_COMMA_LIST, secondkey=_COMMA_LIST),
    unsupported=[
        (message("Folders are kept but send nothing"), lambda row: row.get("mode") == "folder"),
        (message("Child entries are read as entries of their own"), lambda row: row.get("mode") == "child"),
        (message("Decorators are kept but have no effect"), lambda row: str(row.get("content")).startswith("@@")),
    ],
    rules="fabula",
    read_settings=lambda book: LorebookSettings(recursive=True, include_names=False),
    complete_entry=_complete_risu_entry,
)


def _complete_novelai_entry(book: JsonObject, row: JsonObject, entry: dict[str, Any]) -> None:
    """Add prefix and suffix to the text, and switch off the entries of a category that is off."""
    entry["excludeRecursion"] = row.get("nonStoryActivatable") is not True
    config = row.get("contextConfig")
    if isinstance(config, Mapping) and entry.get("content"):
        prefix, suffix = (text if isinstance(text := config.get(name), str) else "" for name in ("prefix", "suffix"))
        entry["content"] = f"{prefix}{entry['content']}{suffix}".strip("\n")
    categories = book.get("categories")
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


NOVELAI = LorebookFormat(
    name="novelai",
    matches=lambda raw: "lorebookVersion" in raw and isinstance(raw.get("entries"), list),
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
    read_settings=lambda book: LorebookSettings(recursive=True, match_whole_words=True, include_names=False),
    complete_entry=_complete_novelai_entry,
)


def _complete_agnai_entry(book: JsonObject, row: JsonObject, entry: dict[str, Any]) -> None:
    """Read wildcards in keys: `*` is any letters, `?` one letter, and a lone `*` is always on."""
    keys = entry.get("key", ())
    if "*" in keys:
        entry["constant"] = True
    entry["key"] = tuple(_convert_wildcards(key) for key in keys if key != "*")


def _convert_wildcards(key: str) -> str:
    if "*" not in key and "?" not in key:
        return key
    wildcards = {"*": r"[\p{L}\p{N}_]*", "?": r"[\p{L}\p{N}_]"}
    body = "".join(wildcards.get(char) or re.sub(r"([\\/.+^$|(){}\[\]])", r"\\\1", char) for char in key)
    return f"/(?:^|[^\\p{{L}}\\p{{N}}_]){body}(?:$|[^\\p{{L}}\\p{{N}}_])/iu"


AGNAI = LorebookFormat(
    name="agnai",
    matches=lambda raw: raw.get("kind") == "memory" and isinstance(raw.get("entries"), list),
    entries_path="entries",
    fields=map_fields("agnai"),
    unsupported=[
        (message("`priority` is kept but has no effect: `weight` decides"), lambda row: bool(row.get("priority"))),
    ],
    rules="fabula",
    read_settings=lambda book: LorebookSettings(match_whole_words=True, include_names=False),
    complete_entry=_complete_agnai_entry,
)
