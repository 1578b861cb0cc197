"""Markdown and plain text: headings become the tree, prose stays as it was typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from fabula.formats.manuscripts.markdown import read_text_file, read_text_folder, write_markdown
from fabula.formats.manuscripts.prose import parse_blocks, render_markdown
from fabula.formats.safe.files import open_folder
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft
from tests.formats.manuscripts.books import CHINESE, ENGLISH, books, list_tree


def read(text: str, *, scenes: bool = False) -> ManuscriptDraft:
    return read_text_file(text.encode(), "book.md", scenes=scenes).book


@pytest.mark.parametrize(
    "book",
    [ENGLISH, CHINESE, ManuscriptDraft(title="Nothing"), ManuscriptDraft(title="X", drafts=(DocumentDraft(title=""),))],
)
def test_a_book_comes_back_as_it_was(book: ManuscriptDraft) -> None:
    assert read_text_file(write_markdown(book), "x").book == book


@settings(max_examples=150, deadline=None)
@given(books())
def test_any_sane_book_comes_back_as_it_was(book: ManuscriptDraft) -> None:
    assert read_text_file(write_markdown(book), "x").book == book


def test_notes_are_not_written() -> None:
    book = ManuscriptDraft(
        title="T",
        drafts=(DocumentDraft(title="a", text="x"), DocumentDraft(title="secret", kind=DocumentKind.NOTE, text="y")),
    )
    assert b"secret" not in write_markdown(book)


def test_a_single_hash_above_others_is_the_title() -> None:
    book = read("# My Book\n\n## One\n\na\n\n## Two\n\nb\n")
    assert book.title == "My Book"
    assert list_tree(book) == [(0, "chapter", "One"), (0, "chapter", "Two")]


def test_several_hashes_with_deeper_headings_are_parts() -> None:
    book = read("# First\n\n## One\n\na\n\n# Second\n\n## Two\n\n### Scene\n\nb\n")
    assert book.title == ""
    assert [kind for _, kind, _ in list_tree(book)] == ["part", "chapter", "part", "chapter", "scene"]


def test_headings_that_say_chapter_are_chapters_whatever_their_level() -> None:
    book = read("# Chapter 1\n\n## At dawn\n\na\n\n# Chapter 2\n\nb\n")
    assert [kind for _, kind, _ in list_tree(book)] == ["chapter", "scene", "chapter"]


def test_a_lone_heading_with_text_is_a_chapter() -> None:
    assert list_tree(read("# Only\n\ntext")) == [(0, "chapter", "Only")]


def test_text_before_the_first_heading_is_kept_without_a_name() -> None:
    book = read("# Book\n\nFor my mother.\n\n## One\n\na\n")
    assert book.drafts[0] == DocumentDraft(title="", text="For my mother.")


def test_scene_breaks_stay_unless_scenes_are_wanted() -> None:
    text = "# B\n\n## One\n\na\n\n***\n\nb\n\n#\n\nc\n\n## Two\n\nd\n"
    assert read(text).drafts[0].text == "a\n\n***\n\nb\n\n#\n\nc"
    cut = read(text, scenes=True)
    assert [child.text for child in cut.drafts[0].children] == ["a", "b", "c"]
    assert {child.kind for child in cut.drafts[0].children} == {DocumentKind.SCENE}
    assert [draft.kind for draft in cut.drafts] == [DocumentKind.CHAPTER, DocumentKind.CHAPTER]


def test_underlined_titles_and_closing_hashes_are_headings() -> None:
    assert list_tree(read("One\n===\n\na\n\nTwo\n=====\n\nb")) == [(0, "chapter", "One"), (0, "chapter", "Two")]
    assert read("## One ##\n\na").drafts[0].title == "One"


def test_hashes_in_a_fenced_text_are_not_headings() -> None:
    assert len(read("# A\n\n```\n# no\n```\n\n# B\n").drafts) == 2


def test_the_head_of_a_file_tells_title_author_and_language() -> None:
    book = read("---\ntitle: 'It''s'\nauthor:\n  - A. B.\n  - C\nlang: de # German\n---\n\n## Eins\n\nx\n")
    assert (book.title, book.authors, book.language) == ("It's", ("A. B.", "C"), "de")


def test_a_heading_typed_inside_a_text_does_not_become_a_chapter() -> None:
    book = ManuscriptDraft(title="T", drafts=(DocumentDraft(title="One", text="a\n\n### Letter\n\nb"),))
    assert read_text_file(write_markdown(book), "x").book.drafts[0].text == "a\n\n**Letter**\n\nb"


def test_a_folder_is_read_in_the_order_of_its_names_and_folders_are_parts(tmp_path: Path) -> None:
    for name, text in {
        "1 Oil/2-smoke.md": "# Smoke\n\nb",
        "1 Oil/1-the_wick.txt": "a",
        "1 Oil/10-ash.md": "## Ash\n\n### At dawn\n\nc",
        "2 Salt/1.md": "no heading",
        ".hidden.md": "x",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    book = read_text_folder(open_folder(tmp_path)).book
    assert list_tree(book) == [
        (0, "part", "Oil"),
        (1, "chapter", "the wick"),
        (1, "chapter", "Smoke"),
        (1, "chapter", "Ash"),
        (2, "scene", "At dawn"),
        (0, "part", "Salt"),
        (1, "chapter", "1"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# " + " \t" * 300_000 + "x",
        "---\na" + " " * 500_000 + "b\n---\n",
        "* " * 300_000,
        ">" * 300_000,
        "第" * 300_000,
        "\n ".join("#" * 6 for _ in range(15_000)),
        "*a" * 20_000,
    ],
    ids=["blanks", "head", "stars", "quotes", "marks", "headings", "stress"],
)
def test_hostile_lines_take_no_time(text: str) -> None:
    assert write_markdown(read_text_file(text.encode(), "x").book)
    assert render_markdown(parse_blocks(text)) is not None
