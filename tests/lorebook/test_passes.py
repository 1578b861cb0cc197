"""Recursion, delay levels and the minimum of entries."""

from __future__ import annotations

import pytest

from fabula.lorebook.model import Reason
from fabula.lorebook.own_rules import FABULA
from fabula.lorebook.rules import Rules
from tests.lorebook.books import BOTH, active, book, chat, constant, keyed, reasons, scan

START = keyed("start", content="wake")


@pytest.mark.parametrize("rules", BOTH)
def test_entries_wake_each_other_while_recursion_is_on(rules: Rules) -> None:
    entries = (START, keyed("wake", content="again"), keyed("again"))
    assert active(*entries, said=chat("start"), rules=rules) == [0]
    assert active(*entries, said=chat("start"), recursive=True, rules=rules) == [0, 1, 2]


@pytest.mark.parametrize("rules", BOTH)
def test_prevent_and_exclude_recursion_are_honoured(rules: Rules) -> None:
    entries = ({**START, "preventRecursion": True}, keyed("wake"))
    assert active(*entries, said=chat("start"), recursive=True, rules=rules) == [0]
    shy = (START, keyed("wake", excludeRecursion=True), constant(excludeRecursion=True, delayUntilRecursion=1))
    answer = scan(book(*shy), chat("start"), recursive=True, rules=rules)
    assert answer.activated == (0,)
    assert reasons(answer)[2] is Reason.EXCLUDES_RECURSION


def test_the_reason_is_that_of_the_time_an_entry_came_furthest() -> None:
    answer = scan(book(START, keyed("wake", excludeRecursion=True)), chat("start"), recursive=True)
    assert reasons(answer)[1] is Reason.NOT_MENTIONED
    assert answer.verdicts[1].step == 1


def test_exclude_recursion_holds_back_only_while_recursion_is_on() -> None:
    late = (constant(delayUntilRecursion=1), constant(delayUntilRecursion=2, excludeRecursion=True))
    assert active(*late) == [0, 1]
    assert active(*late, recursive=True) == [0]


@pytest.mark.parametrize("rules", BOTH)
def test_steps_are_all_passes_together(rules: Rules) -> None:
    entries = (START, keyed("wake", content="again"), keyed("again"))
    assert active(*entries, said=chat("start"), recursive=True, max_recursion_steps=2, rules=rules) == [0, 1]
    assert active(keyed("old"), said=chat("old", "1", "2"), min_activations=1, max_recursion_steps=1) == []
    answer = scan(book(constant()), max_recursion_steps=-1, rules=rules)
    assert reasons(answer) == {0: Reason.NOT_SCANNED}


@pytest.mark.parametrize("rules", BOTH)
def test_a_single_delay_level_needs_ordinary_recursion(rules: Rules) -> None:
    late = constant(delayUntilRecursion=True)
    assert active(late, rules=rules) == []
    assert active(late, recursive=True, rules=rules) == []
    assert active(late, constant(), recursive=True, rules=rules) == [1, 0]


@pytest.mark.parametrize("rules", BOTH)
def test_two_delay_levels_fire_even_with_recursion_off(rules: Rules) -> None:
    assert active(constant(delayUntilRecursion=2), constant(delayUntilRecursion=True), rules=rules) == [0, 1]
    assert active(constant(delayUntilRecursion=2), {"disable": True, "delayUntilRecursion": 1}, rules=rules) == [0]


def test_delay_levels_open_one_after_the_other() -> None:
    entries = (constant(delayUntilRecursion=3), constant(delayUntilRecursion=2), constant(delayUntilRecursion=1))
    assert active(*entries) == [1, 2, 0]


@pytest.mark.parametrize("rules", BOTH)
def test_a_minimum_of_entries_looks_deeper_until_it_is_met(rules: Rules) -> None:
    said = chat("third", "second", "first", "x", "y")
    entries = (keyed("first"), keyed("second"), keyed("third"))
    assert active(*entries, said=said, min_activations=2, rules=rules) == [0, 1]
    assert active(*entries, said=said, min_activations=9, rules=rules) == [0, 1, 2]
    assert active(*entries, said=said, rules=rules) == []


def test_the_last_look_is_one_past_the_deepest() -> None:
    said = chat("third", "second", "first", "x")
    entries = (keyed("first"), keyed("second"), keyed("third"))
    assert active(*entries, said=said, depth=1, min_activations=9, min_activations_depth_max=2) == [0, 1]
    assert active(*entries, said=said, depth=1, min_activations=9, min_activations_depth_max=1) == [0]


def test_an_own_scan_depth_is_not_enlarged() -> None:
    assert active(keyed("old", scanDepth=1), said=chat("old", "x", "y"), min_activations=1) == []


def test_what_was_woken_counts_and_the_larger_depth_stays() -> None:
    said = chat("old", "start", "x", "y")
    entries = (START, keyed("wake", content="more"), keyed("old"))
    assert active(*entries, said=said, min_activations=2, recursive=True) == [0, 1]
    assert active(*entries, said=said, min_activations=3, recursive=True) == [0, 1, 2]


def test_recursion_follows_a_look_that_found_nothing_new() -> None:
    # The buffer holds "wake" from the first pass; only a recursion pass lets the delayed one in.
    entries = (constant(content="wake"), keyed("wake", delayUntilRecursion=1))
    assert active(*entries, said=chat("a", "b", "c"), recursive=True, min_activations=2) == [0, 1]


def test_a_look_for_a_minimum_does_not_read_the_buffer() -> None:
    entries = (constant(content="wake"), keyed("wake"))
    assert active(*entries, said=chat("a", "b", "c"), min_activations=2) == [0]


def test_delayed_entries_read_the_buffer_even_with_recursion_off() -> None:
    late = (keyed("wake", delayUntilRecursion=1), keyed("never", delayUntilRecursion=2))
    assert active(constant(content="wake"), *late) == [0, 1]


def test_in_sillytavern_a_text_that_did_not_fit_still_wakes_others_and_in_ours_not() -> None:
    entries = (
        constant(content="wake " * 60),
        keyed("wake", delayUntilRecursion=1, ignoreBudget=True),
        keyed("never", delayUntilRecursion=2),
    )
    assert active(*entries, budget=1) == [1]
    assert active(*entries, budget=1, rules=FABULA) == []


def test_entries_that_wake_each_other_without_end_are_ended_and_reported() -> None:
    chain = book(*(keyed(f"link{n}x", content=f"link{n + 1}x") for n in range(1200)))
    answer = scan(chain, chat("link0x"), recursive=True, context=1_000_000)
    assert len(answer.activated) == 166
    assert "166 passes" in answer.problems[0]
