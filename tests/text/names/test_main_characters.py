"""Whom a text is mostly about, and who of them was forgotten."""

from __future__ import annotations

from fabula.text.names.main_characters import NO_CHARACTERS, CharacterFinder

PEOPLE = {"Mara Venn": ("Mara", "the keeper"), "Will Tarn": ("Will",), "Grace Odell": ("Grace",), "Hope": ()}
TEXT = "Mara rose. The keeper lit the lamp. Mara waited. Will came, and Will went. Will slept. Hope was seen once."


def test_the_main_characters_are_those_named_most_under_any_name() -> None:
    assert CharacterFinder.from_names(PEOPLE).find_main_characters(TEXT) == {"Mara Venn": "Mara", "Will Tarn": "Will"}
    assert CharacterFinder.from_names(PEOPLE).find_main_characters("Mara rose.") == {}
    assert NO_CHARACTERS.find_main_characters(TEXT) == {}


def test_a_synopsis_is_told_whom_it_lost() -> None:
    finder = CharacterFinder.from_names(PEOPLE)
    main = finder.find_main_characters(TEXT)
    assert finder.find_missing(main, "The lamp is lit.") == ("Mara Venn", "Will Tarn")
    assert finder.find_missing(main, "The keeper lights it.") == ("Will Tarn",)
    assert finder.find_missing(main, "Mara and Will quarrel.") == ()
    assert finder.find_missing({}, "Nothing.") == ()


def test_chinese_names_are_found_among_other_words() -> None:
    finder = CharacterFinder.from_names({"林远": (), "白露": ("白医生",)})
    text = "林远推开门。白医生抬起头。林远坐下。白露倒茶。林远没有喝。白露等着。"
    assert finder.find_main_characters(text) == {"林远": "林远", "白露": "白露"}
    assert finder.find_missing(finder.find_main_characters(text), "林远来访。") == ("白露",)
