"""A long text in pieces: nothing is lost, and each piece fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabula.text.chunks import pieces
from fabula.text.tokens.tokenizer import encoding

COUNT = encoding("o200k_base")
PARAGRAPHS = st.lists(st.sampled_from(["A word.", "海很静。", "Long " * 40, "雾" * 90, "", "/slash"]), max_size=30)


@given(PARAGRAPHS, st.integers(20, 200))
def test_pieces_are_the_text_and_each_fits(paragraphs: list[str], room: int) -> None:
    text = "\n\n".join(paragraphs)
    found = pieces(text, COUNT, room)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(COUNT.count(piece) <= room for piece in found)


def test_a_text_that_fits_is_one_piece_and_an_empty_one_none() -> None:
    assert pieces("One.\n\nTwo.", COUNT, 100) == ["One.\n\nTwo."]
    assert pieces(" \n\n", COUNT, 100) == []


def test_five_million_characters_without_a_break_are_cut_all_the_same() -> None:
    found = pieces("海" * 5_000_000, COUNT, 10_000)
    assert sum(map(len, found)) == 5_000_000
    assert max(map(len, found)) <= 10_000
