"""Characters of Agnai, Pygmalion and Backyard: as cards with every text, and from archives and pictures."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import Code, FabulaError
from fabula.formats.lore.conversion import convert_to_version, convert_to_world_info
from fabula.formats.lore.editing import add_entry, parse_lorebook
from fabula.formats.lore.files import read_lorebook, write_lorebook
from fabula.formats.lore.png import read_user_comment
from fabula.lorebook.edits import Lorebook
from tests.formats.lore.samples import encode_base64, make_chunk, make_png, read_refusal, write_json
from tests.formats.lore.shapes import AGNAI_CHARACTER, BACKYARD, BACKYARD_ARCHIVE, PYGMALION, SHAPES

TEXTS = {"first_mes": "Hello.", "scenario": "A storm."}


def read(raw: Any, folder: Path) -> Lorebook:
    return read_lorebook(write_json(folder / "c.json", raw))


def make_card(raw: Any, folder: Path, version: int = 2) -> Any:
    made, _ = convert_to_version(read(raw, folder), version)
    return made.book if version == 1 else made.book["data"]


def test_an_agnai_character_as_a_card_keeps_all_its_texts(tmp_path: Path) -> None:
    made, losses = convert_to_version(read(AGNAI_CHARACTER, tmp_path), 2)
    data = made.book["data"]
    assert data["description"] == "A keeper., Calm."
    assert {name: data[name] for name in TEXTS} == TEXTS
    assert data["mes_example"] == "{{user}}: Cold?\n{{char}}: Aye."
    assert (data["creator_notes"], data["creator"], data["character_version"]) == ("For storms.", "me", "1")
    assert (data["system_prompt"], data["post_history_instructions"]) == ("Stay calm.", "One line.")
    assert (data["alternate_greetings"], data["tags"]) == (["Hi."], ["sea"])
    assert data["extensions"]["depth_prompt"] == {"depth": 3, "prompt": "She limps."}
    assert data["extensions"]["agnai_character"]["appearance"] == "grey coat"
    assert [row["content"] for row in data["character_book"]["entries"]] == ["She keeps it.", "Tom rows."]
    (loss,) = map(str, losses)
    assert "appearance" in loss
    assert "greeting" not in loss


def test_a_pygmalion_character_is_read_as_a_card(tmp_path: Path) -> None:
    data = make_card(PYGMALION, tmp_path)
    assert {name: data[name] for name in TEXTS} == TEXTS
    assert (data["name"], data["description"]) == ("Mara", "{{char}} keeps the light.")
    assert data["mes_example"].startswith("<START>")
    assert "character_book" not in data
    assert make_card(PYGMALION, tmp_path, 1)["first_mes"] == "Hello."
    with pytest.raises(FabulaError, match="no lorebook to add"):
        add_entry(read(PYGMALION, tmp_path), key=["Tom"])


def test_what_is_left_out_of_a_character_is_named_once(tmp_path: Path) -> None:
    _, losses = convert_to_version(read(AGNAI_CHARACTER, tmp_path), 1)
    assert [str(loss).partition(" has no ")[0] for loss in losses] == ["Version 1 of a card"]
    _, losses = convert_to_version(read({**PYGMALION, "name": "", "notes": None}, tmp_path), 1)
    assert losses == ()
    _, losses = convert_to_version(read(BACKYARD, tmp_path), 2)
    assert "temperature" in str(losses[0])
    assert "character," not in str(losses[0])
    _, losses = convert_to_world_info(read(BACKYARD, tmp_path))
    assert "aiPersona" in str(losses[-1])


@pytest.mark.parametrize("raw", [BACKYARD, BACKYARD_ARCHIVE], ids=["character", "archive"])
def test_a_backyard_character_is_read_as_a_card_with_the_macros_of_cards(raw: Any, tmp_path: Path) -> None:
    data = make_card(raw, tmp_path)
    assert (data["name"], data["description"]) == ("Mara", "{{char}} is a keeper.")
    assert (data["scenario"], data["first_mes"]) == ("A storm.", "Hello, {{user}}.")
    assert data["mes_example"] == "{{user}}: Cold?\n{{char}}: Aye."
    rows = data["character_book"]["entries"]
    assert [(row["keys"], row["content"]) for row in rows] == [
        (["Mara", "keeper"], "{{char}} keeps the light."),
        (["Tom"], "Tom rows {{user}}."),
    ]


def test_further_scenarios_of_an_archive_are_further_greetings(tmp_path: Path) -> None:
    data = make_card(BACKYARD_ARCHIVE, tmp_path)
    assert (data["alternate_greetings"], data["creator"]) == (["Hi."], "me")


@pytest.mark.parametrize("shape", ["agnai character", "pygmalion", "backyard", "backyard archive"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_character_becomes_a_card_of_every_version(shape: str, version: int, tmp_path: Path) -> None:
    made, _ = convert_to_version(read(SHAPES[shape], tmp_path), version)
    write_lorebook(made, tmp_path / "out.json")
    again = read_lorebook(tmp_path / "out.json")
    contents = parse_lorebook(again)
    assert (again.name, again.format) == ("Mara", "card")
    assert contents.card_character is not None
    assert contents.card_character.scenario == "A storm."
    assert len(contents.book.entries) == (0 if version == 1 or shape == "pygmalion" else 2)


def test_a_backyard_archive_is_read_and_its_json_again(tmp_path: Path) -> None:
    names = ["manifest.json", "characters/c1/character.json", "scenarios/s1.json", "scenarios/s2.json"]
    parts = [BACKYARD_ARCHIVE["manifest"], BACKYARD_ARCHIVE["character"], *BACKYARD_ARCHIVE["scenarios"]]
    with zipfile.ZipFile(tmp_path / "mara.byaf", "w") as archive:
        for name, part in zip(names, parts, strict=True):
            archive.writestr(name, json.dumps(part))
        archive.writestr("characters/c1/images/a.png", make_png())
    book = read_lorebook(tmp_path / "mara.byaf")
    assert (book.name, book.format, book.book) == ("Mara", "backyard_archive", BACKYARD_ARCHIVE)
    write_lorebook(book, tmp_path / "out.json")
    assert read_lorebook(tmp_path / "out.json").book == book.book


@pytest.mark.parametrize("manifest", [[], {"characters": []}, {"characters": ["a.json"], "scenarios": []}])
def test_an_archive_without_one_character_is_refused(manifest: Any, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "mara.byaf", "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
    assert read_refusal(tmp_path / "mara.byaf")[0] is Code.IMPORT_UNREADABLE


def make_exif(comment: bytes, order: str = ">") -> bytes:
    """EXIF data with one directory that holds the comment of the user."""
    value = b"ASCII\0\0\0" + comment
    main = struct.pack(f"{order}HHHIII", 1, 0x8769, 4, 1, 26, 0)
    inner = struct.pack(f"{order}HHHIII", 1, 0x9286, 7, len(value), 44, 0)
    return {">": b"MM\0*", "<": b"II*\0"}[order] + struct.pack(f"{order}I", 8) + main + inner + value


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_backyard_character_is_found_in_the_exif_data_of_a_picture(order: str, tmp_path: Path) -> None:
    (tmp_path / "mara.png").write_bytes(make_png(make_chunk(b"eXIf", make_exif(encode_base64(BACKYARD), order))))
    book = read_lorebook(tmp_path / "mara.png")
    assert (book.format, book.book) == ("backyard", BACKYARD)


@given(st.integers(0, 60), st.binary(max_size=8))
def test_damaged_exif_data_is_no_comment_or_another(at: int, piece: bytes) -> None:
    exif = make_exif(b"e30=")
    damaged = exif[:at] + piece + exif[at + len(piece) :]
    comment = read_user_comment(make_png(make_chunk(b"eXIf", damaged)), "p.png")
    assert comment is None or len(comment) <= len(damaged)
