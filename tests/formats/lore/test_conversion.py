"""Conversions of lorebooks: the same format stays equal, another one gets what it has a place for, losses are named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from fabula.core.errors import Code, FabulaError
from fabula.formats.lore.conversion import convert_to_version, convert_to_world_info
from fabula.formats.lore.editing import detect_format, parse_lorebook
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import LorebookContents
from tests.formats.lore.samples import EXTRAS, is_same_json
from tests.formats.lore.shapes import WORLD_INFO_ROW

WORLD_ROW: dict[str, Any] = {
    "uid": 7,
    "key": ["tower"],
    "keysecondary": [],
    "comment": "The tower",
    "content": "It leans.",
    "addMemo": True,
    "vectorized": True,
    "automationId": "bell",
    "displayIndex": 3,
    "scanDepth": None,
    "position": 1,
    "order": 20,
    "disable": False,
    "characterFilter": {"isExclude": False, "names": ["Mara"], "tags": [], "theirs": 1},
    "extensions": {"other": {"a": 1}},
    "mine": [1.0],
}
WORLD = {"entries": {"7": WORLD_ROW}, "originalData": {"x": 1}, "extensions": {"theirs": 2}, "colour": "red"}
CARD_ROW: dict[str, Any] = {
    "id": 7,
    "keys": ["tower"],
    "secondary_keys": [],
    "name": "tower of bells",
    "content": "It leans.",
    "enabled": True,
    "insertion_order": 20,
    "priority": 4,
    "use_regex": False,
    "position": "after_char",
    "extensions": {"risu_loreCache": None, "risu": {"mode": "child"}, "display_index": 3},
}
CARD_BOOK = {
    "name": "Towers",
    "scan_depth": 5,
    "token_budget": 300,
    "recursive_scanning": True,
    "entries": [CARD_ROW],
    "extensions": {"theirs": 2},
}


def make_lorebook(book_format: str, book: Any) -> Lorebook:
    return Lorebook(id="b", name="Towers", format=book_format, book=book)


def read_json(raw: Any) -> Lorebook:
    return make_lorebook(detect_format(raw, "b").name, raw)


def join(warnings: tuple[object, ...]) -> str:
    return " ".join(map(str, warnings))


@given(EXTRAS, EXTRAS)
@settings(deadline=None)
def test_a_book_converted_to_its_own_format_comes_out_equal(root: dict[str, Any], extra: dict[str, Any]) -> None:
    world = make_lorebook("sillytavern", {**WORLD, **root, "entries": {"7": {**WORLD_ROW, **extra}}})
    assert convert_to_world_info(world) == (world, ())
    card_book = {**CARD_BOOK, **root, "entries": [{**CARD_ROW, **extra}]}
    of_card = make_lorebook("character_book", card_book)
    assert convert_to_version(of_card, 2) == (of_card, ())
    of_version_3 = make_lorebook("lorebook_v3", {"spec": "lorebook_v3", "data": card_book})
    assert convert_to_version(of_version_3, 3) == (of_version_3, ())


def test_the_book_of_a_card_and_a_lorebook_v3_differ_in_their_root_alone() -> None:
    of_version_3, losses = convert_to_version(make_lorebook("character_book", CARD_BOOK), 3)
    assert losses == ()
    assert is_same_json(of_version_3.book, {"spec": "lorebook_v3", "data": CARD_BOOK})
    back, losses = convert_to_version(of_version_3, 2)
    assert (is_same_json(back.book, CARD_BOOK), losses) == (True, ())
    _, losses = convert_to_version(make_lorebook("lorebook_v3", {**of_version_3.book, "colour": "red"}), 2)
    assert "colour: left out" in join(losses)


def test_the_book_of_a_card_becomes_world_info_and_keeps_the_rest_in_its_original_data() -> None:
    made, losses = convert_to_world_info(make_lorebook("character_book", CARD_BOOK))
    row = made.book["entries"]["7"]
    assert (row["uid"], row["position"], row["comment"], row["displayIndex"]) == (7, 1, "tower of bells", 3)
    assert row["extensions"] == {"risu_loreCache": None, "risu": {"mode": "child"}}
    assert made.book["originalData"] == CARD_BOOK
    assert all(name in join(losses) for name in ("priority", "scan_depth", "token_budget", "recursive_scanning"))
    assert "use_regex" not in join(losses)


def test_world_info_becomes_a_lorebook_v3_with_every_field() -> None:
    made, losses = convert_to_version(make_lorebook("sillytavern", WORLD), 3)
    (row,) = made.book["data"]["entries"]
    assert (row["id"], row["use_regex"], row["position"], row["insertion_order"]) == (7, False, "after_char", 20)
    extensions = row["extensions"]
    assert extensions["other"] == {"a": 1}
    assert (extensions["automation_id"], extensions["display_index"], extensions["vectorized"]) == ("bell", 3, True)
    assert extensions["scan_depth"] is None
    assert "scan_depth" in extensions
    assert extensions["sillytavern"] == {"addMemo": True, "mine": [1.0]}
    assert extensions["character_filter"] == WORLD_ROW["characterFilter"]
    beside = {"originalData": {"x": 1}, "colour": "red"}
    assert made.book["data"]["extensions"] == {"theirs": 2, "sillytavern": beside}
    assert all(name in join(losses) for name in ("addMemo", "mine", "originalData", "colour", "characterFilter"))
    assert parse_lorebook(made).book.entries[0] == parse_lorebook(make_lorebook("sillytavern", WORLD)).book.entries[0]


@pytest.mark.parametrize("version", [2, 3])
@given(EXTRAS, EXTRAS)
@settings(deadline=None, max_examples=30)
def test_world_info_comes_back_from_the_book_of_a_card_as_it_was(
    version: int, root: dict[str, Any], extra: dict[str, Any]
) -> None:
    few = {"uid": 0, "key": ["a"], "content": "", "order": 1, "disable": True, "extensions": {}}
    for row in (WORLD_ROW, WORLD_INFO_ROW, few):
        for beside in ({}, {"name": "Isles", "description": "A coast."}, WORLD):
            raw = {**beside, **root, "entries": {str(row["uid"]): {**row, **extra}}}
            made, _ = convert_to_version(make_lorebook("sillytavern", raw), version)
            book = read_json(made.book)
            assert book.format == ("character_book" if version == 2 else "lorebook_v3")
            assert convert_to_world_info(book)[0].book == raw


def convert_and_read(book_format: str, raw: Any, version: int = 2) -> LorebookContents:
    made, _ = convert_to_version(make_lorebook(book_format, raw), version)
    return parse_lorebook(read_json(made.book))


def test_an_entry_that_is_off_stays_off_and_one_that_is_on_stays_on_in_the_book_of_a_card() -> None:
    row = {"key": "a", "content": "x"}
    rows = [{**row, "widisabled": False}, {**row, "widisabled": True}]
    assert [one.disable for one in convert_and_read("kobold_save", {"worldinfo": rows}).book.entries] == [False, True]
    novelai = {
        "lorebookVersion": 6,
        "entries": [{"keys": ["a"], "text": "x", "enabled": True, "category": one} for one in ("on", "off")],
        "categories": [{"id": "on", "enabled": True}, {"id": "off", "enabled": False}],
    }
    assert [one.disable for one in convert_and_read("novelai", novelai).book.entries] == [False, True]


def test_the_book_of_a_card_says_how_a_book_of_another_program_is_scanned() -> None:
    agnai = {"kind": "memory", "scanDepth": 7, "tokenBudget": 300, "recursiveScanning": True, "entries": []}
    for book_format, raw in (("agnai", agnai), ("kobold_save", {"worldinfo": [{"key": "a", "content": "x"}]})):
        before = parse_lorebook(make_lorebook(book_format, raw)).settings
        made, _ = convert_to_version(make_lorebook(book_format, raw), 2)
        after = parse_lorebook(make_lorebook("character_book", made.book)).settings
        assert (after.depth, after.recursive, after.budget_cap) == (before.depth, before.recursive, before.budget_cap)
    assert (before.depth, parse_lorebook(make_lorebook("agnai", agnai)).settings.budget_cap) == (1000, 300)


def test_world_info_of_chub_keeps_its_settings_and_names_no_field_that_the_card_has() -> None:
    row = {"uid": 1, "key": ["a"], "content": "x", "order": 5, "disable": False}
    row |= {"keys": ["a"], "priority": 10, "insertion_order": 5, "enabled": True}
    raw = {"name": "Towers", "scan_depth": 5, "token_budget": 300, "recursive_scanning": False, "entries": {"1": row}}
    book = make_lorebook("sillytavern", raw)
    settings_before = parse_lorebook(book).settings
    assert (settings_before.depth, settings_before.budget_cap, settings_before.recursive) == (5, 300, False)
    made, losses = convert_to_version(book, 2)
    assert losses == ()
    assert (made.book["scan_depth"], made.book["entries"][0]["priority"]) == (5, 10)
    assert convert_to_world_info(make_lorebook("character_book", made.book))[0].book == raw


def test_a_chance_that_risu_writes_into_a_card_is_rolled() -> None:
    row = {"keys": ["a"], "content": "x", "extensions": {"risu_activationPercent": 50}}
    (entry,) = parse_lorebook(make_lorebook("character_book", {"entries": [row]})).book.entries
    assert (entry.probability, entry.use_probability) == (50, True)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [("key", "keys", "tower, spire"), ("order", "insertion_order", 10**20), ("content", "content", ["not", "text"])],
)
def test_a_value_that_cannot_be_used_goes_out_as_it_came_in_another_format(name: str, path: str, value: Any) -> None:
    world = make_lorebook("sillytavern", {"entries": {"7": {**WORLD_ROW, name: value}}})
    made, _ = convert_to_version(world, 2)
    assert made.book["entries"][0][path] == value
    back, _ = convert_to_world_info(made)
    assert back.book["entries"]["7"][name] == value


def test_what_another_program_has_beyond_world_info_is_kept_and_named() -> None:
    row = {"key": "tower", "content": "x", "insertorder": 1, "mode": "folder", "bookVersion": 2}
    made, losses = convert_to_world_info(make_lorebook("risu", {"type": "risu", "ver": 1, "data": [row]}))
    assert made.book["entries"]["0"]["extensions"] == {"risu": {"mode": "folder", "bookVersion": 2}}
    assert "mode, bookVersion: kept in `extensions.risu`" in join(losses)
    assert "ver: left out" in join(losses)


def test_a_card_as_world_info_names_what_is_left_out() -> None:
    card = {"spec": "chara_card_v2", "data": {"name": "Mara", "description": "A keeper.", "character_book": CARD_BOOK}}
    _, losses = convert_to_world_info(make_lorebook("card", card))
    assert "name, description: left out" in join(losses)


def test_a_version_that_no_card_has_is_a_mistake_of_the_command() -> None:
    with pytest.raises(FabulaError, match="version 1, 2 or 3") as refusal:
        convert_to_version(make_lorebook("sillytavern", WORLD), 4)
    assert refusal.value.code is Code.REQUEST_INVALID
    assert "Correct the book" not in str(refusal.value)
