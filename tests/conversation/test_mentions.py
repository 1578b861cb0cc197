"""Mentions in messages, in English and Chinese (cht-3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.conversation import mentions
from fabula.conversation.mentions import find_mentions

NAMES = {
    "persona:Milk": ("牛奶", "Milk"),
    "persona:MilkTea": ("牛奶茶", "Milk Tea"),
    "pawn:mara": ("Mara", "Captain Vey", "Mará"),
    "pawn:bo": ("Bo",),
}


@pytest.mark.parametrize(
    ("text", "mentioned", "cleaned"),
    [
        ("@牛奶帮我看下代码", ["persona:Milk"], "帮我看下代码"),
        ("@牛奶茶 你呢", ["persona:MilkTea"], "你呢"),
        ("请＠牛奶看一下", ["persona:Milk"], "请牛奶看一下"),
        ("@Mara, what now?", ["pawn:mara"], "what now?"),
        ("ask @captain vey about it", ["pawn:mara"], "ask captain vey about it"),
        ("what do you say, @Bo", ["pawn:bo"], "what do you say, Bo"),
        ("@Mara @Bo hello", ["pawn:mara", "pawn:bo"], "hello"),
        ("@Milk Tea or @Milk", ["persona:MilkTea", "persona:Milk"], "or Milk"),
        ("foo@bar.com wrote to bo@Mara.org", [], "foo@bar.com wrote to bo@Mara.org"),
        ("@Marathon is long", [], "@Marathon is long"),
        ("@nobody hello", [], "@nobody hello"),
        ("`@Mara` and ```\n@Bo\n```", [], "`@Mara` and ```\n@Bo\n```"),
        ("@Mara", ["pawn:mara"], "@Mara"),
        ("@", [], "@"),
        ("", [], ""),
    ],
)
def test_a_mention_is_found_and_the_text_cleaned(text: str, mentioned: list[str], cleaned: str) -> None:
    found = find_mentions(text, NAMES)
    assert (list(found.participants), found.text) == (mentioned, cleaned)


def test_a_name_of_two_people_mentions_both() -> None:
    found = find_mentions("@Sam hi", {"pawn:1": ("Sam",), "pawn:2": ("sam",)})
    assert found.participants == ("pawn:1", "pawn:2")


@given(st.text(alphabet="@＠ abMraBo牛奶茶`,.\n", max_size=40))
def test_cleaning_loses_nothing_but_signs_names_and_pauses(text: str) -> None:
    found = find_mentions(text, NAMES)
    if not found.participants:
        assert found.text == text
    rest = iter(text)
    assert all(character in rest for character in found.text), "the cleaned text is part of the text, in order"


def test_many_signs_and_many_people_are_compared_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def fold(name: str) -> str:
        compared.append(name)
        return name.lower()

    monkeypatch.setattr(mentions, "fold_name", fold)
    found = find_mentions("@x " * 500, {f"p{number}": (f"y{number:03}",) for number in range(500)})
    assert found.participants == ()
    assert len(compared) == 500 + 500  # every name and every sign, and not every name at every sign
