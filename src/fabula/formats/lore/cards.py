"""Character cards, versions 1 to 3, and the book a card may carry.

A card is kept as its JSON, whole. Version 1 has its six texts at the root and no book; versions 2 and 3
have everything below `data`, and programs often repeat the six texts at the root for the sake of older
ones, so an edit changes both. SillyTavern writes what its own rules know into `extensions` of each entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.formats.lore.field_maps import (
    NUMBER,
    SHIPPED,
    TEXT,
    TEXTS,
    TRUTH,
    Dialect,
    Field,
    Lost,
    Row,
    invalid,
    slashed,
)
from fabula.formats.manuscripts.imported import unreadable
from fabula.lorebook.model import About, Number, Settings

SPECS = {"chara_card_v2": 2, "chara_card_v3": 3}
_FIRST = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
_POSITIONS = {"before_char": 0, "after_char": 1}


class Texts(Struct, frozen=True, kw_only=True):
    """What a card says; a field of the wrong kind is refused by name."""

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


class Card(Struct, frozen=True, kw_only=True):
    """A card as it came: its JSON, the picture it was hidden in, the assets beside it."""

    raw: Row
    version: int
    texts: Texts
    image: bytes | None = None
    assets: Mapping[str, bytes] = {}

    @property
    def name(self) -> str:
        """What the character is called."""
        return self.texts.nickname or self.texts.name or "Character"

    @property
    def book(self) -> Row | None:
        """The book of the card, as it stands in it."""
        return self.texts.character_book if self.version > 1 else None


def read_card_json(raw: Any, what: str) -> Card:
    """A card from its JSON, recognised by what it holds."""
    version = card_version(raw)
    if version is None:
        unreadable(what, "it is not a character card", "Name a card as JSON, PNG or CHARX.")
    inner = raw if version == 1 else raw.get("data")
    if not isinstance(inner, Mapping):
        unreadable(what, "the card has no `data`", "Export it again from the program that made it.")
    try:
        texts = msgspec.convert(inner, Texts)
    except msgspec.ValidationError as error:
        unreadable(what, f"something in the card is not what it should be: {error}", "Correct it.")
    return Card(raw=raw, version=version, texts=texts)


def card_version(raw: Any) -> int | None:
    """1, 2 or 3; None for what is no card."""
    if not isinstance(raw, Mapping):
        return None
    spec = raw.get("spec")
    if isinstance(spec, str):
        return SPECS.get(spec)
    first = [name for name in _FIRST if name in raw]
    return 1 if "name" in first and len(first) > 2 else None


def edited(card: Card, **changes: Any) -> Card:
    """The card with some fields changed, everywhere it says them."""
    strange = set(changes) - set(Texts.__struct_fields__)
    if strange:
        raise invalid(f"A card has no {', '.join(sorted(strange))}.")
    raw: dict[str, Any] = dict(card.raw)
    if card.version > 1:
        raw["data"] = {**card.raw["data"], **changes}
        changes = {name: value for name, value in changes.items() if name in _FIRST and name in card.raw}
    raw.update(changes)
    checked = read_card_json(raw, card.name)
    return replace(card, raw=raw, texts=checked.texts)


def _position(entry: Any) -> int:
    if entry not in _POSITIONS:
        raise invalid(f"{entry!r} is no position: there are {', '.join(_POSITIONS)}.")
    return _POSITIONS[entry]


def _beyond(name: str, kind: Any, theirs: str = "") -> Field:
    """A field that SillyTavern keeps in an entry's extensions."""
    return Field(name, f"extensions.{theirs or name}", kind)


def _finish(book: Row, row: Row, entry: dict[str, Any]) -> None:
    """Keys that are patterns say so, and an entry that was never switched off is on."""
    if row.get("use_regex") is True:
        for name in ("key", "keysecondary"):
            if name in entry:
                entry[name] = tuple(slashed(key) for key in entry[name])
    if entry.get("outletName") == "":
        del entry["outletName"]


def _about(raw: Row) -> About:
    """Who the card is about, as far as entries may look there."""
    card = read_card_json(raw, "the card")
    texts, deep = card.texts, (card.texts.extensions or {}).get("depth_prompt")
    told = deep.get("prompt") if isinstance(deep, Mapping) else ""
    return About(
        name=card.name,
        tags=texts.tags or (),
        description=texts.description or "",
        personality=texts.personality or "",
        scenario=texts.scenario or "",
        creator_notes=texts.creator_notes or "",
        depth_prompt=told if isinstance(told, str) else "",
    )


class _Reading(Struct, frozen=True):
    scan_depth: Number | None = None
    token_budget: Number | None = None
    recursive_scanning: bool | None = None


def _settings(book: Row) -> Settings:
    """How the book wants to be read, where it says so; SillyTavern itself passes this over."""
    inner = book.get("data", book)
    inner = inner.get("character_book") or {} if card_version(book) else inner
    try:
        wish = msgspec.convert(inner, _Reading)
    except msgspec.ValidationError as error:
        raise invalid(f"Something in the book is not what it should be: {error}.") from error
    changes: dict[str, Any] = {}
    if wish.scan_depth is not None:
        changes["depth"] = wish.scan_depth
    if wish.recursive_scanning is not None:
        changes["recursive"] = wish.recursive_scanning
    if wish.token_budget:
        changes |= {"budget": 100, "budget_cap": wish.token_budget}
    return replace(SHIPPED, **changes)


def _decorated(row: Row) -> bool:
    content = row.get("content")
    lines = content.splitlines() if isinstance(content, str) and content.startswith("@@") else []
    return any(line.startswith("@@") and line.strip() not in ("@@activate", "@@dont_activate") for line in lines)


_FIELDS = (
    Field("key", "keys", TEXTS, write=list),
    Field("keysecondary", "secondary_keys", TEXTS, write=list),
    Field("comment", "comment", TEXT, read=lambda text: text or None),
    Field("comment", "name", TEXT),
    Field("content", "content", TEXT),
    Field("constant", "constant", TRUTH),
    Field("selective", "selective", TRUTH),
    Field("order", "insertion_order", NUMBER),
    Field("disable", "enabled", TRUTH, read=lambda on: not on, write=lambda off: not off),
    _beyond("position", int),
    Field("position", "position", TEXT, read=_position),
    _beyond("selectiveLogic", int),
    _beyond("depth", NUMBER),
    _beyond("role", int),
    _beyond("outletName", TEXT, "outlet_name"),
    _beyond("probability", NUMBER),
    _beyond("useProbability", TRUTH),
    _beyond("ignoreBudget", TRUTH, "ignore_budget"),
    _beyond("excludeRecursion", TRUTH, "exclude_recursion"),
    _beyond("preventRecursion", TRUTH, "prevent_recursion"),
    _beyond("delayUntilRecursion", bool | NUMBER, "delay_until_recursion"),
    _beyond("scanDepth", NUMBER, "scan_depth"),
    _beyond("caseSensitive", TRUTH, "case_sensitive"),
    Field("caseSensitive", "case_sensitive", TRUTH),
    _beyond("matchWholeWords", TRUTH, "match_whole_words"),
    _beyond("useGroupScoring", TRUTH, "use_group_scoring"),
    _beyond("group", TEXT),
    _beyond("groupOverride", TRUTH, "group_override"),
    _beyond("groupWeight", NUMBER, "group_weight"),
    _beyond("sticky", NUMBER),
    _beyond("cooldown", NUMBER),
    _beyond("delay", NUMBER),
    _beyond("triggers", TEXTS),
    _beyond("matchPersonaDescription", TRUTH, "match_persona_description"),
    _beyond("matchCharacterDescription", TRUTH, "match_character_description"),
    _beyond("matchCharacterPersonality", TRUTH, "match_character_personality"),
    _beyond("matchCharacterDepthPrompt", TRUTH, "match_character_depth_prompt"),
    _beyond("matchScenario", TRUTH, "match_scenario"),
    _beyond("matchCreatorNotes", TRUTH, "match_creator_notes"),
)
_LOST = (
    Lost(lambda row: row.get("priority") is not None, "`priority` is kept and not acted on: `insertion_order` decides"),
    Lost(_decorated, "Decorators other than @@activate and @@dont_activate are kept and not acted on"),
)


def _is_book(raw: Row) -> bool:
    entries = raw.get("entries")
    return isinstance(entries, list) and all(isinstance(row, Mapping) for row in entries)


_BLANK = {"keys": [], "content": "", "enabled": True, "insertion_order": 100, "extensions": {}}
CHARACTER_BOOK = Dialect(
    name="character_book",
    recognises=_is_book,
    entries="entries",
    fields=_FIELDS,
    lost=_LOST,
    uid="id",
    settings=_settings,
    finish=_finish,
    source="character",
    blank=_BLANK,
)
CARD = replace(
    CHARACTER_BOOK,
    name="card",
    recognises=lambda raw: card_version(raw) is not None,
    entries="data.character_book.entries",
    title=lambda raw: read_card_json(raw, "the card").name,
    optional=True,
    about=_about,
)
LOREBOOK_V3 = replace(
    CHARACTER_BOOK,
    name="lorebook_v3",
    recognises=lambda raw: raw.get("spec") == "lorebook_v3" and isinstance(raw.get("data"), Mapping),
    entries="data.entries",
    title=lambda raw: raw["data"].get("name"),
    source="global",
)
