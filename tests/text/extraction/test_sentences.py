"""The sentences of a book that tell most about a name, as they stand in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabula.text.extraction.sentences import find_sentence, find_telling_sentences, quote_sentence

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


def test_marks_inside_a_quotation_become_single_ones() -> None:
    assert quote_sentence("“Come,” said Vale.") == "“‘Come,’ said Vale.”"
    assert quote_sentence("Come, said Vale.”") == "“Come, said Vale.”"


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
