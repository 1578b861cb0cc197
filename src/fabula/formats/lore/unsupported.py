"""Name files of other programs that are neither a lorebook nor a card, for the refusal (inj-7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fabula.core.messages import Sentence, message
from fabula.formats.lore.cards import SPECS
from fabula.formats.lore.field_maps import LIST, JsonObject, get_at_path

_PRESET_FIELDS = {"prompt_order", "prompts", "chat_completion_source", "temp", "temperature", "story_string"}
_KINDS: tuple[tuple[Sentence, Callable[[JsonObject], bool]], ...] = (
    (message("a regex script of SillyTavern"), lambda raw: "findRegex" in raw),
    (message("a chat of SillyTavern"), lambda raw: "chat_metadata" in raw or {"mes", "is_user"} <= set(raw)),
    (message("a group of SillyTavern"), lambda raw: "members" in raw and "allow_self_responses" in raw),
    (message("a list of personas of SillyTavern"), lambda raw: "persona_descriptions" in raw),
    (message("a part of an archive of Backyard (import the .byaf file)"), lambda raw: "schemaVersion" in raw),
    (message("a chat of Backyard"), lambda raw: get_at_path(raw, "chat.ChatItems")[0] is not None),
    (
        message("a character of Character.AI"),
        lambda raw: "definition" in raw or get_at_path(raw, "character.definition")[0] is not None,
    ),
    (message("a save of KoboldAI without world info"), lambda raw: "gamestarted" in raw or "savedsettings" in raw),
    (message("a module of RisuAI"), lambda raw: raw.get("type") == "risuModule"),
    (message("a preset of NovelAI"), lambda raw: "presetVersion" in raw),
    (message("a preset of SillyTavern"), lambda raw: not _PRESET_FIELDS.isdisjoint(raw)),
)
_PICTURES = ((b"\xff\xd8\xff", "JPEG"), (b"GIF8", "GIF"), (b"RIFF", "WEBP"))


def explain_unknown(raw: Any, label: str) -> Sentence:
    """Say what a file is that is no lorebook, where that can be seen, or what a card lacks."""
    fields = raw if isinstance(raw, Mapping) else {}
    rows = raw if isinstance(raw, list) else fields.get(LIST)
    examples = [row for row in (fields, *(rows if isinstance(rows, list) else ())) if isinstance(row, Mapping)]
    kind = next((name for name, matches in _KINDS if any(map(matches, examples))), None)
    if kind is not None:
        return message("{label} is {kind}. Fabula does not read it.", label=label, kind=kind)
    if fields.get("spec") in SPECS.values():
        return message("{label} says that it is a card, but has no `data`.", label=label)
    return message("{label} is neither a lorebook nor a card that Fabula knows.", label=label)


def find_picture_format(data: bytes) -> str | None:
    """The format of a picture in which no card is read; None for any other file."""
    return next((name for beginning, name in _PICTURES if data.startswith(beginning)), None)
