"""Chapter numbers count what a reader counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.story import Division
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Document, Manuscript
from fabula.manuscript.numbering import TitledDocument, is_without_number, number_documents, read_title


def chapters(*titles: str) -> list[int | None]:
    documents = [TitledDocument(f"d{n}", title, DocumentKind.CHAPTER) for n, title in enumerate(titles)]
    return [dict(divisions).get("chapter") for divisions in number_documents(documents)]


def test_a_prologue_is_not_chapter_1() -> None:
    assert chapters("Prologue", "The Lamp", "The Sea", "Epilogue") == [None, 1, 2, None]
    assert chapters("楔子", "灯", "海", "尾声") == [None, 1, 2, None]
    assert chapters("Author's Note", "Preface: On Ships", "Chapter 1", "Chapter 2") == [None, None, 1, 2]
    assert chapters("序 雾", "第一回 灯", "番外一 猫", "第二回 海") == [None, 1, None, 2]


def test_a_title_that_states_its_number_is_that_number() -> None:
    assert chapters("Chapter 12", "Chapter XIII: The Sea", "CHAPTER FOURTEEN", "The Fifteenth Chapter") == [
        12,
        13,
        14,
        15,
    ]
    assert chapters("XII.", "XIII. The Sea", "XIV") == [12, 13, 14]
    assert chapters("第十二回 灯", "第13章", "第 十四 章　海") == [12, 13, 14]
    assert chapters("1. The Lamp", "2. The Sea", "3. The Storm") == [1, 2, 3]
    assert chapters("一、灯", "二、海", "十二、风暴") == [1, 2, 12]


def test_a_number_that_only_one_title_begins_with_is_no_chapter_number() -> None:
    assert chapters("The Lamp", "40. A Number", "The Sea", "The Storm") == [1, 2, 3, 4]


def test_chapters_without_a_number_fill_gaps_that_fit() -> None:
    assert chapters("Chapter 1", "The Sea", "Chapter 3", "The Storm") == [1, 2, 3, 4]
    assert chapters("Chapter 1", "A Letter", "Chapter 2") == [1, None, 2]
    assert chapters("Map of the Coast", "Chapter 1") == [None, 1]


def test_what_only_begins_like_front_matter_is_a_chapter() -> None:
    assert not any(
        map(is_without_number, ["Introduction to Magic", "The Epilogue Club", "序列", "引路人", "Maps and men"])
    )
    assert all(
        map(is_without_number, ["Epilogue", "PROLOGUE: 1815", "Translator's Preface", "楔子", "番外（二）", "序"])
    )


def tree(*rows: tuple[str, str, DocumentKind, str | None]) -> list[tuple[Division, ...]]:
    return number_documents([TitledDocument(*row) for row in rows])


def test_numbers_that_restart_in_volumes_are_told_apart() -> None:
    rows = [
        ("v1", "第一卷", DocumentKind.PART, None),
        ("a", "第一章", DocumentKind.CHAPTER, "v1"),
        ("b", "第二章", DocumentKind.CHAPTER, "v1"),
        ("v2", "第二卷", DocumentKind.PART, None),
        ("c", "第一章", DocumentKind.CHAPTER, "v2"),
        ("s", "", DocumentKind.SCENE, "c"),
    ]
    assert tree(*rows) == [
        (("volume", 1),),
        (("volume", 1), ("chapter", 1)),
        (("volume", 1), ("chapter", 2)),
        (("volume", 2),),
        (("volume", 2), ("chapter", 1)),
        (("volume", 2), ("chapter", 1), ("scene", 1)),
    ]
    story = Manuscript(tuple(Document(row[0], row[1], "", kind=row[2], parent=row[3]) for row in rows)).timeline()
    assert [str(story.chapter_name(one)) for one in ("a", "b", "c", "s")] == [
        *("volume 1, chapter 1", "chapter 2", "volume 2, chapter 1", "volume 2, chapter 1")
    ]
    name = story.chapter_name("c")
    assert name is not None
    assert name.render("zh") == "第2卷第1章"
    assert story.chapter_name("v1") is None


def test_a_title_may_state_its_volume_too() -> None:
    assert read_title("第二卷 第三章 海") == (("volume", 2), ("chapter", 3))
    assert read_title("Part Two, Chapter 3: The Sea") == (("part", 2), ("chapter", 3))
    assert read_title("Book of the Dead") == ()


def test_parts_without_numbers_are_counted_and_chapters_go_on() -> None:
    assert tree(
        ("p", "Winter", DocumentKind.PART, None),
        ("a", "The Lamp", DocumentKind.CHAPTER, "p"),
        ("q", "Spring", DocumentKind.PART, None),
        ("b", "The Sea", DocumentKind.CHAPTER, "q"),
    )[1::2] == [(("part", 1), ("chapter", 1)), (("part", 2), ("chapter", 2))]


def test_a_story_of_scenes_alone_counts_scenes() -> None:
    rows = [TitledDocument("a", "One", DocumentKind.SCENE), TitledDocument("b", "Two", DocumentKind.SCENE)]
    assert number_documents(rows) == [(("chapter", 1),), (("chapter", 2),)]


@given(st.lists(st.tuples(st.text(max_size=20), st.sampled_from(DocumentKind)), max_size=12))
def test_any_titles_can_be_numbered(rows: list[tuple[str, DocumentKind]]) -> None:
    documents = [TitledDocument(f"d{n}", title, kind) for n, (title, kind) in enumerate(rows)]
    assert len(number_documents(documents)) == len(documents)


@pytest.mark.parametrize("count", [1, 9, 120])
def test_chapters_that_state_nothing_are_counted_in_order(count: int) -> None:
    assert chapters(*(f"The sea of {'a' * n}" for n in range(count))) == list(range(1, count + 1))
