"""Inclusion groups under SillyTavern's rules and under ours."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.model import LorebookReason
from fabula.lorebook.rules import ActivationRules
from fabula.lorebook.sillytavern_rules import EXACT
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


def group_member(group: str = "g", **fields: Any) -> dict[str, Any]:
    return constant_entry(group=group, **fields)


@pytest.mark.parametrize("rules", BOTH)
def test_one_of_a_group_is_drawn_and_the_others_know_by_whom(rules: ActivationRules) -> None:
    answer = scan_books(make_book(group_member(comment="a"), group_member(comment="b"), constant_entry()), rules=rules)
    assert len(answer.active_uids) == 2
    assert 2 in answer.active_uids
    lost = next(verdict for verdict in answer.verdicts if not verdict.active)
    assert lost.reason is LorebookReason.GROUP_ROLL
    assert str(lost.detail) in ("a in the group g", "b in the group g")


def test_the_draw_walks_in_candidate_order_by_weight() -> None:
    entries = (group_member(groupWeight=50), group_member(groupWeight=50), group_member())
    assert find_active_uids(*entries, random=[0.25]) == [0]
    assert find_active_uids(*entries, random=[0.251]) == [1]
    assert find_active_uids(*entries, random=[0.51]) == [2]
    assert find_active_uids(group_member(groupWeight=0), group_member(groupWeight=0), random=[0.9]) == [0]


@pytest.mark.parametrize("rules", BOTH)
def test_override_wins_by_order_and_in_sillytavern_uses_no_number(rules: ActivationRules) -> None:
    dice = constant_entry(useProbability=True, probability=45, order=1)
    entries = (
        group_member(order=9),
        group_member(order=5, groupOverride=True),
        group_member(order=7, groupOverride=True),
        dice,
    )
    # Ours draws lots for every contested member before it looks at override.
    answer = scan_books(make_book(*entries), rules=rules, random=[0.4] if rules is EXACT else [0.4] * 4)
    assert answer.active_uids == (2, 3)
    assert list_reasons(answer)[0] is LorebookReason.GROUP_OVERRIDE


def test_a_group_of_one_uses_no_number() -> None:
    dice = constant_entry(useProbability=True, probability=50)
    assert find_active_uids(group_member(), dice, random=[0.4, 0.9]) == [0, 1]


@pytest.mark.parametrize("rules", BOTH)
def test_scoring_keeps_the_best_matched(rules: ActivationRules) -> None:
    few, many = keyed_entry("a", group="g"), keyed_entry("a", "b", group="g")
    assert find_active_uids(
        few, many, messages=make_messages("a b"), use_group_scoring=True, random=[0.0], rules=rules
    ) == [1]


def test_only_who_has_scoring_on_is_removed_by_it_but_all_are_compared() -> None:
    few = keyed_entry("a", group="g", useGroupScoring=False)
    many = keyed_entry("a", "b", group="g", useGroupScoring=True)
    assert find_active_uids(few, many, messages=make_messages("a b"), random=[0.0]) == [0]
    few, many = (
        keyed_entry("a", group="g", useGroupScoring=True),
        keyed_entry("a", "b", group="g", useGroupScoring=False),
    )
    assert find_active_uids(few, many, messages=make_messages("a b"), random=[0.0]) == [1]


def test_secondary_hits_count_under_and_any_even_without_selective() -> None:
    plain = keyed_entry("a", "b", group="g", useGroupScoring=True)
    rich = keyed_entry("a", keysecondary=["b", "c"], group="g", useGroupScoring=True)
    assert find_active_uids(plain, rich, messages=make_messages("a b c"), random=[0.0]) == [1]
    assert find_active_uids(plain, {**rich, "selectiveLogic": 3}, messages=make_messages("a b x"), random=[0.0]) == [0]
    assert find_active_uids(plain, {**rich, "selectiveLogic": 3}, messages=make_messages("a b c"), random=[0.0]) == [1]
    assert find_active_uids(plain, {**rich, "selectiveLogic": 2}, messages=make_messages("a b c"), random=[0.0]) == [0]


@pytest.mark.parametrize("rules", BOTH)
def test_a_group_that_spoke_in_an_earlier_pass_is_taken_even_against_override(rules: ActivationRules) -> None:
    first = keyed_entry("start", group="g", content="wake")
    later = keyed_entry("wake", group="g", groupOverride=True)
    answer = scan_books(make_book(first, later), make_messages("start"), recursive=True, rules=rules)
    assert answer.active_uids == (0,)
    assert list_reasons(answer)[1] is LorebookReason.GROUP_TAKEN


def test_in_sillytavern_two_names_do_not_take_one_of_them() -> None:
    entries = (keyed_entry("start", group="a,b", content="wake"), keyed_entry("wake", group="a"))
    assert find_active_uids(*entries, messages=make_messages("start"), recursive=True) == [0, 1]
    assert find_active_uids(*entries, messages=make_messages("start"), recursive=True, rules=FABULA) == [0]


def test_in_sillytavern_white_space_before_a_comma_belongs_to_the_name() -> None:
    entries = (group_member("g"), group_member(" g , h "), group_member("h"))
    assert find_active_uids(*entries) == [0, 1, 2]
    assert len(find_active_uids(group_member("g"), group_member("h, g"), random=[0.0])) == 1
    assert find_active_uids(*entries, rules=FABULA) in ([1], [0, 2])


def test_in_sillytavern_losing_twice_costs_the_last_candidate() -> None:
    entries = (
        group_member("a", order=9),
        group_member("b", order=8),
        group_member("a,b", order=7),
        constant_entry(order=1, comment="bystander"),
    )
    answer = scan_books(make_book(*entries), random=[0.0, 0.0])
    assert answer.active_uids == (0, 1)
    assert list_reasons(answer)[3] is LorebookReason.LOST_NEIGHBOUR
    ours = scan_books(make_book(*entries), random=[0.0, 0.0], rules=FABULA)
    assert 3 in ours.active_uids
    assert LorebookReason.LOST_NEIGHBOUR not in list_reasons(ours).values()


def test_in_sillytavern_a_later_keyword_cannot_displace_a_constant_and_in_ours_it_does() -> None:
    entries = (
        group_member(content="default"),
        constant_entry(content="wake"),
        keyed_entry("wake", group="g", content="special"),
    )
    exact = scan_books(make_book(*entries), recursive=True)
    assert exact.active_uids == (0, 1)
    ours = scan_books(make_book(*entries), recursive=True, rules=FABULA)
    assert ours.active_uids == (1, 2)
    assert list_reasons(ours) == {0: LorebookReason.DISPLACED, 1: LorebookReason.CONSTANT, 2: LorebookReason.KEY}
    assert "default" not in ours.texts.before


def test_a_constant_stays_when_the_one_to_take_its_place_does_not_enter() -> None:
    late = keyed_entry("wake", group="g", content="far too long to fit")
    answer = scan_books(
        make_book(group_member(), constant_entry(content="wake"), late), recursive=True, rules=FABULA, budget=0.1
    )
    assert answer.active_uids == (0, 1)
    assert list_reasons(answer)[2] is LorebookReason.OVER_BUDGET


def test_in_ours_nobody_loses_to_one_who_loses() -> None:
    chain = [group_member(f"g{n},g{n + 1}") for n in range(12)]
    answer = scan_books(make_book(*chain), random=[n / 12 for n in range(12)], rules=FABULA)
    speaking = {name for uid in answer.active_uids for name in (f"g{uid}", f"g{uid + 1}")}
    assert all({f"g{n}", f"g{n + 1}"} & speaking for n in range(12))
    assert len(speaking) == 2 * len(answer.active_uids)


def test_losers_may_return_in_a_later_pass() -> None:
    entries = (
        keyed_entry("start", group="g", useProbability=True, probability=0),
        keyed_entry("start", group="g"),
        keyed_entry("start", content="wake"),
    )
    assert find_active_uids(*entries, messages=make_messages("start"), random=[0.0, 0.9], recursive=True) == [2, 1]


def test_groups_inside_groups_of_names_are_only_names() -> None:
    assert find_active_uids(group_member("g,,g, ,"), group_member("(g,h)"), constant_entry()) == [0, 1, 2]
