"""Lorebooks and character cards in the formats of other programs (inj-7)."""

from fabula.formats.lore.cards import CharacterCard, edit_card
from fabula.formats.lore.conversion import convert_to_world_info
from fabula.formats.lore.editing import add_entry, parse_lorebook, patch_entry, remove_entry
from fabula.formats.lore.files import read_card, read_lorebook, write_card, write_lorebook
from fabula.formats.lore.to_codex import convert_to_codex, list_lost_features

__all__ = [
    "CharacterCard",
    "add_entry",
    "convert_to_codex",
    "convert_to_world_info",
    "edit_card",
    "list_lost_features",
    "parse_lorebook",
    "patch_entry",
    "read_card",
    "read_lorebook",
    "remove_entry",
    "write_card",
    "write_lorebook",
]
