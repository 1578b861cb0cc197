"""Plain text: heading lines in several languages, title pages, hard-wrapped lines."""

from __future__ import annotations

import pytest

from fabula.formats.manuscripts.markdown import read_text_file
from fabula.formats.manuscripts.plain_text import HeadingType, classify_title, find_headings, tidy_paragraphs
from tests.formats.manuscripts.books import list_tree

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
    book = read_text_file(PLAIN.encode(), "lamp.txt").book
    assert (book.title, book.authors) == ("The Lamp", ("Ada Quill",))
    assert list_tree(book) == [
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
    book = read_text_file(CHINESE_PLAIN.encode(encoding), "x.txt").book
    assert (book.title, book.authors) == ("雾港", ("林墨",))
    assert list_tree(book) == [
        (0, "part", "卷一 风起"),
        (1, "chapter", "楔子"),
        (1, "chapter", "第一章 没有邮票的信"),
        (1, "chapter", "第十二章　鸽子"),
        (0, "part", "卷二 潮落"),
        (1, "chapter", "第一百零三回甄士隐梦幻识通灵　贾雨村风尘怀闺秀"),
        (1, "chapter", "尾声"),
    ]
    assert book.drafts[0].children[1].text == "　　他说：第二回合的时候，我们输了。\n　　第一部分是这样的。"


def test_bare_numbers_are_chapters_if_they_count_up() -> None:
    assert [line.title for line in find_headings("I\n\na\n\nII\n\nb\n\n1984\n\nIII\n\nc")] == ["I", "II", "III"]
    assert not find_headings("He had\n\n7\n\napples.")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Chapter 12", HeadingType.CHAPTER),
        ("CHAPTER XII.", HeadingType.CHAPTER),
        ("PART ONE", HeadingType.CONTAINER),
        ("Book First", HeadingType.CONTAINER),
        ("The Third Part", HeadingType.CONTAINER),
        ("Kapitel 3", HeadingType.CHAPTER),
        ("Глава 5", HeadingType.CHAPTER),
        ("Scene 2", HeadingType.SCENE),
        ("Epilogue: Home", HeadingType.CHAPTER),
        ("第十二章 …", HeadingType.CHAPTER),
        ("第一回", HeadingType.CHAPTER),
        ("卷三", HeadingType.CONTAINER),
        ("第二卷　潮落", HeadingType.CONTAINER),
        ("第一卷 风起 第一章 初见", HeadingType.CHAPTER),
        ("序章", HeadingType.CHAPTER),
        ("第三节", HeadingType.SCENE),
        ("The Lamp", None),
        ("Part of it was true", None),
        ("Chapter 12 was the one he hated.", None),
        ("CHAPTER XLIII Hark!", HeadingType.CHAPTER),
        ("Chapter CV Does the Heron Return? Will He Perish?", HeadingType.CHAPTER),
        ("Chapter 3 Nobody had ever read it!", None),
        ("第二回合的时候，他输了。", None),
        ("第一部分是这样的", None),
        ("序曲响起", None),
    ],
)
def test_what_a_title_says_of_itself(title: str, expected: HeadingType | None) -> None:
    assert classify_title(title) is expected


def test_lines_wrapped_by_hand_are_joined_and_verse_is_not() -> None:
    wrapped = "\n".join("word " * 13 + "end" for _ in range(30))
    assert "\n" not in tidy_paragraphs(wrapped)
    verse = "\n".join("a short line of verse" for _ in range(30))
    assert tidy_paragraphs(verse) == verse
