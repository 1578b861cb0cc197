"""Who said it, and when."""

from __future__ import annotations

from datetime import date

import pytest

from fabula.search.message_header import parse_message_header
from fabula.search.model import Passage

MAY = date(2023, 5, 8).toordinal()


def test_a_line_of_a_chat_says_when_and_who() -> None:
    found = parse_message_header(Passage("a", "[1:56 pm on 8 May, 2023] Ana: Did the lamp burn?"))
    assert (found.day, found.speaker, found.text, found.ends_with_question) == (
        MAY,
        "Ana",
        "Ana: Did the lamp burn?",
        True,
    )


def test_what_a_passage_says_of_itself_goes_first() -> None:
    found = parse_message_header(Passage("a", "Ana: the lamp", at="2023-05-08T10:00:00Z", speaker="Ben"))
    assert (found.day, found.speaker) == (MAY, "Ben")
    assert parse_message_header(Passage("a", "the lamp", speaker="Ben")).embedding_text == "Ben: the lamp"
    assert parse_message_header(Passage("a", "[8 May 2023] Ana: the lamp")).embedding_text == "Ana: the lamp"


@pytest.mark.parametrize(
    "text", ["[Scene two] He went.", "he said: no", "It was late.", "[8 May 2023", "", "[]", "Ana:", "12:30 was late"]
)
def test_other_beginnings_are_left_alone(text: str) -> None:
    found = parse_message_header(Passage("a", text))
    assert (found.day, found.speaker, found.text) == (0, "", text)


@pytest.mark.parametrize(("text", "asks"), [("“Who?” ", True), ("谁？」", True), ("Who? Nobody.", False), ("", False)])
def test_a_passage_asks_that_ends_with_a_question(text: str, asks: bool) -> None:
    assert parse_message_header(Passage("a", text)).ends_with_question is asks
