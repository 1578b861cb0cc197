"""Sentences, in English and in the languages without spaces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.text.sentences import find_sentence_starts
from tests.text.strings import hard_strings


def sentences(text: str) -> list[str]:
    starts = [*find_sentence_starts(text), len(text)]
    return [text[first:last].strip() for first, last in pairwise(starts)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He left. She stayed.", ["He left.", "She stayed."]),
        ("Is it lit? It is! Then row.", ["Is it lit?", "It is!", "Then row."]),
        ("Wait… Who is there?", ["Wait…", "Who is there?"]),
        ("One sentence without a stop", ["One sentence without a stop"]),
        ("He left.\nShe stayed.", ["He left.", "She stayed."]),
        ("It cost 3.50 in 1912. Dear.", ["It cost 3.50 in 1912.", "Dear."]),
        ("Éloi slept. Émile did not. Ça va.", ["Éloi slept.", "Émile did not.", "Ça va."]),
        ("1912 came. 1913 did not.", ["1912 came.", "1913 did not."]),
    ],
)
def test_english_sentences_end_with_a_stop_and_a_space(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("“Light it.” She struck a match.", ["“Light it.”", "She struck a match."]),
        ("'Go.' He went.", ["'Go.'", "He went."]),
        ("(It rained.) He went.", ["(It rained.)", "He went."]),
        ("He looked up. “Now?” “Now.”", ["He looked up.", "“Now?”", "“Now.”"]),
    ],
)
def test_closing_quotes_belong_to_the_sentence_before_and_opening_ones_to_the_next(
    text: str, expected: list[str]
) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("灯灭了。她没有动。", ["灯灭了。", "她没有动。"]),
        ("是谁？是我！快走。", ["是谁？", "是我！", "快走。"]),
        ("她说：“走。”他没有走。", ["她说：“走。”", "他没有走。"]),
        ("「行こう。」彼は言った。", ["「行こう。」", "彼は言った。"]),
        ("雾散了……船还在。", ["雾散了……", "船还在。"]),
        ("没有句号", ["没有句号"]),
        ("　　灯灭了。　　她没有动。", ["灯灭了。", "她没有动。"]),
        ("什么？！走。", ["什么？！", "走。"]),
        ("灯灭了．她没有动．", ["灯灭了．", "她没有动．"]),
        ("她说：“走．”他没有走．", ["她说：“走．”", "他没有走．"]),
        ("水深３．５米．船还在．", ["水深３．５米．", "船还在．"]),
        ("１．点灯．２．等人．", ["１．点灯．", "２．等人．"]),
    ],
)
def test_chinese_and_japanese_sentences_need_no_space(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "text", ["What?!", "她说：“走！”", "“走。”", "『はい！』", "Go!”", "他笑了。）", "Never!!!", "灯……"]
)
def test_marks_at_the_end_of_a_text_are_no_sentence_of_their_own(text: str) -> None:
    assert find_sentence_starts(text) == [0]


@pytest.mark.parametrize("text", ["“Stop!” he said.", "“Why?” she asked.", "Oh! said the fox."])
def test_an_english_quotation_that_goes_on_in_lower_case_is_one_sentence(text: str) -> None:
    assert find_sentence_starts(text) == [0]


@pytest.mark.parametrize("text", ["Mr. Venn came.", "Dr. Sloane, R.N., left.", "No. 7 was lit."])
def test_an_abbreviation_may_be_cut_or_not_but_nothing_is_lost(text: str) -> None:
    starts = find_sentence_starts(text)
    assert starts[0] == 0
    assert len(starts) <= 2


def test_starts_rise_and_each_begins_with_something() -> None:
    for text in hard_strings(8, 500):
        starts = find_sentence_starts(text)
        assert starts[0] == 0
        assert starts == sorted(set(starts))
        assert all(not text[start].isspace() for start in starts[1:])


def test_the_empty_text_has_one_beginning() -> None:
    assert find_sentence_starts("") == [0]


@pytest.mark.parametrize("text", ["!" * 50_000, "." * 50_000, ". " * 50_000, "。" + "”" * 50_000, ".\n" + " " * 50_000])
def test_long_runs_of_marks_are_read_through(text: str) -> None:
    assert find_sentence_starts(text)[0] == 0


@given(st.text(alphabet=" .!?'\"”’)]“‘([\nabAB1é"))
def test_a_text_with_spaces_has_the_same_sentences_beside_another_stop(text: str) -> None:
    starts = find_sentence_starts(text)
    assert find_sentence_starts("a…b " + text) == [0, 2, *(start + 4 for start in starts[1:])]
