"""Commands about lorebooks, as a person types them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from fabula.formats.lore.png import read_text_chunks
from tests.blank import lay
from tests.cli.test_projects import Desk
from tests.formats.lore.samples import V1, V2, encode_base64, make_chunk, make_png, write_json
from tests.formats.lore.shapes import CARD_1, CARD_3, SHAPES

WORLD: dict[str, Any] = {
    "entries": {
        "0": {"uid": 0, "key": ["Mara", "/keep(er)?/"], "comment": "Mara", "content": "Mara keeps the light."},
        "1": {"uid": 1, "constant": True, "comment": "Rain", "content": "It rains.", "odd": {"deep": [1.0, None]}},
        "2": {"uid": 2, "key": ["Tom"], "content": "Tom went.", "disable": True},
    }
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A desk with a project and a book beside it."""
    desk = Desk(tmp_path, str(lay(tmp_path / "data")), monkeypatch, capsys)
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    write_json(tmp_path / "isles.json", WORLD)
    return desk


def books(desk: Desk) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(desk.run("lorebook", "list", "Coast", "--json"))
    return found


def test_a_book_comes_in_is_listed_shown_and_goes_out_as_it_came(desk: Desk) -> None:
    assert "fabula lorebook import" in desk.run("lorebook", "list", "Coast")
    assert "isles: 3 entries (sillytavern, exact rules)" in desk.run("lorebook", "import", "Coast", "isles.json")
    (found,) = books(desk)
    assert (found["name"], found["entries"], found["active"]) == ("isles", 3, True)
    assert desk.run("lorebook", "list", "Coast").splitlines()[1].split() == [
        *("1", "isles", "3", "sillytavern", "exact", "in", "use")
    ]
    said = desk.run("lorebook", "show", "Coast", "isles")
    assert "  Mara, /keep(er)?/  " in said
    assert "  always  " in said
    assert "  off  " in said
    assert len(json.loads(desk.run("lorebook", "show", "Coast", found["id"], "--json"))["entries"]) == 3
    desk.run("lorebook", "export", "Coast", "isles", "out.json")
    assert json.loads((desk.folder / "out.json").read_text()) == WORLD
    assert "EXPORT_REFUSED" in desk.run("lorebook", "export", "Coast", "isles", "out.json", code=2)


def test_a_text_is_tried_and_every_entry_says_why(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json", "--rules", "fabula")
    said = desk.run("lorebook", "test", "Coast", "The keeper came.")
    assert "✓  Mara  a key was found, /keep(er)?/" in said
    assert "✓  Rain  it is always on" in said
    assert "·  Tom   it is switched off" in said
    assert "fabula rules" in said
    rows = json.loads(desk.run("lorebook", "test", "Coast", "Nobody.", "--book", "isles", "--json"))
    assert {row["title"]: row["reason"] for row in rows}["Mara"] == "NOT_MENTIONED"


def test_an_imported_book_is_in_the_prompt_and_why_says_so(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json")
    asked = ("Coast", "-d", "ch-01", "-w", "8192")
    assert "It rains." in desk.run("assemble", *asked, "--quiet")
    assert "it is always on" in " ".join(desk.run("why", "Rain", *asked).split())
    assert "it is switched off" in " ".join(desk.run("why", "Tom", *asked).split())


def test_the_book_of_a_card_comes_in(desk: Desk) -> None:
    (desk.folder / "mara.png").write_bytes(make_png(make_chunk(b"tEXt", b"chara\0" + encode_base64(V2))))
    said = desk.run("lorebook", "import", "Coast", "mara.png")
    assert "Mara: 1 entry (card, exact rules)" in said
    assert "--into" in said
    desk.run("lorebook", "export", "Coast", "Mara", "card.json")
    assert json.loads((desk.folder / "card.json").read_text()) == V2
    desk.run("lorebook", "export", "Coast", "Mara", "world.json", "--as-world-info")
    assert json.loads((desk.folder / "world.json").read_text())["entries"]["0"]["key"] == ["Mara", "light"]
    desk.run("lorebook", "export", "Coast", "Mara", "out.png", "--into", "mara.png")
    assert (desk.folder / "out.png").read_bytes() == (desk.folder / "mara.png").read_bytes()
    assert "EXPORT_REFUSED" in desk.run("lorebook", "export", "Coast", "Mara", "none.png", code=2)


def test_a_card_without_a_book_comes_in_and_becomes_a_character(desk: Desk) -> None:
    write_json(desk.folder / "v1.json", {**V1, "name": "Ilse Marten", "description": "She mends sails."})
    assert "Ilse Marten: 0 entries (card" in desk.run("lorebook", "import", "Coast", "v1.json")
    assert "Made 1 codex entry from Ilse Marten." in desk.run("lorebook", "to-codex", "Coast", "Ilse Marten")
    assert "She mends sails." in desk.run("codex", "show", "Coast", "Ilse Marten")


def test_a_book_is_made_filled_edited_and_taken_away(desk: Desk) -> None:
    desk.run("lorebook", "new", "Coast", "Harbour")
    assert "Entry 0" in desk.run("lorebook", "add", "Coast", "Harbour", "key=Mara", "content=12", "comment=Keeper")
    assert "Entry 1" in desk.run("lorebook", "add", "Coast", "Harbour", 'key=["/keep(er)?/"]', "content=A light.")
    desk.run("lorebook", "edit", "Coast", "Harbour", "0", "order=20", "comment=null", "constant=true")
    shown = json.loads(desk.run("lorebook", "show", "Coast", "Harbour", "--json"))["entries"]
    assert (shown[0]["order"], shown[0]["comment"], shown[0]["constant"], shown[0]["content"]) == (20, None, True, "12")
    assert shown[1]["key"] == ["/keep(er)?/"]
    for words, why in (
        (("0", "order=much"), "order"),
        (("0", "colour=red"), "colour"),
        (("9", "order=1"), "no entry 9"),
        (("0", "order"), "no FIELD=VALUE"),
    ):
        assert why in desk.run("lorebook", "edit", "Coast", "Harbour", *words, code=2)
    desk.run("lorebook", "drop", "Coast", "Harbour", "0")
    assert books(desk)[0]["entries"] == 1
    assert "no longer in use" in desk.run("lorebook", "use", "Coast", "Harbour", "--off")
    assert books(desk)[0]["active"] is False
    assert "exact rules" in desk.run("lorebook", "use", "Coast", "Harbour", "--rules", "exact")
    assert (books(desk)[0]["active"], books(desk)[0]["rules"]) == (True, "exact")
    assert "exact or fabula" in desk.run("lorebook", "use", "Coast", "Harbour", "--rules", "loose", code=2)
    desk.run("lorebook", "remove", "Coast", "Harbour")
    assert books(desk) == []


def test_an_entry_is_told_from_a_chapter_on(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json")
    desk.run("lorebook", "when", "Coast", "isles", "1", "--since", "ch-02", "--until", "ch-03")
    asked = ("-w", "8192", "--quiet")
    told = {ch: "It rains." in desk.run("assemble", "Coast", "-d", ch, *asked) for ch in ("ch-01", "ch-02", "ch-03")}
    assert told == {"ch-01": False, "ch-02": True, "ch-03": False}
    assert "revealed in chapter 2" in " ".join(desk.run("why", "Rain", "Coast", "-d", "ch-01", "-w", "8192").split())
    assert "  from chapter 2; before chapter 3  " in desk.run("lorebook", "show", "Coast", "isles")
    assert "✓  Rain" in desk.run("lorebook", "test", "Coast", "x")
    assert "·  Rain  it is revealed in chapter 2" in desk.run("lorebook", "test", "Coast", "x", "--at", "ch-01")
    assert "whole chapters" in desk.run("lorebook", "when", "Coast", "isles", "1", "--since", "ch-02@5", code=2)
    assert "no chapter" in desk.run("lorebook", "when", "Coast", "isles", "1", "--since", "ch-99", code=2)
    desk.run("lorebook", "when", "Coast", "isles", "1", "--known-to", "nobody", "--since", "start", "--until", "end")
    assert "It rains." not in desk.run("assemble", "Coast", "-d", "ch-01", *asked)
    desk.run("lorebook", "when", "Coast", "isles", "1", "--known-to", "everybody")
    desk.run("lorebook", "export", "Coast", "isles", "out.json")
    assert json.loads((desk.folder / "out.json").read_text()) == WORLD


def test_a_book_becomes_codex_entries_and_rests(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json")
    said = desk.run("lorebook", "to-codex", "Coast", "isles")
    assert "3 codex entries" in said
    assert "patterns" in said
    assert books(desk)[0]["active"] is False
    assert "It rains." in desk.run("assemble", "Coast", "-d", "ch-01", "-w", "8192", "--quiet")
    assert "There is no lorebook called 'x'" in desk.run("lorebook", "to-codex", "Coast", "x", code=2)
    desk.run("lorebook", "to-codex", "Coast", "isles", "--keep")


def test_what_cannot_come_in_changes_nothing(desk: Desk) -> None:
    write_json(desk.folder / "other.json", {"chapters": [{"uid": 1}, {"uid": 1}]})
    (desk.folder / "deep.json").write_text("[" * 10_000)
    for name, code in (
        ("other.json", "LOREBOOK_INVALID"),
        ("deep.json", "IMPORT_TOO_LARGE"),
        ("nowhere.json", "FILE_NOT_FOUND"),
    ):
        assert code in desk.run("lorebook", "import", "Coast", name, code=2)
    assert "exact or fabula" in desk.run("lorebook", "import", "Coast", "isles.json", "--rules", "loose", code=2)
    assert books(desk) == []


def test_the_same_book_imported_twice_is_noticed(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json")
    (before,) = books(desk)
    write_json(desk.folder / "copy.json", {**WORLD, "entries": dict(reversed(WORLD["entries"].items()))})
    for name in ("isles.json", "copy.json"):
        said = desk.run("lorebook", "import", "Coast", name, code=2)
        assert "STORE_DUPLICATE" in said
        assert "isles (number 1)" in said
        assert "--replace" in said
    desk.run("lorebook", "use", "Coast", "isles", "--off", "--rules", "fabula")
    desk.run("lorebook", "edit", "Coast", "isles", "0", "order=20")
    desk.run("lorebook", "import", "Coast", "isles.json", "--replace")
    (after,) = books(desk)
    assert after == {**before, "active": False, "rules": "fabula"}
    desk.run("lorebook", "export", "Coast", "isles", "out.json")
    assert json.loads((desk.folder / "out.json").read_text()) == WORLD
    write_json(desk.folder / "tides.json", {"entries": {}})
    assert "no lorebook called tides" in desk.run("lorebook", "import", "Coast", "tides.json", "--replace", code=2)


def test_of_two_books_with_one_name_the_id_decides(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json")
    write_json(desk.folder / "isles.json", {"entries": {}})
    said = desk.run("lorebook", "import", "Coast", "isles.json")
    assert "Another lorebook with other contents is called isles too: number " in said
    assert "'isles' may be more than one lorebook: isles (" in desk.run("lorebook", "show", "Coast", "isles", code=2)
    desk.run("lorebook", "show", "Coast", books(desk)[0]["id"])
    write_json(desk.folder / "isles.json", {"entries": {"0": {"uid": 0}}})
    said = desk.run("lorebook", "import", "Coast", "isles.json", "--replace", code=2)
    assert "More than one lorebook is called isles" in said


def test_a_card_goes_out_as_every_version_and_into_a_picture(desk: Desk) -> None:
    write_json(desk.folder / "mara.json", CARD_3)
    desk.run("lorebook", "import", "Coast", "mara.json")
    (desk.folder / "blank.png").write_bytes(make_png())
    said = desk.run("lorebook", "export", "Coast", "The keeper", "v1.json", "--version", "1")
    assert "Version 1 of a card has no" in said
    assert "character_book" in said
    assert json.loads((desk.folder / "v1.json").read_text()) == CARD_1
    said = desk.run("lorebook", "export", "Coast", "The keeper", "v2.json", "--version", "2")
    assert "Programs that know only version 2 ignore assets, nickname" in said
    desk.run("lorebook", "export", "Coast", "The keeper", "out.png", "--into", "blank.png")
    texts = read_text_chunks((desk.folder / "out.png").read_bytes(), ("ccv3", "chara"), "out.png")
    assert json.loads(base64.b64decode(texts["ccv3"])) == CARD_3
    assert json.loads(base64.b64decode(texts["chara"]))["spec"] == "chara_card_v2"
    desk.run("lorebook", "export", "Coast", "The keeper", "old.png", "--into", "out.png", "--version", "1")
    texts = read_text_chunks((desk.folder / "old.png").read_bytes(), ("ccv3", "chara"), "old.png")
    assert {name: json.loads(base64.b64decode(text)) for name, text in texts.items()} == {"chara": CARD_1}
    for words in (
        ("none.png",),
        ("out.json", "--into", "blank.png"),
        ("more.png", "--into", "v1.json"),
        ("v4.json", "--version", "4"),
        ("v3.json", "--version", "3", "--as-world-info"),
    ):
        desk.run("lorebook", "export", "Coast", "The keeper", *words, code=2)
        assert not (desk.folder / words[0]).exists()


def test_a_scenario_and_story_cards_come_in_and_go_out(desk: Desk) -> None:
    for shape in ("novelai scenario", "story cards", "ai dungeon old scenario"):
        path = write_json(desk.folder / f"{shape}.scenario", SHAPES[shape])
        said = desk.run("lorebook", "import", "Coast", path.name)
        assert "2 entries" in said
        assert shape == "story cards" or "kept, but not used" in said
        name = "story cards" if shape == "story cards" else "The Isles"
        desk.run("lorebook", "export", "Coast", name, f"{shape}.json")
        assert json.loads((desk.folder / f"{shape}.json").read_text()) == SHAPES[shape]
        assert "✓  Mara " in desk.run("lorebook", "test", "Coast", "Then Mara came.", "--book", name)
        desk.run("lorebook", "remove", "Coast", name)
    said = desk.run("lorebook", "export", "Coast", "Nobody", "x.png", code=2)
    assert "no lorebook" in said


def test_a_card_with_odd_values_comes_in_with_warnings_and_goes_out_unchanged(desk: Desk) -> None:
    text = json.dumps({**CARD_3, "data": {**CARD_3["data"], "tags": "a, b", "creator": 12345}})
    (desk.folder / "odd.json").write_text(text.replace("12345", "1e999"))
    said = desk.run("lorebook", "import", "Coast", "odd.json")
    assert "Values that cannot be used: 'tags' in the card" in said
    desk.run("lorebook", "export", "Coast", "The keeper", "out.json")
    assert json.loads((desk.folder / "out.json").read_text()) == json.loads((desk.folder / "odd.json").read_text())
    assert '"creator": 1e999' in (desk.folder / "out.json").read_text()


def test_a_trial_says_what_why_says_of_an_outlet_without_a_place(desk: Desk) -> None:
    row = {"uid": 0, "key": ["Mara"], "comment": "Lamp", "content": "x", "position": 7, "outletName": "lamps"}
    write_json(desk.folder / "outlets.json", {"entries": {"0": row}})
    desk.run("lorebook", "import", "Coast", "outlets.json")
    said = desk.run("lorebook", "test", "Coast", "Mara came.")
    assert "·  Lamp  it became active, but has no place in the prompt, the preset has no place for its outlet" in said


def test_a_trial_names_the_book_of_each_row_and_numbers_entries_of_one_name(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json")
    doors = {str(n): {"uid": n, "key": ["door"], "comment": "door", "content": "x"} for n in range(2)}
    write_json(desk.folder / "doors.json", {"entries": {**doors, "2": {"uid": 2, "content": "y"}}})
    desk.run("lorebook", "import", "Coast", "doors.json")
    said = desk.run("lorebook", "test", "Coast", "Mara came.")
    assert "·  doors  door (number 0)  none of its keys was found" in said
    assert "✓  isles  Mara             a key was found, Mara" in said
    assert "·  doors  #2               it has no key" in said


def test_a_card_is_listed_and_found_by_its_name_and_its_nickname(desk: Desk) -> None:
    write_json(desk.folder / "v.json", {**V2, "data": {**V2["data"], "name": "Vesna", "nickname": "Ves"}})
    write_json(desk.folder / "Vesna lore.json", WORLD)
    desk.run("lorebook", "import", "Coast", "v.json")
    desk.run("lorebook", "import", "Coast", "Vesna lore.json")
    assert "Ves (Vesna)" in desk.run("lorebook", "list", "Coast")
    assert desk.run("lorebook", "show", "Coast", "Vesna").startswith("Ves (card")
    assert desk.run("lorebook", "show", "Coast", "Ves").startswith("Ves (card")


def test_books_of_one_name_are_told_apart_by_number(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json")
    write_json(desk.folder / "isles.json", {"entries": {}})
    desk.run("lorebook", "import", "Coast", "isles.json")
    said = desk.run("lorebook", "show", "Coast", "isles", code=2)
    assert "isles (number 1), isles (number 2)" in said
    desk.run("lorebook", "show", "Coast", "2")


def test_a_book_is_shown_with_secondary_keys_place_and_order(desk: Desk) -> None:
    row = {"uid": 0, "key": ["a"], "keysecondary": ["storm", "rain"], "selective": True, "selectiveLogic": 2}
    write_json(
        desk.folder / "more.json", {"entries": {"0": {**row, "position": 4, "depth": 3, "order": 77, "content": "x"}}}
    )
    desk.run("lorebook", "import", "Coast", "more.json")
    said = desk.run("lorebook", "show", "Coast", "more")
    assert "  none of storm, rain  depth 3     77  " in said


def test_keys_between_commas_are_keys_of_their_own_and_an_entry_goes_by_its_name(desk: Desk) -> None:
    desk.run("lorebook", "new", "Coast", "Harbour")
    desk.run("lorebook", "add", "Coast", "Harbour", "key=Mara,Venn", "content=A pilot.", "comment=Pilot")
    desk.run("lorebook", "edit", "Coast", "Harbour", "Pilot", "keysecondary=/a,b/i, c")
    entry = json.loads(desk.run("lorebook", "show", "Coast", "Harbour", "--json"))["entries"][0]
    assert (entry["key"], entry["keysecondary"]) == (["Mara", "Venn"], ["/a,b/i", "c"])
