"""Macros: names, chance by a seed, times of the request, variables; what means nothing stays and is reported."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.text.macros import (
    MAX_GROWTH,
    MAX_VARIABLE_CHARACTERS,
    MacroExpander,
    MacroValues,
    fill_in_names,
    is_changing,
)

NOW = datetime(2026, 11, 17, 16, 5, tzinfo=UTC)
VALUES = MacroValues(
    user="Ann",
    char="Mara",
    group=("Mara", "Bo"),
    now=NOW,
    last_at=NOW - timedelta(minutes=5),
    place_seed="pier",
    request_seed="pier 3",
    find_text=lambda name: {"lastmessage": "Who?"}.get(name),
)


def expand(text: str, *, char: str = "", original: str | None = None) -> str:
    return MacroExpander(VALUES).expand(text, char=char, original=original)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{char}} and {{user}}", "Mara and Ann"),
        ("{{ Char }}, <USER>, <BOT>", "Mara, Ann, Mara"),
        ("{{group}}", "Mara, Bo"),
        ("{{notChar}}", "Bo, Ann"),
        ("{{{char}}}", "{Mara}"),
        ("{{time}} {{isotime}}", "4:05 PM 16:05"),
        ("{{date}} {{isodate}} {{weekday}}", "November 17, 2026 2026-11-17 Tuesday"),
        ("{{time_UTC+2}}", "6:05 PM"),
        ("{{idle_duration}}", "5 minutes"),
        ("{{lastMessage}}", "Who?"),
        ("a{{// nobody {{char}} reads this}}b", "ab"),
        ("a\n\n{{trim}}\n\nb", "ab"),
        ("a{{newline}}b{{newline::2}}c{{noop}}", "a\nb\n\nc"),
        ("{{random::{{char}}}}", "Mara"),
        ("{{setvar::mood::calm}}{{getvar::mood}}", "calm"),
        ("{{incvar::n}}{{incvar::n}}{{decvar::n}}", "121"),
        ("{{setvar::n::2}}{{addvar::n::3}}{{getvar::n}}", "5"),
        ("{{setvar::s::a}}{{addvar::s::b}}{{getvar::s}}", "ab"),
        ("{{roll:1d1}} {{roll 2d1+3}} {{roll::1}}", "1 5 1"),
    ],
)
def test_a_macro_becomes_what_it_stands_for(text: str, expected: str) -> None:
    assert expand(text) == expected


def test_what_a_text_replaces_stands_in_it() -> None:
    assert expand("{{original}} Be brief.", original="Be kind.") == "Be kind. Be brief."


def test_the_owner_of_a_text_is_its_character() -> None:
    assert expand("{{char}}", char="Bo") == "Bo"


def test_dates_are_written_as_the_language_does() -> None:
    chinese = MacroExpander(MacroValues(now=NOW, language="zh"))
    assert chinese.expand("{{date}} {{time}} {{weekday}}") == "2026年11月17日 16:05 星期二"


def test_a_macro_that_means_nothing_stays_and_is_reported_once() -> None:
    expander = MacroExpander(VALUES)
    text = "{{outlet::x}} {{outlet::y}} {{roll::many}} {{unclosed {{}}"
    assert expander.expand(text) == text
    assert list(expander.unknown) == ["outlet", "roll", ""]


def test_an_unknown_name_leaves_its_macro() -> None:
    assert MacroExpander().expand("{{user}} <USER> {{date}}") == "{{user}} <USER> {{date}}"
    assert fill_in_names("{{user}} {{char}} {{date}}", "", "Mara") == "{{user}} Mara {{date}}"


def test_chance_follows_from_the_seed_of_the_request() -> None:
    text = "{{random::a::b::c::d::e::f::g::h}}{{random:1,2,3,4,5,6,7,8}}{{roll:d1000}}"
    again = [MacroExpander(MacroValues(request_seed=str(seed))).expand(text) for seed in (1, 1, 2, 3, 4)]
    assert again[0] == again[1]
    assert len(set(again)) > 1
    picks = {MacroExpander(MacroValues(place_seed="p", request_seed=str(n))).expand("{{pick::a::b}}") for n in range(9)}
    assert len(picks) == 1


def test_a_text_that_is_asked_for_twice_counts_once() -> None:
    expander = MacroExpander(VALUES, {"n": "4"})
    assert [expander.expand("{{incvar::n}}") for _ in range(3)] == ["5", "5", "5"]
    assert expander.variables == {"n": "5"}


@pytest.mark.parametrize("text", ["{{time}}", "{{ Date }}", "{{random::a}}", "{{getvar::x}}", "x {{idle_duration}}"])
def test_texts_that_change_between_requests_are_told_apart(text: str) -> None:
    assert is_changing(text)
    assert not is_changing("{{char}} {{pick::a::b}} {{setvar::x::1}} <USER> time")


def test_variables_and_growth_are_bounded() -> None:
    expander = MacroExpander()
    expander.expand("{{setvar::x::xx}}" + "{{addvar::x::{{getvar::x}}}}" * 30)
    assert len(expander.variables["x"]) <= MAX_VARIABLE_CHARACTERS
    text = "{{getvar::x}}" * 5000
    assert len(expander.expand(text)) <= MAX_GROWTH + len(text)
    many = MacroExpander()
    many.expand("".join(f"{{{{setvar::v{n}::1}}}}" for n in range(1000)))
    assert len(many.variables) == 200


@given(
    st.lists(st.sampled_from(["{{", "}}", "char", "::", "random", "//", "trim", "setvar", "a", "\n", "<USER>", "{"]))
)
def test_no_text_fails_and_text_without_macros_stays(pieces: list[str]) -> None:
    text = "".join(pieces)
    expanded = expand(text)
    assert len(expanded) <= MAX_GROWTH + len(text)
    if "{{" not in text and "<USER>" not in text:
        assert expanded == text


def test_deep_nesting_is_text() -> None:
    deep = "{{" * 40 + "char" + "}}" * 40
    assert "char" in expand(deep)
    assert len(expand("{{random::" * 10_000 + "}}" * 10_000)) <= MAX_GROWTH + 120_000
