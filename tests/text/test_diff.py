"""Differences of two texts: edits turn one into the other, and unchanged words keep their place."""

from __future__ import annotations

import random
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.text import diff
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


COMMON = {" ": ["the", "and", "she", "sea,", "was", "of"], "": list("的了，她在。")}
RARE = {" ": [f"word{number}" for number in range(200)], "": [chr(0x5000 + number) for number in range(200)]}


@given(st.sampled_from(["", " "]), st.randoms(use_true_random=False), st.integers(1, 60))
def test_rare_words_between_common_ones_keep_their_place_however_many_places_change(
    separator: str, source: random.Random, count: int
) -> None:
    """A model that follows each word. Rare words occur once; common ones are deleted, inserted and replaced too."""
    rare, common = iter(RARE[separator]), COMMON[separator]
    old = [next(rare) if source.random() < 0.3 else source.choice(common) for _ in range(200)]
    words: list[tuple[int | None, str]] = list(enumerate(old))  # the place in the old text
    for _ in range(count):
        at = source.randrange(len(words) + 1)
        inserted = source.choices([*common, "new", "新"], k=source.randrange(3))
        words[at : at + source.randrange(3)] = [(None, word) for word in inserted]
    old_text, new_text = (separator.join(texts) for texts in (old, [word for _, word in words]))
    edits = find_edits(old_text, new_text)
    assert apply_edits(old_text, new_text, edits) == new_text
    counts = Counter(old)
    for index, word in words:
        if index is not None and counts[word] == 1 and word not in common:
            start = old_text.index(word + separator if index < len(old) - 1 else word)
            inside = {map_offset(edits, start + step, forward=True) - step for step in range(1, len(word))}
            assert inside <= {new_text.index(word + separator if words[-1][0] != index else word)}
            assert not any(edit.start < start + len(word) and start < edit.old_end for edit in edits)


def edit_words(words: list[str], share: float, source: random.Random) -> tuple[str, list[tuple[int, int, int]]]:
    """Delete and replace a share of the words; return the text, and where in both texts each other word is."""
    parts: list[str] = []
    unchanged: list[tuple[int, int, int]] = []
    at_old = at_new = 0
    for word in words:
        is_unchanged = source.random() >= share
        part = word if is_unchanged else source.choice(["", source.choice(words)])
        if is_unchanged:
            unchanged.append((at_old, at_new, len(word)))
        parts.append(part)
        at_old, at_new = at_old + len(word), at_new + len(part)
    return "".join(parts), unchanged


@pytest.mark.parametrize("is_chinese", [False, True])
def test_words_keep_their_place_in_a_long_text_without_unique_words(is_chinese: bool) -> None:
    """A tenth of the words is deleted or replaced; the n-th word of the vocabulary has a share of 1/n."""
    source = random.Random(1)
    vocabulary = [chr(0x4E00 + n) if is_chinese else f"w{n} " for n in range(100)]
    words = source.choices(vocabulary, weights=[1 / (n + 2) for n in range(100)], k=3000)
    new, unchanged = edit_words(words, 0.1, source)
    edits = find_edits("".join(words), new)
    in_place = sum(
        size
        for start, new_start, size in unchanged
        if map_offset(edits, start, forward=True) == new_start
        and not any(edit.start < start + size and start < edit.old_end for edit in edits)
    )
    assert in_place >= 0.95 * sum(size for _, _, size in unchanged)


def count_lines(old: str, new: str) -> int:
    """The lines of code that run while two texts are compared."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename == diff.__file__ else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        find_edits(old, new)
    finally:
        sys.settrace(before)
    return count


def choose_words(words: list[str], separator: str, count: int) -> tuple[str, str]:
    """Two texts of random words."""
    first, second = (separator.join(random.Random(seed).choices(words, k=count)) for seed in (1, 2))
    return first, second


def reverse_characters(count: int) -> tuple[str, str]:
    """A text without repeated characters, and the same from its end."""
    text = "".join(map(chr, range(0x4E00, 0x4E00 + count)))
    return text, text[::-1]


HOSTILE: dict[str, Callable[[int], tuple[str, str]]] = {
    "equal characters": lambda n: ("一" * n + "二", "三" + "一" * (n // 2) + "四" + "一" * (n // 3)),
    "alternating characters": lambda n: ("一二" * n + "三", "四" + "二一" * n),
    "alternating words": lambda n: ("a b " * n + "c", "d " + "b a " * n),
    "another order": lambda n: ("一二三" * n, "一三二" * n),
    "reversed": reverse_characters,
    "two characters at random": lambda n: choose_words(["一", "二"], "", n),
    "common words at random": lambda n: choose_words(COMMON[" "], " ", n),
    "one long word": lambda n: ("a" * n + "b" * n, "a" * n + "c" + "b" * n),
    "empty lines": lambda n: ("\n" * n + "a", "b" + "\n" * (n // 2)),
}


@pytest.mark.parametrize("size", [1000, 4000])
@pytest.mark.parametrize("shape", HOSTILE)
def test_the_work_for_a_hostile_text_is_bounded_by_its_length(shape: str, size: int) -> None:
    old, new = HOSTILE[shape](size)
    assert count_lines(old, new) <= 60 * len(old + new)


def test_two_typos_far_apart_are_two_edits() -> None:
    old = "She lit teh lamp.\n" + "The rain went on.\n" * 50 + "He siad nothing.\n"
    assert len(find_edits(old, old.replace("teh", "the").replace("siad", "said"))) == 2


def test_a_word_replaced_everywhere_is_one_edit_each() -> None:
    old = "".join(f"Line {number}: Mara waits, and Mara knows.\n" for number in range(200))
    assert len(find_edits(old, old.replace("Mara", "Eleanor"))) == 400


def test_chinese_is_compared_by_character() -> None:
    edits = find_edits("林远走进灯塔。雨还在下。", "林远跑进灯塔。雪还在下。")
    assert [(edit.start, edit.old_end) for edit in edits] == [(2, 3), (7, 8)]


def test_a_text_that_is_new_as_a_whole_is_not_split_into_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "_WORD", None)
    assert find_edits("", "王小明走进了港口。" * 10) == [TextEdit(0, 0, 0, 90)]
    assert find_edits("王小明走进了港口。", "") == [TextEdit(0, 9, 0, 0)]
    assert find_edits("One.\n", "One.\nTwo.\n") == [TextEdit(5, 5, 5, 10)]


def test_lines_without_end_count_as_replaced_and_long_chapters_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "_LONGEST_LINES", 1_000)
    monkeypatch.setattr(diff, "_LONGEST_LINE", 200)
    endless = "".join(chr(0x4E00 + number) for number in range(800))
    changed = f"X{endless[1:400]}Y{endless[401:799]}Z"
    assert find_edits(endless, changed) == [TextEdit(0, 800, 0, 800)]
    lines = "".join(f"{endless[at : at + 99]}\n" for at in range(0, 700, 100))
    renamed = "".join(f"X{endless[at + 1 : at + 98]}Y\n" for at in range(0, 700, 100))
    assert len(find_edits(lines, renamed)) == 14


def test_comparing_a_long_line_takes_little_memory() -> None:
    old, new = "王" * 1_000_000, "甲乙" * 500_000
    tracemalloc.start()
    try:
        find_edits(old, new)
        find_edits("", new)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
