"""Insertion: whether inserted text needs a space or a paragraph break beside it."""

from __future__ import annotations

import pytest

from fabula.skills.insertion import find_separator, separate_insertion


@pytest.mark.parametrize(
    ("before", "after", "between"),
    [
        ("She stood.", "The sea", " "),
        ("She went to the", "harbour", " "),
        ("“Go.”", "She left", " "),
        ('"Go."', "She left", " "),
        ('She said, "', "Go", ""),
        ("She stood.\n", "The sea", ""),
        ("She stood", ", and left", ""),
        ("(", "aside", ""),
        ("她站着。", "海很静", ""),
        ("", "The sea", ""),
        ("She", "", ""),
    ],
)
def test_a_space_separates_joined_texts_where_their_script_has_spaces(before: str, after: str, between: str) -> None:
    assert find_separator(before, after) == between


@pytest.mark.parametrize(
    ("head", "text", "tail", "joined"),
    [
        ("She stood.", "The sea rose.", "", "She stood.\n\nThe sea rose."),
        ("One.\n\n“Go.”", "She left.", "", "One.\n\n“Go.”\n\nShe left."),
        ("One.\n\nTwo.\n", "Three.", "", "One.\n\nTwo.\n\nThree."),
        ("One.\n\nTwo.\n\n", "Three.", "", "One.\n\nTwo.\n\nThree."),
        ("One.\nTwo.", "Three.", "", "One.\nTwo.\nThree."),
        ("# The Ship", "It sailed.", "", "# The Ship\n\nIt sailed."),
        ("One.\n\n***", "Later.", "", "One.\n\n***\n\nLater."),
        ("She stood.", "The sea rose.", "\n\nHe left.", "She stood.\n\nThe sea rose.\n\nHe left."),
        ("One.\n\n", "Two.", "Three.", "One.\n\nTwo.\n\nThree."),
        ("", "One.", "Two.", "One.\n\nTwo."),
        ("她站着。", "海很静。", "", "她站着。\n\n海很静。"),
        ("一。\n她说：“走吧。”", "海很静。", "", "一。\n她说：“走吧。”\n海很静。"),
    ],
)
def test_an_answer_that_begins_a_paragraph_is_a_paragraph_of_its_own(
    head: str, text: str, tail: str, joined: str
) -> None:
    before, behind = separate_insertion(head, text, tail)
    assert f"{head}{before}{text}{behind}{tail}" == joined


@pytest.mark.parametrize(
    ("head", "text", "tail", "joined"),
    [
        ("She went to the", "harbour.", "", "She went to the harbour."),
        ("She stood", ", and left.", "", "She stood, and left."),
        ("She waited…", "and waited.", "", "She waited… and waited."),
        ("She stood.", "The sea rose.", " He left.", "She stood. The sea rose. He left."),
        ("She stood. ", "The sea rose.", "He left.", "She stood. The sea rose. He left."),
        ("她走到", "海边。", "", "她走到海边。"),
        ("她站着。", "海很静。", "他走了。", "她站着。海很静。他走了。"),
        ("她说", "，走吧。", "", "她说，走吧。"),
    ],
)
def test_an_answer_amid_a_paragraph_or_a_sentence_joins_it(head: str, text: str, tail: str, joined: str) -> None:
    before, behind = separate_insertion(head, text, tail)
    assert f"{head}{before}{text}{behind}{tail}" == joined
