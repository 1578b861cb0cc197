"""Sequences of word lists match what the regular expression would, and no place is tried twice."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.constraints.rule_parser import read_rule
from fabula.constraints.rules import word_sequence
from fabula.constraints.rules.word_sequence import Repetition, WordList, make_word_list, match_sequence

SIGNS: dict[Repetition, str] = {"once": "", "most": "*", "fewest": "*?"}
PARTS = st.lists(
    st.tuples(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4), st.sampled_from(list(SIGNS))),
    min_size=1,
    max_size=4,
)


@given(st.text("ab", max_size=7), PARTS, st.booleans())
def test_a_sequence_matches_what_the_expression_matches(
    text: str, parts: list[tuple[list[str], Repetition]], has_any: bool
) -> None:
    sequence = [make_word_list(words, repetition) for words, repetition in parts]
    groups = [f"((?:{'|'.join(one.words or ())}){SIGNS[one.repetition]})" for one in sequence]
    if has_any:
        sequence.append(WordList(None, "fewest"))
        groups.append("(.*?)")
    match = re.fullmatch("".join(groups), text)
    assert match_sequence(text, sequence) == (None if match is None else list(match.groups()))


@pytest.mark.parametrize("rule", ["每句不超过30字" + "不要" * 150, "不要" + "使用" * 150 + "x", "请在全文中都" * 60])
def test_a_rule_of_words_made_of_words_is_read_in_few_steps(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    list_steps = word_sequence._list_steps

    def count_steps(words: WordList, text: str, part: int, at: int) -> list[tuple[int, int]]:
        steps.append(at)
        return list_steps(words, text, part, at)

    monkeypatch.setattr(word_sequence, "_list_steps", count_steps)
    assert read_rule(rule).check is None
    assert len(steps) < 50 * len(rule)
