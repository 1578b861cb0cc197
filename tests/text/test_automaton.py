"""An automaton over many strings."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.text import automaton
from fabula.text.automaton import MAX_CYCLE, MIN_PADDED, Automaton, make_padding

STRINGS = st.lists(st.text("ab王\ufdd0", min_size=1, max_size=4), unique=True, max_size=12)


def find_one_by_one(strings: list[str], text: str) -> list[tuple[int, int, int]]:
    return [
        (number, start, start + len(string))
        for number, string in enumerate(strings)
        for start in range(len(text))
        if text.startswith(string, start)
    ]


@given(strings=STRINGS, text=st.text("ab王\ufdd0"), is_large=st.booleans())
def test_every_occurrence_is_found_in_small_and_large_automata(strings: list[str], text: str, is_large: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automaton, "MIN_PADDED", 1 if is_large else MIN_PADDED)
        found = Automaton(strings).find(text)
    assert sorted(found) == sorted(find_one_by_one(strings, text))
    assert all(before[2] <= after[2] for before, after in pairwise(found))


def test_leftmost_longest_finds_no_overlaps_in_a_large_automaton() -> None:
    strings = [*(f"w{number}" for number in range(2 * MIN_PADDED)), "Anna", "Ann", "na Bo"]
    found = Automaton(strings, leftmost_longest=True).find("Anna Bo")
    assert [strings[number] for number, _, _ in found] == ["Anna"]


@pytest.mark.parametrize("count", [MIN_PADDED, 24_000, 100_000])
def test_strings_that_continue_each_other_are_built_in_linear_time(count: int) -> None:
    """The library walks cycles of states in which a string ends: padding bounds their length."""
    (padding,) = make_padding(count)
    assert count / (len(padding.encode()) - 1) <= MAX_CYCLE
    assert len(padding) <= count / MAX_CYCLE
    names = [f"Name{number}" for number in range(count)]
    assert [names[number] for number, _, _ in Automaton(names).find(f"Name{count - 1}")][-1] == names[-1]


def test_few_strings_are_not_padded() -> None:
    assert make_padding(MIN_PADDED - 1) == []
