"""Untrusted books: refused with the name of the field, or scanned without harm."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fabula.core.errors import Code, FabulaError
from fabula.lorebook.model import LorebookReason, LoreEntry, TimedEffects
from fabula.lorebook.parsing import parse_book, parse_settings, parse_timed_effects
from fabula.lorebook.rules import ActivationRules
from tests.lorebook.books import BOTH, constant_entry, keyed_entry, list_reasons, make_book, make_messages, scan_books

TEXTS = {"comment", "content", "outletName", "group"}


def list_wrong_values(field: str) -> list[Any]:
    """Values that the field cannot have."""
    if field in TEXTS:
        return [1, True, ["x"], {}]
    if field in ("key", "keysecondary", "triggers"):
        return ["text", 1, [1], [None], {}]
    return ["text", [1], {"a": [1]}]


@pytest.mark.parametrize("field", LoreEntry.__struct_encode_fields__)
def test_a_field_of_the_wrong_type_is_refused_by_name(field: str) -> None:
    for value in list_wrong_values(field):
        if field == "characterFilter" and isinstance(value, dict):
            value = {"names": "Bob"}
        with pytest.raises(FabulaError) as refused:
            parse_book({"entries": {"7": {"uid": 0, field: value}}}, "mine")
        assert refused.value.code is Code.LOREBOOK_INVALID
        assert "entry '7' of the lorebook 'mine'" in refused.value.sentence
        assert field in refused.value.sentence


@pytest.mark.parametrize(
    "raw", [None, 1, "x", [], {}, {"entries": None}, {"entries": "x"}, {"entries": 3}, {"entries": [1]}]
)
def test_what_is_no_book_is_refused(raw: object) -> None:
    with pytest.raises(FabulaError) as refused:
        parse_book(raw)
    assert refused.value.code is Code.LOREBOOK_INVALID


def test_an_entry_needs_a_uid_and_no_two_share_one() -> None:
    with pytest.raises(FabulaError, match="uid"):
        parse_book({"entries": [{}]})
    with pytest.raises(FabulaError, match=r"'a' and 'b'.*same uid 3"):
        parse_book({"entries": {"a": {"uid": 3}, "b": {"uid": 3}}})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_numbers_that_are_none_are_refused(number: float) -> None:
    with pytest.raises(FabulaError, match="order"):
        parse_book({"entries": [{"uid": 0, "order": number}]})
    with pytest.raises(FabulaError, match="depth"):
        parse_settings({"depth": number})


def test_settings_and_timed_effects_of_the_wrong_type_are_refused() -> None:
    for read in (parse_settings, parse_timed_effects):
        with pytest.raises(FabulaError) as refused:
            read({"recursive": "yes", "sticky": [1]})
        assert refused.value.code is Code.LOREBOOK_INVALID
    assert parse_timed_effects({}) == TimedEffects()


def test_null_is_the_same_as_absent_and_unknown_fields_are_passed_over() -> None:
    names = LoreEntry.__struct_encode_fields__
    nulls = {name: None for name in names if name != "uid"} | {"uid": 0, "vectorized": [1], "displayIndex": 4}
    assert parse_book({"entries": [nulls]}) == parse_book({"entries": [{"uid": 0}]})


@pytest.mark.parametrize("rules", BOTH)
@pytest.mark.parametrize("number", [-(10**30), -1, 0, 10**30, 1e300, -1e300, 0.5])
def test_odd_numbers_in_every_field_are_survived(number: float, rules: ActivationRules) -> None:
    fields = ("order", "depth", "probability", "scanDepth", "groupWeight", "sticky", "cooldown", "delay")
    entries = [keyed_entry("x", useProbability=True, group="g", position=4, **{field: number}) for field in fields]
    entries += [constant_entry(delayUntilRecursion=number), constant_entry(selectiveLogic=7)]
    timed = TimedEffects()
    for length in (1, 2, 3):
        answer = scan_books(
            make_book(*entries), make_messages(*["x"] * length), timed_effects=timed, recursive=True, rules=rules
        )
        assert len(answer.verdicts) == len(entries)
        timed = answer.timed_effects
    settings = ("depth", "budget", "budget_cap", "min_activations", "min_activations_depth_max", "max_recursion_steps")
    for name in settings:
        odd: dict[str, Any] = {name: number}
        assert scan_books(make_book(*entries), make_messages("x"), rules=rules, **odd).verdicts


def test_a_selective_logic_nobody_knows_says_no() -> None:
    entry = keyed_entry("x", keysecondary=["y"], selective=True, selectiveLogic=9)
    assert list_reasons(scan_books(make_book(entry), make_messages("x y"))) == {0: LorebookReason.SECONDARY}


CATASTROPHIC = ["/(a+)+$/", "/(a|aa)+$/", "/(.*a){25}$/", "/(a{1,1000}){1000}$/", "/^(([a-z])+.)+$/", "/(a+a+)+b/i"]


@pytest.mark.parametrize("rules", BOTH)
@pytest.mark.parametrize("key", CATASTROPHIC)
def test_a_catastrophic_pattern_ends(key: str, rules: ActivationRules) -> None:
    # Tried one way after the other these would outlast the sun.
    answer = scan_books(make_book(keyed_entry(key)), make_messages("a" * 100_000 + "!"), rules=rules)
    assert list_reasons(answer)[0] is LorebookReason.NOT_MENTIONED


def test_many_patterns_share_one_allowance_and_those_given_up_are_reported() -> None:
    letters = "".join(chr(0x4E00 + n % 20_000) for n in range(100_000))
    slow = [f"/\\p{{L}}+{n}[^{chr(0x4E00 + n)}]z/iu" for n in range(300)]
    answer = scan_books(
        make_book(*(keyed_entry(key) for key in (*slow, *CATASTROPHIC))), make_messages(letters), max_context=10**6
    )
    assert answer.active_uids == ()
    given_up = [problem for problem in answer.problems if "too long" in str(problem)]
    assert 1 < len(given_up) < 20
    assert "all patterns" in str(given_up[-1]), "the rest is said once"


def test_the_same_pattern_in_many_entries_is_looked_for_once() -> None:
    answer = scan_books(
        make_book(*(keyed_entry("/(a+)+b/") for _ in range(3000))), make_messages("a" * 100_000), max_context=10**6
    )
    assert answer.problems == ()


@pytest.mark.parametrize("rules", BOTH)
def test_ten_thousand_entries_and_ten_thousand_keys_are_survived(rules: ActivationRules) -> None:
    entries = [
        keyed_entry(f"name{n}", group=f"g{n % 50}, h{n % 7}", content=f"text {n}", order=0) for n in range(10_000)
    ]
    entries.append(keyed_entry(*(f"name{n}" for n in range(10_000)), order=1))
    answer = scan_books(
        make_book(*entries), make_messages("name1 name22 name333 name9999"), rules=rules, max_context=10**6
    )
    assert len(answer.verdicts) == 10_001
    assert 10_000 in answer.active_uids


def test_deep_nesting_in_a_pattern_is_refused_and_reported() -> None:
    answer = scan_books(make_book(keyed_entry("/" + "(" * 5000 + ")" * 5000 + "/")), make_messages("x"))
    assert "deep" in str(answer.problems[0])


def test_timed_effects_survive_being_written_down() -> None:
    answer = scan_books(make_book(keyed_entry("go", sticky=2, cooldown=3)), make_messages("go"))
    assert parse_timed_effects(msgspec.json.decode(msgspec.json.encode(answer.timed_effects))) == answer.timed_effects
