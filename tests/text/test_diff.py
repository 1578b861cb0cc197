"""Differences of two texts: edits turn one into the other, and unchanged words keep their place."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from fabula.text.diff import TextEdit, find_edits, map_offset

WORDS = ["the", "sea", "light", "她", "说", "灯塔", "keeper", "\n", ", ", "rain", "a", "。"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)


def apply_edits(old: str, new: str, edits: list[TextEdit]) -> str:
    """Put together the new text from unchanged parts of the old one and replaced parts of the new one."""
    parts, at = [], 0
    for edit in edits:
        parts += [old[at : edit.start], new[edit.new_start : edit.new_end]]
        at = edit.old_end
    return "".join([*parts, old[at:]])


@given(TEXTS, TEXTS)
def test_the_edits_turn_one_text_into_the_other(old: str, new: str) -> None:
    assert apply_edits(old, new, find_edits(old, new)) == new


@given(TEXTS, TEXTS)
def test_offsets_in_unchanged_text_keep_their_characters_and_their_order(old: str, new: str) -> None:
    edits = find_edits(old, new)
    inside = {at for edit in edits for at in range(edit.start, edit.old_end)}
    for at in set(range(len(old))) - inside:
        # The offset before an unchanged character stays before it; at the end of an edit both sides are meant.
        assert old[at] == new[map_offset(edits, at, forward=True)] or any(edit.start == at for edit in edits)
    for forward in (True, False):
        mapped = [map_offset(edits, at, forward=forward) for at in range(len(old) + 1)]
        assert mapped == sorted(mapped)
        assert mapped[-1] <= len(new)


@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_every_word_that_survives_keeps_its_place_however_many_places_change(source: random.Random, count: int) -> None:
    """A model that follows each word by its number; words are told apart by it, as rare words are in prose."""
    words = [f"word{number}" for number in range(80)]
    survivors: list[int | None] = list(range(len(words)))
    for _ in range(count):
        at = source.randrange(len(survivors))
        survivors[at : at + source.randrange(3)] = [None] * source.randrange(3)
    old, new = " ".join(words), " ".join("new" if one is None else words[one] for one in survivors)
    edits = find_edits(old, new)
    for number, word in enumerate(words):
        if number in survivors:
            begins = old.index(f"{word} ") if number < len(words) - 1 else old.index(word)
            assert new.startswith(word, map_offset(edits, begins + 1, forward=True) - 1)


def test_two_typos_far_apart_are_two_edits() -> None:
    old = "She lit teh lamp.\n" + "The rain went on.\n" * 50 + "He siad nothing.\n"
    assert len(find_edits(old, old.replace("teh", "the").replace("siad", "said"))) == 2


def test_a_word_replaced_everywhere_is_one_edit_each() -> None:
    old = "".join(f"Line {number}: Mara waits, and Mara knows.\n" for number in range(200))
    assert len(find_edits(old, old.replace("Mara", "Eleanor"))) == 400


def test_chinese_is_compared_by_character() -> None:
    edits = find_edits("林远走进灯塔。雨还在下。", "林远跑进灯塔。雪还在下。")
    assert [(edit.start, edit.old_end) for edit in edits] == [(2, 3), (7, 8)]
