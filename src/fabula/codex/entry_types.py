"""The types and levels of entries, and the words by which a person may name each (cdx-1, cdx-2).

An entry of an older store or another program may have a type of its own. It keeps that type, and `find_type` refuses
only what somebody chooses now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fabula.codex.entry import Level
from fabula.core.errors import Code
from fabula.core.messages import Sentence, message
from fabula.text.lookup import find_by_name

_NAMES: Mapping[str, Sentence] = {
    "character": message("character"),
    "location": message("location"),
    "event": message("event"),
    "item": message("item"),
    "faction": message("faction"),
    "lore": message("lore"),
    "other": message("other"),
}
_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "character": ("person", "people", "figure", "人物", "角色", "人"),
    "location": ("place", "setting", "地点", "地方", "场所"),
    "event": ("happening", "incident", "事件"),
    "item": ("object", "thing", "artifact", "artefact", "prop", "物品", "物件", "道具", "东西"),
    "faction": ("group", "organisation", "organization", "family", "团体", "组织", "势力", "家族"),
    "lore": ("world", "concept", "background", "设定", "世界观"),
    "other": ("misc", "其他", "其它"),
}
_LEVELS: Mapping[Level, tuple[str, ...]] = {
    Level.ALWAYS: ("始终", "总是"),
    Level.WHEN_DETECTED: ("when detected", "detected", "提到时"),
    Level.MANUAL: ("by hand", "手动"),
    Level.NEVER: ("从不",),
}
_LEVEL_NAMES: Mapping[Level, Sentence] = {
    Level.ALWAYS: message("always"),
    Level.WHEN_DETECTED: message("when_detected"),
    Level.MANUAL: message("manual"),
    Level.NEVER: message("never"),
}
ENTRY_TYPES = tuple(_NAMES)


def name_type(entry_type: str) -> Sentence | str:
    """Return the word for a type; a type that people made up as it is."""
    return _NAMES.get(entry_type, entry_type)


def find_type(wanted: str, present: Iterable[str] = (), *, code: Code = Code.CODEX_INVALID) -> str:
    """Return the type that a person means, of the known ones and those `present`; another is refused."""
    return find_by_name(
        dict.fromkeys((*ENTRY_TYPES, *present)),
        wanted,
        what=message("type"),
        id_of=str,
        names_of=lambda one: (one, *_SYNONYMS.get(one, ())),
        label_of=name_type,
        number_of=lambda _: None,
        code=code,
    )


def find_level(wanted: str) -> Level:
    """Return the level that a person means; another is refused."""
    return find_by_name(
        Level,
        wanted,
        what=message("level"),
        id_of=str,
        names_of=lambda one: (one.value, *_LEVELS[one]),
        label_of=_LEVEL_NAMES.__getitem__,
        number_of=lambda _: None,
        code=Code.CODEX_INVALID,
    )
