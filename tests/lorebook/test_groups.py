"""Inclusion groups: SillyTavern's corners, and ours without them."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.lorebook.model import Reason
from fabula.lorebook.own_rules import FABULA
from fabula.lorebook.rules import Rules
from fabula.lorebook.sillytavern_rules import EXACT
from tests.lorebook.books import BOTH, active, book, chat, constant, keyed, reasons, scan


def member(group: str = "g", **fields: Any) -> dict[str, Any]:
    return constant(group=group, **fields)


@pytest.mark.parametrize("rules", BOTH)
def test_one_of_a_group_is_drawn_and_the_others_know_by_whom(rules: Rules) -> None:
    answer = scan(book(member(comment="a"), member(comment="b"), constant()), rules=rules)
    assert len(answer.activated) == 2
    assert 2 in answer.activated
    lost = next(verdict for verdict in answer.verdicts if not verdict.active)
    assert lost.reason is Reason.GROUP_ROLL
    assert lost.detail in ("a in the group g", "b in the group g")


def test_the_draw_walks_in_candidate_order_by_weight() -> None:
    entries = (member(groupWeight=50), member(groupWeight=50), member())
    assert active(*entries, random=[0.25]) == [0]
    assert active(*entries, random=[0.251]) == [1]
    assert active(*entries, random=[0.51]) == [2]
    assert active(member(groupWeight=0), member(groupWeight=0), random=[0.9]) == [0]


@pytest.mark.parametrize("rules", BOTH)
def test_override_wins_by_order_and_in_sillytavern_uses_no_number(rules: Rules) -> None:
    dice = constant(useProbability=True, probability=45, order=1)
    entries = (member(order=9), member(order=5, groupOverride=True), member(order=7, groupOverride=True), dice)
    # Ours draws lots for every contested member before it looks at override.
    answer = scan(book(*entries), rules=rules, random=[0.4] if rules is EXACT else [0.4] * 4)
    assert answer.activated == (2, 3)
    assert reasons(answer)[0] is Reason.GROUP_OVERRIDE


def test_a_group_of_one_uses_no_number() -> None:
    dice = constant(useProbability=True, probability=50)
    assert active(member(), dice, random=[0.4, 0.9]) == [0, 1]


@pytest.mark.parametrize("rules", BOTH)
def test_scoring_keeps_the_best_matched(rules: Rules) -> None:
    few, many = keyed("a", group="g"), keyed("a", "b", group="g")
    assert active(few, many, said=chat("a b"), use_group_scoring=True, random=[0.0], rules=rules) == [1]


def test_only_who_has_scoring_on_is_removed_by_it_but_all_are_compared() -> None:
    few = keyed("a", group="g", useGroupScoring=False)
    many = keyed("a", "b", group="g", useGroupScoring=True)
    assert active(few, many, said=chat("a b"), random=[0.0]) == [0]
    few, many = keyed("a", group="g", useGroupScoring=True), keyed("a", "b", group="g", useGroupScoring=False)
    assert active(few, many, said=chat("a b"), random=[0.0]) == [1]


def test_secondary_hits_count_under_and_any_even_without_selective() -> None:
    plain = keyed("a", "b", group="g", useGroupScoring=True)
    rich = keyed("a", keysecondary=["b", "c"], group="g", useGroupScoring=True)
    assert active(plain, rich, said=chat("a b c"), random=[0.0]) == [1]
    assert active(plain, {**rich, "selectiveLogic": 3}, said=chat("a b x"), random=[0.0]) == [0]
    assert active(plain, {**rich, "selectiveLogic": 3}, said=chat("a b c"), random=[0.0]) == [1]
    assert active(plain, {**rich, "selectiveLogic": 2}, said=chat("a b c"), random=[0.0]) == [0]


@pytest.mark.parametrize("rules", BOTH)
def test_a_group_that_spoke_in_an_earlier_pass_is_taken_even_against_override(rules: Rules) -> None:
    first = keyed("start", group="g", content="wake")
    later = keyed("wake", group="g", groupOverride=True)
    answer = scan(book(first, later), chat("start"), recursive=True, rules=rules)
    assert answer.activated == (0,)
    assert reasons(answer)[1] is Reason.GROUP_TAKEN


def test_in_sillytavern_two_names_do_not_take_one_of_them() -> None:
    entries = (keyed("start", group="a,b", content="wake"), keyed("wake", group="a"))
    assert active(*entries, said=chat("start"), recursive=True) == [0, 1]
    assert active(*entries, said=chat("start"), recursive=True, rules=FABULA) == [0]


def test_in_sillytavern_white_space_before_a_comma_belongs_to_the_name() -> None:
    entries = (member("g"), member(" g , h "), member("h"))
    assert active(*entries) == [0, 1, 2]
    assert len(active(member("g"), member("h, g"), random=[0.0])) == 1
    assert active(*entries, rules=FABULA) in ([1], [0, 2])


def test_in_sillytavern_losing_twice_costs_the_last_candidate() -> None:
    entries = (
        member("a", order=9),
        member("b", order=8),
        member("a,b", order=7),
        constant(order=1, comment="bystander"),
    )
    answer = scan(book(*entries), random=[0.0, 0.0])
    assert answer.activated == (0, 1)
    assert reasons(answer)[3] is Reason.LOST_NEIGHBOUR
    ours = scan(book(*entries), random=[0.0, 0.0], rules=FABULA)
    assert 3 in ours.activated
    assert Reason.LOST_NEIGHBOUR not in reasons(ours).values()


def test_in_sillytavern_a_later_keyword_cannot_displace_a_constant_and_in_ours_it_does() -> None:
    entries = (member(content="default"), constant(content="wake"), keyed("wake", group="g", content="special"))
    exact = scan(book(*entries), recursive=True)
    assert exact.activated == (0, 1)
    ours = scan(book(*entries), recursive=True, rules=FABULA)
    assert ours.activated == (1, 2)
    assert reasons(ours) == {0: Reason.DISPLACED, 1: Reason.CONSTANT, 2: Reason.KEY}
    assert "default" not in ours.before


def test_a_constant_stays_when_the_one_to_take_its_place_does_not_enter() -> None:
    late = keyed("wake", group="g", content="far too long to fit")
    answer = scan(book(member(), constant(content="wake"), late), recursive=True, rules=FABULA, budget=0.1)
    assert answer.activated == (0, 1)
    assert reasons(answer)[2] is Reason.OVER_BUDGET


def test_in_ours_nobody_loses_to_one_who_loses() -> None:
    chain = [member(f"g{n},g{n + 1}") for n in range(12)]
    answer = scan(book(*chain), random=[n / 12 for n in range(12)], rules=FABULA)
    speaking = {name for uid in answer.activated for name in (f"g{uid}", f"g{uid + 1}")}
    assert all({f"g{n}", f"g{n + 1}"} & speaking for n in range(12))
    assert len(speaking) == 2 * len(answer.activated)


def test_losers_may_return_in_a_later_pass() -> None:
    entries = (
        keyed("start", group="g", useProbability=True, probability=0),
        keyed("start", group="g"),
        keyed("start", content="wake"),
    )
    assert active(*entries, said=chat("start"), random=[0.0, 0.9], recursive=True) == [2, 1]


def test_groups_inside_groups_of_names_are_only_names() -> None:
    assert active(member("g,,g, ,"), member("(g,h)"), constant()) == [0, 1, 2]
