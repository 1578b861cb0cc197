"""What msgspec refuses is said in words for people, with the nearest right value."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from fabula.core.decoding import explain_decode_error, explain_syntax_error


class Lamp(Struct, forbid_unknown_fields=True):
    """A thing with a field of every sort."""

    name: Annotated[str, Meta(min_length=1, max_length=5)]
    colour: Literal["red", "green"] = "red"
    height: Annotated[int, Meta(ge=0, le=100)] = 1
    parts: list[int] = []


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"name": "a", "colour": "gren"}, "`colour` cannot be 'gren'; the nearest is 'green'"),
        ({"name": "a", "colour": "#"}, "`colour` cannot be '#'; write green or red"),
        ({"name": "a", "color": "red"}, "there is no 'color'; the nearest is 'colour'"),
        ({"name": "a", "zzz": 1}, "there is no 'zzz'; there are name, colour, height, parts"),
        ({}, "`name` is missing"),
        ({"name": 1}, "`name` must be a text"),
        ({"name": ""}, "`name` is shorter than 1"),
        ({"name": "abcdefg"}, "`name` is longer than 5"),
        ({"name": "a", "height": -1}, "`height` must be at least 0"),
        ({"name": "a", "height": 101}, "`height` must be at most 100"),
        ({"name": "a", "parts": [1, "x"]}, "`parts` must be a whole number"),
        ([], "the value must be a table of names and values"),
    ],
)
def test_a_raw_text_of_the_decoder_is_never_shown(values: Any, sentence: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refusal:
        msgspec.convert(values, Lamp)
    assert str(explain_decode_error(refusal.value, Lamp)) == sentence


@pytest.mark.parametrize(
    ("parse", "text", "explained"),
    [
        (json.loads, "", "it ends too early"),
        (json.loads, '{"a": ', "it ends too early"),
        (json.loads, '{"a": "b', "it ends too early"),
        (json.loads, '{"a"\n 1}', "something is wrong at line 2, column 2"),
        (msgspec.json.decode, '{"a":', "it ends too early"),
        (msgspec.json.decode, '{"a": nope}', "something is wrong at byte 11"),
        (tomllib.loads, "a = ", "it ends too early"),
        (tomllib.loads, "a = [1,", "it ends too early"),
        (tomllib.loads, "a = 1\nb == 2", "something is wrong at line 2, column 4"),
    ],
)
def test_what_a_parser_says_is_told_in_our_own_words(parse: Callable[[str], Any], text: str, explained: str) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - three parsers, whose errors have only this in common
        parse(text)
    assert str(explain_syntax_error(refusal.value)) == explained
    assert not re.search("[A-Za-z]{3}", explain_syntax_error(refusal.value).render("zh"))


@given(st.text(max_size=40), st.sampled_from([json.loads, msgspec.json.decode, tomllib.loads]))
def test_no_text_of_a_parser_is_ever_shown(text: str, parse: Callable[[str], Any]) -> None:
    with suppress(ValueError):
        parse(text)
        return
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - three parsers, whose errors have only this in common
        parse(text)
    assert not re.search("[A-Za-z]{3}", explain_syntax_error(refusal.value).render("zh"))


def test_a_number_out_of_range_is_called_so() -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.json.decode(b'{"count": 1e999}', type=dict[str, int])
    assert str(explain_decode_error(refused.value, dict[str, int])) == "the value is a number that is too large"
