"""Quotations of a model, held against a text: whatever it answers, only sentences of the text are facts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabula.codex import Entry
from fabula.codex.facts import Facts, FactText, Quotation
from fabula.codex.facts.find import make_fact_names
from fabula.codex.facts.quotations import AROUND, LENGTHS, find_quotations
from fabula.codex.model import Codex

ENTRIES = [Entry(id="mara", type="character", name="Mara"), Entry(id="lin", type="character", name="林黛玉")]
CODEX = Codex("p", "en", ENTRIES)
_ENGLISH = [
    "Mara ",
    "owed him ten crowns",
    ". ",
    "! ",
    "\n",
    "“",
    "” ",
    "\n\n",
    "Mr. ",
    " ",
    "  ",
    "the lamp",
    "x" * 90,
]
PIECES = st.sampled_from([*_ENGLISH, "林黛玉", "许了愿。"])
TEXTS = st.lists(PIECES, max_size=40).map("".join)
WORDS = st.one_of(TEXTS, st.text(max_size=80))


@given(text=TEXTS, words=WORDS, entry=st.sampled_from(["mara", "lin", "nobody", ""]))
def test_what_is_found_stands_in_the_text_within_bounds_and_beside_its_name(text: str, words: str, entry: str) -> None:
    for found in find_quotations(text, [Quotation(entry, words)], CODEX.name_matcher, make_fact_names(ENTRIES)):
        sentence = text[found.start : found.end]
        name = next(one.name for one in ENTRIES if one.id == found.entry_id)
        assert "\n" not in sentence
        assert 0 < len(sentence) <= LENGTHS[1]
        assert name in text[max(found.start - AROUND, 0) : found.end + AROUND]
        assert found.known_from in ((found.end, len(text)) if name in sentence else (len(text),))


@given(text=TEXTS, start=st.integers(0, 400), length=st.integers(0, 300))
def test_a_quotation_is_found_again_as_it_was_stored(text: str, start: int, length: int) -> None:
    names = make_fact_names(ENTRIES)
    for entry in ENTRIES:
        words = text[start : start + length]
        first = list(find_quotations(text, [Quotation(entry.id, words)], CODEX.name_matcher, names))
        stored = [Quotation(one.entry_id, one.quote(text)) for one in first]
        again = [one.quote(text) for one in find_quotations(text, stored, CODEX.name_matcher, names)]
        assert again == [one.text for one in stored]


def test_a_quotation_is_found_in_a_book_in_one_line() -> None:
    tide = "The tide came in over the stones. " * 2000
    text = f"{tide}“I owe you ten crowns,” said Mara. {tide}"
    facts = Facts([FactText("one", text, quotations=(Quotation("mara", "I owe you ten crowns"),))], CODEX)
    (fact,) = facts.list_facts("mara")
    assert (fact.origin, fact.text) == ("model", "“I owe you ten crowns,” said Mara.")
    assert text[fact.start : fact.end] == fact.text


def test_a_chinese_quotation_is_a_fact_of_whom_it_names() -> None:
    text = "“我必在明年春天还你那把扇子，”林黛玉说。\n\n外面下着雨。"
    facts = Facts([FactText("一", text, quotations=(Quotation("lin", "我必在明年春天还你那把扇子"),))], CODEX)
    (fact,) = [one for one in facts.list_facts("lin") if one.origin == "model"]
    assert fact.text == "“我必在明年春天还你那把扇子，”林黛玉说。"
