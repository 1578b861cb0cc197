"""SillyTavern's world info: given back as it came, refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.core.errors import Code, FabulaError
from fabula.formats.lore.conversion import convert_to_world_info
from fabula.formats.lore.editing import parse_lorebook, patch_entry
from fabula.formats.lore.files import read_lorebook
from fabula.formats.safe.json_reader import MAX_JSON_BYTES
from fabula.lorebook.model import LoreEntry
from tests.formats.lore.samples import EXTRAS, WORLD, is_same_json, read_refusal, round_trip, write_json

FIELDS = [name for name in LoreEntry.__struct_encode_fields__ if name not in ("uid", "story")]
TEXTS = {"comment", "content", "outletName", "group"}


@given(book=EXTRAS, entries=st.lists(EXTRAS, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_every_field_comes_back_known_or_not(
    book: dict[str, Any], entries: list[dict[str, Any]], tmp_path: Path
) -> None:
    rows = {str(n): {**extra, "uid": n, "key": [f"k{n}"]} for n, extra in enumerate(entries)}
    raw = {**book, "entries": rows, "originalData": book}
    assert is_same_json(round_trip(raw, tmp_path), raw)


def test_the_name_is_the_books_own_or_the_files(tmp_path: Path) -> None:
    assert read_lorebook(write_json(tmp_path / "Isles.json", WORLD)).name == "Isles"
    book = read_lorebook(write_json(tmp_path / "a.json", {**WORLD, "name": " The \n Isles "}))
    assert (book.name, book.format, book.rules) == ("The Isles", "sillytavern", "exact")


def test_an_edit_is_patched_into_the_book_and_nothing_else_moves(tmp_path: Path) -> None:
    raw = {"z": 1, "entries": {"7": {"uid": 7, "odd": [1.0], "key": ["a"], "order": 3}, "8": {"uid": 8}}, "a": None}
    book = read_lorebook(write_json(tmp_path / "w.json", raw))
    edited = patch_entry(book, 7, order=5, content="new")
    assert parse_lorebook(edited).book.entries[0].order == 5
    assert is_same_json(patch_entry(edited, 7, order=3, content=None).book, raw)
    with pytest.raises(FabulaError, match="no entry 9"):
        patch_entry(book, 9, order=5)
    with pytest.raises(FabulaError, match="'colour' cannot"):
        patch_entry(book, 7, colour="red")
    with pytest.raises(FabulaError, match="order"):
        patch_entry(book, 7, order="much")


def test_entries_without_a_uid_are_numbered_by_their_place(tmp_path: Path) -> None:
    book = read_lorebook(write_json(tmp_path / "w.json", {"entries": [{"key": ["a"]}, {"key": ["b"]}]}))
    read = parse_lorebook(book)
    assert [entry.uid for entry in read.book.entries] == [0, 1]
    assert "numbered by place" in str(read.warnings[0])


def test_world_info_as_world_info_says_the_same(tmp_path: Path) -> None:
    book = read_lorebook(write_json(tmp_path / "w.json", WORLD))
    made, warnings = convert_to_world_info(book)
    assert warnings == ()
    assert parse_lorebook(made).book == parse_lorebook(book).book


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_the_wrong_type_is_named_and_kept(field: str, tmp_path: Path) -> None:
    value: object = 1 if field in TEXTS else "text"
    raw = {"entries": {"7": {"uid": 0, "key": ["Mara"], field: value}}}
    assert is_same_json(round_trip(raw, tmp_path), raw)
    (warning,) = parse_lorebook(read_lorebook(tmp_path / "in.json")).warnings
    assert repr(field) in str(warning)
    assert ("entry '7'" if field == "key" else "Mara") in str(warning)


@pytest.mark.parametrize("uid", ["x", 1.5, [], True, None, 1])
def test_entries_whose_uids_are_no_numbers_of_their_own_are_numbered_by_place(uid: object, tmp_path: Path) -> None:
    raw = {"entries": [{"uid": uid}, {"uid": 1}]}
    assert is_same_json(round_trip(raw, tmp_path), raw)
    read = parse_lorebook(read_lorebook(tmp_path / "in.json"))
    assert [entry.uid for entry in read.book.entries] == [0, 1]
    assert "numbered by place" in str(read.warnings[0])


@pytest.mark.parametrize("raw", [{}, [], 3, "x", None, {"entries": 3}, {"entries": [1]}, {"hello": "there"}])
def test_what_is_no_book_is_refused(raw: object, tmp_path: Path) -> None:
    code, _ = read_refusal(write_json(tmp_path / "w.json", raw))
    assert code is Code.LOREBOOK_INVALID


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", Code.IMPORT_UNREADABLE),
        (b"hello", Code.IMPORT_UNREADABLE),
        (b"\xff\xfe\xfa", Code.IMPORT_UNREADABLE),
        (b'{"entries": {"0": {"uid": 0, "x": NaN}}}', Code.IMPORT_UNREADABLE),
        (b'{"entries": {"0": {"uid": 0, "x": {"fabula:number": "1"}}}}', Code.IMPORT_UNREADABLE),
        (b'{"entries": {"0": {"uid": 0, "x": ' + b"9" * 100_000 + b"}}}", Code.IMPORT_UNREADABLE),
        (b'{"entries": {"0": {"uid": 0, "x": "\\ud800"}}}', Code.IMPORT_UNREADABLE),
        (b'{"entries": {"0": {"uid": 0}, "0": {"uid": 1}}}', Code.IMPORT_UNREADABLE),
        (b'{"entries": {"0": {"uid": 0, "a": {"b": 1, "c": 2, "b": 3}}}}', Code.IMPORT_UNREADABLE),
        (b'{"entries": {}, "x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", Code.IMPORT_TOO_LARGE),
        (b'{"entries": {}, "x": ' + b'{"a":' * 300 + b"1" + b"}" * 300 + b"}", Code.IMPORT_TOO_LARGE),
        (b'{"entries": {}, "x": [' + b"[]," * 600_000 + b"1]}", Code.IMPORT_TOO_LARGE),
        (b'{"entries": {}, "x": "' + b"a" * MAX_JSON_BYTES + b'"}', Code.IMPORT_TOO_LARGE),
        (json.dumps({"entries": [{"uid": n} for n in range(20_001)]}).encode(), Code.IMPORT_TOO_LARGE),
    ],
    ids=lambda value: value.value if isinstance(value, Code) else None,
)
def test_files_that_cannot_be_kept_are_refused_soon(data: bytes, code: Code, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_bytes(data)
    assert read_refusal(tmp_path / "w.json")[0] is code


def test_a_file_of_two_hundred_megabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "w.json").open("wb") as file:
        file.truncate(200_000_000)
    assert read_refusal(tmp_path / "w.json")[0] is Code.IMPORT_TOO_LARGE
    assert read_refusal(tmp_path / "w.json", card=True)[0] is Code.IMPORT_TOO_LARGE


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert read_refusal(tmp_path / "nowhere.json")[0] is Code.FILE_NOT_FOUND
