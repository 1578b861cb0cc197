"""Cards in PNG files: read from every type of text chunk; malformed pictures are refused."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from fabula.core.errors import Code
from fabula.formats.lore.cards import edit_card
from fabula.formats.lore.files import read_card, read_lorebook, write_card
from fabula.formats.lore.png import read_text_chunks
from tests.formats.lore.samples import (
    EXTRAS,
    V1,
    V2,
    V3,
    encode_base64,
    is_same_json,
    make_chunk,
    make_png,
    read_refusal,
)


@cache
def bomb() -> bytes:
    """Two hundred megabytes, compressed."""
    return zlib.compress(b"a" * 200_000_000, 9)


def make_card_chunk(name: str, raw: object) -> bytes:
    """A plain text chunk with a card in it."""
    return make_chunk(b"tEXt", name.encode() + b"\0" + encode_base64(raw))


def write_png(path: Path, *chunks: bytes, **options: Any) -> Path:
    """A picture on disk."""
    path.write_bytes(make_png(*chunks, **options))
    return path


@pytest.mark.parametrize(
    "piece",
    [
        make_card_chunk("chara", V2),
        make_chunk(b"zTXt", b"chara\0\0" + zlib.compress(encode_base64(V2))),
        make_chunk(b"iTXt", b"chara\0\0\0en\0\0" + encode_base64(V2)),
        make_chunk(b"iTXt", b"chara\0\1\0\0\0" + zlib.compress(encode_base64(V2))),
        make_chunk(b"tEXt", b"Chara\0" + encode_base64(V2)),
        make_chunk(b"iTXt", b"chara\0\0\0\0\0" + json.dumps(V2).encode()),
    ],
    ids=["tEXt", "zTXt", "iTXt", "packed iTXt", "capitals", "bare JSON"],
)
def test_a_card_is_found_in_every_kind_of_text(piece: bytes, tmp_path: Path) -> None:
    card = read_card(write_png(tmp_path / "c.png", piece))
    assert (card.version, is_same_json(card.raw, V2)) == (2, True)
    book = read_lorebook(tmp_path / "c.png")
    assert (book.format, is_same_json(book.book, V2)) == ("card", True)


def test_the_newer_card_is_meant_where_there_are_two(tmp_path: Path) -> None:
    assert (
        read_card(write_png(tmp_path / "c.png", make_card_chunk("chara", V2), make_card_chunk("ccv3", V3))).version == 3
    )
    assert read_card(write_png(tmp_path / "c.png", make_card_chunk("chara", V1))).version == 1


@given(extra=EXTRAS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
def test_an_untouched_card_goes_out_byte_for_byte(extra: dict[str, Any], tmp_path: Path) -> None:
    path = write_png(tmp_path / "c.png", make_chunk(b"tEXt", b"Software\0x"), make_card_chunk("chara", {**V2, **extra}))
    path.write_bytes(path.read_bytes() + b"something behind the end")
    write_card(read_card(path), tmp_path / "out.png", overwrite=True)
    assert (tmp_path / "out.png").read_bytes() == path.read_bytes()


def test_an_edit_changes_the_card_and_no_other_chunk(tmp_path: Path) -> None:
    other = make_chunk(b"tEXt", b"Software\0x")
    path = write_png(tmp_path / "c.png", make_card_chunk("chara", V2), other, make_card_chunk("ccv3", V3))
    write_card(edit_card(read_card(path), name="Tom"), tmp_path / "out.png")
    written = (tmp_path / "out.png").read_bytes()
    assert other in written
    again = read_card(tmp_path / "out.png")
    assert (again.version, again.name) == (3, "Tom")
    older = base64.b64decode(read_text_chunks(written, ("chara",), "out.png")["chara"])
    assert is_same_json(json.loads(older), {**V2, "name": "Tom", "data": {**V2["data"], "name": "Tom"}})
    assert written.count(b"chara\0") == written.count(b"ccv3\0") == 1
    pixels = make_png()
    start = pixels.index(b"IDAT") - 4
    assert pixels[start : pixels.index(b"IEND") - 4] in written


def test_a_picture_that_held_no_card_gets_one(tmp_path: Path) -> None:
    card = replace(read_card(write_png(tmp_path / "c.png", make_card_chunk("chara", V2))), image=make_png())
    write_card(card, tmp_path / "out.png")
    assert is_same_json(read_card(tmp_path / "out.png").raw, V2)


def test_a_novelai_book_in_a_picture_is_found(tmp_path: Path) -> None:
    book = {"lorebookVersion": 5, "entries": [{"text": "x", "keys": ["y"]}]}
    found = read_lorebook(write_png(tmp_path / "c.png", make_chunk(b"tEXt", b"naidata\0" + encode_base64(book))))
    assert (found.format, is_same_json(found.book, book)) == ("novelai", True)


@pytest.mark.parametrize(
    ("data", "code", "word"),
    [
        (lambda: make_png(), Code.IMPORT_UNREADABLE, "no card"),
        (lambda: make_png(make_chunk(b"zTXt", b"chara\0\0" + bomb())), Code.IMPORT_TOO_LARGE, "larger"),
        (lambda: make_png(make_chunk(b"iTXt", b"ccv3\0\1\0\0\0" + bomb())), Code.IMPORT_TOO_LARGE, "larger"),
        (lambda: make_png(make_chunk(b"tEXt", b"chara\0" + b"A" * 50_000_000)), Code.IMPORT_TOO_LARGE, "larger"),
        (lambda: make_png(make_chunk(b"tEXt", b"chara\0" + b"A" * 44_000_000)), Code.IMPORT_TOO_LARGE, "larger"),
        (lambda: make_png(*[make_chunk(b"tEXt", b"")] * 50_001), Code.IMPORT_TOO_LARGE, "chunks"),
        (
            lambda: make_png(make_chunk(b"tEXt", b"chara\0" + encode_base64(V2), crc=1)),
            Code.IMPORT_UNREADABLE,
            "checksum",
        ),
        (lambda: make_png(make_chunk(b"tEXt", b"chara\0", length=2**32 - 1)), Code.IMPORT_UNREADABLE, "cut off"),
        (lambda: make_png(make_card_chunk("chara", V2), end=False), Code.IMPORT_UNREADABLE, "cut off"),
        (lambda: make_png(make_card_chunk("chara", V2))[:60], Code.IMPORT_UNREADABLE, "cut off"),
        (lambda: b"\x89PNG\r\n\x1a\n", Code.IMPORT_UNREADABLE, "cut off"),
        (lambda: make_png(make_chunk(b"tEXt", b"chara\0not base64!")), Code.IMPORT_UNREADABLE, "damaged"),
        (lambda: make_png(make_chunk(b"zTXt", b"chara\0\0garbage")), Code.IMPORT_UNREADABLE, "damaged"),
        (
            lambda: make_png(make_chunk(b"zTXt", b"chara\0\0" + zlib.compress(b"x" * 99)[:-6])),
            Code.IMPORT_UNREADABLE,
            "cut off",
        ),
        (lambda: make_png(make_chunk(b"iTXt", b"chara\0\0\0\0\0\xff\xff")), Code.IMPORT_UNREADABLE, "UTF-8"),
        (lambda: make_png(make_card_chunk("chara", {"hello": 1})), Code.IMPORT_UNREADABLE, "not a character card"),
        (lambda: make_png(make_chunk(b"tEXt", b"chara\0{" + b'"a":{' * 9000)), Code.IMPORT_TOO_LARGE, "nested"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_malformed_picture_is_refused_early(data: Callable[[], bytes], code: Code, word: str, tmp_path: Path) -> None:
    (tmp_path / "c.png").write_bytes(data())
    for card in (True, False):
        found, sentence = read_refusal(tmp_path / "c.png", card=card)
        assert (found, word in sentence) == (code, True), sentence
