"""The cursor by words of the chapter."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import Code, FabulaError
from fabula.workspace.cursor import read_cursor

TEXT = "“Will you come?” he asked.\n\n“No,” she\nsaid. It wasn’t cold. 他停下。她说：“不。”然后走了。"


@pytest.mark.parametrize(
    ("place", "before", "after"),
    [
        ("after 'he asked.'", "he asked.", ""),
        ('after "he asked."', "he asked.", ""),
        ("After HE ASKED", "he asked", "."),
        ("after 'she said.'", "said.", ""),
        ("after '“No,” she said'", "said", "."),
        ("after '\"No,\" she said'", "said", "."),
        ("after 'wasn't cold'", "cold", "."),
        ("before 'It wasn’t'", "said. ", "It"),
        ("“她说”之后", "她说", "："),
        ("在「他停下」之前", "cold. ", "他停下"),
        ("然后走了后", "走了", "。"),
    ],
)
def test_the_cursor_stands_after_or_before_words(place: str, before: str, after: str) -> None:
    cursor = read_cursor(place, TEXT)
    assert TEXT[:cursor].endswith(before)
    assert TEXT[cursor:].startswith(after)


def test_an_offset_is_an_offset() -> None:
    assert read_cursor("12", TEXT) == 12
    assert read_cursor("-1", TEXT) == -1  # the engine refuses it


@pytest.mark.parametrize(
    ("place", "hint"),
    [
        ("ten", "after 'words of the chapter'"),
        ("after 'h'", "times. Add more words"),
        ("after 'she asked for more'", "The nearest is: “Will you come"),
        ("after 'xyzzy'", "does not stand in this chapter."),
        ("", "is no place for the cursor"),
    ],
)
def test_a_place_that_is_not_there_is_refused_with_the_nearest(place: str, hint: str) -> None:
    with pytest.raises(FabulaError) as refusal:
        read_cursor(place, TEXT)
    assert refusal.value.code is Code.REQUEST_INVALID
    assert hint.split("“")[0] in str(refusal.value.message)


@given(st.text(max_size=80), st.text(max_size=200))
def test_any_words_are_a_place_or_a_refusal(place: str, text: str) -> None:
    with suppress(FabulaError):
        assert isinstance(read_cursor(place, text), int)


@pytest.mark.parametrize(
    ("place", "says"), [("没有的话", "does not stand in this chapter"), ("他停下", "no place for the")]
)
def test_bare_words_are_said_to_be_absent_where_they_are(place: str, says: str) -> None:
    with pytest.raises(FabulaError) as refused:
        read_cursor(place, TEXT)
    assert says in str(refused.value.message)
    assert ("does not stand" in str(refused.value.message)) is (place == "没有的话")
