"""Hostile files: special files, bombs and endless lists are refused by code, and a long import can be ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.hostile import CASES, read_hostile

from fabula.core.errors import Code, FabulaError
from fabula.core.regular_files import open_regular_file
from fabula.formats import bounded_import
from fabula.formats.bounded_import import read_bounded
from fabula.formats.lore.files import read_lorebook
from fabula.formats.manuscripts import prose
from fabula.formats.manuscripts.files import read_manuscript
from fabula.formats.manuscripts.prose import TextRun, make_block, render_markdown

REFUSED = {
    "docx entities": Code.IMPORT_UNSAFE,
    "docx depth": Code.IMPORT_TOO_LARGE,
    "docx empty paragraphs": Code.IMPORT_UNREADABLE,
    "json depth": Code.IMPORT_TOO_LARGE,
    "json number": Code.IMPORT_UNREADABLE,
    "png chunks": Code.IMPORT_UNREADABLE,
}


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_file_is_read_or_refused_by_code(name: str, tmp_path: Path) -> None:
    ending, make = CASES[name]
    path = tmp_path / f"book{ending}"
    path.write_bytes(make(1))
    code = read_hostile(path)
    assert not code or code.startswith(("IMPORT_", "LOREBOOK_"))
    if name in REFUSED:
        assert code == REFUSED[name]


@pytest.mark.parametrize("read", [read_manuscript, read_lorebook])
def test_a_pipe_given_as_a_file_is_refused_and_not_waited_for(read: object, tmp_path: Path) -> None:
    assert callable(read)
    pipe = tmp_path / "book.md"
    os.mkfifo(pipe)
    with pytest.raises(FabulaError) as caught:
        read_bounded(read, pipe)
    assert caught.value.code is Code.IMPORT_UNREADABLE
    with pytest.raises(OSError, match="pipe"):
        open_regular_file(pipe)
    with pytest.raises(OSError, match="folder"):
        open_regular_file(tmp_path)


def read_for_ever(path: Path) -> str:
    while True:
        pass


def read_much(path: Path) -> str:
    return "x" * 2_000_000_000


def name_file(path: Path) -> str:
    return path.name


def test_a_large_file_is_read_in_a_process_that_is_killed_when_it_takes_too_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "book.txt"
    path.write_bytes(b"x" * 100)
    monkeypatch.setattr(bounded_import, "SMALL_BYTES", 10)
    assert read_bounded(name_file, path) == "book.txt"
    for read in (read_for_ever, read_much):
        monkeypatch.setattr(bounded_import, "MAX_SECONDS", 2 if read is read_for_ever else 30)
        with pytest.raises(FabulaError) as caught:
            read_bounded(read, path)
        assert caught.value.code is Code.IMPORT_TOO_LARGE


def test_errors_of_the_reader_come_back_from_its_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "book.md"
    path.write_bytes(b"%PDF-1.7")
    monkeypatch.setattr(bounded_import, "SMALL_BYTES", 1)
    with pytest.raises(FabulaError, match="PDF"):
        read_bounded(read_manuscript, path)


def test_alternating_italics_are_not_parsed_beyond_the_limit_of_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    block = make_block(TextRun("a", italic=bool(n % 2)) for n in range(20_000))
    assert block is not None
    monkeypatch.setattr(prose, "_nest_marks", None)
    assert render_markdown([block]) == "a" * 20_000
