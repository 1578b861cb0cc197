"""Small books and cards as files, and the round trip that every format is held to."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from fabula.core.errors import Code, FabulaError
from fabula.formats.lore.files import read_card, read_lorebook, write_lorebook

WORLD: dict[str, Any] = {
    "entries": {"0": {"uid": 0, "key": ["Mara"], "content": "Mara keeps the light.", "order": 100}}
}
ENTRY: dict[str, Any] = {
    "keys": ["Mara", "light"],
    "secondary_keys": ["storm"],
    "content": "Mara keeps the light.",
    "enabled": True,
    "insertion_order": 40,
    "extensions": {"position": 4, "depth": 3, "role": 1, "probability": 50, "useProbability": True},
}
V2: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "name": "Mara",
    "data": {
        "name": "Mara",
        "description": "A keeper.",
        "first_mes": "Hello.",
        "extensions": {"depth_prompt": {"depth": 4}},
        "character_book": {"entries": [ENTRY], "extensions": {}},
    },
}
V3 = {**V2, "spec": "chara_card_v3", "spec_version": "3.0"}
V1 = {name: name for name in ("name", "description", "personality", "scenario", "first_mes", "mes_example")}

_SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    _SCALARS | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
EXTRAS = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).map(lambda name: f"x{name}"), VALUES, max_size=3
)


def write_json(path: Path, raw: object) -> Path:
    """A JSON file."""
    path.write_bytes(json.dumps(raw).encode())
    return path


def is_same_json(one: object, other: object) -> bool:
    """Are two JSON values the same to the byte: 1 is not 1.0, and the order of fields counts?"""
    return json.dumps(one) == json.dumps(other)


def round_trip(raw: object, folder: Path) -> Any:
    """What an imported book is exported as."""
    book = read_lorebook(write_json(folder / "in.json", raw))
    write_lorebook(book, folder / "out.json", overwrite=True)
    return json.loads((folder / "out.json").read_bytes())


def read_refusal(path: Path, *, card: bool = False) -> tuple[Code, str]:
    """The code and the sentence with which a file is refused."""
    with pytest.raises(FabulaError) as refusal:
        read_card(path) if card else read_lorebook(path)
    return refusal.value.code, refusal.value.sentence


def make_chunk(kind: bytes, data: bytes, *, crc: int | None = None, length: int | None = None) -> bytes:
    """One chunk of a PNG, its length and checksum correct or not."""
    check = zlib.crc32(kind + data) if crc is None else crc
    return struct.pack(">I", len(data) if length is None else length) + kind + data + struct.pack(">I", check)


def make_png(*chunks: bytes, end: bool = True) -> bytes:
    """A PNG of one pixel with further chunks."""
    head = make_chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixel = make_chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + pixel + (make_chunk(b"IEND", b"") if end else b"")


def encode_base64(raw: object) -> bytes:
    """JSON as cards embed it."""
    return base64.b64encode(json.dumps(raw).encode())
