"""What the books may spend."""

from __future__ import annotations

import pytest

from fabula.lorebook.activation import allowed
from fabula.lorebook.model import Reason, Scene, Settings
from fabula.lorebook.own_rules import FABULA
from fabula.lorebook.rules import Rules, Tally
from fabula.text.tokens.tokenizer import encoding
from tests.lorebook.books import BOTH, active, book, chat, constant, keyed, reasons, scan


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
    assert allowed(Settings(budget=share, budget_cap=cap), Scene(max_context=context)) == budget


def test_in_sillytavern_equality_is_too_much_and_in_ours_it_fits() -> None:
    exactly = constant(content="one two three four")
    assert active(exactly, budget=1, context=400) == []
    assert active(exactly, budget=1, context=500) == [0]
    assert active(exactly, budget=1, context=400, rules=FABULA) == [0]


def test_the_line_break_behind_each_text_counts() -> None:
    assert active(constant(content="abc"), budget=1, context=400, letters=True) == []
    assert active(constant(content="ab"), budget=1, context=400, letters=True) == [0]


BIG, SMALL = "one two three four five", "one"


def test_in_sillytavern_the_first_overflow_ends_all_normal_entries() -> None:
    answer = scan(book(constant(content=BIG), constant(content=SMALL)), budget=1, context=400)
    assert answer.activated == ()
    assert reasons(answer) == {0: Reason.OVER_BUDGET, 1: Reason.AFTER_OVERFLOW}


def test_in_ours_a_smaller_one_behind_an_overflow_is_tried() -> None:
    answer = scan(book(constant(content=BIG), constant(content=SMALL)), budget=1, context=400, rules=FABULA)
    assert answer.activated == (1,)
    assert answer.verdicts[0].reason is Reason.OVER_BUDGET
    assert answer.verdicts[0].detail == "5 tokens, and 4 were left"
    assert (answer.budget, answer.used) == (4, 1)


@pytest.mark.parametrize("rules", BOTH)
def test_who_ignores_the_budget_enters_and_counts(rules: Rules) -> None:
    first = constant(content=BIG, ignoreBudget=True)
    assert active(first, constant(content=SMALL), budget=1, context=400, rules=rules) == [0]
    assert active(constant(content=BIG), first, constant(content="x"), budget=1, context=400) == [1]


def test_ignoring_the_budget_sets_no_overflow() -> None:
    wide = constant(content="wake " * 9, ignoreBudget=True, preventRecursion=True)
    entries = (wide, keyed("x", content="wake"), keyed("wake", content="e"))
    assert active(*entries, said=chat("y"), budget=1, context=400, recursive=True) == [0]
    late = (constant(delayUntilRecursion=1, content="d"), constant(delayUntilRecursion=2, content="d"))
    assert active(wide, *late, budget=1, context=400) == [0, 1, 2]


def test_in_sillytavern_earlier_passes_forget_what_prevents_recursion() -> None:
    hidden = constant(content="one two three", preventRecursion=True)
    entries = (hidden, constant(content="wake", delayUntilRecursion=1), constant(content="x", delayUntilRecursion=2))
    assert active(*entries, budget=1, context=400) == [0, 1, 2]
    answer = scan(book(*entries), budget=1, context=400, rules=FABULA)
    assert (answer.activated, answer.used) == ((0, 1), 4)


def test_an_overflow_stops_recursion_and_minimum_but_not_delay_levels() -> None:
    entries = (
        constant(content="wake", order=9),
        constant(content=BIG, order=8),
        keyed("wake", ignoreBudget=True),
        keyed("old", ignoreBudget=True),
    )
    said = chat("old", "x", "y")
    assert active(*entries, said=said, budget=1, context=400, recursive=True, min_activations=9) == [0]
    late = constant(delayUntilRecursion=1, ignoreBudget=True)
    assert active(*entries, late, {"delayUntilRecursion": 2}, said=said, budget=1, context=400) == [0, 2, 4]


def test_after_an_overflow_normal_entries_use_no_numbers() -> None:
    dice = constant(useProbability=True, probability=50)
    entries = (constant(content=BIG), dice, {**dice, "ignoreBudget": True})
    assert active(*entries, budget=1, context=400, random=[0.4, 0.9]) == [2]


def test_a_failed_roll_costs_nothing() -> None:
    entries = (constant(content=BIG, useProbability=True, probability=10), constant(content=SMALL))
    assert active(*entries, budget=1, context=400, random=[0.9]) == [1]


@pytest.mark.parametrize("name", ["o200k_base", "llama2"])
def test_a_growing_text_is_counted_as_if_it_were_whole(name: str) -> None:
    tokenizer = encoding(name)
    tally, whole = Tally(tokenizer), ""
    for text in ("Mira said no.", "", "/slash", " space", "青云宗", "\n", "and then", "…", "don't"):
        tally.add(text)
        whole += text + "\n"
        assert tally.tokens == tokenizer.count(whole)
