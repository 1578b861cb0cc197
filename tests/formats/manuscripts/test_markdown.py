"""Markdown and plain text: headings become the tree, prose stays as it was typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts.headings import Word, find_headings, word_of
from fabula.formats.manuscripts.markdown import read_text, read_texts, write_markdown
from fabula.formats.manuscripts.plain_text import tidy
from fabula.formats.manuscripts.prose import Block, Span, block, blocks_of, markdown_of
from fabula.formats.safe.encodings import decode
from fabula.formats.safe.folder import open_folder
from fabula.manuscript.drafts import Book, Draft, Kind
from tests.formats.manuscripts.books import CHINESE, ENGLISH, books


def read(text: str, *, scenes: bool = False) -> Book:
    return read_text(text.encode(), "book.md", scenes=scenes).book


def tree(book: Book) -> list[tuple[int, str, str]]:
    found: list[tuple[int, str, str]] = []

    def walk(drafts: tuple[Draft, ...], depth: int) -> None:
        for draft in drafts:
            found.append((depth, draft.kind.value, draft.title))
            walk(draft.children, depth + 1)

    walk(book.drafts, 0)
    return found


@pytest.mark.parametrize("book", [ENGLISH, CHINESE, Book(title="Nothing"), Book(title="X", drafts=(Draft(title=""),))])
def test_a_book_comes_back_as_it_was(book: Book) -> None:
    assert read_text(write_markdown(book), "x").book == book


@settings(max_examples=150, deadline=None)
@given(books())
def test_any_sane_book_comes_back_as_it_was(book: Book) -> None:
    assert read_text(write_markdown(book), "x").book == book


def test_notes_are_not_written() -> None:
    book = Book(title="T", drafts=(Draft(title="a", text="x"), Draft(title="secret", kind=Kind.NOTE, text="y")))
    assert b"secret" not in write_markdown(book)


def test_a_single_hash_above_others_is_the_title() -> None:
    book = read("# My Book\n\n## One\n\na\n\n## Two\n\nb\n")
    assert book.title == "My Book"
    assert tree(book) == [(0, "chapter", "One"), (0, "chapter", "Two")]


def test_several_hashes_with_deeper_headings_are_parts() -> None:
    book = read("# First\n\n## One\n\na\n\n# Second\n\n## Two\n\n### Scene\n\nb\n")
    assert book.title == ""
    assert [kind for _, kind, _ in tree(book)] == ["part", "chapter", "part", "chapter", "scene"]


def test_headings_that_say_chapter_are_chapters_whatever_their_level() -> None:
    book = read("# Chapter 1\n\n## At dawn\n\na\n\n# Chapter 2\n\nb\n")
    assert [kind for _, kind, _ in tree(book)] == ["chapter", "scene", "chapter"]


def test_a_lone_heading_with_text_is_a_chapter() -> None:
    assert tree(read("# Only\n\ntext")) == [(0, "chapter", "Only")]


def test_text_before_the_first_heading_is_kept_without_a_name() -> None:
    book = read("# Book\n\nFor my mother.\n\n## One\n\na\n")
    assert book.drafts[0] == Draft(title="", text="For my mother.")


def test_scene_breaks_stay_unless_scenes_are_wanted() -> None:
    text = "# B\n\n## One\n\na\n\n***\n\nb\n\n#\n\nc\n\n## Two\n\nd\n"
    assert read(text).drafts[0].text == "a\n\n***\n\nb\n\n#\n\nc"
    cut = read(text, scenes=True)
    assert [child.text for child in cut.drafts[0].children] == ["a", "b", "c"]
    assert {child.kind for child in cut.drafts[0].children} == {Kind.SCENE}
    assert [draft.kind for draft in cut.drafts] == [Kind.CHAPTER, Kind.CHAPTER]


def test_underlined_titles_and_closing_hashes_are_headings() -> None:
    assert tree(read("One\n===\n\na\n\nTwo\n=====\n\nb")) == [(0, "chapter", "One"), (0, "chapter", "Two")]
    assert read("## One ##\n\na").drafts[0].title == "One"


def test_hashes_in_a_fenced_text_are_not_headings() -> None:
    assert len(read("# A\n\n```\n# no\n```\n\n# B\n").drafts) == 2


def test_the_head_of_a_file_tells_title_author_and_language() -> None:
    book = read("---\ntitle: 'It''s'\nauthor:\n  - A. B.\n  - C\nlang: de # German\n---\n\n## Eins\n\nx\n")
    assert (book.title, book.authors, book.language) == ("It's", ("A. B.", "C"), "de")


def test_a_heading_typed_inside_a_text_does_not_become_a_chapter() -> None:
    book = Book(title="T", drafts=(Draft(title="One", text="a\n\n### Letter\n\nb"),))
    assert read_text(write_markdown(book), "x").book.drafts[0].text == "a\n\n**Letter**\n\nb"


PLAIN = """The Lamp

by Ada Quill

CHAPTER I
CHAPTER II

BOOK FIRST

CHAPTER I.
The Wick

Chapter 12 was the one he hated.

Part of it was true.

CHAPTER II.

THE SMOKE

It rose.

BOOK SECOND

Prologue

Again.

Chapter Twenty-One: Ash

End.
"""


def test_plain_text_is_cut_at_lines_that_look_like_headings() -> None:
    book = read(PLAIN)
    assert (book.title, book.authors) == ("The Lamp", ("Ada Quill",))
    assert tree(book) == [
        (0, "part", "BOOK FIRST"),
        (1, "chapter", "CHAPTER I. The Wick"),
        (1, "chapter", "CHAPTER II. THE SMOKE"),
        (0, "part", "BOOK SECOND"),
        (1, "chapter", "Prologue"),
        (1, "chapter", "Chapter Twenty-One: Ash"),
    ]
    assert "Chapter 12 was the one he hated." in book.drafts[0].children[0].text


CHINESE_PLAIN = """《雾港》
作者：林墨

卷一 风起
楔子
　　很久以前，海上有灯。
第一章 没有邮票的信
　　他说：第二回合的时候，我们输了。
　　第一部分是这样的。
第十二章　鸽子
　　她没有回答。
卷二 潮落
第一百零三回甄士隐梦幻识通灵　贾雨村风尘怀闺秀
　　此开卷第一回也。
尾声
　　灯灭了。
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16", "utf-16-le", "utf-16-be"])
def test_chinese_text_in_any_encoding_keeps_its_lines_and_indents(encoding: str) -> None:
    book = read_text(CHINESE_PLAIN.encode(encoding), "x.txt").book
    assert (book.title, book.authors) == ("雾港", ("林墨",))
    assert tree(book) == [
        (0, "part", "卷一 风起"),
        (1, "chapter", "楔子"),
        (1, "chapter", "第一章 没有邮票的信"),
        (1, "chapter", "第十二章　鸽子"),
        (0, "part", "卷二 潮落"),
        (1, "chapter", "第一百零三回甄士隐梦幻识通灵　贾雨村风尘怀闺秀"),
        (1, "chapter", "尾声"),
    ]
    assert book.drafts[0].children[1].text == "　　他说：第二回合的时候，我们输了。\n　　第一部分是这样的。"


def test_traditional_chinese_in_big5_is_read() -> None:
    text = "第一章 初見\n　　他說：你在這裡做什麼？\n　　她沒有回答，只是看著大海。\n"
    assert decode(text.encode("big5"), "x")[0] == text


def test_old_western_text_is_read() -> None:
    text = "“A little café”, he said—naïvely, as it turned out in the end.\n"
    assert decode(text.replace("\n", "\r\n").encode("cp1252"), "x")[0] == text


def test_a_few_damaged_bytes_are_told_and_many_are_refused() -> None:
    good = "她没有回答，只是看着大海。" * 500
    text, warnings = decode(good.encode()[:-1] + b"\xff", "x.txt")
    assert text.startswith(good[:-1])
    assert "damaged" in warnings[0]
    with pytest.raises(FabulaError) as raised:
        decode(bytes(range(128, 256)) * 40, "x.txt")
    assert raised.value.code is Code.IMPORT_UNREADABLE
    assert "UTF-8" in raised.value.sentence


def test_binary_rubbish_is_refused() -> None:
    with pytest.raises(FabulaError):
        decode(bytes(range(32)) * 100, "x.txt")


def test_bare_numbers_are_chapters_if_they_count_up() -> None:
    assert [line.title for line in find_headings("I\n\na\n\nII\n\nb\n\n1984\n\nIII\n\nc")] == ["I", "II", "III"]
    assert not find_headings("He had\n\n7\n\napples.")


@pytest.mark.parametrize(
    ("title", "word"),
    [
        ("Chapter 12", Word.CHAPTER),
        ("CHAPTER XII.", Word.CHAPTER),
        ("PART ONE", Word.CONTAINER),
        ("Book First", Word.CONTAINER),
        ("The Third Part", Word.CONTAINER),
        ("Kapitel 3", Word.CHAPTER),
        ("Глава 5", Word.CHAPTER),
        ("Scene 2", Word.SCENE),
        ("Epilogue: Home", Word.CHAPTER),
        ("第十二章 …", Word.CHAPTER),
        ("第一回", Word.CHAPTER),
        ("卷三", Word.CONTAINER),
        ("第二卷　潮落", Word.CONTAINER),
        ("第一卷 风起 第一章 初见", Word.CHAPTER),
        ("序章", Word.CHAPTER),
        ("第三节", Word.SCENE),
        ("The Lamp", None),
        ("Part of it was true", None),
        ("Chapter 12 was the one he hated.", None),
        ("第二回合的时候，他输了。", None),
        ("第一部分是这样的", None),
        ("序曲响起", None),
    ],
)
def test_what_a_title_says_of_itself(title: str, word: Word | None) -> None:
    assert word_of(title) is word


def test_lines_wrapped_by_hand_are_joined_and_verse_is_not() -> None:
    wrapped = "\n".join("word " * 13 + "end" for _ in range(30))
    assert "\n" not in tidy(wrapped)
    verse = "\n".join("a short line of verse" for _ in range(30))
    assert tidy(verse) == verse


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
    book = read_texts(open_folder(tmp_path)).book
    assert tree(book) == [
        (0, "part", "Oil"),
        (1, "chapter", "the wick"),
        (1, "chapter", "Smoke"),
        (1, "chapter", "Ash"),
        (2, "scene", "At dawn"),
        (0, "part", "Salt"),
        (1, "chapter", "1"),
    ]


def test_emphasis_beside_chinese_marks_is_understood_and_written_so_that_others_do_too() -> None:
    spans = blocks_of("他说*“你好”*然后走了")[0].spans
    assert spans == (Span("他说"), Span("“你好”", italic=True), Span("然后走了"))
    assert markdown_of([Block(spans)]) == "他说“*你好*”然后走了"


_SPANS = st.lists(
    st.builds(Span, st.text("ab “”.*_\\#>海。\n-~", max_size=8), st.booleans(), st.booleans()), min_size=1, max_size=5
)


@settings(max_examples=300, deadline=None)
@given(_SPANS, st.integers(0, 2))
def test_no_word_is_changed_on_the_way_through_markdown(spans: list[Span], quote: int) -> None:
    found = block(spans, quote=quote)
    if found is not None:
        words = [line for again in blocks_of(markdown_of([found])) for line in again.words.split("\n")]
        assert words == [line.strip() for line in found.words.split("\n") if line.strip()]


@pytest.mark.parametrize(
    "text",
    [
        "# " + " \t" * 300_000 + "x",
        "---\na" + " " * 500_000 + "b\n---\n",
        "* " * 300_000,
        ">" * 300_000,
        "第" * 300_000,
        "\n ".join("#" * 6 for _ in range(100_000)),
        "*a" * 20_000,
    ],
    ids=["blanks", "head", "stars", "quotes", "marks", "headings", "stress"],
)
def test_hostile_lines_take_no_time(text: str) -> None:
    assert write_markdown(read_text(text.encode(), "x").book)
    assert markdown_of(blocks_of(text)) is not None
