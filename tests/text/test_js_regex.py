"""JavaScript's patterns mean here what they mean there."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.core.messages import Sentence
from fabula.text.js_regex import JsRegex, RegexText, TooMuchWorkError, WorkBudget, compile_regex


def matches(source: str, text: str, flags: str = "") -> bool:
    made = compile_regex(source, flags)
    assert isinstance(made, JsRegex), made
    return made.is_found_in(RegexText(text), WorkBudget())


# (pattern, flags, text, does JavaScript find it)
KNOWN = [
    (r"\bcat\b", "", "a cat.", True), (r"\bcat\b", "", "concat", False), (r"\bé", "", "é", False),
    (r"^b", "", "a\nb", False), (r"^b", "m", "a\nb", True), (r"a$", "", "a\n", False), (r"a$", "m", "a\nb", True),
    (r"a.b", "", "a\nb", False), (r"a.b", "s", "a\nb", True), (r"^a", "y", "a", True), (r"b", "y", "ab", False),
    (r"\d", "", "٣", False), (r"\w", "", "é", False), (r"\s", "", "\ufeff", True), (r"\s", "", "\x1f", False),
    (r"[]", "", "a", False), (r"[^]", "", "\n", True), (r"a{,2}", "", "a{,2}", True), (r"a{2}", "", "aa", True),
    (r"{", "", "{", True), (r"]", "", "]", True), (r"\x41\u0042\cJ\0", "", "AB\n\0", True), (r"\u{61}", "u", "a", True),
    (r"[\w-]", "", "-", True), (r"[a-c]", "i", "B", True), (r"[^a]", "i", "A", False), (r"é", "i", "É", True),
    (r"ß", "i", "ẞ", False), (r"ß", "iu", "ẞ", False), (r"k", "i", "\u212a", False), (r"k", "iu", "\u212a", True),
    (r"^.$", "", "😀", False), (r"^.$", "u", "😀", True), (r"\p{Lu}", "u", "É", True), (r"\P{L}", "u", "É", False),
    (r"\p{L}", "", "p{L}", True), (r"(?<=a)b", "", "ab", True), (r"(?<!a)b", "", "ab", False),
    (r"(?<=a+)b", "", "aab", True), (r"a(?!b)", "", "ab ac", True), (r"(?<n>a)b", "", "ab", True),
    (r"(?=a)*b", "", "b", True), (r"\7", "", "\x07", True), (r"a||b", "", "", True), (r"(?:)", "", "", True),
    (r"\p{Script=Han}", "u", "中", True), (r"\p{sc=Cyrl}", "u", "中", False), (r"\P{scx=Latin}", "u", "é", False),
    (r"\p{Uppercase}", "u", "É", True), (r"\p{gc=Decimal_Number}", "u", "٣", True), (r"[\p{Lu}\d]", "u", "é", False),
    (r"\p{Alpha}", "u", "é", True), (r"\p{LC}", "u", "中", False), (r"\p{White_Space}", "u", "\u3000", True),
    (r"(a*)*b", "", "aab", True), (r"(?:ab){2,3}c", "", "ababc", True), (r"(?:ab){2,3}?c", "", "abc", False),
]  # fmt: skip


@pytest.mark.parametrize(("source", "flags", "text", "found"), KNOWN)
def test_a_pattern_means_what_it_means_in_javascript(source: str, flags: str, text: str, found: bool) -> None:
    assert matches(source, text, flags) is found


BROKEN = [
    "(", ")", "[", "a**", "*a", "a{2,1}", "[z-a]", "\\", "(?i)x", "(?P<n>a)", "(?<1>a)", "(?<n>a)(?<n>b)", "[\\", "+",
]  # fmt: skip


@pytest.mark.parametrize("source", BROKEN)
def test_what_javascript_refuses_is_refused(source: str) -> None:
    assert isinstance(compile_regex(source, ""), Sentence)


@pytest.mark.parametrize(
    "source",
    [
        "{",
        "a{2",
        "]",
        "\\-",
        "\\x4",
        "\\u{110000}",
        "[\\d-x]",
        "\\p{Nonsense}",
        "\\p{Han}",
        "\\p{sc=Nonsense}",
        "\\p{a=b}",
        "\\1",
    ],
)
def test_the_unicode_flag_is_strict(source: str) -> None:
    assert isinstance(compile_regex(source, "u"), Sentence)


@pytest.mark.parametrize("flags", ["x", "ii", "gg"])
def test_flags_must_make_sense(flags: str) -> None:
    assert "flags" in str(compile_regex("a", flags))


@pytest.mark.parametrize("source", [r"(a)\1", r"(?<n>a)\k<n>"])
def test_a_pattern_that_refers_back_says_that_it_is_not_done(source: str) -> None:
    assert "bounded time" in str(compile_regex(source, ""))


def test_work_is_bounded() -> None:
    made = compile_regex("(a{1000}){1000}", "")
    assert isinstance(made, JsRegex)
    with pytest.raises(TooMuchWorkError):
        made.is_found_in(RegexText("a" * 100_000), WorkBudget())


def test_a_pattern_that_is_too_long_is_refused() -> None:
    assert "longer than 10,000 characters" in str(compile_regex("[" * 20_000, ""))
    assert "not closed" in str(compile_regex("[" * 9_000, ""))


_ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\b", "^", "$", r"\w", r"\W", " ", "(?<=a)", "(?<!b)"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    counts = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "{0}"])
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, counts).map(lambda two: f"(?:{two[0]}){two[1]}"),
        inner.map(lambda one: f"(?={one})"),
        inner.map(lambda one: f"(?!{one})"),
    )


@settings(max_examples=300, deadline=None)
@given(
    source=st.recursive(_ATOMS, _larger, max_leaves=8), text=st.text("abA \n", max_size=9), flag=st.sampled_from("ims")
)
def test_where_both_languages_agree_the_answer_is_pythons(source: str, text: str, flag: str) -> None:
    options = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
    theirs = source if flag == "m" else source.replace("$", r"\Z")
    assert matches(source, text, flag) == bool(re.search(theirs, text, options[flag] | re.ASCII))
