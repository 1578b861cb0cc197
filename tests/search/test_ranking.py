"""What is found first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.search.index.index import SearchIndex
from fabula.search.model import Passage, Query, SearchDocument

FILL = "the boats came home and the nets were hung along the wall"


def talk(*lines: str, name: str = "t") -> SearchDocument:
    return SearchDocument(name, tuple(Passage(f"history:{name}{at}", line) for at, line in enumerate(lines)))


def first(index: SearchIndex, text: str) -> str:
    return index.passages[index.search(Query(parts=((text, 1.0),)), limit=3)[0].passage_number].text


def numbers(index: SearchIndex, text: str, most: int = 50) -> list[int]:
    return [hit.passage_number for hit in index.search(Query(parts=((text, 1.0),)), limit=most)]


def test_other_forms_of_a_word_are_found_and_the_same_form_goes_first() -> None:
    index = SearchIndex([talk("she hikes alone"), talk("she hiked alone", name="u"), talk(FILL, name="v")])
    assert first(index, "Who hiked?") == "she hiked alone"
    assert numbers(index, "hiking") == [0, 1]


def test_an_answer_is_found_by_the_words_of_its_question() -> None:
    lines = [f"{FILL} {n}" for n in range(8)]
    lines[3:5] = ["What happened to the astrolabe?", "It fell into the sea."]
    found = numbers(SearchIndex([talk(*lines)]), "astrolabe", 2)
    assert sorted(found) == [3, 4]


def test_what_follows_a_word_is_found_before_what_precedes_it() -> None:
    lines = [f"{FILL} {n}" for n in range(9)]
    lines[4] = "The astrolabe stood on the table."
    assert numbers(SearchIndex([talk(*lines)]), "astrolabe") == [4, 5, 3, 6, 2]


def test_words_that_stand_side_by_side_in_the_question_are_found_side_by_side_first() -> None:
    apart = "a man came to the old house"
    together = "a house had the old man come"
    index = SearchIndex([talk(apart), talk(together, name="u"), talk(FILL, name="v")])
    assert first(index, "Where is the old man?") == together
    assert first(index, "Where is the old house?") == apart


def test_a_question_that_holds_the_word_is_found_in_the_smallest_index_too() -> None:
    index = SearchIndex([talk("What happened to the astrolabe?", "It fell into the sea.", "The nets are dry.")])
    assert set(numbers(index, "astrolabe", 3)) == {0, 1, 2}
    assert numbers(SearchIndex([talk("Where is the astrolabe?")]), "astrolabe") == [0]


def test_what_is_lent_stays_in_its_thread() -> None:
    index = SearchIndex([talk(FILL, "the astrolabe"), talk("nothing of the kind", FILL, name="u")])
    assert set(numbers(index, "astrolabe")) == {0, 1}


def test_a_session_of_which_several_messages_fit_goes_before_one_with_a_single_one() -> None:
    alike = [f"the garden gate number {n} was painted" for n in range(12)]

    def say(day: int, *lines: str) -> list[Passage]:
        return [Passage(f"history:{day}-{n}", line, at=f"2026-01-{day:02}T10:00:00Z") for n, line in enumerate(lines)]

    far = [FILL, FILL, FILL]
    many = say(2, "Ann wants a dog", *far, "the dog needs a walk", *far, "a walk with the dog is fun", *far)
    single = say(1, *far, "the dog needs a rest", *far)
    index = SearchIndex([SearchDocument("t", (*single, *many, *say(5, *alike)))])
    found = [index.passages[number].text for number in numbers(index, "dog needs") if number < len(single) + len(many)]
    assert found.index("the dog needs a walk") < found.index("the dog needs a rest")


def test_whoever_the_question_is_about_speaks_first() -> None:
    index = SearchIndex([talk("Ana: I like tea.", "Ben: I like tea.", "Cai: I like tea.")])
    assert first(index, "What does Ben like?") == "Ben: I like tea."
    named = SearchIndex(
        [SearchDocument("t", tuple(Passage(f"h:{who}", "I like tea.", speaker=who) for who in ("Ana", "Ben", "Cai")))]
    )
    assert numbers(named, "What does Cai like?", 1) == [2]


def test_a_time_finds_what_was_said_then() -> None:
    days = ("2023-05-08", "2023-06-02", "2023-07-09")
    index = SearchIndex([SearchDocument(f"t{at}", (Passage(f"h:{at}", "we sailed out", at=at),)) for at in days])
    assert numbers(index, "Who sailed in June?", 1) == [1]
    assert numbers(index, "sailed on 9 July 2023", 1) == [2]
    asked = index.search(Query(parts=(("sailed last month", 1.0),), now="2023-08-01"), limit=1)
    assert [hit.passage_number for hit in asked] == [2]


def test_chinese_is_found_by_its_characters() -> None:
    index = SearchIndex(
        [talk("潮水涨了又退"), talk("星盘放在桌上，已经碎了", name="u"), talk("石头还是石头", name="v")]
    )
    assert first(index, "谁打碎了星盘？") == "星盘放在桌上，已经碎了"


def test_the_words_that_ask_in_chinese_find_nothing() -> None:
    index = SearchIndex([talk("你说什么？他怎么了？"), talk("星盘放在桌上", name="u"), talk("石头还是石头", name="v")])
    assert numbers(index, "什么？") == []
    assert numbers(index, "星盘怎么了？") == [1, 0]
    assert numbers(index, "星盘怎么") == [1]


def test_names_count_beside_the_text() -> None:
    index = SearchIndex([talk("Ana waits"), talk("Ben waits", name="u")])
    found = index.search(Query(parts=(("who waits", 1.0),), names=("Ben",)), limit=2)
    assert found[0].passage_number == 1


def test_only_what_is_allowed_is_found() -> None:
    index = SearchIndex([talk("lamp one", "lamp two", "lamp three")])
    found = index.search(Query(parts=(("lamp", 1.0),)), limit=5, allowed=np.array([False, True, False]))
    assert [hit.passage_number for hit in found] == [1]


def test_meaning_finds_what_shares_no_word() -> None:
    index = SearchIndex([talk("a lamp"), talk("money he owes", name="u"), talk("rain", name="v")])
    near = np.array([0.1, 0.8, 0.1], np.float32)
    assert index.search(Query(parts=(("debt", 1.0),)), limit=1, semantic_scores=near)[0].passage_number == 1
    assert index.search(Query(parts=(("debt", 1.0),)), limit=1) == []


def test_the_nearest_allowed_passage_gets_a_quarter_of_what_the_best_by_words_gets() -> None:
    index = SearchIndex([talk(text, name=text) for text in ("a lamp", "money he owes", "his debt", "rain")])
    near = np.array([0.1, 0.5, 0.9, 0.1], np.float32)
    allowed = np.array([True, True, False, True])
    found = index.search(Query(parts=(("the lamp", 1.0),)), limit=4, allowed=allowed, semantic_scores=near)
    assert [(hit.passage_number, round(hit.score, 4)) for hit in found] == [(0, 1.0), (1, 0.25)]


def test_vectors_nobody_knows_yet_change_nothing() -> None:
    index = SearchIndex([talk("a lamp"), talk("a ferry", name="u"), talk("rain", name="v")])
    query = Query(parts=(("ferry", 1.0),))
    assert index.search(query, limit=1, semantic_scores=np.zeros(3, np.float32))[0].passage_number == 1


@pytest.mark.parametrize(
    "text", ["", " ", "?!", "x" * 100_000, "lamp " * 20_000, "灯" * 100_000, "\x00\ud800", "the of"]
)
def test_any_query_gets_an_answer(text: str) -> None:
    index = SearchIndex([talk("a lamp", FILL), talk("灯塔", name="u")])
    hits = index.search(Query(parts=((text, 1.0),)), limit=10)
    assert all(0 < hit.score <= 1 for hit in hits)
    assert index.search(Query(parts=((text, 0.0),)), limit=10) == []
    assert index.search(Query(), limit=10) == []


@settings(max_examples=60)
@given(st.lists(st.text(max_size=40), max_size=8), st.text(max_size=40), st.integers(0, 10))
def test_scores_fall_from_one_and_no_passage_comes_twice(lines: list[str], text: str, most: int) -> None:
    hits = SearchIndex([talk(*lines)]).search(Query(parts=((text, 1.0),)), limit=most)
    scores = [hit.score for hit in hits]
    assert len(hits) <= most
    assert scores == sorted(scores, reverse=True)
    assert scores[:1] in ([], [1.0])
    assert len({hit.passage_number for hit in hits}) == len(hits)
