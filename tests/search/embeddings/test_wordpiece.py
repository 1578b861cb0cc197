from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.search.embeddings.wordpiece import READ, WordPieces

VOCABULARY = ["[UNK]", "[CLS]", "[SEP]", "the", "light", "##house", "##houses", "keep", "##er", "cafe"]
VOCABULARY += ["don", "t", "'", ".", "雾", "a", "##b", "zero", "##width", "##lines"]
PIECES = WordPieces(VOCABULARY)


def cut(text: str, most: int = 256) -> list[str]:
    return [VOCABULARY[number] for number in PIECES.numbers(text, most)][1:-1]


def test_a_word_is_cut_into_the_longest_pieces() -> None:
    assert cut("The lighthouse keeper") == ["the", "light", "##house", "keep", "##er"]
    assert cut("lighthouses") == ["light", "##houses"]


def test_a_word_that_does_not_come_out_even_is_unknown_as_a_whole() -> None:
    assert cut("the lighthousex") == ["the", "[UNK]"]


def test_accents_and_capitals_go() -> None:
    assert cut("Café CAFÉ cafe\u0301") == ["cafe", "cafe", "cafe"]


def test_marks_and_chinese_characters_stand_alone() -> None:
    assert cut("don't.") == ["don", "'", "t", "."]
    assert cut("the雾light") == ["the", "雾", "light"]


def test_control_characters_go_and_every_kind_of_space_parts() -> None:
    assert cut("ze\x00ro\u00adwidth\ufffdlines") == ["zero", "##width", "##lines"]
    assert cut("the\u2028light\u3000the\tlight\u00a0the") == ["the", "light", "the", "light", "the"]


def test_a_very_long_word_is_unknown() -> None:
    assert cut("a" + "b" * 99) == ["a", *["##b"] * 99]
    assert cut("a" + "b" * 100) == ["[UNK]"]


def test_a_long_text_is_cut_and_still_ends() -> None:
    numbers = PIECES.numbers("the " * 1000, 16)
    assert len(numbers) == 16
    assert VOCABULARY[numbers[-1]] == "[SEP]"


def test_of_an_endless_text_only_the_beginning_is_looked_at() -> None:
    assert cut("the" + " " * READ + "light" * 1_000_000) == ["the"]


def test_no_text_at_all_is_two_marks() -> None:
    assert PIECES.numbers("", 256) == [1, 2]


def test_a_vocabulary_without_its_marks_is_refused() -> None:
    with pytest.raises(KeyError):
        WordPieces(["the", "light"])


@given(st.text(), st.integers(2, 40))
def test_any_text_gives_numbers_of_the_vocabulary_within_the_limit(text: str, most: int) -> None:
    numbers = PIECES.numbers(text, most)
    assert 2 <= len(numbers) <= most
    assert (numbers[0], numbers[-1]) == (1, 2)
    assert all(0 <= number < len(VOCABULARY) for number in numbers)
    assert numbers == PIECES.numbers(text, most)
