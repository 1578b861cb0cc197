"""The exact rules against a second, simple implementation, on random cases."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.lorebook import describe_activation, scan_turns
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lorebook.cases import make_case
from tests.lorebook.reference import compute_answers


@settings(max_examples=600, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_both_implementations_give_the_same_answer_turn_by_turn(seed: int) -> None:
    made = make_case(seed)
    assert [describe_activation(answer) for answer in scan_turns(made, [])] == compute_answers(made)


def test_the_cases_reach_every_place_and_most_entries_of_some_kind() -> None:
    """A generator that called nothing up would prove nothing."""
    every: list[dict[str, Any]] = [answer for seed in range(300) for answer in compute_answers(make_case(seed))]
    assert sum(bool(answer["activated"]) for answer in every) > len(every) / 2
    for place in ("before", "after", "depth", "an_top", "an_bottom", "em", "outlets"):
        assert sum(bool(answer[place]) for answer in every) > 10, place


@pytest.mark.parametrize("first", [True, False])
def test_the_texts_of_one_pass_are_one_text_to_the_next(first: bool) -> None:
    # A line begins behind a line break, and not behind the mark that stands before each text.
    made = make_case(0) | {"messages": [{"name": "Pia", "mes": "go"}], "more": [], "random": []}
    made["settings"] |= {"recursive": True, "depth": 1, "budget": 100, "budget_cap": 0, "max_recursion_steps": 0}
    made["settings"] |= {"min_activations": 0, "match_whole_words": False, "use_group_scoring": False}
    entries: list[dict[str, Any]] = [
        {"uid": 0, "key": ["go"], "content": "Nell" if first else "Ned", "order": 2},
        {"uid": 1, "key": ["go"], "content": "Ned" if first else "Nell", "order": 1},
        {"uid": 2, "key": ["/^Nell/m"], "content": "found"},
    ]
    made["book"] = {"entries": {str(entry["uid"]): entry for entry in entries}}
    assert compute_answers(made)[0]["activated"] == ([0, 1] if first else [0, 1, 2])
    assert [describe_activation(answer) for answer in scan_turns(made, [])] == compute_answers(made)
