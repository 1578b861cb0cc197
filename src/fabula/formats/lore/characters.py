"""Characters in the files of Agnai, Pygmalion and Backyard, read as the data of a character card (inj-7).

A `LorebookFormat` with `read_card` describes a character beside its lorebook, which may have no entries. The file is
stored as it came. As a participant, or exported as a version of card, the character becomes a card of version 2:
each text goes where a card has it, and the rest into `extensions` under the name of the format.

Backyard, once called Faraday, writes `{character}` and `{user}` for names, and `#{character}:` before a line of
dialogue. An archive of Backyard is read as one object with its `manifest`, `character` and `scenarios`; the first
scenario is the one of the card, and the first messages of the others are further greetings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from msgspec.structs import replace

from fabula.core.messages import message
from fabula.formats.lore.cards import CardFields
from fabula.formats.lore.field_maps import (
    COMMA_LIST,
    IgnoredValues,
    JsonObject,
    LorebookFormat,
    convert_value,
    get_at_path,
    map_fields,
)
from fabula.formats.lore.other_programs import AGNAI
from fabula.lorebook.edits import RuleSet
from fabula.lorebook.model import CardCharacter, LorebookSettings

_TYPES = get_type_hints(CardFields)
_THE_CHARACTER = message("the character")
_SPEAKER = re.compile(r"(?<!\{)#?\{(character|user)\}(?!\})")
_MACROS = {"character": "{{char}}", "user": "{{user}}"}
_PYGMALION_FIELDS = {
    "name": "char_name",
    "description": "char_persona",
    "scenario": "world_scenario",
    "first_mes": "char_greeting",
    "mes_example": "example_dialogue",
}
_AGNAI_FIELDS = {
    "name": "name",
    "scenario": "scenario",
    "first_mes": "greeting",
    "mes_example": "sampleChat",
    "creator_notes": "description",
    "system_prompt": "systemPrompt",
    "post_history_instructions": "postHistoryInstructions",
    "alternate_greetings": "alternateGreetings",
    "tags": "tags",
    "creator": "creator",
    "character_version": "characterVersion",
}
_BACKYARD_FIELDS = {
    "name": "character.aiName",
    "description": "character.aiPersona",
    "scenario": "character.scenario",
    "first_mes": "character.firstMessage",
    "mes_example": "character.customDialogue",
    "system_prompt": "character.basePrompt",
}
_ARCHIVE_FIELDS = {
    "name": "character.name",
    "description": "character.persona",
    "creator": "manifest.author.name",
}
_SCENARIO_FIELDS = {"scenario": "narrative", "system_prompt": "formattingInstructions"}


def _read_fields(raw: JsonObject, paths: Mapping[str, str], ignored: IgnoredValues) -> dict[str, Any]:
    """The fields of a card that a file has at some paths; a value that cannot be used is noted."""
    data: dict[str, Any] = {}
    for name, path in paths.items():
        value, broken_path = get_at_path(raw, path)
        checked, is_valid = convert_value(value, _TYPES[name])
        if broken_path or not is_valid:
            ignored.add(broken_path or path, _THE_CHARACTER)
        if checked is not None:
            data[name] = list(checked) if isinstance(checked, tuple) else checked
    return data


def _read_agnai(raw: JsonObject, ignored: IgnoredValues) -> JsonObject:
    """A character of Agnai: its persona is a text, or lists of texts by attribute."""
    data = _read_fields(raw, _AGNAI_FIELDS, ignored)
    attributes, _ = get_at_path(raw, "persona.attributes")
    lines = []
    for name, values in attributes.items() if isinstance(attributes, Mapping) else ():
        text = ", ".join(one for one in values if isinstance(one, str)) if isinstance(values, list) else values
        if isinstance(text, str) and text:
            lines.append(text if name == "text" else f"{name}: {text}")
    data["description"] = "\n".join(lines)
    insert = raw.get("insert")
    if isinstance(insert, Mapping) and isinstance(insert.get("prompt"), str):
        data["extensions"] = {"depth_prompt": {"depth": insert.get("depth", 4), "prompt": insert["prompt"]}}
    return data


def _read_backyard(raw: JsonObject, ignored: IgnoredValues) -> JsonObject:
    data = _read_fields(raw, _BACKYARD_FIELDS, ignored)
    data["name"] = data.get("name") or get_at_path(raw, "character.aiDisplayName")[0]
    return _convert_speakers(data)


def _read_archive(raw: JsonObject, ignored: IgnoredValues) -> JsonObject:
    data = _read_fields(raw, _ARCHIVE_FIELDS, ignored)
    data["name"] = data.get("name") or get_at_path(raw, "character.displayName")[0]
    scenarios = [one for one in raw["scenarios"] if isinstance(one, Mapping)]
    greetings = [text for one in scenarios for text in _list_texts(one.get("firstMessages"))]
    if scenarios:
        data |= _read_fields(scenarios[0], _SCENARIO_FIELDS, ignored)
        examples = _list_texts(scenarios[0].get("exampleMessages"))
        data["mes_example"] = "\n".join(text if _SPEAKER.match(text) else f"{{{{char}}}}: {text}" for text in examples)
    data |= {"first_mes": greetings[0] if greetings else "", "alternate_greetings": greetings[1:]}
    return _convert_speakers(data)


def _list_texts(messages: Any) -> list[str]:
    """The texts of a list of messages."""
    rows = messages if isinstance(messages, list) else []
    return [
        row["text"] for row in rows if isinstance(row, Mapping) and isinstance(row.get("text"), str) and row["text"]
    ]


def _convert_speakers(data: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [_name_speakers(text) for text in value] if isinstance(value, list) else _name_speakers(value)
        for name, value in data.items()
        if isinstance(value, str | list)
    }


def _name_speakers(text: str) -> str:
    """Write the macros of cards in place of Backyard's."""
    return _SPEAKER.sub(lambda match: _MACROS[match[1]], text)


def _complete_backyard_entry(book: JsonObject, row: JsonObject, entry: dict[str, Any], rules: RuleSet) -> None:
    if entry.get("content"):
        entry["content"] = _name_speakers(entry["content"])


def _make_character_format(
    lorebook: LorebookFormat,
    name: str,
    matches: Callable[[JsonObject], bool],
    read_card: Callable[[JsonObject, IgnoredValues], JsonObject],
    read_paths: tuple[str, ...],
    entries_path: str,
) -> LorebookFormat:
    """A format that describes a character beside its lorebook."""

    def read_character(raw: JsonObject, ignored: IgnoredValues) -> CardCharacter:
        data = read_card(raw, ignored)
        prompt, _ = get_at_path(data, "extensions.depth_prompt.prompt")
        return CardCharacter(
            name=data.get("name") or "Character",
            tags=tuple(data.get("tags", ())),
            depth_prompt=prompt or "",
            **{field: data.get(field) or "" for field in ("description", "scenario", "creator_notes")},
        )

    return replace(
        lorebook,
        name=name,
        matches=matches,
        entries_path=entries_path,
        source="character",
        read_card=read_card,
        read_paths=read_paths,
        read_character=read_character,
        read_title=lambda raw: read_card(raw, IgnoredValues()).get("name"),
    )


def _has_character(raw: JsonObject, *fields: str) -> bool:
    character = raw.get("character")
    return isinstance(character, Mapping) and set(fields) <= set(character)


_BACKYARD_LORE = LorebookFormat(
    name="backyard_lore",
    matches=lambda raw: False,
    entries_path="",
    fields=map_fields("backyard", key=COMMA_LIST),
    rules="fabula",
    new_row={"key": "", "value": ""},
    read_settings=lambda book, ignored: LorebookSettings(match_whole_words=True, include_names=False),
    complete_entry=_complete_backyard_entry,
)
AGNAI_CHARACTER = _make_character_format(
    AGNAI,
    "agnai_character",
    lambda raw: raw.get("kind") == "character",
    _read_agnai,
    ("kind", "persona", "insert", "characterBook.name", "characterBook.entries", *_AGNAI_FIELDS.values()),
    "characterBook.entries",
)
PYGMALION = _make_character_format(
    _BACKYARD_LORE,
    "pygmalion",
    lambda raw: "char_name" in raw or {"char_persona", "char_greeting"} <= set(raw),
    lambda raw, ignored: _read_fields(raw, _PYGMALION_FIELDS, ignored),
    tuple(_PYGMALION_FIELDS.values()),
    "entries",
)
BACKYARD = _make_character_format(
    _BACKYARD_LORE,
    "backyard",
    lambda raw: _has_character(raw, "aiName") or _has_character(raw, "aiPersona"),
    _read_backyard,
    ("character.loreItems", *_BACKYARD_FIELDS.values()),
    "character.loreItems",
)
BACKYARD_ARCHIVE = _make_character_format(
    _BACKYARD_LORE,
    "backyard_archive",
    lambda raw: _has_character(raw, "persona") and isinstance(raw.get("scenarios"), list),
    _read_archive,
    ("character.loreItems", *_ARCHIVE_FIELDS.values()),
    "character.loreItems",
)
