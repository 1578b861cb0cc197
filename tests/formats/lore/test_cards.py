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
from fabula.formats.lore.cards import edit_card
from fabula.formats.lore.conversion import convert_to_version
from fabula.formats.lore.editing import add_entry, parse_lorebook, patch_entry, remove_entry
from fabula.formats.lore.field_maps import SILLYTAVERN_SETTINGS
from fabula.formats.lore.files import read_card, read_lorebook, write_card, write_lorebook
from fabula.lorebook.edits import Lorebook, RuleSet
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
from tests.formats.lore.shapes import CARD_1, CARD_2, CARD_3, SHAPES
from tests.lorebook.books import make_messages, scan_books


def entry_of(row: dict[str, Any], *, rules: RuleSet = "exact") -> LoreEntry:
    """One entry of a card's book in our terms."""
    book = Lorebook(name="b", format="character_book", book={"entries": [row]}, rules=rules)
    return parse_lorebook(book).book.entries[0]


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
    with pytest.raises(FabulaError, match="no lorebook to add an entry"):
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
    assert entry_of({"keys": [], "position": "in_the_middle"}).position is None


def test_use_regex_is_no_pattern_under_exact_rules_and_none_where_sillytavern_wrote_it() -> None:
    row = {"keys": ["a.c", "/x/i", "a/b"], "secondary_keys": ["d."], "use_regex": True}
    assert entry_of(row).key == ("a.c", "/x/i", "a/b")
    assert entry_of(row, rules="fabula").key == ("/a.c/", "/x/i", "/a\\/b/")
    assert entry_of(row, rules="fabula").keysecondary == ("/d./",)
    by_sillytavern = {**row, "extensions": {"selectiveLogic": 0, "probability": 100, "useProbability": True}}
    assert entry_of(by_sillytavern, rules="fabula").key == ("a.c", "/x/i", "a/b")


def test_a_card_of_sillytavern_activates_as_sillytavern_does(tmp_path: Path) -> None:
    rows = [{**ENTRY, "keys": ["Mara"], "use_regex": True, "extensions": {"position": 0}} for _ in range(2)]
    rows[1]["keys"] = ["/MAR[aA]/"]
    data = {**V3["data"], "character_book": {"entries": rows}}
    book = read_lorebook(write_json(tmp_path / "c.json", {**V3, "data": data}))
    assert book.rules == "exact"

    def active(text: str) -> set[int]:
        return set(scan_books(parse_lorebook(book).book, make_messages(text), match_whole_words=True).active_uids)

    assert active("then mara came") == {0}
    assert active("then MARA came") == {0, 1}
    assert active("Maranatha") == set()


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


def test_a_card_of_every_version_becomes_every_other(tmp_path: Path) -> None:
    for source in (CARD_1, CARD_2, CARD_3):
        book = read_lorebook(write_json(tmp_path / "c.json", source))
        for version in (1, 2, 3):
            made, warnings = convert_to_version(book, version)
            write_lorebook(made, tmp_path / "out.json", overwrite=True)
            card = read_card(tmp_path / "out.json")
            assert (card.version, card.fields.description) == (version, "A keeper.")
            assert bool(warnings) == ((version < 3 and source is CARD_3) or (version == 1 and source is CARD_2))
            kept = 2 if version > 1 and source is not CARD_1 else 0
            assert len(parse_lorebook(read_lorebook(tmp_path / "out.json")).book.entries) == kept
            if source is not CARD_1 and version > 1:
                assert is_same_json(card.raw["data"]["character_book"], source["data"]["character_book"])


CHARACTERS = ("card 1", "card 2", "card 3", "agnai character", "pygmalion", "backyard", "backyard archive")


@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in CHARACTERS])
def test_another_book_becomes_the_book_of_a_card(shape: str, tmp_path: Path) -> None:
    book = read_lorebook(write_json(tmp_path / "b.json", SHAPES[shape]))
    before = parse_lorebook(book).book.entries
    for version, name in ((2, "character_book"), (3, "lorebook_v3")):
        made, _ = convert_to_version(book, version)
        write_lorebook(made, tmp_path / "out.json", overwrite=True)
        again = read_lorebook(tmp_path / "out.json")
        assert again.format == name
        after = parse_lorebook(again).book.entries
        assert [(one.key, one.content, one.order, one.constant) for one in after] == [
            (one.key, one.content, 100 if one.order is None else one.order, one.constant) for one in before
        ]
    with pytest.raises(FabulaError, match="no lorebook"):
        convert_to_version(book, 1)
    with pytest.raises(FabulaError, match="only a card"):
        write_lorebook(book, tmp_path / "out.png")


def test_assets_that_stay_behind_are_counted(tmp_path: Path) -> None:
    assets = [{"type": "icon", "uri": "embeded://assets/icon.png", "name": "main", "ext": "png"}]
    book = read_lorebook(write_json(tmp_path / "c.json", {**CARD_3, "data": {**CARD_3["data"], "assets": assets}}))
    (lost,) = write_lorebook(book, tmp_path / "out.json")
    assert "1 file of its archive" in str(lost)
