"""One door for every format: recognised by content, refused with advice, written whole or not at all."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts.files import (
    WRITERS,
    read_manuscript,
    write_manuscript,
)
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft
from tests.formats.manuscripts.books import CHINESE, ENGLISH, make_zip

STRUCTURED = [ending for ending in WRITERS if ending != ".txt"]  # plain text is for people, and marks no headings


@pytest.mark.parametrize("book", [ENGLISH, CHINESE])
@pytest.mark.parametrize("ending", STRUCTURED)
def test_every_format_is_known_by_its_content_whatever_its_name(
    book: ManuscriptDraft, ending: str, tmp_path: Path
) -> None:
    write_manuscript(book, tmp_path / f"book{ending}")
    path = (tmp_path / f"book{ending}").rename(tmp_path / "book.bin")
    assert read_manuscript(path).book == book


def test_the_ending_of_the_name_chooses_the_format(tmp_path: Path) -> None:
    for name in ("a.md", "a.epub", "a.docx"):
        write_manuscript(ENGLISH, tmp_path / name)
        assert read_manuscript(tmp_path / name).book == ENGLISH


def test_an_unpacked_epub_is_read_from_its_folder(tmp_path: Path) -> None:
    write_manuscript(ENGLISH, tmp_path / "a.epub")
    with zipfile.ZipFile(tmp_path / "a.epub") as archive:
        archive.extractall(tmp_path / "folder")
    assert read_manuscript(tmp_path / "folder").book == ENGLISH


def test_a_zip_of_texts_is_a_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(make_zip({"x/1.md": "# One\n\na", "x/2.txt": "b"}))
    book = read_manuscript(tmp_path / "a.zip").book
    assert [(draft.title, draft.text) for draft in book.drafts] == [("One", "a"), ("2", "b")]


def test_a_single_rtf_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.rtf").write_bytes(rb"{\rtf1\ansi Chapter 1\par It was {\i dark}.\par Chapter 2\par Light.}")
    assert [(d.title, d.text) for d in read_manuscript(tmp_path / "a.rtf").book.drafts] == [
        ("Chapter 1", "It was *dark*."),
        ("Chapter 2", "Light."),
    ]


def test_a_book_without_a_title_is_called_like_its_file(tmp_path: Path) -> None:
    (tmp_path / "The Lamp.txt").write_text("第一章 海\n　　海上有灯，没有人知道。\n")
    book = read_manuscript(tmp_path / "The Lamp.txt").book
    assert (book.title, book.language) == ("The Lamp", "zh")


@pytest.mark.parametrize("text", ["", " \n\n", "\ufeff"])
def test_an_empty_file_makes_no_empty_project(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(FabulaError) as refused:
        read_manuscript(tmp_path / "a.txt")
    assert refused.value.code is Code.IMPORT_UNREADABLE


def test_a_text_without_headings_is_one_document_with_the_title_of_the_file(tmp_path: Path) -> None:
    write_manuscript(ManuscriptDraft(drafts=(DocumentDraft(title="", text="She came."),)), tmp_path / "Lamp.docx")
    assert [draft.title for draft in read_manuscript(tmp_path / "Lamp.docx").book.drafts] == ["Lamp"]


@pytest.mark.parametrize(
    ("line", "title", "author"),
    [
        ("《西游记》吴承恩（明）", "西游记", "吴承恩"),
        ("《西游记》（明）吴承恩 著", "西游记", "吴承恩"),
        ("《红楼梦》[清]曹雪芹", "红楼梦", "曹雪芹"),
        ("《西游记》作者：吴承恩", "西游记", "吴承恩"),
        ("《基督山伯爵》〔法〕大仲马", "基督山伯爵", "大仲马"),
        ("《雾港来信》", "雾港来信", None),
    ],
)
def test_a_title_with_its_author_and_his_time_is_read(
    tmp_path: Path, line: str, title: str, author: str | None
) -> None:
    story = "\n\n第一回 灵根育孕源流出\n\n诗曰：混沌未分天地乱。\n\n第二回 悟彻菩提真妙理\n\n话表美猴王得了姓名。\n"
    (tmp_path / "a.txt").write_text(line + story, encoding="utf-8")
    book = read_manuscript(tmp_path / "a.txt").book
    assert (book.title, book.authors) == (title, (author,) if author else ())
    assert len(book.drafts) == 2


@pytest.mark.parametrize(
    ("name", "data", "word"),
    [
        ("a.pdf", b"%PDF-1.7 ...", "PDF"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Word"),
        ("a.epub", b"just words", "no such file"),
        ("a.txt", b"<!DOCTYPE html><html></html>", "web page"),
        ("a.mobi", b"\0" * 60 + b"BOOKMOBI", "Kindle"),
        ("a.zip", make_zip({"a.png": b"x"}), "no manuscript"),
        ("a.odt", make_zip({"mimetype": b"x", "content.xml": b"<x/>"}), "OpenDocument"),
        ("a.epub", make_zip({"a.md": b"x" * 500})[:60], "whole ZIP"),
        (
            "a.jpg",
            b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(range(256)),
            "it is a picture. Nothing was imported. Fabula reads",
        ),
        ("a.txt", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "only character cards (PNG)"),
        ("a.md", b"RIFF\x10\0\0\nWEBPVP8 " + bytes(range(256)), "it is a picture"),
        ("a.heic", b"\0\0\0\x18ftypheic" + bytes(range(256)), "it is a picture"),
        ("a.mp3", b"ID3\x04" + bytes(range(256)), "it is a recording"),
        ("a.mp4", b"\0\0\0\x18ftypisom" + bytes(range(256)), "it is a film"),
        ("a.md", b"\xfd\xfc\x81\x8d\xff" * 50, "Save it as UTF-8"),
        ("a.fabula", make_zip({"manifest.json": b"{}", "projects.jsonl": b"{}"}), "Load it as a save"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # bytes of a ZIP tell the time, and are no name
)
def test_what_cannot_be_read_is_refused_with_advice(name: str, data: bytes, word: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FabulaError) as raised:
        read_manuscript(tmp_path / name)
    assert raised.value.code is Code.IMPORT_UNREADABLE
    assert word in raised.value.sentence


@pytest.mark.parametrize("start", ["BMW", "RIFF raff", "ID3 is a tag", "GIF", "II", "MM"])
def test_a_text_that_begins_like_a_picture_or_a_recording_is_read(start: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{start}, he said, and left the room.", "utf-8")
    assert start in read_manuscript(tmp_path / "a.txt").book.drafts[0].text


def test_a_missing_file_and_a_project_of_ours_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FabulaError, match="There is no file"):
        read_manuscript(tmp_path / "none.md")
    (tmp_path / "project.toml").write_text("")
    with pytest.raises(FabulaError, match="already"):
        read_manuscript(tmp_path)


def test_a_name_that_leaves_the_archive_is_refused_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "a.epub").write_bytes(make_zip({"META-INF/container.xml": b"<c/>", "../x": b"y"}))
    with pytest.raises(FabulaError) as raised:
        read_manuscript(tmp_path / "a.epub")
    assert raised.value.code is Code.IMPORT_UNSAFE


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("mine")
    with pytest.raises(FabulaError) as raised:
        write_manuscript(ENGLISH, path)
    assert raised.value.code is Code.EXPORT_REFUSED
    assert path.read_text() == "mine"
    write_manuscript(ENGLISH, path, overwrite=True)
    assert read_manuscript(path).book == ENGLISH


@pytest.mark.parametrize("name", ["a.pdf", "none", "missing/a.md"])
def test_a_refused_export_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    with pytest.raises(FabulaError) as raised:
        write_manuscript(ENGLISH, tmp_path / name)
    assert raised.value.code is Code.EXPORT_REFUSED
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_fails_half_way_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.md"
    path.write_text("mine")

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FabulaError, match="the disk is full"):
        write_manuscript(ENGLISH, path, overwrite=True)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_no_target(tmp_path: Path) -> None:
    (tmp_path / "a.epub").mkdir()
    with pytest.raises(FabulaError, match="folder"):
        write_manuscript(ENGLISH, tmp_path / "a.epub")


@pytest.mark.parametrize("ending", [".md", ".epub", ".docx"])
def test_a_long_novel_is_read_in_a_moment(ending: str, tmp_path: Path) -> None:
    paragraph = "The lamp was lit, and *nobody* on the strand could say who had climbed the stair that night. " * 5
    text = "\n\n".join([paragraph.strip()] * 16)
    book = ManuscriptDraft(
        title="Long", drafts=tuple(DocumentDraft(title=f"Chapter {n}", text=text) for n in range(1, 101))
    )
    path = tmp_path / f"long{ending}"
    write_manuscript(book, path)
    start = time.perf_counter()
    assert read_manuscript(path).book == book
    assert time.perf_counter() - start < 10  # about half a second; machines of the check are slow and shared


def test_notes_come_in_but_do_not_go_out(tmp_path: Path) -> None:
    book = ManuscriptDraft(
        title="T",
        drafts=(DocumentDraft(title="One", text="a"), DocumentDraft(title="N", kind=DocumentKind.NOTE, text="b")),
    )
    for ending in STRUCTURED:
        path = tmp_path / f"a{ending}"
        write_manuscript(book, path)
        assert [draft.title for draft in read_manuscript(path).book.drafts] == ["One"]
