"""The texts of a character card as conversations use them, read from the card and written back into it.

A card has one home: the JSON that it came as. An edit changes the fields that it names and nothing else. What a card of
version 1 has no field for makes it a card of version 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fabula.conversation.cards import DEFAULT_DEPTH, DEFAULT_TALKATIVENESS, CardTexts
from fabula.core.fragment import Role
from fabula.core.messages import join_names, message
from fabula.formats.lore.cards import (
    VERSION_1_FIELDS,
    CharacterCard,
    convert_card,
    edit_card,
    make_card_json,
    parse_card,
)
from fabula.lorebook.parsing import refuse_edit

MAX_DEPTH = 10_000
_FIELDS = {  # by our names
    "name": "name",
    "nickname": "nickname",
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "first_message": "first_mes",
    "alternate_greetings": "alternate_greetings",
    "group_greetings": "group_only_greetings",
    "examples": "mes_example",
    "system_prompt": "system_prompt",
    "post_history": "post_history_instructions",
    "creator_notes": "creator_notes",
}
_ROLES: Mapping[str | int, Role] = {  # SillyTavern also writes numbers
    0: "system",
    1: "user",
    2: "assistant",
    "system": "system",
    "user": "user",
    "assistant": "assistant",
}


def read_card_texts(card: CharacterCard) -> CardTexts:
    """Return the texts of a card; a value that cannot be used counts as absent."""
    fields, extensions = card.fields, card.fields.extensions or {}
    values = {name: value for name, field in _FIELDS.items() if (value := getattr(fields, field)) is not None}
    found = extensions.get("depth_prompt")
    depth_prompt: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    prompt, role = depth_prompt.get("prompt"), depth_prompt.get("role")
    depth = _read_number(depth_prompt.get("depth"), DEFAULT_DEPTH)
    older = card.raw.get("talkativeness")  # where SillyTavern wrote it before cards had extensions
    talkativeness = _read_number(extensions.get("talkativeness", older), DEFAULT_TALKATIVENESS)
    return CardTexts(
        **values,
        depth_prompt=prompt if isinstance(prompt, str) else "",
        depth=int(min(max(depth, 0), MAX_DEPTH)),
        depth_role=_ROLES.get(role, "system") if isinstance(role, str | int) else "system",
        talkativeness=min(max(talkativeness, 0.0), 1.0),
    )


def change_card_texts(card: CharacterCard, changes: Mapping[str, Any]) -> CharacterCard:
    """Change some texts of a card; everything else stays as it came."""
    unknown = sorted(set(changes) - set(CardTexts.__struct_fields__))
    if unknown:
        raise refuse_edit(message("A card has no {names}.", names=join_names(unknown)))
    try:
        texts = msgspec.convert({**msgspec.to_builtins(read_card_texts(card)), **changes}, CardTexts)
    except msgspec.ValidationError as error:
        raise refuse_edit(message("A field of the card has the wrong type: {error}.", error=error)) from error
    if not 0 <= texts.depth <= MAX_DEPTH or not 0 <= texts.talkativeness <= 1:
        raise refuse_edit(
            message(
                "The depth of a card is from 0 to {depth:,}, and how talkative its character is from 0 to 1.",
                depth=MAX_DEPTH,
            )
        )
    fields = {field: changes[name] for name, field in _FIELDS.items() if name in changes}
    extensions = dict(card.fields.extensions or {})
    if not {"depth_prompt", "depth", "depth_role"}.isdisjoint(changes):
        before = extensions.get("depth_prompt")
        kept = dict(before) if isinstance(before, Mapping) else {}
        extensions["depth_prompt"] = {
            **kept,
            "prompt": texts.depth_prompt,
            "depth": texts.depth,
            "role": texts.depth_role,
        }
    if "talkativeness" in changes:
        extensions["talkativeness"] = texts.talkativeness
    if extensions != (card.fields.extensions or {}):
        fields["extensions"] = extensions
    if card.version == 1 and not set(VERSION_1_FIELDS).issuperset(fields):
        card, _ = convert_card(card, 2)
    return edit_card(card, **fields)


def make_card(name: str) -> CharacterCard:
    """Make an empty card of version 2 for a character."""
    return parse_card(make_card_json({"name": name}), name)


def _read_number(value: Any, default: float) -> float:
    """Read a number, which programs also write as text."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return default
    return number if number == number and abs(number) != float("inf") else default
