"""The sentences of a book that tell most about a name, as they stand in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabula.text.extraction.sentences import find_sentence, find_telling_sentences, quote_sentence, shorten_quotation

TEXT = (
    "Vale came in. Vale was a pilot of forty years, tall and grey. “Vale!” cried Mr. Fenn.\n\n"
    "Nobody answered. Then Vale left, and the door closed behind him."
)


def best(text: str, names: list[str], language: str = "en") -> str:
    found = find_telling_sentences([("one", text)], names, is_person=True, language=language)
    return max(found, key=lambda one: one.score).quotation


def test_a_sentence_that_says_who_somebody_is_tells_most() -> None:
    assert best(TEXT, ["Vale"]) == "Vale was a pilot of forty years, tall and grey."
    assert best("沈砚来了。沈砚乃临江人氏，身长八尺，生得魁梧。沈砚走了。", ["沈砚"], "zh").startswith("沈砚乃临江人氏")


def test_a_title_with_a_full_stop_does_not_end_a_sentence() -> None:
    start, end = find_sentence(TEXT, TEXT.index("Fenn"))
    assert TEXT[start:end].strip() == "“Vale!” cried Mr. Fenn."


def test_the_marks_of_a_quotation_are_those_of_the_book() -> None:
    """Marks inside a sentence became single ones, and some were left out."""
    assert quote_sentence("“Come,” said Vale.") == "“Come,” said Vale."
    assert quote_sentence("Come, said Vale.”") == "“Come, said Vale.”"
    assert quote_sentence("Vale came.") == "“Vale came.”"


@given(st.text("Vale was. ?!“”‘’\n", max_size=60))
def test_a_quoted_sentence_holds_words_of_the_book_only(sentence: str) -> None:
    assert quote_sentence(sentence) in (sentence, f"“{sentence.strip('“”')}”")


def test_a_long_sentence_is_cut_between_words_with_a_mark() -> None:
    """A sentence over 300 characters before its name began in the middle of a word, as if it began there."""
    long = f"{'Over the grey water and the sand ' * 12}came Vale with {'a lantern and a rope ' * 20}and stopped."
    text = f"It rained. {long} Then it was dark."
    start, end = find_sentence(text, text.index("Vale"))
    assert text[start:end].strip() == long
    found = find_telling_sentences([("one", text)], ["Vale"], is_person=True, language="en")[0].quotation
    assert (found[0], found[-1]) == ("…", "…")
    assert f" {found[1:-1]} " in text
    assert "Vale" in found


@given(st.lists(st.sampled_from(["a", "lantern", "Vale", "grey\n"]), min_size=1, max_size=120), st.integers(0, 900))
def test_a_shortened_quotation_is_a_part_of_the_sentence_in_whole_words(words: list[str], at: int) -> None:
    sentence = " ".join(words)
    shown = shorten_quotation(sentence, min(at, len(sentence) - 1), 240)
    assert {*shown.strip("…").split()} <= {"a", "lantern", "Vale", "grey"}
    assert shown.strip("…") in " ".join(sentence.split())


@given(st.text("Vale was. ?!“”\n。，沈砚", max_size=200), st.integers(0, 200))
def test_a_sentence_holds_the_place_it_is_looked_up_for(text: str, offset: int) -> None:
    if offset < len(text):
        start, end = find_sentence(text, offset)
        assert 0 <= start <= offset
        assert start <= end <= len(text)


@given(st.text("Vale was. ?!“”\n。，沈砚", max_size=200))
def test_every_quotation_stands_in_the_text(text: str) -> None:
    for one in find_telling_sentences([("one", text)], ["Vale", "沈砚"], is_person=True, language="en"):
        assert " ".join(text[one.start : one.end].split()) == one.quotation
        assert "Vale" in one.quotation or "沈砚" in one.quotation or one.quotation.isupper()


def test_words_that_describe_something_else_in_the_sentence_tell_nothing_of_the_name() -> None:
    text = "Vale opened the old grey door of the tall house and went in. Vale was a tall grey man."
    passing, telling = find_telling_sentences([("one", text)], ["Vale"], is_person=True, language="en")
    assert passing.score == 0
    assert telling.score >= 4
