"""Books of other programs: RisuAI, NovelAI, Agnai.

They were written for rules of their own, so they are read by ours rather than by SillyTavern's. Each table
says what has an equal here; the rest stays in the file and is told in a warning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fabula.formats.lore.field_maps import NUMBER, TEXT, TEXTS, TRUTH, Dialect, Field, Lost, Row, comma_list, slashed
from fabula.lorebook.model import Settings

_WILD = re.compile(r"[*?]")


def _risu_keys(book: Row, row: Row, entry: dict[str, Any]) -> None:
    """Keys are one text with commas between them, or one pattern; folders hold no text."""
    if row.get("useRegex") is True and isinstance(row.get("key"), str):
        entry["key"] = (slashed(row["key"]),)
    if row.get("mode") == "folder":
        entry["disable"] = True
    if row.get("activationPercent") is not None:
        entry["useProbability"] = True


RISU = Dialect(
    name="risu",
    recognises=lambda raw: raw.get("type") == "risu" and isinstance(raw.get("data"), list),
    entries="data",
    fields=(
        Field("key", "key", TEXT, comma_list, ", ".join),
        Field("keysecondary", "secondkey", TEXT, comma_list, ", ".join),
        Field("comment", "comment", TEXT),
        Field("content", "content", TEXT),
        Field("order", "insertorder", NUMBER),
        Field("constant", "alwaysActive", TRUTH),
        Field("selective", "selective", TRUTH),
        Field("probability", "activationPercent", NUMBER),
        Field("caseSensitive", "extentions.risu_case_sensitive", TRUTH),
    ),
    lost=(
        Lost(lambda row: row.get("mode") == "folder", "Folders are kept and send nothing"),
        Lost(lambda row: row.get("mode") == "child", "Children of other entries are read as entries of their own"),
        Lost(
            lambda row: isinstance(row.get("content"), str) and row["content"].startswith("@@"),
            "Decorators are kept and not acted on",
        ),
    ),
    settings=lambda _: Settings(recursive=True, include_names=False),
    finish=_risu_keys,
    rules="fabula",
)


def _novelai(book: Row, row: Row, entry: dict[str, Any]) -> None:
    """A text with its prefix and suffix; a category that is switched off takes its entries along."""
    entry["excludeRecursion"] = row.get("nonStoryActivatable") is not True
    config = row.get("contextConfig")
    if isinstance(config, Mapping) and entry.get("content"):
        before, behind = (config.get(name) for name in ("prefix", "suffix"))
        text = f"{before if isinstance(before, str) else ''}{entry['content']}"
        entry["content"] = f"{text}{behind if isinstance(behind, str) else ''}".strip("\n")
    categories = book.get("categories")
    listed = categories if isinstance(categories, list) else ()
    off = [one.get("id") for one in listed if isinstance(one, Mapping) and one.get("enabled") is False]
    if row.get("category") and row["category"] in off:
        entry["disable"] = True


def _says(row: Row, name: str, usual: tuple[object, ...]) -> bool:
    config = row.get("contextConfig")
    found = row.get(name, config.get(name) if isinstance(config, Mapping) else None)
    return found is not None and found not in usual


NOVELAI = Dialect(
    name="novelai",
    recognises=lambda raw: "lorebookVersion" in raw and isinstance(raw.get("entries"), list),
    entries="entries",
    fields=(
        Field("key", "keys", TEXTS, write=list),
        Field("comment", "displayName", TEXT),
        Field("content", "text", TEXT),
        Field("constant", "forceActivation", TRUTH),
        Field("disable", "enabled", TRUTH, lambda on: not on, lambda off: not off),
        Field("order", "contextConfig.budgetPriority", NUMBER),
    ),
    lost=(
        Lost(lambda row: _says(row, "searchRange", (1000,)), "The search range in characters is not acted on"),
        Lost(lambda row: row.get("keyRelative") is True, "Standing beside the key is not acted on"),
        Lost(lambda row: _says(row, "insertionPosition", (-1,)), "The place by lines or tokens is not acted on"),
        Lost(lambda row: _says(row, "reservedTokens", (0,)), "Reserved tokens are not acted on"),
        Lost(lambda row: _says(row, "tokenBudget", (1, 2048)), "Token budgets of single entries are not acted on"),
        Lost(lambda row: _biased(row.get("loreBiasGroups")), "Phrase biases are not acted on"),
        Lost(
            lambda row: isinstance(row.get("keys"), list) and any(" & " in str(key) for key in row["keys"]),
            "Keys joined by & are looked for as they are written",
        ),
    ),
    settings=lambda _: Settings(recursive=True, match_whole_words=True, include_names=False),
    finish=_novelai,
    rules="fabula",
)


def _biased(groups: object) -> bool:
    return isinstance(groups, list) and any(isinstance(group, Mapping) and group.get("phrases") for group in groups)


def _agnai_keys(book: Row, row: Row, entry: dict[str, Any]) -> None:
    """`*` is any letters, `?` one letter, and a lone `*` is everything."""
    keys = entry.get("key", ())
    if "*" in keys:
        entry["constant"] = True
    entry["key"] = tuple(_wild(key) if _WILD.search(key) else key for key in keys if key != "*")


def _wild(key: str) -> str:
    signs = {"*": r"[\p{L}\p{N}_]*", "?": r"[\p{L}\p{N}_]"}
    body = "".join(signs.get(sign) or re.sub(r"([\\/.+^$|(){}\[\]])", r"\\\1", sign) for sign in key)
    return f"/(?:^|[^\\p{{L}}\\p{{N}}_]){body}(?:$|[^\\p{{L}}\\p{{N}}_])/iu"


AGNAI = Dialect(
    name="agnai",
    recognises=lambda raw: raw.get("kind") == "memory" and isinstance(raw.get("entries"), list),
    entries="entries",
    fields=(
        Field("key", "keywords", TEXTS, write=list),
        Field("comment", "name", TEXT),
        Field("content", "entry", TEXT),
        Field("order", "weight", NUMBER),
        Field("disable", "enabled", TRUTH, lambda on: not on, lambda off: not off),
    ),
    lost=(Lost(lambda row: bool(row.get("priority")), "`priority` is kept and not acted on: `weight` decides"),),
    settings=lambda _: Settings(match_whole_words=True, include_names=False),
    finish=_agnai_keys,
    rules="fabula",
)
