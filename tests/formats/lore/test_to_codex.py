"""Lorebooks as codex entries, and what is lost."""

from __future__ import annotations

from fabula.codex import Level
from fabula.codex.validation import validate_entry
from fabula.core.story import Position
from fabula.formats.lore.editing import patch_entry
from fabula.formats.lore.to_codex import convert_to_codex, list_lost_features
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import StoryLimits


def test_the_character_of_a_card_becomes_an_entry_too() -> None:
    data = {
        "name": "Mara",
        "description": "A keeper. ",
        "scenario": "A storm.",
        "creator_notes": "v2",
        "tags": ["sea", ""],
    }
    book = Lorebook(id="c", name="Mara", format="card", book={"spec": "chara_card_v2", "data": data})
    (entry,) = convert_to_codex(book)
    assert (entry.id, entry.type, entry.name, entry.description) == ("c.character", "character", "Mara", "A keeper.")
    assert (entry.details, entry.tags, entry.notes) == ({"scenario": "A storm."}, ("sea",), "v2")
    assert validate_entry(entry) == entry


def test_keys_become_names_and_what_is_lost_is_named() -> None:
    rows = [
        {"keys": ["mara", "Keeper", "/x+/"], "comment": "Mara", "content": "Keeps the light."},
        {"keys": ["rain"], "constant": True, "content": "@@depth 3\nIt rains on {{user}}."},
        {"keys": ["gone"], "enabled": False, "content": "Not any more."},
        {"keys": [], "comment": "Weather", "content": "Fog.", "extensions": {"sticky": 3, "group": "g"}},
        {"keys": ["empty"], "content": ""},
        {"keys": ["/only/"], "content": "No name."},
    ]
    book = Lorebook(id="isles", name="The Isles", format="character_book", book={"entries": rows})
    entries = convert_to_codex(book)
    assert [(entry.id, entry.name, entry.aliases, entry.level) for entry in entries] == [
        ("isles.0", "Mara", ("Keeper",), Level.WHEN_DETECTED),
        ("isles.1", "rain", (), Level.ALWAYS),
        ("isles.2", "gone", (), Level.NEVER),
        ("isles.3", "Weather", (), Level.MANUAL),
        ("isles.5", "The Isles 5", (), Level.MANUAL),
    ]
    assert entries[1].description == "It rains on {{user}}."
    assert [validate_entry(entry) for entry in entries] == entries
    warnings = " ".join(map(str, list_lost_features(book)))
    for feature in ("without text", "regular expressions", "groups", "sticky", "{{user}}", "Decorators"):
        assert feature in warnings


def test_story_limits_go_into_the_codex() -> None:
    row = {"uid": 4, "key": ["Mara"], "content": "x", "caseSensitive": True}
    world_info = Lorebook(id="b", name="b", format="sillytavern", book={"entries": {"4": row}})
    book = patch_entry(world_info, 4, story=StoryLimits(since="ch-2", until="ch-9", known_to=("mara",)))
    (entry,) = convert_to_codex(book)
    assert (entry.since, entry.known_to, entry.rules.case) == (Position("ch-2"), frozenset({"mara"}), "exact")
    assert validate_entry(entry) == entry
    assert any("an end in the story" in str(warning) for warning in list_lost_features(book))
