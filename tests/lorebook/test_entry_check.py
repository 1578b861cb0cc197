"""What holds an entry back, and what lets it pass without a key."""

from __future__ import annotations

import pytest

from fabula.lorebook.model import Reason, Ref, Scene
from fabula.lorebook.rules import Rules
from tests.lorebook.books import BOTH, active, book, chat, constant, keyed, reasons, scan

pytestmark = pytest.mark.parametrize("rules", BOTH)


def test_a_disabled_entry_stays_out(rules: Rules) -> None:
    answer = scan(book(constant(disable=True)), rules=rules)
    assert reasons(answer) == {0: Reason.DISABLED}


def test_triggers_name_the_kinds_of_request(rules: Rules) -> None:
    entries = (constant(triggers=["continue"]), constant(triggers=[]), constant(triggers=["normal"]))
    assert active(*entries, rules=rules) == [1, 2]


def test_the_character_filter_looks_at_names_then_tags(rules: Rules) -> None:
    def entry(**wanted: object) -> dict[str, object]:
        return constant(characterFilter=wanted)

    scene = Scene(character="Bob", tags=("knight",))
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
    assert active(*entries, scene=scene, rules=rules) == [0, 3, 4, 8]


def test_delay_waits_for_messages_even_with_constants(rules: Rules) -> None:
    assert active(constant(delay=2), said=chat("one"), rules=rules) == []
    assert active(constant(delay=2), said=chat("one", "two"), rules=rules) == [0]


def test_decorators_go_before_keys_and_are_not_part_of_the_text(rules: Rules) -> None:
    answer = scan(
        book({"content": "@@activate\nHere."}, constant(content="@@dont_activate\nNever."), keyed("x", content="@")),
        rules=rules,
    )
    assert answer.activated == (0,)
    assert answer.before == "Here."
    assert reasons(answer) == {0: Reason.DECORATOR, 1: Reason.FORBIDDEN, 2: Reason.NOT_MENTIONED}


def test_somebody_outside_may_activate_an_entry_that_is_not_held_back(rules: Rules) -> None:
    scene = Scene(external=frozenset({Ref("book", 0), Ref("book", 1)}))
    assert active({}, {"disable": True}, {}, scene=scene, rules=rules) == [0]


def test_an_entry_without_keys_says_so(rules: Rules) -> None:
    answer = scan(book({}, keyed("x"), keyed("x", scanDepth=0)), chat("hello"), rules=rules)
    assert reasons(answer) == {0: Reason.NO_KEYS, 1: Reason.NOT_MENTIONED, 2: Reason.NO_DEPTH}


def test_the_chance_is_rolled_and_a_failure_is_final(rules: Rules) -> None:
    sure = keyed("x", useProbability=True, probability=50)
    assert active(sure, said=chat("x"), random=[0.5], rules=rules) == [0]
    assert active(sure, said=chat("x"), random=[0.51, 0.0], min_activations=1, rules=rules) == []


def test_a_chance_of_nought_can_come_up_at_exactly_nought(rules: Rules) -> None:
    entry = constant(useProbability=True, probability=0)
    assert active(entry, random=[0.0], rules=rules) == [0]
    assert active(entry, random=[0.001], rules=rules) == []


def test_no_number_is_used_where_nothing_is_left_to_chance(rules: Rules) -> None:
    certain = constant(useProbability=True, probability=100)
    unasked = constant(probability=1)
    rolled = constant(useProbability=True, probability=50)
    assert active(certain, unasked, rolled, rolled, random=[0.9, 0.1], rules=rules) == [0, 1, 3]


def test_an_entry_that_asks_for_a_chance_it_does_not_give_never_comes(rules: Rules) -> None:
    assert active(constant(useProbability=True), random=[0.0], rules=rules) == []
