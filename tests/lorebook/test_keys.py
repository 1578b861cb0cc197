"""What is scanned, and when a key is found in it."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.lorebook.model import Reason, Said, Scene
from fabula.lorebook.own_rules import FABULA
from fabula.lorebook.rules import Rules
from fabula.lorebook.sillytavern_rules import EXACT
from tests.lorebook.books import BOTH, active, book, chat, keyed, reasons, scan


def found(key: str, text: str, *, rules: Rules = EXACT, **options: Any) -> bool:
    return active(keyed(key), said=chat(text), rules=rules, include_names=False, **options) == [0]


def test_only_the_newest_messages_are_read() -> None:
    said = chat("Mira", "two", "three")
    assert active(keyed("Mira"), said=said) == []
    assert active(keyed("Mira"), said=said, depth=3) == [0]
    assert active(keyed("Mira", scanDepth=3), said=said) == [0]


@pytest.mark.parametrize("rules", BOTH)
def test_depth_nought_matches_nothing_not_even_recursion(rules: Rules) -> None:
    entries = ({"constant": True, "content": "Mira"}, keyed("Mira", scanDepth=0))
    assert active(*entries, said=chat("Mira"), recursive=True, rules=rules) == [0]
    assert active(keyed("Mira"), said=chat("Mira"), depth=-3, rules=rules) == []


def test_names_are_read_unless_left_out() -> None:
    assert active(keyed("Ann"), said=chat("hello")) == [0]
    assert active(keyed("Ann"), said=chat("hello"), include_names=False) == []
    assert active(keyed("/^\x01Ann: hello$/"), said=chat("  hello  ")) == []
    assert active(keyed("/^\x01Ann: hello$/"), said=chat("hello  ")) == [0]


def test_each_message_begins_with_a_mark_and_the_newest_is_first() -> None:
    assert active(keyed("/^\x01Ann: two\\n\x01Ann: one$/"), said=chat("one", "two")) == [0]
    assert active(keyed("/^M/m"), said=chat("Mira"), include_names=False) == []
    assert active(keyed("/^M/m"), said=chat("x\nMira"), include_names=False) == [0]


def test_the_sources_an_entry_names_are_read_too() -> None:
    scene = Scene(persona="Mira", description="Orla", scenario="Keep", scanned=("Tobin",))
    entries = (
        keyed("Mira", matchPersonaDescription=True),
        keyed("Mira"),
        keyed("Orla", matchCharacterDescription=True),
        keyed("Keep", matchScenario=True),
        keyed("Tobin"),
    )
    assert active(*entries, scene=scene) == [0, 2, 3, 4]


def test_an_empty_key_never_matches_and_keys_are_trimmed() -> None:
    assert not found("", "anything")
    assert not found("   ", "any thing")
    assert found("  Mira ", "Mira")


def test_user_and_character_are_filled_into_keys_and_texts() -> None:
    answer = scan(book(keyed("{{user}}", content="{{Char}} and {{user}} and {{other}}")), [Said("Ann", "x")])
    assert answer.before == "Bob and Ann and {{other}}"


def test_case_counts_only_when_asked_for_and_the_entry_has_the_last_word() -> None:
    assert found("mira", "MIRA")
    assert not found("mira", "MIRA", case_sensitive=True)
    assert active(keyed("mira", caseSensitive=True), said=chat("MIRA")) == []
    assert active(keyed("mira", caseSensitive=False), said=chat("MIRA"), case_sensitive=True) == [0]


def test_a_pattern_brings_its_own_options() -> None:
    assert not found("/mira/", "MIRA")
    assert found("/mira/i", "MIRA", case_sensitive=True)
    assert found("/ir/", "Mira", match_whole_words=True)
    assert found("/a\\/b/", "a/b")


@pytest.mark.parametrize("key", ["/a/b/", "/cat$/x", "/", "//"])
def test_what_is_not_quite_a_pattern_is_plain_text(key: str) -> None:
    assert found(key, f"there is {key} here")
    assert not found(key, "a cat")


def test_a_broken_pattern_is_plain_text_and_reported() -> None:
    answer = scan(book(keyed("/ki(ng/")), chat("a /ki(ng/ b"))
    assert answer.activated == (0,)
    assert "bracket" in answer.problems[0]
    assert scan(book(keyed("/(a)\\1/")), chat("aa")).problems


def test_whole_words_of_sillytavern_are_ascii() -> None:
    words: dict[str, Any] = {"match_whole_words": True}
    assert not found("cat", "concatenate", **words)
    assert found("caf", "café", **words)
    assert not found("cat", "_cat_", **words)
    assert found("林远", "树林远处", **words)
    assert not found("林远", "x林远", **words)
    assert found("the cat", "bathe cats", **words)
    assert active(keyed("cat", matchWholeWords=False), said=chat("concatenate"), match_whole_words=True) == [0]


def test_whole_words_of_ours_know_every_script() -> None:
    words: dict[str, Any] = {"match_whole_words": True, "rules": FABULA}
    assert not found("caf", "café", **words)
    assert found("café", "café", **words)
    assert found("cat", "_cat_", **words)
    assert found("林远", "x林远", **words)
    assert not found("the cat", "bathe cats", **words)
    assert not found("ьво", "Львов", **words)
    assert not found("ソラ", "ソラリス", **words)


SECONDARY = [
    (0, "a", True), (0, "c", False),
    (1, "a", True), (1, "a b", False),
    (2, "c", True), (2, "a", False),
    (3, "a b", True), (3, "a", False),
]  # fmt: skip


@pytest.mark.parametrize("rules", BOTH)
@pytest.mark.parametrize(("logic", "text", "passes"), SECONDARY)
def test_secondary_keys_decide_by_their_logic(logic: int, text: str, passes: bool, rules: Rules) -> None:
    entry = keyed("key", keysecondary=["a", "b"], selective=True, selectiveLogic=logic, matchWholeWords=True)
    answer = scan(book(entry), chat(f"key {text}"), include_names=False, rules=rules)
    assert (answer.activated == (0,)) is passes
    assert reasons(answer)[0] is (Reason.KEY if passes else Reason.SECONDARY)


def test_without_selective_secondary_keys_are_ignored() -> None:
    assert active(keyed("key", keysecondary=["absent"]), said=chat("key")) == [0]
    assert active(keyed("key", keysecondary=["absent"], selective=False), said=chat("key")) == [0]


def test_an_empty_secondary_key_counts_as_a_miss() -> None:
    entry = keyed("key", keysecondary=["", "key"], selective=True, selectiveLogic=3)
    assert active(entry, said=chat("key")) == []
    assert active({**entry, "selectiveLogic": 1}, said=chat("key")) == [0]
