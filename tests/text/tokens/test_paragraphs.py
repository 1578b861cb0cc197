"""A text cut where counts add up."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from fabula.text.tokens.paragraphs import HUGE_PARAGRAPH, PAGE_SIZE, Paragraphs
from fabula.text.tokens.tokenizer import ByteTokenizer, load_encoding
from tests.text.strings import prose

ADDITIVE = ("cl100k_base", "o200k_base")


def pieces(text: str) -> list[str]:
    starts = [*Paragraphs(text).starts, len(text)]
    return [text[first:last] for first, last in pairwise(starts)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("one", ["one"]),
        ("one\ntwo", ["one\n", "two"]),
        ("one\n\ntwo\n", ["one\n\n", "two\n"]),
        ("\n\n  \none\n\n\n two", ["one\n\n\n", " two"]),
        ("一\n　　二\n\n　　三", ["一\n", "　　二\n\n", "　　三"]),
        ("one\n/two", ["one\n/two"]),
        ("one\n  /two\nthree", ["one\n  /two\n", "three"]),
        ("  one", ["  one"]),
    ],
)
def test_a_paragraph_begins_with_text_and_owns_the_blank_lines_behind_it(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


def test_nothing_but_blank_lines_in_front_is_lost() -> None:
    for seed in range(50):
        text = prose(seed, 30)
        assert "".join(pieces(text)) == text[Paragraphs(text).starts[0] :]
        assert not text[: Paragraphs(text).starts[0]].strip()


@pytest.mark.parametrize("name", ADDITIVE)
def test_the_counts_of_paragraphs_add_up_to_the_count_of_the_text(name: str) -> None:
    tokenizer = load_encoding(name)
    for seed in range(300):
        text = prose(seed, 12)
        paragraphs = Paragraphs(text)
        whole = text[paragraphs.starts[0] :]
        assert paragraphs.count_tokens(tokenizer, 0, len(paragraphs.starts)) == tokenizer.count(whole), repr(text)


@pytest.mark.parametrize("name", ADDITIVE)
def test_the_counts_of_any_run_of_paragraphs_add_up(name: str) -> None:
    tokenizer, rng = load_encoding(name), random.Random(1)
    paragraphs = Paragraphs(prose(99, 4 * PAGE_SIZE))
    edges = [*paragraphs.starts, len(paragraphs.text)]
    for _ in range(200):
        first, last = sorted(rng.choices(range(len(edges)), k=2))
        text = paragraphs.text[edges[first] : edges[last]]
        assert paragraphs.count_tokens(tokenizer, first, last) == tokenizer.count(text)


def test_every_offset_belongs_to_the_paragraph_of_the_character_before_it() -> None:
    paragraphs = Paragraphs("one\n\ntwo\n\nthree")
    assert [paragraphs.index_at(at) for at in (0, 1, 4, 5, 6, 9, 10, 11, 15)] == [0, 0, 0, 0, 1, 1, 1, 2, 2]


def test_reaching_back_takes_as_many_whole_paragraphs_as_fit() -> None:
    tokenizer, rng = load_encoding("o200k_base"), random.Random(2)
    paragraphs = Paragraphs(prose(7, 3 * PAGE_SIZE))
    count = len(paragraphs.starts)
    for _ in range(200):
        last, room = rng.randint(0, count), rng.randint(0, 3000)
        first, spent = paragraphs.fit_backwards(tokenizer, last, room)
        assert spent == paragraphs.count_tokens(tokenizer, first, last) <= room
        assert first == 0 or paragraphs.count_tokens(tokenizer, first - 1, last) > room


def test_a_huge_paragraph_is_never_taken_whole() -> None:
    text = "word " * (HUGE_PARAGRAPH // 5 + 1) + "\n\nshort\n\n"
    paragraphs = Paragraphs(text)
    first, spent = paragraphs.fit_backwards(ByteTokenizer(), len(paragraphs.starts), 10_000_000)
    assert paragraphs.text[paragraphs.starts[first] :] == "short\n\n"
    assert spent == ByteTokenizer().count("short\n\n")


def test_sums_of_two_vocabularies_are_kept_apart() -> None:
    paragraphs = Paragraphs("お誕生日おめでとう\n\nお誕生日おめでとう")
    small, large = load_encoding("o200k_base"), load_encoding("cl100k_base")
    for _ in range(2):
        assert paragraphs.count_tokens(small, 0, 2) < paragraphs.count_tokens(large, 0, 2)
