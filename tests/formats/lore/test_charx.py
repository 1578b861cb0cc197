"""CHARX: a card with its assets, given back whole."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from fabula.core.errors import Code
from fabula.formats.lore.files import read_card, read_lorebook, write_card
from tests.formats.lore.samples import EXTRAS, V3, is_same_json, read_refusal


def write_zip(path: Path, files: dict[str, bytes]) -> Path:
    """An archive on disk."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    path.write_bytes(buffer.getvalue())
    return path


@given(extra=EXTRAS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
def test_card_and_assets_come_back(extra: dict[str, Any], tmp_path: Path) -> None:
    assets = {"assets/icon/images/main.png": b"\x89PNG", "module.risum": b"\0\1", "x_meta/1.json": b"{}"}
    path = write_zip(tmp_path / "c.charx", {"card.json": json.dumps({**V3, **extra}).encode(), **assets})
    card = read_card(path)
    assert dict(card.assets) == assets
    write_card(card, tmp_path / "out.charx", overwrite=True)
    again = read_card(tmp_path / "out.charx")
    assert is_same_json(again.raw, {**V3, **extra})
    assert again.assets == card.assets


def test_the_same_card_is_the_same_file(tmp_path: Path) -> None:
    card = read_card(write_zip(tmp_path / "c.charx", {"card.json": json.dumps(V3).encode()}))
    for name in ("a.charx", "b.charx"):
        write_card(card, tmp_path / name)
    assert (tmp_path / "a.charx").read_bytes() == (tmp_path / "b.charx").read_bytes()


def test_its_book_is_read_without_its_assets(tmp_path: Path) -> None:
    book = read_lorebook(write_zip(tmp_path / "c.charx", {"card.json": json.dumps(V3).encode(), "a": b"x"}))
    assert (book.format, is_same_json(book.book, V3)) == ("card", True)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"other.json": b"{}"}, Code.IMPORT_UNREADABLE),
        ({"card.json": b"[]"}, Code.IMPORT_UNREADABLE),
        ({"card.json": b"[" * 10_000}, Code.IMPORT_TOO_LARGE),
        ({"card.json": b" " * 70_000_000}, Code.IMPORT_TOO_LARGE),
        ({"card.json": b"{}", "../evil": b""}, Code.IMPORT_UNSAFE),
    ],
)
def test_a_hostile_archive_is_refused(files: dict[str, bytes], code: Code, tmp_path: Path) -> None:
    assert read_refusal(write_zip(tmp_path / "c.charx", files), card=True)[0] is code


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.charx").write_bytes(b"PK\3\4" + b"x" * 200)
    assert read_refusal(tmp_path / "c.charx", card=True)[0] is Code.IMPORT_UNREADABLE
