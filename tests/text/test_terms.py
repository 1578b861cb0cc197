"""Words as they are compared."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabula.text.stemmer import stem
from fabula.text.terms import (
    count_shared_terms,
    count_terms,
    is_shared_term,
    is_single_character,
    list_word_pairs,
    split_terms,
)


def test_chinese_is_compared_by_pairs_and_single_characters() -> None:
    assert count_terms("林远走") == {"林": 1, "远": 1, "走": 1, "林远": 1, "远走": 1}
    assert count_terms("走") == {"走": 1}


def test_latin_letters_inside_chinese_are_words_of_their_own() -> None:
    assert split_terms("由Nexon开发") == ["由", "nexon", "开发"]
    assert {"nexon", "开发", "由"} <= count_terms("由Nexon开发").keys()


def test_punctuation_is_no_word() -> None:
    assert split_terms("灯。塔，亮！") == ["灯", "塔", "亮"]
    assert count_terms("。，！？… — ()") == {}


def test_a_word_counts_by_its_root_and_as_it_is_written() -> None:
    assert count_terms("She hiked. Hiking!") == {"hik": 2, "=hiked": 1, "=hiking": 1}
    assert count_terms("1912 and 1912") == {"1912": 2}


@pytest.mark.parametrize("text", ["to be or not to be", "Don’t!", "What did they do?"])
def test_little_words_do_not_count_in_search(text: str) -> None:
    assert count_terms(text) == {}
    assert split_terms(text)


def test_roots_and_pairs_are_lent_and_what_is_written_is_not() -> None:
    found = count_terms("lamps 灯塔")
    assert {term for term in found if is_shared_term(term)} == {"lamp", "灯塔"}
    assert {term for term in found if is_single_character(term)} == {"灯", "塔"}


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ("hike hikes hiked hiking", True),
        ("go goes went gone going", True),
        ("child children child's", True),
        ("stop stopped stopping", True),
        ("carry carries carried", True),
        ("decorate decorated decoration", True),
        ("wolf wolves", True),
        ("paint pant", False),
        ("bus bush", False),
        ("sing sink", False),
    ],
)
def test_forms_of_one_word_have_one_root(words: str, same: bool) -> None:
    assert (len({stem(word) for word in words.split()}) == 1) is same


@given(st.text(max_size=200))
def test_any_text_has_terms_of_a_known_sort(text: str) -> None:
    for term, number in count_terms(text).items():
        assert number > 0
        assert "\n" not in term
        assert is_shared_term(term) or is_single_character(term) or term.startswith("=")


@given(st.text(alphabet=st.sampled_from("a bRn's’9灯塔。ー가 "), max_size=80) | st.text(max_size=80))
@example("𖠀A")
@example("Ꭰ")  # its small letter is in another block
@example("𖩠")  # a digit
def test_the_lent_terms_and_the_characters_are_those_that_are_counted(text: str) -> None:
    words, characters = count_shared_terms(text)
    found = count_terms(text)
    assert words == {term: number for term, number in found.items() if is_shared_term(term)}
    assert characters == {term: number for term, number in found.items() if is_single_character(term)}


def test_the_pairs_of_words_are_those_that_stand_side_by_side() -> None:
    assert list_word_pairs("Old men's boats") == [("old", "man"), ("man", "boat")]
    assert list_word_pairs("the old") == [("", "old")]
    assert list_word_pairs("old 灯塔 man") == [("old", ""), ("", "man")]
    assert list_word_pairs("old") == []
