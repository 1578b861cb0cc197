"""Conditions that keep an entry inactive, and those that activate it without a key."""

from __future__ import annotations

import pytest

from fabula.lorebook.model import CardCharacter, EntryRef, LorebookReason, ScanContext
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

pytestmark = pytest.mark.parametrize("rules", BOTH)


def test_a_disabled_entry_stays_out(rules: ActivationRules) -> None:
    answer = scan_books(make_book(constant_entry(disable=True)), rules=rules)
    assert list_reasons(answer) == {0: LorebookReason.DISABLED}


def test_triggers_name_the_kinds_of_request(rules: ActivationRules) -> None:
    entries = (constant_entry(triggers=["continue"]), constant_entry(triggers=[]), constant_entry(triggers=["normal"]))
    assert find_active_uids(*entries, rules=rules) == [1, 2]


def test_the_character_filter_looks_at_names_then_tags(rules: ActivationRules) -> None:
    def entry(**wanted: object) -> dict[str, object]:
        return constant_entry(characterFilter=wanted)

    context = ScanContext(character=CardCharacter(name="Bob", tags=("knight",)))
    entries = (
        entry(names=["Bob"]),
        entry(names=["Eve"]),
        entry(names=["Bob"], isExclude=True),
        entry(names=["Eve"], isExclude=True),
        entry(tags=["knight"]),
        entry(tags=["thief"]),
        entry(tags=["knight"], isExclude=True),
        entry(names=["Bob"], tags=["thief"]),
        entry(names=[], tags=[]),
    )
    assert find_active_uids(*entries, context=context, rules=rules) == [0, 3, 4, 8]


def test_delay_waits_for_messages_even_with_constants(rules: ActivationRules) -> None:
    assert find_active_uids(constant_entry(delay=2), messages=make_messages("one"), rules=rules) == []
    assert find_active_uids(constant_entry(delay=2), messages=make_messages("one", "two"), rules=rules) == [0]


def test_decorators_go_before_keys_and_are_not_part_of_the_text(rules: ActivationRules) -> None:
    answer = scan_books(
        make_book(
            {"content": "@@activate\nHere."},
            constant_entry(content="@@dont_activate\nNever."),
            keyed_entry("x", content="@"),
        ),
        rules=rules,
    )
    assert answer.active_uids == (0,)
    assert answer.texts.before == "Here."
    assert list_reasons(answer) == {
        0: LorebookReason.DECORATOR,
        1: LorebookReason.FORBIDDEN,
        2: LorebookReason.NOT_MENTIONED,
    }


def test_somebody_outside_may_activate_an_entry_that_is_not_held_back(rules: ActivationRules) -> None:
    context = ScanContext(forced=frozenset({EntryRef("book", 0), EntryRef("book", 1)}))
    assert find_active_uids({}, {"disable": True}, {}, context=context, rules=rules) == [0]


def test_an_entry_without_keys_says_so(rules: ActivationRules) -> None:
    answer = scan_books(
        make_book({}, keyed_entry("x"), keyed_entry("x", scanDepth=0)), make_messages("hello"), rules=rules
    )
    assert list_reasons(answer) == {
        0: LorebookReason.NO_KEYS,
        1: LorebookReason.NOT_MENTIONED,
        2: LorebookReason.NO_DEPTH,
    }


def test_the_chance_is_rolled_and_a_failure_is_final(rules: ActivationRules) -> None:
    sure = keyed_entry("x", useProbability=True, probability=50)
    assert find_active_uids(sure, messages=make_messages("x"), random=[0.5], rules=rules) == [0]
    assert find_active_uids(sure, messages=make_messages("x"), random=[0.51, 0.0], min_activations=1, rules=rules) == []


def test_a_chance_of_nought_can_come_up_at_exactly_nought(rules: ActivationRules) -> None:
    entry = constant_entry(useProbability=True, probability=0)
    assert find_active_uids(entry, random=[0.0], rules=rules) == [0]
    assert find_active_uids(entry, random=[0.001], rules=rules) == []


def test_no_number_is_used_where_nothing_is_left_to_chance(rules: ActivationRules) -> None:
    certain = constant_entry(useProbability=True, probability=100)
    unasked = constant_entry(probability=1)
    rolled = constant_entry(useProbability=True, probability=50)
    assert find_active_uids(certain, unasked, rolled, rolled, random=[0.9, 0.1], rules=rules) == [0, 1, 3]


def test_an_entry_that_asks_for_a_chance_it_does_not_give_never_comes(rules: ActivationRules) -> None:
    assert find_active_uids(constant_entry(useProbability=True), random=[0.0], rules=rules) == []
