"""Properties of every scan, on random books and conversations."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.model import Activation, LorebookReason, TimedEffects
from fabula.lorebook.parsing import parse_timed_effects
from fabula.lorebook.rules import ActivationRules
from tests.lorebook.books import BOTH, WordTokenizer, make_book, make_messages, scan_books

WORDS = ("Mira", "cat", "king", "青云宗", "Zoë", "gate", "/k.ng/i", "")
_some = st.lists(st.sampled_from(WORDS), max_size=3)
_flag = st.sampled_from([None, True, False])
_count = st.sampled_from([None, 1, 2, 3])
_entry = st.fixed_dictionaries(
    {"content": _some.map(" ".join), "key": _some},
    optional={
        "keysecondary": _some,
        "selective": _flag,
        "selectiveLogic": st.integers(0, 3),
        "constant": _flag,
        "order": st.integers(0, 3),
        "position": st.integers(0, 7),
        "depth": st.integers(0, 2),
        "outletName": st.sampled_from(["out", "other"]),
        "probability": st.sampled_from([0, 50, 100]),
        "useProbability": _flag,
        "ignoreBudget": _flag,
        "preventRecursion": _flag,
        "excludeRecursion": _flag,
        "delayUntilRecursion": st.sampled_from([None, True, 1, 2]),
        "scanDepth": st.integers(0, 3),
        "group": st.sampled_from(["g", "h", "g,h", " g , h "]),
        "groupOverride": _flag,
        "groupWeight": st.sampled_from([0, 1, 100]),
        "useGroupScoring": _flag,
        "sticky": _count,
        "cooldown": _count,
        "delay": _count,
    },
)
_entries = st.lists(_entry, max_size=8)
_said = st.lists(_some.map(" ".join), min_size=1, max_size=4)
_options = st.fixed_dictionaries(
    {
        "budget": st.sampled_from([1, 3, 100]),
        "depth": st.integers(0, 3),
        "recursive": st.booleans(),
        "match_whole_words": st.booleans(),
        "use_group_scoring": st.booleans(),
        "min_activations": st.sampled_from([0, 2]),
        "max_recursion_steps": st.sampled_from([0, 2]),
        "max_context": st.sampled_from([100, 300]),
        "random": st.lists(st.floats(0, 0.999), max_size=6),
    }
)
_rules = st.sampled_from(BOTH)


def scan_conversation(
    entries: list[dict[str, Any]], said: list[str], rules: ActivationRules, options: dict[str, Any]
) -> list[Activation]:
    answers: list[Activation] = []
    for end in range(1, len(said) + 1):
        timed = answers[-1].timed_effects if answers else TimedEffects()
        answers.append(
            scan_books(make_book(*entries), make_messages(*said[:end]), rules=rules, timed_effects=timed, **options)
        )
    return answers


@settings(max_examples=300, deadline=None)
@given(entries=_entries, said=_said, options=_options)
def test_ours_is_never_over_budget_but_for_those_that_ignore_it(
    entries: list[dict[str, Any]], said: list[str], options: dict[str, Any]
) -> None:
    for answer in scan_conversation(entries, said, FABULA, options):
        texts = {uid: WordTokenizer().count(entry["content"]) for uid, entry in enumerate(entries)}
        free = {uid for uid, entry in enumerate(entries) if entry.get("ignoreBudget")}
        assert sum(texts[uid] for uid in answer.active_uids if uid not in free) <= answer.budget
        assert answer.used == sum(texts[uid] for uid in answer.active_uids)
        left = answer.budget - answer.used
        if not free and not any(verdict.reason is LorebookReason.DISPLACED for verdict in answer.verdicts):
            refused = [v.ref.uid for v in answer.verdicts if v.reason is LorebookReason.OVER_BUDGET]
            assert all(texts[uid] > left for uid in refused)


@settings(max_examples=200, deadline=None)
@given(entries=_entries, said=_said, options=_options, rules=_rules)
def test_every_entry_has_a_reason_and_it_agrees_with_the_answer(
    entries: list[dict[str, Any]], said: list[str], options: dict[str, Any], rules: ActivationRules
) -> None:
    for answer in scan_conversation(entries, said, rules, options):
        assert answer.rules == rules.name
        assert sorted(verdict.ref.uid for verdict in answer.verdicts) == list(range(len(entries)))
        assert {verdict.ref.uid for verdict in answer.verdicts if verdict.active} == set(answer.active_uids)
        assert len(set(answer.active_uids)) == len(answer.active_uids)
        speaks = (
            LorebookReason.CONSTANT,
            LorebookReason.KEY,
            LorebookReason.STICKY,
            LorebookReason.DECORATOR,
            LorebookReason.EXTERNAL,
        )
        assert all((verdict.reason in speaks) is verdict.active for verdict in answer.verdicts)


@settings(max_examples=100, deadline=None)
@given(entries=_entries, said=_said, options=_options, rules=_rules)
def test_the_same_input_gives_the_same_output(
    entries: list[dict[str, Any]], said: list[str], options: dict[str, Any], rules: ActivationRules
) -> None:
    assert scan_conversation(entries, said, rules, options) == scan_conversation(entries, said, rules, options)


@settings(max_examples=100, deadline=None)
@given(entries=_entries, said=_said, options=_options, rules=_rules)
def test_timed_effects_are_the_same_after_being_written_and_read(
    entries: list[dict[str, Any]], said: list[str], options: dict[str, Any], rules: ActivationRules
) -> None:
    for answer in scan_conversation(entries, said, rules, options):
        read = parse_timed_effects(msgspec.json.decode(msgspec.json.encode(answer.timed_effects)))
        assert read == answer.timed_effects
        later = make_messages(*said, "one more")
        again = [
            scan_books(make_book(*entries), later, rules=rules, timed_effects=timed, **options)
            for timed in (read, answer.timed_effects)
        ]
        assert again[0] == again[1]


@settings(max_examples=200, deadline=None)
@given(entries=_entries, said=_said, options=_options)
def test_in_ours_a_group_has_one_speaker_unless_both_are_sticky(
    entries: list[dict[str, Any]], said: list[str], options: dict[str, Any]
) -> None:
    for answer in scan_conversation(entries, said, FABULA, options):
        why = {verdict.ref.uid: verdict for verdict in answer.verdicts}
        for name in ("g", "h"):
            speak = [uid for uid in answer.active_uids if name in entries[uid].get("group", "")]
            # An entry that is constant and sticky says CONSTANT; only those with a sticky field may be two.
            assert len(speak) < 2 or all(entries[uid].get("sticky") for uid in speak), [why[uid] for uid in speak]


def test_every_reason_is_explained() -> None:
    assert all(reason.sentence.render() and reason.value == reason.name for reason in LorebookReason)
