"""Whom a text is mostly about, and who of them was forgotten."""

from __future__ import annotations

from fabula.text.names.main_characters import NOBODY, Cast

PEOPLE = {"Mara Venn": ("Mara", "the keeper"), "Will Tarn": ("Will",), "Grace Odell": ("Grace",), "Hope": ()}
TEXT = "Mara rose. The keeper lit the lamp. Mara waited. Will came, and Will went. Will slept. Hope was seen once."


def test_the_main_characters_are_those_named_most_under_any_name() -> None:
    assert Cast.of(PEOPLE).main(TEXT) == {"Mara Venn": "Mara", "Will Tarn": "Will"}
    assert Cast.of(PEOPLE).main("Mara rose.") == {}
    assert NOBODY.main(TEXT) == {}


def test_a_synopsis_is_told_whom_it_lost() -> None:
    cast = Cast.of(PEOPLE)
    main = cast.main(TEXT)
    assert cast.lost(main, "The lamp is lit.") == ("Mara Venn", "Will Tarn")
    assert cast.lost(main, "The keeper lights it.") == ("Will Tarn",)
    assert cast.lost(main, "Mara and Will quarrel.") == ()
    assert cast.lost({}, "Nothing.") == ()


def test_chinese_names_are_found_among_other_words() -> None:
    cast = Cast.of({"林远": (), "白露": ("白医生",)})
    text = "林远推开门。白医生抬起头。林远坐下。白露倒茶。林远没有喝。白露等着。"
    assert cast.main(text) == {"林远": "林远", "白露": "白露"}
    assert cast.lost(cast.main(text), "林远来访。") == ("白露",)
