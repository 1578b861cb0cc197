"""Sticky and cooldown count messages and are passed as a value."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.model import Activation, LorebookReason, ScanContext, TimedEffects
from fabula.lorebook.rules import ActivationRules
from tests.lorebook.books import BOTH, constant_entry, keyed_entry, list_reasons, make_book, make_messages, scan_books


def scan_conversation(entries: tuple[dict[str, Any], ...], *texts: str, **options: Any) -> list[Activation]:
    """One scan after each message, the timed effects handed on."""
    answers: list[Activation] = []
    for end in range(1, len(texts) + 1):
        timed = answers[-1].timed_effects if answers else TimedEffects()
        answers.append(
            scan_books(
                make_book(*entries),
                make_messages(*texts[:end]),
                timed_effects=timed,
                depth=1,
                include_names=False,
                **options,
            )
        )
    return answers


def format_activity(answers: list[Activation], uid: int = 0) -> str:
    return "".join("x" if uid in answer.active_uids else "." for answer in answers)


@pytest.mark.parametrize("rules", BOTH)
def test_sticky_runs_for_that_many_messages(rules: ActivationRules) -> None:
    answers = scan_conversation((keyed_entry("go", sticky=3),), "go", "a", "b", "c", rules=rules)
    assert format_activity(answers) == "xxx."
    assert list_reasons(answers[1])[0] is LorebookReason.STICKY


@pytest.mark.parametrize("rules", BOTH)
def test_cooldown_rests_for_that_many_messages_even_constants(rules: ActivationRules) -> None:
    assert format_activity(scan_conversation((constant_entry(cooldown=2),), "a", "b", "c", "d", rules=rules)) == "x.x."
    answers = scan_conversation((keyed_entry("go", cooldown=3),), "go", "go", "go", "go", rules=rules)
    assert format_activity(answers) == "x..x"
    assert list_reasons(answers[1])[0] is LorebookReason.COOLDOWN


@pytest.mark.parametrize("rules", BOTH)
def test_the_end_of_sticky_starts_a_rest_in_the_same_scan(rules: ActivationRules) -> None:
    answers = scan_conversation((keyed_entry("go", sticky=2, cooldown=2),), "go", "a", "go", "go", "go", rules=rules)
    assert format_activity(answers) == "xx..x"
    assert answers[2].timed_effects.cooldown["book.0"].protected


def test_an_activation_sets_both_and_a_running_sticky_is_not_extended() -> None:
    answers = scan_conversation((keyed_entry("go", sticky=3, cooldown=1),), "go", "go", "go", "go", "go")
    assert set(answers[0].timed_effects.sticky) == set(answers[0].timed_effects.cooldown) == {"book.0"}
    assert answers[2].timed_effects.sticky["book.0"].end == 4
    assert format_activity(answers) == "xxx.x"


@pytest.mark.parametrize("rules", BOTH)
def test_a_conversation_that_did_not_advance_drops_effects_unless_protected(rules: ActivationRules) -> None:
    entry = keyed_entry("go", sticky=5, cooldown=5)
    first = scan_books(make_book(entry), make_messages("go"), rules=rules)
    again = scan_books(make_book(entry), make_messages("no"), timed_effects=first.timed_effects, rules=rules)
    assert again.timed_effects == TimedEffects()
    resting = scan_conversation((keyed_entry("go", sticky=1, cooldown=5),), "go", "a", rules=rules)[-1]
    again = scan_books(
        make_book(keyed_entry("go", sticky=1, cooldown=5)),
        make_messages("go", "go"),
        timed_effects=resting.timed_effects,
        rules=rules,
    )
    assert again.active_uids == ()


@pytest.mark.parametrize("rules", BOTH)
def test_editing_or_removing_an_entry_drops_its_effect(rules: ActivationRules) -> None:
    first = scan_books(make_book(keyed_entry("go", sticky=5)), make_messages("go"), rules=rules)
    edited = scan_books(
        make_book(keyed_entry("go", sticky=5, content="new")),
        make_messages("go", "a"),
        timed_effects=first.timed_effects,
        depth=1,
        rules=rules,
    )
    assert (edited.active_uids, edited.timed_effects) == ((), TimedEffects())
    assert (
        scan_books(make_book(), make_messages("go", "a"), timed_effects=first.timed_effects, rules=rules).timed_effects
        == TimedEffects()
    )


@pytest.mark.parametrize("rules", BOTH)
def test_a_dry_run_ignores_sticky_and_cooldown_but_not_delay_and_starts_nothing(rules: ActivationRules) -> None:
    entries = (keyed_entry("go", sticky=5), constant_entry(cooldown=5), constant_entry(delay=9))
    first = scan_books(make_book(*entries), make_messages("go"), rules=rules)
    dry = scan_books(
        make_book(*entries),
        make_messages("go", "a"),
        timed_effects=first.timed_effects,
        depth=1,
        context=ScanContext(dry_run=True),
        rules=rules,
    )
    assert dry.active_uids == (1,)
    assert dry.timed_effects == first.timed_effects


def test_sticky_skips_the_dice_and_goes_first() -> None:
    entries = (keyed_entry("a", order=900), keyed_entry("go", sticky=3, useProbability=True, probability=50, order=1))
    answers = scan_conversation(entries, "go", "a", random=[0.1])
    assert answers[1].active_uids == (1, 0)
    answers = scan_conversation(entries, "go", "a", "b", random=[0.1])
    assert format_activity(answers, 1) == "xxx"


def test_constants_get_no_head_start() -> None:
    assert scan_books(
        make_book(constant_entry(order=1), keyed_entry("a", order=2)), make_messages("a")
    ).active_uids == (1, 0)


def test_a_sticky_entry_waits_for_no_recursion_and_for_no_exclusion() -> None:
    entries = (keyed_entry("go", sticky=3, delayUntilRecursion=1, excludeRecursion=False), constant_entry())
    answers = scan_conversation(entries, "go", "a", recursive=True)
    assert answers[0].active_uids == (1, 0)
    assert answers[1].active_uids == (0, 1)


@pytest.mark.parametrize("rules", BOTH)
def test_sticky_members_win_their_group(rules: ActivationRules) -> None:
    entries = (keyed_entry("go", group="g", sticky=3), keyed_entry("a", group="g", groupOverride=True))
    answers = scan_conversation(entries, "go", "a", rules=rules)
    assert answers[1].active_uids == (0,)
    assert list_reasons(answers[1])[1] is LorebookReason.GROUP_STICKY


def test_in_sillytavern_a_member_both_sticky_and_cooling_is_dropped_by_its_group() -> None:
    alone = (keyed_entry("go", sticky=3, cooldown=3),)
    assert format_activity(scan_conversation(alone, "go", "a")) == "xx"
    grouped = ({**alone[0], "group": "g"},)
    answers = scan_conversation(grouped, "go", "a")
    assert format_activity(answers) == "x."
    assert list_reasons(answers[1])[0] is LorebookReason.GROUP_COOLDOWN
    assert format_activity(scan_conversation(grouped, "go", "a", rules=FABULA)) == "xx"


def test_in_sillytavern_a_sticky_member_is_not_measured_against_those_it_beats() -> None:
    entries = (keyed_entry("go", group="g", sticky=3, useGroupScoring=True), keyed_entry("a", "b", group="g"))
    assert scan_conversation(entries, "go", "a b")[1].active_uids == (0,)
