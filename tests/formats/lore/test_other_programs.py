"""Books of RisuAI, NovelAI and Agnai: kept whole, read by our rules, what is lost is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.formats.lore.conversion import convert_to_world_info
from fabula.formats.lore.editing import parse_lorebook, patch_entry
from fabula.formats.lore.field_maps import LorebookFormat
from fabula.formats.lore.files import read_lorebook
from fabula.formats.lore.other_programs import AGNAI, NOVELAI, RISU
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import LorebookContents
from fabula.lorebook.wildcards import convert_wildcards, show_key
from tests.formats.lore.samples import EXTRAS, is_same_json, round_trip
from tests.formats.lore.shapes import SHAPES
from tests.lorebook.books import make_messages, scan_books

RISU_ROW = {"key": "Mara, light", "secondkey": "", "insertorder": 100, "comment": "Mara", "content": "Keeps it."}
NOVELAI_ROW = {"text": "Keeps it.", "displayName": "Mara", "keys": ["Mara"], "enabled": True, "forceActivation": False}
AGNAI_ROW = {"name": "Mara", "entry": "Keeps it.", "keywords": ["Mara"], "priority": 0, "weight": 3, "enabled": True}


def risu(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"type": "risu", "ver": 1, "data": list(rows)}


def novelai(*rows: dict[str, Any], **book: Any) -> dict[str, Any]:
    return {"lorebookVersion": 6, "entries": list(rows), **book}


def agnai(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "memory", "name": "Isles", "entries": list(rows)}


def read(raw: dict[str, Any]) -> LorebookContents:
    return parse_lorebook(Lorebook(name="b", book=raw))


MAKERS = [(RISU, risu, RISU_ROW), (NOVELAI, novelai, NOVELAI_ROW), (AGNAI, agnai, AGNAI_ROW)]


@pytest.mark.parametrize(("book_format", "make", "row"), MAKERS, ids=["risu", "novelai", "agnai"])
@given(book=EXTRAS, rows=st.lists(EXTRAS, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_every_field_comes_back_known_or_not(
    book_format: LorebookFormat,
    make: Any,
    row: dict[str, Any],
    book: dict[str, Any],
    rows: list[dict[str, Any]],
    tmp_path: Path,
) -> None:
    raw = {**make(*({**row, **extra} for extra in rows)), **book}
    assert is_same_json(round_trip(raw, tmp_path), raw)
    found = read_lorebook(tmp_path / "in.json")
    assert (found.format, found.rules) == (book_format.name, "fabula")


@pytest.mark.parametrize(("book_format", "make", "row"), MAKERS, ids=["risu", "novelai", "agnai"])
def test_a_mention_calls_it_up_and_an_edit_is_patched_in(
    book_format: LorebookFormat, make: Any, row: dict[str, Any]
) -> None:
    book = Lorebook(name="b", book=make({**row, "odd": {"deep": [1]}}))
    assert scan_books(parse_lorebook(book).book, make_messages("Mara came"), match_whole_words=True).active_uids == (0,)
    edited = patch_entry(book, 0, content="New.", key=["Tom", "Tim"])
    entry = parse_lorebook(edited).book.entries[0]
    assert (entry.content, entry.key) == ("New.", ("Tom", "Tim"))
    back = patch_entry(edited, 0, content="Keeps it.", key=list(parse_lorebook(book).book.entries[0].key or ()))
    assert is_same_json(back.book, book.book)


def test_risu_patterns_folders_and_chances_are_understood() -> None:
    found = read(
        risu(
            {**RISU_ROW, "useRegex": True, "key": "a, b+"},
            {**RISU_ROW, "mode": "folder"},
            {**RISU_ROW, "activationPercent": 30, "alwaysActive": True},
        )
    )
    pattern, folder, chance = found.book.entries
    assert pattern.key == ("/a, b+/",)
    assert folder.disable
    assert (chance.constant, chance.probability, chance.use_probability) == (True, 30, True)
    assert any("Folders" in str(warning) for warning in found.warnings)


def test_novelai_prefixes_categories_and_cascades_are_understood() -> None:
    config = {"prefix": "[ ", "suffix": " ]\n", "budgetPriority": 400, "reservedTokens": 50, "insertionPosition": -4}
    found = read(
        novelai(
            {**NOVELAI_ROW, "contextConfig": config, "category": "c1"},
            {**NOVELAI_ROW, "nonStoryActivatable": True, "keys": ["a & b"], "searchRange": 4000},
            categories=[{"id": "c1", "enabled": False}, {"id": "c2"}, 3],
        )
    )
    one, two = found.book.entries
    assert (one.content, one.order, one.disable, one.exclude_recursion) == ("[ Keeps it. ]", 400, True, True)
    assert (two.disable, two.exclude_recursion) == (False, False)
    said = " ".join(map(str, found.warnings))
    for feature in ("search range", "by line", "Reserved", "&"):
        assert feature in said


def test_agnai_wildcards_match_whole_words() -> None:
    book = read(agnai({**AGNAI_ROW, "keywords": ["book*"]}, {**AGNAI_ROW, "keywords": ["?ook"], "priority": 4}))

    def found(text: str) -> tuple[int, ...]:
        return scan_books(book.book, make_messages(text), match_whole_words=True).active_uids

    assert set(found("two books")) == {0}
    assert set(found("a book, booking")) == {0, 1}
    assert found("an ebook") == ()
    assert any("priority" in str(warning) for warning in book.warnings)
    assert read(agnai({**AGNAI_ROW, "keywords": ["*"]})).book.entries[0].constant


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1))
def test_a_key_with_wildcards_is_shown_as_it_was_written(key: str) -> None:
    assert show_key(convert_wildcards(key)) == key


def test_another_format_becomes_world_info_only_when_asked_and_says_what_it_costs() -> None:
    book = Lorebook(name="b", format="novelai", book=novelai({**NOVELAI_ROW, "keyRelative": True}))
    made, warnings = convert_to_world_info(book)
    assert parse_lorebook(made).book.entries == parse_lorebook(book).book.entries
    assert any("beside the key" in str(warning) for warning in warnings)
    assert any("keyRelative: kept in" in str(warning) for warning in warnings)


def test_a_novelai_scenario_switches_off_the_entries_of_a_category_that_is_off() -> None:
    scenario = SHAPES["novelai scenario"]
    lorebook = {**scenario["lorebook"], "categories": [{"id": "c1", "enabled": False}]}
    lorebook["entries"] = [{**lorebook["entries"][0], "category": "c1"}, lorebook["entries"][1]]
    found = read({**scenario, "lorebook": lorebook})
    assert [bool(entry.disable) for entry in found.book.entries] == [True, False]
    assert any("a prompt, a memory" in str(warning) for warning in found.warnings)


def test_keys_of_ai_dungeon_are_separated_by_commas() -> None:
    entries = read(SHAPES["ai dungeon scenario"]).book.entries
    assert (entries[0].key, entries[0].comment) == (("Mara", "the keeper"), "Mara")
    assert scan_books(read(SHAPES["ai dungeon scenario"]).book, make_messages("two Maras")).active_uids == (0, 1)
