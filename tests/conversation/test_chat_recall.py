"""Recall in chat prompts: what was said long ago is found again when it is asked for."""

from __future__ import annotations

from random import Random

from benchmarks.chat_recall import measure_chat
from benchmarks.recall import Question, Story

from fabula.search.model import Passage, SearchDocument

_RANDOM = Random(5)
_SYLLABLES = ("ba", "do", "fi", "gu", "ka", "lo", "mi", "nu", "pa", "ro", "si", "tu")
FACTS = [
    f"[9:00 am on {day} May, 2023] Ann: The keeper of the lighthouse said: "
    + " ".join("".join(_RANDOM.choices(_SYLLABLES, k=3)) for _ in range(9))
    for day in range(1, 31)
]
SMALL_TALK = [
    f"[9:00 am on 2 June, 2023] {'Ann' if turn % 2 else 'Ben'}: Then we had soup number {turn}, with bread and a lot "
    "of butter, and talked about the weather of that day, which was neither good nor bad for the time of the year."
    for turn in range(400)
]


def test_messages_that_search_finds_are_told_before_those_that_are_merely_the_latest() -> None:
    turns = [*FACTS, *SMALL_TALK]
    document = SearchDocument("0", tuple(Passage(str(at), text) for at, text in enumerate(turns)))
    asked = Question(
        "What did the keeper of the lighthouse say?",
        frozenset(range(len(FACTS))),
        "all",
    )
    (answer,) = measure_chat([Story("lighthouse", [document], [0] * len(turns), [asked])], 1)
    assert answer.figures == {"rec@8192": 1.0, "all@8192": 1.0}
