"""What an import says: grouped by field, with entries counted, and mistakes of a command told as such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.formats.lore.editing import parse_lorebook, patch_entry
from fabula.formats.lore.files import read_lorebook
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.keys import KeyIndex
from fabula.lorebook.model import LorebookSettings
from tests.formats.lore.samples import V2, read_refusal, write_json


def warn(book_format: str, book: Any, rules: Any = "exact") -> list[str]:
    contents = parse_lorebook(Lorebook(name="b", format=book_format, book=book, rules=rules))
    return [str(warning) for warning in contents.warnings]


def test_an_agnai_character_comes_in_with_its_book_and_its_texts(tmp_path: Path) -> None:
    raw = {
        "kind": "character",
        "name": "Vesna",
        "description": "for readers",
        "scenario": "At sea.",
        "greeting": "Hello.",
        "sampleChat": "x",
        "persona": {"kind": "wpp", "attributes": {"mind": ["calm", "dry"], "text": ["She sails."]}},
        "characterBook": {"kind": "memory", "entries": [{"name": "ship", "keywords": ["ship"], "entry": "A ship."}]},
    }
    book = read_lorebook(write_json(tmp_path / "v.json", raw))
    contents = parse_lorebook(book)
    assert (book.name, book.format) == ("Vesna", "agnai_character")
    assert contents.book.entries[0].content == "A ship."
    assert contents.card_character is not None
    assert contents.card_character.description == "mind: calm, dry\nShe sails."
    assert contents.card_character.scenario == "At sea."
    assert contents.warnings == ()


def test_values_that_cannot_be_used_are_one_warning_by_field_and_entries_of_one_name_are_counted() -> None:
    rows = {str(n): {"uid": n, "comment": "door", "order": "x", "depth": "y"} for n in range(4)}
    (warning,) = warn("sillytavern", {"entries": rows})
    assert "'order' in door (4 entries), 'depth' in door (4 entries)" in warning


def test_numbers_that_mean_nothing_are_named() -> None:
    row = {"uid": 0, "comment": "door", "sticky": -3, "probability": 150, "selectiveLogic": 9}
    (warning,) = warn("sillytavern", {"entries": {"0": row}})
    assert "'selectiveLogic' in door (0 to 3)" in warning
    assert "'probability' in door (0 to 100)" in warning
    assert "'sticky' in door (0 or more)" in warning


def test_a_card_of_an_unknown_version_says_as_which_it_was_read() -> None:
    (warning,) = warn("card", {**V2, "spec": "chara_card_v4", "spec_version": "4.0"})
    assert "unknown version 'chara_card_v4'; it is read as version 2" in warning


def test_a_key_is_quoted_as_it_is_written_and_an_unsupported_pattern_is_not_called_invalid() -> None:
    book = parse_lorebook(
        Lorebook(name="b", format="sillytavern", book={"entries": {"0": {"uid": 0, "key": [r"/(a)\1/"]}}})
    ).book
    ((_, problem),) = KeyIndex([book], LorebookSettings(), lambda text: text).problems
    assert r"'/(a)\1/' cannot be used as a pattern" in str(problem)


def test_a_card_of_ai_dungeon_without_keys_is_named() -> None:
    assert "A card without keys is never sent (1 entry)." in warn(
        "aidungeon", {"fabula:list": [{"keys": "", "value": "x"}, {"keys": "a", "value": "x"}]}, "fabula"
    )


def test_use_regex_is_not_warned_about_where_it_counts() -> None:
    book = {"entries": [{"keys": ["a"], "use_regex": True}]}
    assert any("use_regex" in warning for warning in warn("character_book", book))
    assert warn("character_book", book, "fabula") == []


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"scriptName": "x", "findRegex": "/a/"}, "is a regex script"),
        ({"prompts": [], "prompt_order": []}, "is a preset"),
        ({"chat_metadata": {}, "user_name": "Ann", "character_name": "Mara"}, "is a chat of SillyTavern"),
        ({"members": ["a.png"], "allow_self_responses": False}, "is a group of SillyTavern"),
        ({"personas": {}, "persona_descriptions": {}}, "is a list of personas of SillyTavern"),
        ({"schemaVersion": 1, "persona": "", "displayName": "Mara"}, "import the .byaf file"),
        ({"chat": {"ChatItems": []}, "version": 2}, "is a chat of Backyard"),
        ({"character": {"name": "Mara", "definition": ""}}, "is a character of Character.AI"),
        ({"gamestarted": True, "worldinfo": []}, "is a save of KoboldAI without world info"),
        ({"type": "risuModule", "module": {}}, "is a module of RisuAI"),
        ({"presetVersion": 3, "parameters": {}}, "is a preset of NovelAI"),
        ({"spec": "chara_card_v2"}, "has no `data`"),
        ({"hello": 1}, "neither a lorebook nor a card"),
    ],
)
def test_a_file_that_is_no_lorebook_is_told_what_it_is(raw: Any, words: str, tmp_path: Path) -> None:
    code, sentence = read_refusal(write_json(tmp_path / "w.json", raw))
    assert code is Code.LOREBOOK_INVALID
    assert words in sentence
    assert "Correct the book" not in sentence


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("m.jpg", b"\xff\xd8\xff\xe0", "in the format JPEG"),
        ("m.webp", b"RIFF\0\0\0\0WEBP", "in the format WEBP"),
        ("m.jsonl", b'{"user_name": "Ann"}\n{"mes": "Hi."}', "it is a chat"),
        ("m.yaml", b"name: Mara\ncontext: A keeper.", "it is YAML"),
    ],
)
def test_a_file_that_is_no_json_is_told_what_it_is(name: str, data: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    code, sentence = read_refusal(tmp_path / name)
    assert code is Code.IMPORT_UNREADABLE
    assert words in sentence


def test_an_entry_whose_content_is_null_is_named() -> None:
    rows = {"0": {"uid": 0, "comment": "The lamp", "content": None}, "1": {"uid": 1, "comment": "Tom"}}
    (warning,) = warn("sillytavern", {"entries": rows})
    assert "'content' in The lamp." in warning


def test_a_mistake_of_a_command_names_the_nearest_field_and_the_entries() -> None:
    book = Lorebook(name="b", format="sillytavern", book={"entries": {"4": {"uid": 4}}})
    with pytest.raises(FabulaError, match="nearest are: order") as refusal:
        patch_entry(book, 4, ordr=5)
    assert "Correct the book" not in str(refusal.value)
    with pytest.raises(FabulaError, match=r"no entry 99. It has 4\."):
        patch_entry(book, 99, order=5)
