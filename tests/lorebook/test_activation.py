"""The passes of a scan: recursion, delay levels and the minimum of active entries."""

from __future__ import annotations

import pytest

from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.model import LorebookReason
from fabula.lorebook.rules import ActivationRules
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

START = keyed_entry("start", content="wake")


@pytest.mark.parametrize("rules", BOTH)
def test_entries_wake_each_other_while_recursion_is_on(rules: ActivationRules) -> None:
    entries = (START, keyed_entry("wake", content="again"), keyed_entry("again"))
    assert find_active_uids(*entries, messages=make_messages("start"), rules=rules) == [0]
    assert find_active_uids(*entries, messages=make_messages("start"), recursive=True, rules=rules) == [0, 1, 2]


@pytest.mark.parametrize("rules", BOTH)
def test_prevent_and_exclude_recursion_are_honoured(rules: ActivationRules) -> None:
    entries = ({**START, "preventRecursion": True}, keyed_entry("wake"))
    assert find_active_uids(*entries, messages=make_messages("start"), recursive=True, rules=rules) == [0]
    shy = (
        START,
        keyed_entry("wake", excludeRecursion=True),
        constant_entry(excludeRecursion=True, delayUntilRecursion=1),
    )
    answer = scan_books(make_book(*shy), make_messages("start"), recursive=True, rules=rules)
    assert answer.active_uids == (0,)
    assert list_reasons(answer)[2] is LorebookReason.EXCLUDES_RECURSION


def test_the_reason_is_that_of_the_time_an_entry_came_furthest() -> None:
    answer = scan_books(
        make_book(START, keyed_entry("wake", excludeRecursion=True)), make_messages("start"), recursive=True
    )
    assert list_reasons(answer)[1] is LorebookReason.NOT_MENTIONED
    assert answer.verdicts[1].pass_number == 1


def test_exclude_recursion_holds_back_only_while_recursion_is_on() -> None:
    late = (constant_entry(delayUntilRecursion=1), constant_entry(delayUntilRecursion=2, excludeRecursion=True))
    assert find_active_uids(*late) == [0, 1]
    assert find_active_uids(*late, recursive=True) == [0]


@pytest.mark.parametrize("rules", BOTH)
def test_steps_are_all_passes_together(rules: ActivationRules) -> None:
    entries = (START, keyed_entry("wake", content="again"), keyed_entry("again"))
    assert find_active_uids(
        *entries, messages=make_messages("start"), recursive=True, max_recursion_steps=2, rules=rules
    ) == [0, 1]
    assert (
        find_active_uids(
            keyed_entry("old"), messages=make_messages("old", "1", "2"), min_activations=1, max_recursion_steps=1
        )
        == []
    )
    answer = scan_books(make_book(constant_entry()), max_recursion_steps=-1, rules=rules)
    assert list_reasons(answer) == {0: LorebookReason.NOT_SCANNED}


@pytest.mark.parametrize("rules", BOTH)
def test_a_single_delay_level_needs_ordinary_recursion(rules: ActivationRules) -> None:
    late = constant_entry(delayUntilRecursion=True)
    assert find_active_uids(late, rules=rules) == []
    assert find_active_uids(late, recursive=True, rules=rules) == []
    assert find_active_uids(late, constant_entry(), recursive=True, rules=rules) == [1, 0]


@pytest.mark.parametrize("rules", BOTH)
def test_two_delay_levels_fire_even_with_recursion_off(rules: ActivationRules) -> None:
    assert find_active_uids(
        constant_entry(delayUntilRecursion=2), constant_entry(delayUntilRecursion=True), rules=rules
    ) == [0, 1]
    assert find_active_uids(
        constant_entry(delayUntilRecursion=2), {"disable": True, "delayUntilRecursion": 1}, rules=rules
    ) == [0]


def test_delay_levels_open_one_after_the_other() -> None:
    entries = (
        constant_entry(delayUntilRecursion=3),
        constant_entry(delayUntilRecursion=2),
        constant_entry(delayUntilRecursion=1),
    )
    assert find_active_uids(*entries) == [1, 2, 0]


@pytest.mark.parametrize("rules", BOTH)
def test_a_minimum_of_entries_looks_deeper_until_it_is_met(rules: ActivationRules) -> None:
    said = make_messages("third", "second", "first", "x", "y")
    entries = (keyed_entry("first"), keyed_entry("second"), keyed_entry("third"))
    assert find_active_uids(*entries, messages=said, min_activations=2, rules=rules) == [0, 1]
    assert find_active_uids(*entries, messages=said, min_activations=9, rules=rules) == [0, 1, 2]
    assert find_active_uids(*entries, messages=said, rules=rules) == []


def test_the_last_look_is_one_past_the_deepest() -> None:
    said = make_messages("third", "second", "first", "x")
    entries = (keyed_entry("first"), keyed_entry("second"), keyed_entry("third"))
    assert find_active_uids(*entries, messages=said, depth=1, min_activations=9, min_activations_depth_max=2) == [0, 1]
    assert find_active_uids(*entries, messages=said, depth=1, min_activations=9, min_activations_depth_max=1) == [0]


def test_an_own_scan_depth_is_not_enlarged() -> None:
    assert (
        find_active_uids(keyed_entry("old", scanDepth=1), messages=make_messages("old", "x", "y"), min_activations=1)
        == []
    )


def test_what_was_woken_counts_and_the_larger_depth_stays() -> None:
    said = make_messages("old", "start", "x", "y")
    entries = (START, keyed_entry("wake", content="more"), keyed_entry("old"))
    assert find_active_uids(*entries, messages=said, min_activations=2, recursive=True) == [0, 1]
    assert find_active_uids(*entries, messages=said, min_activations=3, recursive=True) == [0, 1, 2]


def test_recursion_follows_a_look_that_found_nothing_new() -> None:
    # The buffer holds "wake" from the first pass; only a recursion pass lets the delayed one in.
    entries = (constant_entry(content="wake"), keyed_entry("wake", delayUntilRecursion=1))
    assert find_active_uids(*entries, messages=make_messages("a", "b", "c"), recursive=True, min_activations=2) == [
        0,
        1,
    ]


def test_a_look_for_a_minimum_does_not_read_the_buffer() -> None:
    entries = (constant_entry(content="wake"), keyed_entry("wake"))
    assert find_active_uids(*entries, messages=make_messages("a", "b", "c"), min_activations=2) == [0]


def test_delayed_entries_read_the_buffer_even_with_recursion_off() -> None:
    late = (keyed_entry("wake", delayUntilRecursion=1), keyed_entry("never", delayUntilRecursion=2))
    assert find_active_uids(constant_entry(content="wake"), *late) == [0, 1]


def test_in_sillytavern_a_text_that_did_not_fit_still_wakes_others_and_in_ours_not() -> None:
    entries = (
        constant_entry(content="wake " * 60),
        keyed_entry("wake", delayUntilRecursion=1, ignoreBudget=True),
        keyed_entry("never", delayUntilRecursion=2),
    )
    assert find_active_uids(*entries, budget=1) == [1]
    assert find_active_uids(*entries, budget=1, rules=FABULA) == []


def test_entries_that_wake_each_other_without_end_are_ended_and_reported() -> None:
    chain = make_book(*(keyed_entry(f"link{n}x", content=f"link{n + 1}x") for n in range(1200)))
    answer = scan_books(chain, make_messages("link0x"), recursive=True, max_context=1_000_000)
    assert len(answer.active_uids) == 166
    assert "166 passes" in str(answer.problems[0])


def test_a_key_found_in_the_text_of_another_entry_names_that_entry() -> None:
    book = make_book(keyed_entry("ship", comment="grey ship", content="Its Bell rings."), keyed_entry("Bell"))
    result = scan_books(book, make_messages("A ship came."), recursive=True)
    assert "Bell, in the text of the entry 'grey ship'" in str(result.verdicts[1].detail)
    result = scan_books(book, make_messages("A ship came with a bell."), recursive=True)
    assert result.verdicts[1].detail == "Bell"


def test_a_trigger_says_as_what_the_request_counts() -> None:
    result = scan_books(make_book(keyed_entry("ship", triggers=["continue"])), make_messages("A ship came."))
    assert "only for continue, and this one counts as normal" in str(result.verdicts[0].detail)
