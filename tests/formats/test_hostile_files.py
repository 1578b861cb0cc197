"""Hostile files: special files, bombs and endless lists are refused by code, and a long import can be ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.hostile import CASES, read_hostile

from fabula.core.errors import Code, FabulaError
from fabula.core.regular_files import open_regular_file
from fabula.formats import bounded_import
from fabula.formats.bounded_import import read_bounded
from fabula.formats.lore.files import read_lorebook
from fabula.formats.manuscripts import docx, heading_tree, model, plain_text, prose
from fabula.formats.manuscripts.files import read_manuscript
from fabula.formats.manuscripts.prose import TextRun, make_block, render_markdown
from fabula.formats.safe import xml_reader

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


def test_a_process_that_was_asked_for_nothing_says_nothing() -> None:
    """Ctrl-C may come between the start of the process and the name of the file."""
    command = [sys.executable, "-m", "fabula.formats.bounded_import"]
    done = subprocess.run(command, input=b"", capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_alternating_italics_are_not_parsed_beyond_the_limit_of_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    block = make_block(TextRun("a", italic=bool(n % 2)) for n in range(20_000))
    assert block is not None
    monkeypatch.setattr(prose, "_nest_marks", None)
    assert render_markdown([block]) == "a" * 20_000


_READ_AND_MEASURE = """
import sys
from pathlib import Path
from benchmarks.hostile import print_reading
print_reading(Path(sys.argv[1]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory cannot be measured there")
def test_a_text_of_nothing_but_line_ends_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_bytes(b"\r" * 4_500_000)
    command = [sys.executable, "-c", _READ_AND_MEASURE, str(path)]
    code, _, megabytes = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert code == Code.IMPORT_UNREADABLE
    assert megabytes < 400


@pytest.mark.parametrize("part", ["第一章\n字\n", "跋\n", "book one\n", "# a\n\nb\n\n", "Part One\n\nx\n\n"])
def test_a_book_of_too_many_chapters_is_refused_before_they_are_made(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "MAX_SECTIONS", 50)
    monkeypatch.setattr(heading_tree, "guess_kinds", None)
    path = tmp_path / "book.txt"
    path.write_text(part * 500)
    with pytest.raises(FabulaError, match=r"book\.txt: it has more than .* chapters") as caught:
        read_manuscript(path)
    assert caught.value.code is Code.IMPORT_TOO_LARGE


def test_a_line_that_is_no_number_is_not_looked_at_with_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_text, "_is_blank", None)
    assert plain_text.find_headings("II\n\n" * 1_000) == []


@pytest.mark.parametrize("name", ["epub line breaks", "epub closing tags", "docx tabs"])
def test_more_tags_than_any_manuscript_has_are_refused_in_all_pages_together(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xml_reader, "_MAX_TAGS", 5_000)
    ending, make = CASES[name]
    path = tmp_path / f"book{ending}"
    path.write_bytes(make(1))
    assert read_hostile(path) == Code.IMPORT_TOO_LARGE


def test_more_headings_or_styles_than_any_manuscript_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "MAX_SECTIONS", 50)
    monkeypatch.setattr(heading_tree, "render_markdown", None)
    monkeypatch.setattr(docx, "_MAX_STYLES", 50)
    for name in ("epub headings", "docx styles"):
        ending, make = CASES[name]
        path = tmp_path / f"book{ending}"
        path.write_bytes(make(1))
        assert read_hostile(path) == Code.IMPORT_TOO_LARGE
