"""Edits of lorebooks: they change what they name, in every format, and our own limits stand in an extension."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.formats.lore.conversion import convert_to_world_info
from fabula.formats.lore.editing import (
    FORMATS,
    add_entry,
    parse_lorebook,
    patch_entry,
    remove_entry,
)
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import StoryLimits
from tests.formats.lore.samples import ENTRY, V3, is_same_json

BOOKS: dict[str, dict[str, Any]] = {
    "sillytavern": {"entries": {"4": {"uid": 4, "key": ["Mara"], "content": "x", "z": 1}, "5": {"uid": 5}}},
    "character_book": {"entries": [{**ENTRY, "id": 4}], "extensions": {}},
    "lorebook_v3": {"spec": "lorebook_v3", "data": {"entries": [{**ENTRY, "id": 4}]}},
    "card": V3,
    "risu": {"type": "risu", "ver": 1, "data": [{"key": "Mara", "content": "x", "insertorder": 1}]},
    "novelai": {"lorebookVersion": 5, "entries": [{"text": "x", "keys": ["Mara"], "id": "a"}]},
    "novelai_scenario": {
        "scenarioVersion": 3,
        "lorebook": {"lorebookVersion": 6, "entries": [{"text": "x", "keys": ["Mara"]}]},
    },
    "novelai_story": {
        "storyContainerVersion": 1,
        "content": {"lorebook": {"lorebookVersion": 6, "entries": [{"text": "x", "keys": ["Mara"]}]}},
    },
    "aidungeon": {"fabula:list": [{"keys": "Mara", "value": "x"}]},
    "aidungeon_world_info": {"fabula:list": [{"keys": "Mara", "entry": "x"}]},
    "aidungeon_scenario": {"title": "b", "storyCards": [{"keys": "Mara", "value": "x"}]},
    "aidungeon_old_scenario": {"title": "b", "worldInfo": [{"keys": "Mara", "entry": "x"}]},
    "agnai_character": {
        "kind": "character",
        "name": "b",
        "characterBook": {"kind": "memory", "entries": [{"keywords": ["Mara"], "entry": "x", "weight": 1}]},
    },
    "agnai": {"kind": "memory", "name": "b", "entries": [{"keywords": ["Mara"], "entry": "x", "weight": 1}]},
}
BOOKS |= {
    "backyard": {"character": {"aiName": "b", "loreItems": [{"key": "Mara", "value": "x"}]}, "version": 4},
    "backyard_archive": {"character": {"persona": "", "loreItems": [{"key": "Mara", "value": "x"}]}, "scenarios": []},
    "kobold": {"fabula:list": [{"key": "Mara", "content": "x"}]},
    "kobold_save": {"gamestarted": True, "worldinfo": [{"key": "Mara", "content": "x"}]},
}
WITHOUT_ORDER = ("aidungeon", "backyard", "kobold")
STORY = StoryLimits(since="ch-2", until="ch-9", known_to=("mara",))


def make_lorebook(name: str) -> Lorebook:
    return Lorebook(id="b", name="b", format=name, book=BOOKS[name])


def test_every_format_is_tried() -> None:
    assert {*BOOKS, "pygmalion"} == {book_format.name for book_format in FORMATS}


@pytest.mark.parametrize("name", BOOKS)
def test_story_limits_are_written_read_and_removed_without_a_trace(name: str) -> None:
    book = make_lorebook(name)
    uid = parse_lorebook(book).book.entries[0].uid
    limited = patch_entry(book, uid, story=STORY)
    assert parse_lorebook(limited).book.entries[0].story == STORY
    assert is_same_json(patch_entry(limited, uid, story=StoryLimits()).book, book.book)
    assert is_same_json(patch_entry(limited, uid, story=None).book, book.book)
    world, _ = convert_to_world_info(limited)
    row = next(iter(world.book["entries"].values()))
    assert is_same_json(row["extensions"]["fabula"]["story"], {"since": "ch-2", "until": "ch-9", "knownTo": ["mara"]})
    assert "story" not in row


@pytest.mark.parametrize("name", BOOKS)
def test_entries_are_added_and_removed_and_the_rest_stays(name: str) -> None:
    book = make_lorebook(name)
    order = {} if name.startswith(WITHOUT_ORDER) else {"order": 3}
    made, uid = add_entry(book, key=["Tom"], content="Tom rows.", **order)
    found = parse_lorebook(made).book.entries
    assert (found[-1].uid, found[-1].key, found[-1].content) == (uid, ("Tom",), "Tom rows.")
    assert found[-1].order == order.get("order")
    assert len(found) == len(parse_lorebook(book).book.entries) + 1
    assert is_same_json(remove_entry(made, uid).book, book.book)
    for broken in (
        lambda: add_entry(book, colour="red"),
        lambda: remove_entry(book, 99),
        lambda: add_entry(book, order="much"),
    ):
        with pytest.raises(FabulaError) as refusal:
            broken()
        assert refusal.value.code is Code.LOREBOOK_INVALID


@pytest.mark.parametrize("odd", [3, "x", {"since": 3}, {"knownTo": "mara"}, {"from": "ch-2"}])
def test_story_limits_that_cannot_be_read_hide_the_entry_from_everybody(odd: object) -> None:
    row = {"uid": 0, "extensions": {"fabula": {"story": odd}}}
    contents = parse_lorebook(Lorebook(name="b", format="sillytavern", book={"entries": {"0": row}}))
    assert contents.book.entries[0].story == StoryLimits(known_to=())
    assert "extensions.fabula.story" in str(contents.warnings[0])


@pytest.mark.parametrize("theirs", [3, [], "x", {"fabula": 3}, {"other": {"story": 1}}, None])
def test_other_content_of_extensions_is_not_checked(theirs: object) -> None:
    row = {"uid": 0, "extensions": theirs}
    book = Lorebook(name="b", format="sillytavern", book={"entries": {"0": row}})
    assert parse_lorebook(book).book.entries[0].story is None
    if theirs and not isinstance(theirs, dict):
        with pytest.raises(FabulaError, match="not an object"):
            patch_entry(book, 0, story=STORY)
