"""Sticky and cooldown: they count messages, and travel as a value."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.lorebook.model import Activation, Reason, Scene, Timed
from fabula.lorebook.own_rules import FABULA
from fabula.lorebook.rules import Rules
from tests.lorebook.books import BOTH, book, chat, constant, keyed, reasons, scan


def talk(entries: tuple[dict[str, Any], ...], *texts: str, **options: Any) -> list[Activation]:
    """One scan after each message, the timed effects handed on."""
    answers: list[Activation] = []
    for end in range(1, len(texts) + 1):
        timed = answers[-1].timed if answers else Timed()
        answers.append(scan(book(*entries), chat(*texts[:end]), timed=timed, depth=1, include_names=False, **options))
    return answers


def shown(answers: list[Activation], uid: int = 0) -> str:
    return "".join("x" if uid in answer.activated else "." for answer in answers)


@pytest.mark.parametrize("rules", BOTH)
def test_sticky_runs_for_that_many_messages(rules: Rules) -> None:
    answers = talk((keyed("go", sticky=3),), "go", "a", "b", "c", rules=rules)
    assert shown(answers) == "xxx."
    assert reasons(answers[1])[0] is Reason.STICKY


@pytest.mark.parametrize("rules", BOTH)
def test_cooldown_rests_for_that_many_messages_even_constants(rules: Rules) -> None:
    assert shown(talk((constant(cooldown=2),), "a", "b", "c", "d", rules=rules)) == "x.x."
    answers = talk((keyed("go", cooldown=3),), "go", "go", "go", "go", rules=rules)
    assert shown(answers) == "x..x"
    assert reasons(answers[1])[0] is Reason.COOLDOWN


@pytest.mark.parametrize("rules", BOTH)
def test_the_end_of_sticky_starts_a_rest_in_the_same_scan(rules: Rules) -> None:
    answers = talk((keyed("go", sticky=2, cooldown=2),), "go", "a", "go", "go", "go", rules=rules)
    assert shown(answers) == "xx..x"
    assert answers[2].timed.cooldown["book.0"].protected


def test_an_activation_sets_both_and_a_running_sticky_is_not_extended() -> None:
    answers = talk((keyed("go", sticky=3, cooldown=1),), "go", "go", "go", "go", "go")
    assert set(answers[0].timed.sticky) == set(answers[0].timed.cooldown) == {"book.0"}
    assert answers[2].timed.sticky["book.0"].end == 4
    assert shown(answers) == "xxx.x"


@pytest.mark.parametrize("rules", BOTH)
def test_a_conversation_that_did_not_advance_drops_effects_unless_protected(rules: Rules) -> None:
    entry = keyed("go", sticky=5, cooldown=5)
    first = scan(book(entry), chat("go"), rules=rules)
    again = scan(book(entry), chat("no"), timed=first.timed, rules=rules)
    assert again.timed == Timed()
    resting = talk((keyed("go", sticky=1, cooldown=5),), "go", "a", rules=rules)[-1]
    again = scan(book(keyed("go", sticky=1, cooldown=5)), chat("go", "go"), timed=resting.timed, rules=rules)
    assert again.activated == ()


@pytest.mark.parametrize("rules", BOTH)
def test_editing_or_removing_an_entry_drops_its_effect(rules: Rules) -> None:
    first = scan(book(keyed("go", sticky=5)), chat("go"), rules=rules)
    edited = scan(book(keyed("go", sticky=5, content="new")), chat("go", "a"), timed=first.timed, depth=1, rules=rules)
    assert (edited.activated, edited.timed) == ((), Timed())
    assert scan(book(), chat("go", "a"), timed=first.timed, rules=rules).timed == Timed()


@pytest.mark.parametrize("rules", BOTH)
def test_a_dry_run_ignores_sticky_and_cooldown_but_not_delay_and_starts_nothing(rules: Rules) -> None:
    entries = (keyed("go", sticky=5), constant(cooldown=5), constant(delay=9))
    first = scan(book(*entries), chat("go"), rules=rules)
    dry = scan(book(*entries), chat("go", "a"), timed=first.timed, depth=1, scene=Scene(dry_run=True), rules=rules)
    assert dry.activated == (1,)
    assert dry.timed == first.timed


def test_sticky_skips_the_dice_and_goes_first() -> None:
    entries = (keyed("a", order=900), keyed("go", sticky=3, useProbability=True, probability=50, order=1))
    answers = talk(entries, "go", "a", random=[0.1])
    assert answers[1].activated == (1, 0)
    answers = talk(entries, "go", "a", "b", random=[0.1])
    assert shown(answers, 1) == "xxx"


def test_constants_get_no_head_start() -> None:
    assert scan(book(constant(order=1), keyed("a", order=2)), chat("a")).activated == (1, 0)


def test_a_sticky_entry_waits_for_no_recursion_and_for_no_exclusion() -> None:
    entries = (keyed("go", sticky=3, delayUntilRecursion=1, excludeRecursion=False), constant())
    answers = talk(entries, "go", "a", recursive=True)
    assert answers[0].activated == (1, 0)
    assert answers[1].activated == (0, 1)


@pytest.mark.parametrize("rules", BOTH)
def test_sticky_members_win_their_group(rules: Rules) -> None:
    entries = (keyed("go", group="g", sticky=3), keyed("a", group="g", groupOverride=True))
    answers = talk(entries, "go", "a", rules=rules)
    assert answers[1].activated == (0,)
    assert reasons(answers[1])[1] is Reason.GROUP_STICKY


def test_in_sillytavern_a_member_both_sticky_and_cooling_is_dropped_by_its_group() -> None:
    alone = (keyed("go", sticky=3, cooldown=3),)
    assert shown(talk(alone, "go", "a")) == "xx"
    grouped = ({**alone[0], "group": "g"},)
    answers = talk(grouped, "go", "a")
    assert shown(answers) == "x."
    assert reasons(answers[1])[0] is Reason.GROUP_COOLDOWN
    assert shown(talk(grouped, "go", "a", rules=FABULA)) == "xx"


def test_in_sillytavern_a_sticky_member_is_not_measured_against_those_it_beats() -> None:
    entries = (keyed("go", group="g", sticky=3, useGroupScoring=True), keyed("a", "b", group="g"))
    assert talk(entries, "go", "a b")[1].activated == (0,)
