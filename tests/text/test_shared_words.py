"""Words that are named as shared are whole words with content (ctx-9)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.text.shared_words import find_shared_words
from fabula.text.terms import STOP_WORDS


def test_chinese_words_are_whole_and_neither_particles_nor_parts_of_numbers() -> None:
    here = "林晚在灯塔上点了二十二根蜡烛，金箍棒放在石门旁。"
    there = "那天他数了二十三根蜡烛，灯塔的石门开着，金箍棒不见了。"
    assert find_shared_words(here, [there]) == ["金箍棒", "灯塔", "石门", "蜡烛"]


def test_english_words_match_in_any_form_and_common_ones_do_not_count() -> None:
    assert find_shared_words("The lamps were out in 1815, and she had gone.", ["A lamp in 1815 had been lit."]) == [
        "lamps"
    ]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.text(st.sampled_from("二十了的灯塔石门林晚 ab, thelamp 12。"), max_size=60), st.text(max_size=60))
def test_every_word_stands_in_the_text_and_has_content(text: str, other: str) -> None:
    for word in find_shared_words(text, [text, other]):
        assert word in text.lower()
        assert len(word) > 1
        assert word not in STOP_WORDS
        assert not word.isdecimal()
        assert not set(word) <= set("一二三四五六七八九十百千万零两第")
