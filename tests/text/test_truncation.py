"""Texts cut to a line, to a number of tokens and into chunks."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.text.tokens.tokenizer import load_encoding
from fabula.text.truncation import shorten_to_line, split_into_chunks, truncate_to_tokens
from fabula.text.windows import BLOCK_SEPARATOR
from tests.text.strings import prose

TOKENIZER = load_encoding("o200k_base")
PARAGRAPHS = st.lists(st.sampled_from(["A word.", "海很静。", "Long " * 40, "雾" * 90, "", "/slash"]), max_size=30)


@given(PARAGRAPHS, st.integers(20, 200))
def test_chunks_are_the_text_and_each_fits(paragraphs: list[str], max_tokens: int) -> None:
    text = "\n\n".join(paragraphs)
    chunks = split_into_chunks(text, TOKENIZER, max_tokens)
    assert "".join("".join(chunks).split()) == "".join(text.split())
    assert all(TOKENIZER.count(chunk) <= max_tokens for chunk in chunks)


def test_a_text_that_fits_is_one_chunk_and_an_empty_one_none() -> None:
    assert split_into_chunks("One.\n\nTwo.", TOKENIZER, 100) == ["One.\n\nTwo."]
    assert split_into_chunks(" \n\n", TOKENIZER, 100) == []


def test_five_million_characters_without_a_break_are_cut_all_the_same() -> None:
    chunks = split_into_chunks("海" * 5_000_000, TOKENIZER, 10_000)
    assert sum(map(len, chunks)) == 5_000_000
    assert max(map(len, chunks)) <= 10_000


def test_text_after_the_cursor_is_shortened_at_its_end_by_paragraphs_then_sentences() -> None:
    text = "One is here. Two is here.\n\nThree is here. Four is here."
    assert truncate_to_tokens(text, TOKENIZER, 100) == text
    assert (
        truncate_to_tokens(text, TOKENIZER, TOKENIZER.count("One is here. Two is here.\n\n"))
        == "One is here. Two is here."
    )
    assert truncate_to_tokens(text, TOKENIZER, TOKENIZER.count("One is here.\n\n")) == "One is here."
    assert truncate_to_tokens(text, TOKENIZER, 1) == ""


def test_shortened_text_never_costs_more_than_its_max_tokens() -> None:
    rng = random.Random(11)
    for seed in range(60):
        text, max_tokens = prose(seed, 6), rng.randint(1, 150)
        found = truncate_to_tokens(text, TOKENIZER, max_tokens)
        assert text.startswith(found)
        assert not found or TOKENIZER.count(found + BLOCK_SEPARATOR) <= max_tokens


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        (" The\n lamp ", "The lamp"),
        ("The lamp went", "The lamp…"),
        ("0123456789", "0123456789"),
        ("01234567890", "012345678…"),
        ("灯灭了", "灯灭了"),
    ],
)
def test_a_line_is_no_longer_than_asked_for_and_shows_where_it_was_cut(text: str, line: str) -> None:
    assert shorten_to_line(text, 10) == line
