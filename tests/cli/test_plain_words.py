"""What commands say names things as a writer does: no ids, no raw offsets, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_codex import Room, room

__all__ = ["room"]

FRONT = "Some words stand before all chapters.\n\n# Chapter 1\n\nAhab stood here.\n\n# Chapter 2\n\nThey sailed.\n"


@pytest.fixture
def book(room: Room) -> Room:
    """A store with a book whose first text has no title."""
    (room.folder / "front.md").write_text(FRONT, "utf-8")
    room.run("import", "front.md", "--title", "Front")
    return room


def test_text_before_the_first_chapter_is_called_by_its_first_words(book: Room) -> None:
    listed = book.run("chapter", "list", "Front")
    assert "Some words stand before all chapters." in listed
    (ident, *_) = [one["id"] for one in book.read("chapter", "list", "Front")]
    assert ident not in listed
    said = book.run("chapter", "rename", "Front", "Some words", "Etymology")
    assert said == "Some words stand before all chapters. is now Etymology.\n"
    assert ident not in book.run("undo", "Front", "--list")


def test_a_book_is_not_taken_for_a_series(book: Room) -> None:
    assert "Front is a book, not a series" in book.run("series", "books", "Front", code=2)
    assert "Front is a book, not a series" in book.run("series", "join", "Coast", "Front", code=2)


def test_an_unknown_answer_is_refused_with_what_can_be_named(book: Room) -> None:
    said = book.run("accept", "Front", "lastt", code=2)
    assert "`last`" in said
    assert "fabula runs" in said


def test_a_place_inside_a_chapter_is_no_raw_offset(book: Room) -> None:
    book.run("codex", "add", "Front", "Ahab", "--type", "character")
    said = book.run("codex", "progress", "Front", "Ahab", "He is mad.", "--since", "Chapter 1@5")
    assert "from Chapter 1, 5 characters in: He is mad." in said


def test_a_plain_text_file_has_no_marks_of_markdown(book: Room, tmp_path: Path) -> None:
    book.run("export", "Front", "out.txt")
    written = (book.folder / "out.txt").read_text("utf-8")
    assert written.startswith("Front\n\nSome words stand before all chapters.\n\nChapter 1\n\nAhab stood here.")
    assert "#" not in written
    assert "---" not in written


def test_a_second_project_of_the_same_title_is_remarked_upon(book: Room) -> None:
    book.run("import", "front.md", "--title", "Front")
    assert "Another project is called Front too. This one is number 3." in book.aside
    assert "--update" in book.aside


def test_the_reader_and_a_character_cannot_look_at_once(book: Room) -> None:
    said = book.run("assemble", "Coast", "--eyes", "reader", "--character", "Mara Venn", code=2)
    assert "REQUEST_INVALID" in said


def test_what_nobody_tells_the_reader_is_not_said_to_be_revealed(book: Room) -> None:
    book.run("codex", "add", "Front", "Ahab", "--type", "character", "--level", "always")
    book.run("codex", "add", "Front", "Starbuck", "--type", "character")
    secret = ("He sleeps badly.", "--since", "Chapter 2@5", "--known-to", "Ahab", "--known-to", "Starbuck")
    book.run("codex", "progress", "Front", "Ahab", *secret)
    said = book.run("why", "Ahab #1", "Front", "-d", "2", "--cursor", "0", "--eyes", "reader")
    assert "the reader does not know this" in said
    assert "revealed" not in said


def test_a_command_that_only_groups_have_is_answered_with_their_names(
    book: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Say of what: fabula chapter rename" in (said := book.run("rename", "Front", "Ahab", "Bill", code=2))
    assert "fabula codex rename" in said
    assert "Did you mean 'import'" in book.run("improt", "x", code=2)
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    assert "请写明对象：fabula chapter rename" in book.run("rename", code=2)


def test_a_rule_among_names_stands_in_quotation_marks(book: Room) -> None:
    book.run("constraint", "add", "Front", "Ahab is never named.")
    book.run("codex", "add", "Front", "Captain Ahab", "--type", "character")
    assert "There are: “Ahab is never named.”. Nothing" in book.run("constraint", "remove", "Front", "9", code=2)


def test_chinese_lines_have_chinese_colons(book: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    book.run("codex", "add", "Front", "Ahab", "--type", "character", "--description", "A captain.")
    book.run("codex", "edit", "Front", "Ahab", "--description", "A mad captain.")
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    assert "  Ahab：A mad captain" in book.run("undo", "Front")
