"""Commands about lorebooks, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_projects import Desk
from tests.formats.lore import V1, V2, chunk, hidden, picture, put

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
    desk = Desk(tmp_path, str(tmp_path / "data"), monkeypatch, capsys)
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    put(tmp_path / "isles.json", WORLD)
    return desk


def books(desk: Desk) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(desk.run("lorebook", "list", "Coast", "--json"))
    return found


def test_a_book_comes_in_is_listed_shown_and_goes_out_as_it_came(desk: Desk) -> None:
    assert "fabula lorebook import" in desk.run("lorebook", "list", "Coast")
    assert "isles: 3 entries (sillytavern, exact rules)" in desk.run("lorebook", "import", "Coast", "isles.json")
    (found,) = books(desk)
    assert (found["name"], found["entries"], found["active"]) == ("isles", 3, True)
    assert "3 entries" in desk.run("lorebook", "list", "Coast")
    said = desk.run("lorebook", "show", "Coast", "isles")
    assert "[Mara, /keep(er)?/]" in said
    assert "[always]" in said
    assert "[off]" in said
    assert len(json.loads(desk.run("lorebook", "show", "Coast", found["id"], "--json"))["entries"]) == 3
    desk.run("lorebook", "export", "Coast", "isles", "out.json")
    assert json.loads((desk.folder / "out.json").read_text()) == WORLD
    assert "EXPORT_REFUSED" in desk.run("lorebook", "export", "Coast", "isles", "out.json", code=2)


def test_a_text_is_tried_and_every_entry_says_why(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json", "--rules", "fabula")
    said = desk.run("lorebook", "test", "Coast", "The keeper came.")
    assert "✓ Mara: a key was found, /keep(er)?/" in said
    assert "✓ Rain: it is always on" in said
    assert "· Tom: it is switched off" in said
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
    (desk.folder / "mara.png").write_bytes(picture(chunk(b"tEXt", b"chara\0" + hidden(V2))))
    assert "Mara: book: 1 entries (character_book" in desk.run("lorebook", "import", "Coast", "mara.png")
    desk.run("lorebook", "export", "Coast", "Mara: book", "book.json")
    assert json.loads((desk.folder / "book.json").read_text()) == V2["data"]["character_book"]
    desk.run("lorebook", "export", "Coast", "Mara: book", "world.json", "--as-world-info")
    assert json.loads((desk.folder / "world.json").read_text())["entries"]["0"]["key"] == ["Mara", "light"]


def test_a_book_becomes_codex_entries_and_rests(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json")
    said = desk.run("lorebook", "to-codex", "Coast", "isles")
    assert "3 codex entries" in said
    assert "patterns" in said
    assert books(desk)[0]["active"] is False
    assert "It rains." in desk.run("assemble", "Coast", "-d", "ch-01", "-w", "8192", "--quiet")
    assert "No lorebook is called 'x'" in desk.run("lorebook", "to-codex", "Coast", "x", code=2)
    desk.run("lorebook", "to-codex", "Coast", "isles", "--keep")


def test_what_cannot_come_in_changes_nothing(desk: Desk) -> None:
    put(desk.folder / "v1.json", V1)
    put(desk.folder / "twice.json", {"entries": [{"uid": 1}, {"uid": 1}]})
    (desk.folder / "deep.json").write_text("[" * 10_000)
    for name, code in (
        ("v1.json", "IMPORT_UNREADABLE"),
        ("twice.json", "LOREBOOK_INVALID"),
        ("deep.json", "IMPORT_TOO_LARGE"),
        ("nowhere.json", "IMPORT_UNREADABLE"),
    ):
        assert code in desk.run("lorebook", "import", "Coast", name, code=2)
    assert "exact or fabula" in desk.run("lorebook", "import", "Coast", "isles.json", "--rules", "loose", code=2)
    assert books(desk) == []


def test_of_two_books_with_one_name_the_id_decides(desk: Desk) -> None:
    desk.run("lorebook", "import", "Coast", "isles.json")
    desk.run("lorebook", "import", "Coast", "isles.json")
    assert "Several lorebooks are called 'isles'" in desk.run("lorebook", "show", "Coast", "isles", code=2)
    desk.run("lorebook", "show", "Coast", books(desk)[0]["id"])
