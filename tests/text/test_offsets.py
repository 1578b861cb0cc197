"""Offsets mean the same character inside the house and outside it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import Code, FabulaError
from fabula.text.offsets import check_cursor, map_to_normalised, map_to_stored_text, normalise, utf16_to_code_points
from tests.text.strings import hard_strings


def units(text: str) -> int:
    """How many UTF-16 units a text has, as JavaScript's `length`."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def refused(text: str, at: int) -> bool:
    try:
        utf16_to_code_points(text, at)
    except FabulaError as error:
        return error.code is Code.CURSOR_INVALID
    return False


@pytest.mark.parametrize("text", ["", "plain", "林远走了过来", "a😀b", "😀", "👩‍👩‍👧‍👦!", "e\u0301", "𠮷野家"])
def test_every_place_between_characters_comes_back_from_utf_16(text: str) -> None:
    for offset in range(len(text) + 1):
        assert utf16_to_code_points(text, units(text[:offset])) == offset


def test_every_place_in_hard_strings_comes_back_from_utf_16() -> None:
    rng = random.Random(5)
    for text in hard_strings(6, 300):
        offset = rng.randint(0, len(text))
        assert utf16_to_code_points(text, units(text[:offset])) == offset


def test_a_place_inside_a_character_is_refused() -> None:
    assert refused("a😀b", 2)
    assert [at for at in range(6) if refused("😀😀", at)] == [1, 3, 5]


def test_a_place_behind_the_end_or_before_the_beginning_is_refused() -> None:
    assert refused("abc", 4)
    assert refused("林远", 3)
    assert refused("abc", -1)
    assert refused("😀", 3)


@pytest.mark.parametrize("cursor", [True, 1.5, "1", None, -1, 4])
def test_a_cursor_that_is_not_a_place_is_refused(cursor: object) -> None:
    with pytest.raises(FabulaError) as caught:
        check_cursor(cursor, 3)
    assert caught.value.code is Code.CURSOR_INVALID


@pytest.mark.parametrize("cursor", [0, 1, 3])
def test_a_cursor_may_stand_at_either_end(cursor: int) -> None:
    assert check_cursor(cursor, 3) == cursor


def test_a_surrogate_half_in_a_text_counts_as_one_unit() -> None:
    assert utf16_to_code_points("a\ud83db", 2) == 2


def test_line_ends_become_one_kind() -> None:
    assert normalise("a\r\nb\rc\nd\r\n\r\ne") == "a\nb\nc\nd\n\ne"
    assert normalise("") == ""


def test_a_normalised_text_can_be_sent_and_stays_as_it_is() -> None:
    for text in (*hard_strings(7, 200), "half \ud83d of a character", "\udc00", "林\ud800远"):
        once = normalise(text)
        once.encode()
        assert normalise(once) == once


@pytest.mark.parametrize("half", [0xD83D, 0xDC00, 0xD800])
def test_a_surrogate_half_is_replaced_by_one_character_so_that_later_offsets_hold(half: int) -> None:
    assert normalise(f"before {chr(half)} after") == "before \ufffd after"


def test_an_offset_falls_on_the_same_character_after_line_ends_are_normalised() -> None:
    sent = "one\r\ntwo\r\n\r\nthree\rfour\nfive 林\r\n"
    kept = normalise(sent)
    for at, character in enumerate(sent):
        if character not in "\r\n":
            assert kept[map_to_normalised(sent, at)] == character
    assert map_to_normalised(sent, len(sent)) == len(kept)


def test_an_offset_between_a_carriage_return_and_its_line_feed_stays_at_that_line_end() -> None:
    assert map_to_normalised("a\r\nb", 2) in (1, 2)


@given(text=st.text(alphabet="ab \n", max_size=30), typed=st.text(alphabet="ab \n", max_size=8), data=st.data())
def test_words_typed_right_before_the_cursor_do_not_move_it_in_the_stored_text(
    text: str, typed: str, data: st.DataObject
) -> None:
    cursor = data.draw(st.integers(0, len(text)))
    edited = text[:cursor] + typed + text[cursor:]
    assert map_to_stored_text(text, edited, cursor + len(typed)) == cursor
