"""Archives and XML from strangers: nothing leaves its folder, nothing grows without bound."""

from __future__ import annotations

import stat
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from fabula.core.archives import ArchiveErrorCodes, ArchiveLimits, open_zip
from fabula.core.errors import Code, FabulaError
from tests.formats.manuscripts.books import make_zip


def refusal(data: bytes, limits: ArchiveLimits | None = None) -> FabulaError:
    def read_all() -> None:
        with open_zip(data, limits) as archive:
            for name in archive.names:
                archive.read(name)

    with pytest.raises(FabulaError) as raised:
        read_all()
    return raised.value


def test_an_ordinary_archive_gives_its_names_and_bytes() -> None:
    with open_zip(make_zip({"a/b.txt": b"one", "c.txt": b"two"})) as archive:
        assert archive.names == ("a/b.txt", "c.txt")
        assert archive.read("c.txt") == b"two"


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "C:/x", "..\\x"])
def test_a_name_outside_the_archive_is_refused(name: str) -> None:
    error = refusal(make_zip({name: b"x"}))
    assert error.code is Code.IMPORT_UNSAFE
    assert "outside itself" in error.sentence


def test_a_link_is_refused() -> None:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    assert refusal(out.getvalue()).code is Code.IMPORT_UNSAFE


def test_an_encrypted_entry_is_refused_with_advice() -> None:
    data = bytearray(make_zip({"a": b"x"}))
    data[6] |= 1
    at = data.rfind(b"PK\1\2")
    data[at + 8] |= 1
    error = refusal(bytes(data))
    assert error.code is Code.IMPORT_UNREADABLE
    assert "password" in error.sentence


def test_a_bomb_is_refused_by_its_declared_size() -> None:
    bomb = make_zip({"a": b"\0" * 3_000_000})
    assert refusal(bomb, ArchiveLimits(max_total_bytes=1_000_000)).code is Code.IMPORT_TOO_LARGE


def test_a_bomb_that_lies_about_its_size_is_refused_while_reading() -> None:
    data = bytearray(make_zip({"a": b"\0" * 3_000_000}))
    at = data.rfind(b"PK\1\2")
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    error = refusal(bytes(data), ArchiveLimits(max_entry_bytes=1_000_000))
    assert error.code in (Code.IMPORT_TOO_LARGE, Code.IMPORT_UNREADABLE)


def test_the_total_is_counted_over_all_reads() -> None:
    data = make_zip({str(number): b"x" * 1_000 for number in range(10)})
    with open_zip(data, ArchiveLimits(max_entry_bytes=1_000, max_total_bytes=10_000)) as archive:
        for name in archive.names:
            archive.read(name)
        with pytest.raises(FabulaError) as raised:
            archive.read("0")
    assert raised.value.code is Code.IMPORT_TOO_LARGE


def test_too_many_entries_are_refused() -> None:
    data = make_zip({str(number): b"" for number in range(50)})
    assert refusal(data, ArchiveLimits(max_entries=40)).code is Code.IMPORT_TOO_LARGE


def test_a_huge_directory_is_refused_before_it_is_parsed() -> None:
    data = bytearray(make_zip({"a": b"x"}))
    at = data.rfind(b"PK\5\6")
    data[at + 12 : at + 16] = (30_000_000).to_bytes(4, "little")
    assert refusal(bytes(data) + b"", ArchiveLimits(max_entries=0)).code is Code.IMPORT_TOO_LARGE


@pytest.mark.parametrize("cut", [4, 40, 120])
def test_a_truncated_archive_is_refused(cut: int) -> None:
    data = make_zip({"a.txt": b"some words " * 50, "b.txt": b"more"})
    assert refusal(data[:-cut]).code is Code.IMPORT_UNREADABLE


def test_damaged_contents_are_refused_when_read() -> None:
    data = bytearray(make_zip({"a.txt": b"some words that pack " * 50}))
    data[40:60] = b"\xff" * 20
    assert refusal(bytes(data)).code is Code.IMPORT_UNREADABLE


def test_whoever_opens_an_archive_chooses_the_codes() -> None:
    codes = ArchiveErrorCodes(unreadable=Code.PROJECT_INVALID)
    with pytest.raises(FabulaError) as raised:
        open_zip(b"not a zip", codes=codes)
    assert raised.value.code is Code.PROJECT_INVALID


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FabulaError) as raised:
        open_zip(tmp_path / "none.zip")
    assert raised.value.code is Code.FILE_NOT_FOUND


def test_names_of_an_old_chinese_archive_are_read() -> None:
    data = make_zip({"XXXX.txt": b"x"}).replace(b"XXXX", "第一".encode("gb18030"))
    with open_zip(data) as archive:
        assert archive.names == ("第一.txt",)


def test_what_a_system_leaves_behind_is_not_listed() -> None:
    with open_zip(make_zip({"__MACOSX/a": b"", "b/.DS_Store": b"", "c": b""})) as archive:
        assert archive.names == ("c",)
