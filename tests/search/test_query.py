"""What is looked for, from where the writer stands and what is asked."""

from __future__ import annotations

import pytest

from fabula.context.nearby import Nearby
from fabula.context.request import Request, SourceRequest
from fabula.core.fragment import Layer
from fabula.core.story import Vantage
from fabula.search.model import Query
from fabula.search.query import (
    AFTER,
    BEFORE_SCENE,
    INSTRUCTION,
    MESSAGES,
    NEAR,
    PART_END_CHARACTERS,
    QUESTION,
    SELECTED,
    is_statement,
    make_query,
    weigh_text_before,
)
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.tokens.tokenizer import load_encoding
from fabula.text.windows import make_text_window

ROOM = dict.fromkeys(Layer, 1000)


def asked(text: str = "", *near: Nearby, words: str = "", skill: str = "continue", selected: bool = False) -> Query:
    """The query of a request at the end of a text."""
    window = make_text_window(Paragraphs(text), len(text), source="editor:cursor-window", project_id="p", reach=100_000)
    request = Request(project_id="p", skill_id=skill, additional_input=words, selection=(0, 1) if selected else None)
    ask = SourceRequest(
        request=request,
        vantage=Vantage(),
        language="en",
        tokenizer=load_encoding("o200k_base"),
        token_shares=ROOM,
        available_tokens=8000,
        nearby=near,
        text_before_cursor=window if text else None,
    )
    return make_query(ask, ("Mara", "Miss Venn"))


def weight_of(query: Query, words: str) -> float:
    return sum(weight for text, weight in query.parts if words in text)


def test_the_nearest_text_weighs_most() -> None:
    text = "\n\n".join(["FAR " + "x " * 90, "NEARER " + "x " * 600, "HERE " + "x " * 300])
    query = asked(text)
    assert weight_of(query, "HERE") == NEAR[0][1]
    assert weight_of(query, "HERE") > weight_of(query, "NEARER") > weight_of(query, "FAR") > 0


def test_all_parts_together_are_the_text_before_the_cursor() -> None:
    text = "\n\n".join(f"Line number {n} of many." for n in range(500))
    said = "\n\n".join(part for part, _ in reversed(weigh_text_before(text, 0, len(text))))
    assert text.endswith(said)
    assert NEAR[-1][0] <= len(said) < NEAR[-1][0] + 30  # the last paragraph is whole
    assert said.startswith("Line")


def test_another_scene_says_little() -> None:
    query = asked("The ball was over. " * 5 + "\n\n* * *\n\nIn the boat nobody spoke.")
    assert weight_of(query, "boat") == NEAR[0][1]
    assert weight_of(query, "ball") == NEAR[0][1] * BEFORE_SCENE


@pytest.mark.parametrize(
    "said",
    [
        "I take off my glove.",
        "*Mara takes off her glove*",
        "“Then we row at dawn!”",
        "When the ship came in, nobody waited.",
        "我脱下手套。",
        "我什么也没有说。",
        "（他脱下手套）",
    ],
)
def test_what_somebody_does_or_states_in_a_chat_is_ranked_as_a_page_is(said: str) -> None:
    query = asked(words=said, skill="chat")
    assert is_statement(said)
    assert query.is_page
    assert weight_of(query, said) == NEAR[0][1]


@pytest.mark.parametrize(
    "said",
    [
        "Who wrote the letter?",
        "I sit down. Who wrote the letter? Tell me.",
        "the letter",
        "Who wrote the letter",
        "Tell me about the letter.",
        "Please remind me who wrote it.",
        "信是谁写的？",
        "信是谁写的",
        "请告诉我信是谁写的。",
    ],
)
def test_a_question_or_a_few_words_in_a_chat_are_looked_up(said: str) -> None:
    query = asked(words=said, skill="chat")
    assert not query.is_page
    assert weight_of(query, said) == QUESTION


def test_an_instruction_weighs_more_than_the_text_and_a_question_more_than_all() -> None:
    text = "She stood at the window."
    told, question = (
        asked(text, words="Let the letter arrive."),
        asked(text, words="Who wrote the letter?", skill="chat"),
    )
    assert weight_of(told, "letter") == INSTRUCTION > weight_of(told, "window")
    assert weight_of(question, "letter") == QUESTION > 2 * weight_of(question, "window")


def test_a_question_counts_once_though_it_is_near_too() -> None:
    query = asked("", Nearby("Earlier."), Nearby("Who wrote it?"), words="Who wrote it?", skill="chat")
    assert [weight for text, weight in query.parts if text == "Who wrote it?"] == [QUESTION]


def test_of_the_conversation_the_latest_weighs_most() -> None:
    talk = [Nearby(f"message {n}") for n in range(4)]
    query = asked("", *talk, words="And then?", skill="chat")
    assert [weight_of(query, f"message {n}") for n in (3, 2, 1, 0)] == list(MESSAGES)


def test_the_selection_and_what_follows_the_cursor_count_too() -> None:
    near = Nearby("before after", 7, 0, 12)
    query = asked("before", near, Nearby("chosen words"), selected=True)
    assert weight_of(query, "chosen words") == SELECTED
    assert weight_of(query, "after") == AFTER


def test_names_are_handed_on() -> None:
    assert asked("x").names == ("Mara", "Miss Venn")


def test_nothing_asked_is_nothing_looked_for() -> None:
    assert asked("").parts == ()
    assert asked("   \n ").parts == ()


def test_a_question_of_a_hundred_thousand_characters_is_looked_at_from_both_ends() -> None:
    query = asked("", words="BEGIN " + "灯塔 lamp " * 20_000 + "END", skill="chat")
    (part,) = [text for text, _ in query.parts]
    assert len(part) <= 2 * PART_END_CHARACTERS + 1
    assert part.startswith("BEGIN")
    assert part.endswith("END")
