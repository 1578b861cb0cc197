"""Which memories say the same or contradict each other, and which topics are recognised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.view import Language
from fabula.memory.deduplicate import MeaningIndex, analyse_meaning, is_opposite, is_same
from fabula.memory.topics import TOPIC_SENTENCES, are_opposite_topics, find_topic, format_topic

LANGUAGES: tuple[Language, ...] = ("en", "zh")


@pytest.mark.parametrize("topic", list(TOPIC_SENTENCES))
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_proposed_is_understood_as_what_was_meant(topic: str, language: Language) -> None:
    assert find_topic(format_topic(topic, language)) == topic


@given(st.from_regex(r"[a-z]{2,12}(?:['’][a-z]{1,3})?(?: [a-z]{2,9}){0,3}", fullmatch=True), st.sampled_from(LANGUAGES))
def test_so_are_words_and_phrases(word: str, language: Language) -> None:
    kind = "phrase" if " " in word else "word"
    assert find_topic(format_topic(f"{kind}:{word}=less", language)) == f"{kind}:{word}=less"


@pytest.mark.parametrize(
    ("said", "topic"),
    [
        ("No exclamation marks.", "mark:!=less"),
        ("少用感叹号", "mark:!=less"),
        ("I don't like long sentences", "sentence=less"),
        ("不要长句", "sentence=less"),
        ("Keep paragraphs short, please.", "paragraph=less"),
        ("多写对话", "dialogue=more"),
        ("Never use the word 'suddenly'.", "word:suddenly=less"),
        ("不要使用“忽然”一词", "word:忽然=less"),
        ("Write in the first person.", "person=first"),
        ("Not in the first person.", ""),
        ("Prefers short sentences in action scenes.", ""),
        ("动作场景偏好短句", ""),
        ("Short paragraphs and long sentences.", ""),
        ("Short sentences, long sentences.", ""),
        ("Likes rain.", ""),
        ("“Fog” is a word I like.", ""),
        ("Avoid “—”.", ""),
        ("Adverbs are welcome, use more adverbs.", ""),
        ("", ""),
    ],
)
def test_sayings_are_understood_or_left_to_the_model(said: str, topic: str) -> None:
    assert find_topic(said) == topic


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No exclamation marks.", "不要使用感叹号。"),
        ("Likes fog.", "likes fog"),
        ("Likes rain on the harbour at night.", "The writer likes rain at night on the harbour"),
        ("喜欢雨夜的港口", "作者喜欢雨夜的港口"),
        ("Never end a chapter with a question.", "Do not end a chapter with a question"),
    ],
)
def test_these_say_the_same(one: str, other: str) -> None:
    assert is_same(analyse_meaning(one), analyse_meaning(other))
    assert not is_opposite(analyse_meaning(one), analyse_meaning(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes rain.", "Likes fog."),
        ("Likes rain on the harbour at night.", "Dislikes rain on the harbour at night."),
        ("At most 20 words a line.", "At most 30 words a line."),
        ("Avoid dashes.", "Avoid semicolons."),
        ("喜欢雨夜的港口", "不喜欢雨夜的港口"),
        ("Yes.", "No."),
    ],
)
def test_these_do_not(one: str, other: str) -> None:
    assert not is_same(analyse_meaning(one), analyse_meaning(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Prefers short sentences.", "偏好长句。"),
        ("Write in the first person.", "Write in the third person."),
        ("Likes rain on the harbour at night.", "Dislikes rain on the harbour at night."),
        ("喜欢雨夜的港口", "不喜欢雨夜的港口"),
    ],
)
def test_these_contradict_each_other(one: str, other: str) -> None:
    assert is_opposite(analyse_meaning(one), analyse_meaning(other))
    assert is_opposite(analyse_meaning(other), analyse_meaning(one))


def test_a_topic_is_not_the_opposite_of_none() -> None:
    assert not are_opposite_topics("", "sentence=less")
    assert not are_opposite_topics("sentence=less", "paragraph=more")


@given(st.lists(st.text(max_size=40), max_size=12), st.text(max_size=40))
def test_looking_up_finds_what_comparing_with_all_would_find(texts: list[str], wanted: str) -> None:
    known = MeaningIndex()
    for number, text in enumerate(texts):
        known.add(str(number), text)
    alike = [str(n) for n, text in enumerate(texts) if is_same(analyse_meaning(wanted), analyse_meaning(text))]
    against = [str(n) for n, text in enumerate(texts) if is_opposite(analyse_meaning(wanted), analyse_meaning(text))]
    assert (known.find_same(wanted), known.find_opposite(wanted)) == (alike, against)
