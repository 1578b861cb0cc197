"""Which texts are scanned, and when a key matches."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.model import CardCharacter, LorebookReason, ScanContext, ScanMessage
from fabula.lorebook.rules import ActivationRules
from fabula.lorebook.sillytavern_rules import EXACT
from tests.lorebook.books import BOTH, find_active_uids, keyed_entry, list_reasons, make_book, make_messages, scan_books


def matches(key: str, text: str, *, rules: ActivationRules = EXACT, **options: Any) -> bool:
    return find_active_uids(
        keyed_entry(key), messages=make_messages(text), rules=rules, include_names=False, **options
    ) == [0]


def test_only_the_newest_messages_are_read() -> None:
    said = make_messages("Mira", "two", "three")
    assert find_active_uids(keyed_entry("Mira"), messages=said) == []
    assert find_active_uids(keyed_entry("Mira"), messages=said, depth=3) == [0]
    assert find_active_uids(keyed_entry("Mira", scanDepth=3), messages=said) == [0]


@pytest.mark.parametrize("rules", BOTH)
def test_depth_nought_matches_nothing_not_even_recursion(rules: ActivationRules) -> None:
    entries = ({"constant": True, "content": "Mira"}, keyed_entry("Mira", scanDepth=0))
    assert find_active_uids(*entries, messages=make_messages("Mira"), recursive=True, rules=rules) == [0]
    assert find_active_uids(keyed_entry("Mira"), messages=make_messages("Mira"), depth=-3, rules=rules) == []


def test_names_are_read_unless_left_out() -> None:
    assert find_active_uids(keyed_entry("Ann"), messages=make_messages("hello")) == [0]
    assert find_active_uids(keyed_entry("Ann"), messages=make_messages("hello"), include_names=False) == []
    assert find_active_uids(keyed_entry("/^\x01Ann: hello$/"), messages=make_messages("  hello  ")) == []
    assert find_active_uids(keyed_entry("/^\x01Ann: hello$/"), messages=make_messages("hello  ")) == [0]


def test_each_message_begins_with_a_mark_and_the_newest_is_first() -> None:
    assert find_active_uids(keyed_entry("/^\x01Ann: two\\n\x01Ann: one$/"), messages=make_messages("one", "two")) == [0]
    assert find_active_uids(keyed_entry("/^M/m"), messages=make_messages("Mira"), include_names=False) == []
    assert find_active_uids(keyed_entry("/^M/m"), messages=make_messages("x\nMira"), include_names=False) == [0]


def test_the_sources_an_entry_names_are_read_too() -> None:
    context = ScanContext(
        persona="Mira", character=CardCharacter(description="Orla", scenario="Keep"), extra_texts=("Tobin",)
    )
    entries = (
        keyed_entry("Mira", matchPersonaDescription=True),
        keyed_entry("Mira"),
        keyed_entry("Orla", matchCharacterDescription=True),
        keyed_entry("Keep", matchScenario=True),
        keyed_entry("Tobin"),
    )
    assert find_active_uids(*entries, context=context) == [0, 2, 3, 4]


def test_an_empty_key_never_matches_and_keys_are_trimmed() -> None:
    assert not matches("", "anything")
    assert not matches("   ", "any thing")
    assert matches("  Mira ", "Mira")


def test_user_and_character_are_filled_into_keys_and_texts() -> None:
    answer = scan_books(
        make_book(keyed_entry("{{user}}", content="{{Char}} and {{user}} and {{other}}")), [ScanMessage("Ann", "x")]
    )
    assert answer.texts.before == "Bob and Ann and {{other}}"


def test_case_counts_only_when_asked_for_and_the_entry_has_the_last_word() -> None:
    assert matches("mira", "MIRA")
    assert not matches("mira", "MIRA", case_sensitive=True)
    assert find_active_uids(keyed_entry("mira", caseSensitive=True), messages=make_messages("MIRA")) == []
    assert find_active_uids(
        keyed_entry("mira", caseSensitive=False), messages=make_messages("MIRA"), case_sensitive=True
    ) == [0]


def test_a_pattern_brings_its_own_options() -> None:
    assert not matches("/mira/", "MIRA")
    assert matches("/mira/i", "MIRA", case_sensitive=True)
    assert matches("/ir/", "Mira", match_whole_words=True)
    assert matches("/a\\/b/", "a/b")


@pytest.mark.parametrize("key", ["/a/b/", "/cat$/x", "/", "//"])
def test_what_is_not_quite_a_pattern_is_plain_text(key: str) -> None:
    assert matches(key, f"there is {key} here")
    assert not matches(key, "a cat")


def test_a_broken_pattern_is_plain_text_and_reported() -> None:
    answer = scan_books(make_book(keyed_entry("/ki(ng/")), make_messages("a /ki(ng/ b"))
    assert answer.active_uids == (0,)
    assert "bracket" in str(answer.problems[0])
    assert scan_books(make_book(keyed_entry("/(a)\\1/")), make_messages("aa")).problems


def test_whole_words_of_sillytavern_are_ascii() -> None:
    words: dict[str, Any] = {"match_whole_words": True}
    assert not matches("cat", "concatenate", **words)
    assert matches("caf", "café", **words)
    assert not matches("cat", "_cat_", **words)
    assert matches("林远", "树林远处", **words)
    assert not matches("林远", "x林远", **words)
    assert matches("the cat", "bathe cats", **words)
    assert find_active_uids(
        keyed_entry("cat", matchWholeWords=False), messages=make_messages("concatenate"), match_whole_words=True
    ) == [0]


def test_whole_words_of_ours_know_every_script() -> None:
    words: dict[str, Any] = {"match_whole_words": True, "rules": FABULA}
    assert not matches("caf", "café", **words)
    assert matches("café", "café", **words)
    assert matches("cat", "_cat_", **words)
    assert matches("林远", "x林远", **words)
    assert not matches("the cat", "bathe cats", **words)
    assert not matches("ьво", "Львов", **words)
    assert not matches("ソラ", "ソラリス", **words)


SECONDARY = [
    (0, "a", True), (0, "c", False),
    (1, "a", True), (1, "a b", False),
    (2, "c", True), (2, "a", False),
    (3, "a b", True), (3, "a", False),
]  # fmt: skip


@pytest.mark.parametrize("rules", BOTH)
@pytest.mark.parametrize(("logic", "text", "passes"), SECONDARY)
def test_secondary_keys_decide_by_their_logic(logic: int, text: str, passes: bool, rules: ActivationRules) -> None:
    entry = keyed_entry("key", keysecondary=["a", "b"], selective=True, selectiveLogic=logic, matchWholeWords=True)
    answer = scan_books(make_book(entry), make_messages(f"key {text}"), include_names=False, rules=rules)
    assert (answer.active_uids == (0,)) is passes
    assert list_reasons(answer)[0] is (LorebookReason.KEY if passes else LorebookReason.SECONDARY)


def test_without_selective_secondary_keys_are_ignored() -> None:
    assert find_active_uids(keyed_entry("key", keysecondary=["absent"]), messages=make_messages("key")) == [0]
    assert find_active_uids(
        keyed_entry("key", keysecondary=["absent"], selective=False), messages=make_messages("key")
    ) == [0]


def test_an_empty_secondary_key_counts_as_a_miss() -> None:
    entry = keyed_entry("key", keysecondary=["", "key"], selective=True, selectiveLogic=3)
    assert find_active_uids(entry, messages=make_messages("key")) == []
    assert find_active_uids({**entry, "selectiveLogic": 1}, messages=make_messages("key")) == [0]
