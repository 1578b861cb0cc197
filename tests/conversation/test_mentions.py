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
        ("@牛奶帮我看下代码", ["persona:Milk"], "牛奶帮我看下代码"),
        ("@牛奶茶 你呢", ["persona:MilkTea"], "牛奶茶 你呢"),
        ("请＠牛奶看一下", ["persona:Milk"], "请牛奶看一下"),
        ("@Mara, what now?", ["pawn:mara"], "Mara, what now?"),
        ("ask @captain vey about it", ["pawn:mara"], "ask captain vey about it"),
        ("what do you say, @Bo", ["pawn:bo"], "what do you say, Bo"),
        ("@Mara @Bo hello", ["pawn:mara", "pawn:bo"], "Mara Bo hello"),
        ("@Milk Tea or @Milk", ["persona:MilkTea", "persona:Milk"], "Milk Tea or Milk"),
        ("@Vey and @Tea: both", ["pawn:mara", "persona:MilkTea"], "Vey and Tea: both"),
        ("foo@bar.com wrote to bo@Mara.org", [], "foo@bar.com wrote to bo@Mara.org"),
        ("@Marathon is long", [], "@Marathon is long"),
        ("@nobody hello", [], "@nobody hello"),
        ("`@Mara` and ```\n@Bo\n```", [], "`@Mara` and ```\n@Bo\n```"),
        ("@Mara", ["pawn:mara"], "Mara"),
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
def test_cleaning_loses_nothing_but_signs(text: str) -> None:
    found = find_mentions(text, NAMES)
    if not found.participants:
        assert found.text == text
    rest = iter(text)
    assert all(character in rest for character in found.text), "the cleaned text is part of the text, in order"
    assert [one for one in found.text if one not in "@＠"] == [one for one in text if one not in "@＠"]


def test_a_word_of_a_name_gives_way_to_a_whole_name() -> None:
    names = {"pawn:1": ("Sam Vale",), "pawn:2": ("Sam",), "pawn:3": ("Iris Vale", "the smith")}
    assert find_mentions("@Sam", names).participants == ("pawn:2",)
    assert find_mentions("@Vale", names).participants == ("pawn:1", "pawn:3")
    assert find_mentions("@smith", names).participants == ("pawn:3",)
    assert find_mentions("@the docks, @Samuel @", names) == mentions.MentionedText(
        (), "@the docks, @Samuel @", ("the", "Samuel")
    )


def test_many_signs_and_many_people_are_compared_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def fold(name: str) -> str:
        compared.append(name)
        return name.lower()

    monkeypatch.setattr(mentions, "fold_name", fold)
    found = find_mentions("@x " * 500, {f"p{number}": (f"y{number:03}",) for number in range(500)})
    assert found.participants == ()
    assert len(compared) == 500 + 500  # every name and every sign, and not every name at every sign
