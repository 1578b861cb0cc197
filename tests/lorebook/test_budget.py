"""The token budget of lorebooks."""

from __future__ import annotations

import pytest

from fabula.lorebook.activation import compute_budget
from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.model import LorebookReason, LorebookSettings, ScanContext
from fabula.lorebook.rules import ActivationRules, TokenTally
from fabula.text.tokens.tokenizer import load_encoding
from tests.lorebook.books import (
    BOTH,
    constant_entry,
    find_active_uids,
    keyed_entry,
    list_reasons,
    make_book,
    make_messages,
    scan_books,
)


@pytest.mark.parametrize(
    ("share", "context", "cap", "budget"),
    [
        (25, 4000, 0, 1000),
        (1, 150, 0, 2),
        (3, 150, 0, 5),
        (1, 149, 0, 1),
        (0, 4000, 0, 1),
        (25, 4000, 60, 60),
        (1, 4000, 60, 40),
        (25, 4000, -5, 1000),
        (10**400, 10**400, 7, 7),
    ],
)
def test_the_budget_is_a_share_rounded_half_up_never_nought_under_the_cap(
    share: int, context: int, cap: int, budget: int
) -> None:
    assert compute_budget(LorebookSettings(budget=share, budget_cap=cap), ScanContext(max_context=context)) == budget


def test_in_sillytavern_equality_is_too_much_and_in_ours_it_fits() -> None:
    exactly = constant_entry(content="one two three four")
    assert find_active_uids(exactly, budget=1, max_context=400) == []
    assert find_active_uids(exactly, budget=1, max_context=500) == [0]
    assert find_active_uids(exactly, budget=1, max_context=400, rules=FABULA) == [0]


def test_the_line_break_behind_each_text_counts() -> None:
    assert find_active_uids(constant_entry(content="abc"), budget=1, max_context=400, count_characters=True) == []
    assert find_active_uids(constant_entry(content="ab"), budget=1, max_context=400, count_characters=True) == [0]


BIG, SMALL = "one two three four five", "one"


def test_in_sillytavern_the_first_overflow_ends_all_normal_entries() -> None:
    answer = scan_books(
        make_book(constant_entry(content=BIG), constant_entry(content=SMALL)), budget=1, max_context=400
    )
    assert answer.active_uids == ()
    assert list_reasons(answer) == {0: LorebookReason.OVER_BUDGET, 1: LorebookReason.AFTER_OVERFLOW}


def test_in_ours_a_smaller_one_behind_an_overflow_is_tried() -> None:
    answer = scan_books(
        make_book(constant_entry(content=BIG), constant_entry(content=SMALL)), budget=1, max_context=400, rules=FABULA
    )
    assert answer.active_uids == (1,)
    assert answer.verdicts[0].reason is LorebookReason.OVER_BUDGET
    assert str(answer.verdicts[0].detail) == "5 tokens, and 4 were left"
    assert (answer.budget, answer.used) == (4, 1)


@pytest.mark.parametrize("rules", BOTH)
def test_who_ignores_the_budget_enters_and_counts(rules: ActivationRules) -> None:
    first = constant_entry(content=BIG, ignoreBudget=True)
    assert find_active_uids(first, constant_entry(content=SMALL), budget=1, max_context=400, rules=rules) == [0]
    assert find_active_uids(
        constant_entry(content=BIG), first, constant_entry(content="x"), budget=1, max_context=400
    ) == [1]


def test_ignoring_the_budget_sets_no_overflow() -> None:
    wide = constant_entry(content="wake " * 9, ignoreBudget=True, preventRecursion=True)
    entries = (wide, keyed_entry("x", content="wake"), keyed_entry("wake", content="e"))
    assert find_active_uids(*entries, messages=make_messages("y"), budget=1, max_context=400, recursive=True) == [0]
    late = (constant_entry(delayUntilRecursion=1, content="d"), constant_entry(delayUntilRecursion=2, content="d"))
    assert find_active_uids(wide, *late, budget=1, max_context=400) == [0, 1, 2]


def test_in_sillytavern_earlier_passes_forget_what_prevents_recursion() -> None:
    hidden = constant_entry(content="one two three", preventRecursion=True)
    entries = (
        hidden,
        constant_entry(content="wake", delayUntilRecursion=1),
        constant_entry(content="x", delayUntilRecursion=2),
    )
    assert find_active_uids(*entries, budget=1, max_context=400) == [0, 1, 2]
    answer = scan_books(make_book(*entries), budget=1, max_context=400, rules=FABULA)
    assert (answer.active_uids, answer.used) == ((0, 1), 4)


def test_an_overflow_stops_recursion_and_minimum_but_not_delay_levels() -> None:
    entries = (
        constant_entry(content="wake", order=9),
        constant_entry(content=BIG, order=8),
        keyed_entry("wake", ignoreBudget=True),
        keyed_entry("old", ignoreBudget=True),
    )
    said = make_messages("old", "x", "y")
    assert find_active_uids(*entries, messages=said, budget=1, max_context=400, recursive=True, min_activations=9) == [
        0
    ]
    late = constant_entry(delayUntilRecursion=1, ignoreBudget=True)
    assert find_active_uids(*entries, late, {"delayUntilRecursion": 2}, messages=said, budget=1, max_context=400) == [
        0,
        2,
        4,
    ]


def test_after_an_overflow_normal_entries_use_no_numbers() -> None:
    dice = constant_entry(useProbability=True, probability=50)
    entries = (constant_entry(content=BIG), dice, {**dice, "ignoreBudget": True})
    assert find_active_uids(*entries, budget=1, max_context=400, random=[0.4, 0.9]) == [2]


def test_a_failed_roll_costs_nothing() -> None:
    entries = (constant_entry(content=BIG, useProbability=True, probability=10), constant_entry(content=SMALL))
    assert find_active_uids(*entries, budget=1, max_context=400, random=[0.9]) == [1]


@pytest.mark.parametrize("name", ["o200k_base", "llama2"])
def test_a_growing_text_is_counted_as_if_it_were_whole(name: str) -> None:
    tokenizer = load_encoding(name)
    tally, whole = TokenTally(tokenizer), ""
    for text in ("Mira said no.", "", "/slash", " space", "青云宗", "\n", "and then", "…", "don't"):
        tally.add(text)
        whole += text + "\n"
        assert tally.tokens == tokenizer.count(whole)
