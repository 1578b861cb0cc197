"""What is told and what is said: marks nested, unclosed, straight and curly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.constraints.quotation import narration


def told(text: str) -> list[str]:
    return [text[start:end] for start, end in narration(text)]


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
def test_speech_is_left_out(text: str, outside: list[str]) -> None:
    assert told(text) == outside


def test_an_apostrophe_is_no_quotation() -> None:
    for text in ("The boys' room wasn't his.", "'Twas the night, and I wept.", "It was Mara’s, not the girls’ lamp."):
        assert told(text) == [text]


def test_a_speech_that_is_never_closed_ends_with_its_paragraph() -> None:
    assert told("“I go on.\n\nHe left.") == ["\nHe left."]
    assert told('"I go on.\n\nHe left.') == ["\nHe left."]


def test_a_speech_of_several_paragraphs_is_speech_whether_it_is_opened_again_or_not() -> None:
    assert "".join(told("“I go on.\n\n“And I end.” He left.")).strip() == "He left."
    assert "".join(told("“一。\n二。”他走了。")).strip() == "他走了。"


def test_a_mark_that_closes_nothing_is_passed_over() -> None:
    assert told("He left.” I stayed.") == ["He left.” I stayed."]


@given(st.text(alphabet="ab 我“”‘’「」『』\"'\n.。", max_size=60))
def test_stretches_are_inside_the_text_in_order_and_apart(text: str) -> None:
    past = 0
    for start, end in narration(text):
        assert past <= start < end <= len(text)
        past = end


@given(st.text(alphabet="ab 我。\n", max_size=40))
def test_a_text_without_marks_is_all_told(text: str) -> None:
    assert "".join(told(text)) == text


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
    assert told(text) == outside
