"""Character cards: three versions, and the book they carry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fabula.core.errors import Code, FabulaError
from fabula.formats.lore.cards import CHARACTER_BOOK, CardFields, edit_card
from fabula.formats.lore.editing import add_entry, parse_lorebook, patch_entry, remove_entry
from fabula.formats.lore.field_maps import SILLYTAVERN_SETTINGS
from fabula.formats.lore.files import read_card, read_lorebook, write_card, write_lorebook
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import CardCharacter, LoreEntry
from tests.formats.lore.samples import (
    ENTRY,
    EXTRAS,
    V1,
    V2,
    V3,
    encode_base64,
    is_same_json,
    make_chunk,
    make_png,
    read_refusal,
    round_trip,
    write_json,
)


def entry_of(row: dict[str, Any], **book: Any) -> LoreEntry:
    """One entry of a card's book in our terms."""
    return parse_lorebook(Lorebook(name="b", format="character_book", book={**book, "entries": [row]})).book.entries[0]


@given(card=EXTRAS, data=EXTRAS, book=EXTRAS, rows=st.lists(st.tuples(EXTRAS, EXTRAS), max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_card_and_its_book_come_back_known_or_not(
    card: dict[str, Any],
    data: dict[str, Any],
    book: dict[str, Any],
    rows: list[tuple[dict[str, Any], dict[str, Any]]],
    tmp_path: Path,
) -> None:
    entries = [{**ENTRY, **extra, "extensions": {**beyond, "depth": 2}} for extra, beyond in rows]
    kept = {**book, "entries": entries, "extensions": {}}
    raw = {**V3, **card, "data": {**V3["data"], **data, "character_book": kept}}
    path = write_json(tmp_path / "in.json", raw)
    write_card(read_card(path), tmp_path / "out.json", overwrite=True)
    assert is_same_json(json.loads((tmp_path / "out.json").read_bytes()), raw)
    assert is_same_json(round_trip(raw, tmp_path), raw)
    assert is_same_json(round_trip(kept, tmp_path), kept)
    alone = {"spec": "lorebook_v3", "data": kept, **card}
    assert is_same_json(round_trip(alone, tmp_path), alone)


def test_each_version_is_known_by_what_it_holds(tmp_path: Path) -> None:
    versions = [read_card(write_json(tmp_path / "c.json", raw)).version for raw in (V1, V2, V3)]
    assert versions == [1, 2, 3]
    for raw in (V1, {**V2, "data": {"name": "Mara"}}):
        bare = read_lorebook(write_json(tmp_path / "c.json", raw))
        assert (bare.format, parse_lorebook(bare).book.entries, is_same_json(bare.book, raw)) == ("card", (), True)


def test_a_card_is_a_book_and_says_whom_it_is_about(tmp_path: Path) -> None:
    deep = {"depth_prompt": {"prompt": "Stay calm."}}
    data = {**V2["data"], "tags": ["sea"], "personality": "Calm.", "nickname": "The keeper", "extensions": deep}
    data["character_book"] = {**data["character_book"], "scan_depth": 7}
    read = parse_lorebook(read_lorebook(write_json(tmp_path / "c.json", {**V3, "data": data})))
    assert (len(read.book.entries), read.book.source, read.settings.depth) == (1, "character", 7)
    assert read.card_character == CardCharacter(
        name="The keeper", tags=("sea",), description="A keeper.", personality="Calm.", depth_prompt="Stay calm."
    )


def test_entries_are_added_to_a_card_and_taken_out_again(tmp_path: Path) -> None:
    book = read_lorebook(write_json(tmp_path / "c.json", {**V2, "data": {"name": "Mara", "odd": 1}}))
    made, uid = add_entry(book, key=["Tom"], content="Tom rows.", depth=2)
    assert uid == 0
    (row,) = made.book["data"]["character_book"]["entries"]
    assert (row["keys"], row["enabled"], row["extensions"]) == (["Tom"], True, {"depth": 2})
    assert made.book["data"]["odd"] == 1
    assert parse_lorebook(remove_entry(made, 0)).book.entries == ()
    with pytest.raises(FabulaError, match="version 1"):
        add_entry(read_lorebook(write_json(tmp_path / "c.json", V1)), key=["x"])


def test_a_card_goes_back_into_its_picture_or_archive(tmp_path: Path) -> None:
    image = make_png(make_chunk(b"tEXt", b"Software\0x"), make_chunk(b"tEXt", b"chara\0" + encode_base64(V2)))
    (tmp_path / "in.png").write_bytes(image)
    book = read_lorebook(tmp_path / "in.png")
    write_lorebook(book, tmp_path / "same.png", into=tmp_path / "in.png")
    assert (tmp_path / "same.png").read_bytes() == image
    write_lorebook(patch_entry(book, 0, order=7), tmp_path / "out.png", into=tmp_path / "in.png")
    again = read_lorebook(tmp_path / "out.png")
    assert parse_lorebook(again).book.entries[0].order == 7
    write_lorebook(book, tmp_path / "out.charx")
    write_lorebook(book, tmp_path / "more.charx", into=tmp_path / "out.charx")
    assert is_same_json(read_lorebook(tmp_path / "more.charx").book, V2)
    with pytest.raises(FabulaError) as refusal:
        write_lorebook(book, tmp_path / "none.png")
    assert refusal.value.code is Code.EXPORT_REFUSED


def test_a_book_says_what_its_extensions_say() -> None:
    entry = entry_of(ENTRY)
    assert (entry.key, entry.keysecondary) == (("Mara", "light"), ("storm",))
    assert (entry.order, entry.position, entry.depth, entry.role) == (40, 4, 3, 1)
    assert (entry.probability, entry.use_probability, entry.disable) == (50, True, False)


def test_a_position_in_words_counts_where_there_is_none_in_numbers() -> None:
    assert entry_of({"keys": [], "position": "after_char"}).position == 1
    assert entry_of({"keys": [], "position": "after_char", "extensions": {"position": 0}}).position == 0
    with pytest.raises(FabulaError, match="is not a position"):
        entry_of({"keys": [], "position": "in_the_middle"})


def test_keys_that_are_patterns_say_so() -> None:
    assert entry_of({"keys": ["a.c", "/x/i", "a/b"], "use_regex": True}).key == ("/a.c/", "/x/i", "/a\\/b/")


def test_a_name_is_the_title_where_there_is_no_comment() -> None:
    assert entry_of({"keys": [], "comment": "", "name": "Mara"}).comment == "Mara"
    assert entry_of({"keys": [], "comment": "The keeper", "name": "Mara"}).comment == "The keeper"


def test_how_a_book_wants_to_be_read_is_not_lost() -> None:
    book = {"entries": [], "scan_depth": 7, "token_budget": 300, "recursive_scanning": False}
    read = parse_lorebook(Lorebook(name="b", format="character_book", book=book))
    assert read.settings == replace(SILLYTAVERN_SETTINGS, depth=7, recursive=False, budget=100, budget_cap=300)
    assert read.book.source == "character"


def test_what_has_no_equal_is_said() -> None:
    rows = [{"keys": [], "priority": 3}, {"keys": [], "content": "@@depth 4\n@@activate\nx"}, {"keys": []}]
    warnings = parse_lorebook(Lorebook(name="b", format="character_book", book={"entries": rows})).warnings
    assert [str(warning).partition(" ")[0] for warning in warnings] == ["`priority`", "Decorators"]
    assert all("(1 entry)" in str(warning) for warning in warnings)


def test_ids_that_are_used_twice_are_replaced_by_places() -> None:
    rows = [{"keys": [], "id": 4}, {"keys": [], "id": 4}]
    read = parse_lorebook(Lorebook(name="b", format="character_book", book={"entries": rows}))
    assert [entry.uid for entry in read.book.entries] == [0, 1]
    assert "numbered by place" in str(read.warnings[0])


def test_an_edit_of_an_entry_goes_where_the_card_keeps_it() -> None:
    book = Lorebook(name="b", format="character_book", book={"entries": [{**ENTRY, "odd": 1}], "name": None})
    made = patch_entry(book, 0, disable=True, depth=9, key=["Tom"]).book["entries"][0]
    assert (made["enabled"], made["extensions"]["depth"], made["keys"], made["odd"]) == (False, 9, ["Tom"], 1)
    assert book.book["entries"][0]["enabled"] is True


def test_an_edit_of_a_card_changes_every_place_that_says_it(tmp_path: Path) -> None:
    card = edit_card(read_card(write_json(tmp_path / "c.json", V2)), name="Tom", description="New.")
    assert (card.raw["name"], card.raw["data"]["name"], card.raw["data"]["description"]) == ("Tom", "Tom", "New.")
    assert "description" not in card.raw
    assert card.name == "Tom"
    assert edit_card(read_card(write_json(tmp_path / "c.json", V1)), name="Tom").raw["name"] == "Tom"
    with pytest.raises(FabulaError, match="no colour"):
        edit_card(card, colour="red")
    with pytest.raises(FabulaError, match="name"):
        edit_card(card, name=3)


@pytest.mark.parametrize("field", CardFields.__struct_fields__)
def test_a_field_of_a_card_of_the_wrong_type_is_refused_by_name(field: str, tmp_path: Path) -> None:
    code, sentence = read_refusal(
        write_json(tmp_path / "c.json", {"spec": "chara_card_v2", "data": {field: 3}}), card=True
    )
    assert code is Code.IMPORT_UNREADABLE
    assert field in sentence


@pytest.mark.parametrize("field", sorted({field.path for field in CHARACTER_BOOK.fields}))
def test_a_field_of_an_entry_of_the_wrong_type_is_refused_by_name(field: str) -> None:
    outer, _, inner = field.partition(".")
    odd: Any = {"odd": [1]}
    with pytest.raises(FabulaError) as refusal:
        entry_of({outer: {inner: odd} if inner else odd})
    assert refusal.value.code is Code.LOREBOOK_INVALID
    assert field in refusal.value.sentence


@pytest.mark.parametrize("odd", [{"scan_depth": "x"}, {"token_budget": []}, {"recursive_scanning": 1}])
def test_a_book_with_odd_wishes_is_refused(odd: dict[str, Any]) -> None:
    with pytest.raises(FabulaError) as refusal:
        parse_lorebook(Lorebook(name="b", format="character_book", book={"entries": [], **odd}))
    assert refusal.value.code is Code.LOREBOOK_INVALID


def test_extensions_that_are_no_object_are_refused() -> None:
    with pytest.raises(FabulaError, match="is not in an object"):
        entry_of({"keys": [], "extensions": 3})


@pytest.mark.parametrize(
    "raw", [{}, [], None, {"name": "x"}, {"spec": "chara_card_v9", "data": {}}, {"spec": "chara_card_v2"}]
)
def test_what_is_no_card_is_refused(raw: object, tmp_path: Path) -> None:
    assert read_refusal(write_json(tmp_path / "c.json", raw), card=True)[0] is Code.IMPORT_UNREADABLE


def test_a_card_is_written_only_as_what_it_can_be(tmp_path: Path) -> None:
    card = read_card(write_json(tmp_path / "c.json", V2))
    for name in ("out.png", "out.txt", "c.json"):
        with pytest.raises(FabulaError) as refusal:
            write_card(card, tmp_path / name)
        assert refusal.value.code is Code.EXPORT_REFUSED
