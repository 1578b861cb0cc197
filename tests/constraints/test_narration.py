"""Narration and dialogue: nested, unclosed, straight and curly quotation marks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.constraints import narration as narration_module
from fabula.constraints.narration import find_narration


def narration(text: str) -> list[str]:
    return [text[start:end] for start, end in find_narration(text)]


@pytest.mark.parametrize(
    ("text", "outside"),
    [
        ("He said “I am” and left.", ["He said ", " and left."]),
        ('"I am," he said.', [" he said."]),
        ("He said “she told me ‘I am’ twice” and left.", ["He said ", " and left."]),
        ("‘I can’t,’ he said.", [" he said."]),
        ("'I am,' he said, 'not I.'", [" he said, "]),
        ("「我说『不』。」他走了。", ["他走了。"]),
        ("他说：“我来。”", ["他说："]),
        ("«Moi», dit-il.", [", dit-il."]),
        ("Nothing said.", ["Nothing said."]),
        ("“All said.”", []),
        ("", []),
    ],
)
def test_dialogue_is_left_out(text: str, outside: list[str]) -> None:
    assert narration(text) == outside


def test_an_apostrophe_is_no_quotation() -> None:
    for text in ("The boys' room wasn't his.", "'Twas the night, and I wept.", "It was Mara’s, not the girls’ lamp."):
        assert narration(text) == [text]


def test_an_unclosed_quotation_ends_with_its_paragraph() -> None:
    assert narration("“I go on.\n\nHe left.") == ["\nHe left."]
    assert narration('"I go on.\n\nHe left.') == ["\nHe left."]


def test_a_quotation_of_several_paragraphs_is_dialogue_whether_it_is_opened_again_or_not() -> None:
    assert "".join(narration("“I go on.\n\n“And I end.” He left.")).strip() == "He left."
    assert "".join(narration("“一。\n二。”他走了。")).strip() == "他走了。"


def test_a_mark_that_closes_nothing_is_ignored() -> None:
    assert narration("He left.” I stayed.") == ["He left.” I stayed."]


@given(st.text(alphabet="ab 我“”‘’「」『』\"'\n.。", max_size=60))
def test_spans_are_inside_the_text_in_order_and_do_not_overlap(text: str) -> None:
    past = 0
    for start, end in find_narration(text):
        assert past <= start < end <= len(text)
        past = end


@given(st.text(alphabet="ab 我。\n", max_size=40))
def test_a_text_without_marks_is_all_narration(text: str) -> None:
    assert "".join(narration(text)) == text


@pytest.mark.parametrize(
    ("text", "outside"),
    [
        ("— I came, he said.\nI left.", ["I left."]),
        ("He rose.\n  – I know – said Tom.\nI left.", ["He rose.\n", "I left."]),
        ("——我来了，他说。\n我走了。", ["我走了。"]),
        ("He paused — I know — and left.", ["He paused — I know — and left."]),
        ("*I should go*, she thought.", [", she thought."]),
        ("She saw that *I* was not there.", ["She saw that *I* was not there."]),
        ("»Ich gehe«, sagte er.", [", sagte er."]),
        ("«Je pars», dit-il.", [", dit-il."]),
    ],
)
def test_dashes_thoughts_and_turned_marks(text: str, outside: list[str]) -> None:
    assert narration(text) == outside


def test_quotations_without_end_are_nested_to_a_bound() -> None:
    assert narration("a" + "「" * 1_000 + '"' * 1_000 + "b") == ["a"]
    assert narration("“" * narration_module._MAX_NESTING + "”" * narration_module._MAX_NESTING + "b") == ["b"]


SLOW_THOUGHT = re.compile(r"(?<![*\w])(\*{1,3}|_{1,3})(?=[^\s*_])[^*_\n]*\s[^*_\n]*(?<=[^\s*_])\1(?![*\w])")


@given(st.text("*_a .\n", max_size=20))
def test_a_thought_is_found_without_going_back(text: str) -> None:
    found = [match.span() for match in narration_module._THOUGHT.finditer(text)]
    assert found == [match.span() for match in SLOW_THOUGHT.finditer(text)]
