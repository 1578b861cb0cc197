"""What msgspec refuses is said in words for people, with the nearest right value."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from fabula.core.decoding import explain_decode_error


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
        ({"name": "a", "zzz": 1}, "there is no 'zzz'"),
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
