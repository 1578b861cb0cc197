"""Books that would stall prompts: what a scan does is counted, and what is over a bound is said once by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.lorebook import activation, entry_check, keys
from fabula.lorebook.activation import MAX_WORK
from fabula.lorebook.entry_check import EntryChecker
from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.model import EntryRef
from fabula.lorebook.rules import ActivationRules, TokenTally
from fabula.lorebook.sillytavern_rules import EXACT
from fabula.text.word_boundaries import contains_word
from tests.lorebook.books import BOTH, CharacterTokenizer, keyed_entry, make_book, make_messages, scan_books


@pytest.fixture
def checkers(monkeypatch: pytest.MonkeyPatch) -> list[EntryChecker]:
    made: list[EntryChecker] = []

    class Recorded(EntryChecker):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(activation, "EntryChecker", Recorded)
    return made


def make_chain(entries: int, key_count: int) -> list[dict[str, Any]]:
    return [
        {"key": [f"link{n}", *(f"pad{n}x{k}" for k in range(1, key_count))], "content": f"then link{n + 1} comes"}
        for n in range(entries)
    ]


@pytest.mark.parametrize("rules", BOTH)
def test_a_chain_of_entries_looks_at_each_key_few_times(rules: ActivationRules, checkers: list[EntryChecker]) -> None:
    book = make_book(*make_chain(400, 21))
    answer = scan_books(book, make_messages("link0"), recursive=True, max_context=10**6, rules=rules)
    assert len(answer.active) == 400
    assert checkers[0].work < 3 * 400  # and not 400 entries times 400 passes times 21 keys


def test_a_pass_limit_names_the_entry_and_the_book() -> None:
    book = make_book(*make_chain(5_000, 1), name="Harbour")
    answer = scan_books(book, make_messages("link0"), recursive=True, max_context=10**6)
    assert [str(problem) for problem in answer.problems] == [
        "Entries still activated each other after 50 passes; the last was link49 in Harbour."
    ]


def test_entries_that_are_looked_at_too_often_end_the_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activation, "MAX_WORK", 30)
    answer = scan_books(make_book(*make_chain(40, 1)), make_messages("link0"), recursive=True, max_context=10**6)
    assert len(answer.active) < 40
    assert "still activated" in str(answer.problems[0])


def test_patterns_over_the_bound_are_said_once_with_entry_and_book() -> None:
    book = make_book(*(keyed_entry(f"/pat{n}/") for n in range(keys.MAX_PATTERNS + 5)), name="Harbour")
    problem, *others = scan_books(book, make_messages("x")).problems
    assert len(others) < 10
    assert str(problem).startswith("5 keys are not searched for, because the books in use have too many patterns.")
    assert f"(/pat{keys.MAX_PATTERNS}/ in Harbour)" in str(problem)


def test_a_key_of_twenty_thousand_brackets_is_named_in_short() -> None:
    (problem,) = scan_books(make_book(keyed_entry("/" + "[" * 20_000 + "/")), make_messages("x")).problems
    assert "longer than 12,000 characters" in str(problem)
    assert len(str(problem)) < 300


def test_keys_inside_one_another_are_searched_within_the_bound() -> None:
    book = make_book(*(keyed_entry("a" * n) for n in range(1, 2_000)))
    answer = scan_books(book, make_messages("b" + "a" * 8_000 + "b"), match_whole_words=True, include_names=False)
    assert answer.active_uids == ()
    assert "all keys would take too long" in str(answer.problems[0])


def test_the_keys_of_a_book_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    index = keys.KeyIndex([make_book(keyed_entry("/a[bc]/"))], activation.DEFAULT_SETTINGS, str)
    monkeypatch.setattr(keys, "parse_key", None)
    book = make_book(keyed_entry("/a[bc]/"))
    for text in ("ab", "ac", "ad"):
        answer = activation.activate(
            [book], make_messages(text), tokenizer=CharacterTokenizer(), random_source=lambda: 0.5, index=index
        )
        assert bool(answer.active) is (text != "ad")


def test_replacing_members_of_many_groups_keeps_the_newcomers() -> None:
    constant = [{"constant": True, "content": f"go{n}", "group": f"g{n}"} for n in range(300)]
    keyed = [keyed_entry(f"go{n}", group=f"g{n}", matchWholeWords=True) for n in range(300)]
    answer = scan_books(make_book(*constant, *keyed), recursive=True, max_context=10**6, rules=FABULA)
    assert answer.active == tuple(EntryRef("book", n) for n in range(300, 600))


class CountedTokenizer(CharacterTokenizer):
    def __init__(self) -> None:
        self.characters = 0

    def count(self, text: str) -> int:
        self.characters += len(text)
        return len(text)


def test_counting_texts_that_begin_with_a_bracket_is_bounded() -> None:
    tokenizer = CountedTokenizer()
    tally = TokenTally(tokenizer)
    for number in range(20_000):
        tally.add(f"[{number}]")
        assert tally.tokens
    assert tally.tokens == sum(len(f"[{number}]\n") for number in range(20_000))
    assert tokenizer.characters < 3_000_000  # and not a thousand million


def test_decorators_without_end_are_read_once() -> None:
    answer = scan_books(make_book({"constant": True, "content": "@@a\n" * 50_000 + "text"}))
    assert answer.texts.before == "text"


@given(
    st.lists(st.text("ab ü_\n", max_size=40), min_size=1, max_size=4),
    st.lists(st.text("abAÜ _", min_size=1, max_size=40), min_size=1, max_size=6),
    st.booleans(),
    st.booleans(),
)
def test_a_growing_text_is_searched_as_if_it_were_whole(
    parts: list[str], texts: list[str], whole_words: bool, case_sensitive: bool
) -> None:
    index = keys.KeyIndex(
        [make_book(*(keyed_entry(text, caseSensitive=case_sensitive) for text in texts))],
        activation.DEFAULT_SETTINGS,
        str,
    )
    matcher = keys.KeyMatcher(index, FABULA.is_whole_word)
    scanned = matcher.make_text("\x01")
    for part in parts:
        scanned.append("\n\x01" + part)
        matcher.search(scanned)
        haystack = scanned.text if case_sensitive else scanned.text.lower()
        for text in texts:
            needle = text.strip() if case_sensitive else text.strip().lower()
            wanted = bool(needle) and (contains_word(haystack, needle) if whole_words else needle in haystack)
            found = matcher.matches(text, scanned, case_sensitive=case_sensitive, whole_words=whole_words, name=dict)
            assert found is wanted


def test_work_is_counted_for_entries_and_keys(checkers: list[EntryChecker]) -> None:
    scan_books(make_book(keyed_entry("a"), keyed_entry("b")), make_messages("a b"), rules=EXACT)
    assert 4 == checkers[0].work < MAX_WORK
    assert entry_check.MAX_SCAN_DEPTH
