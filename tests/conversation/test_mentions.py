"""Mentions in messages, in English and Chinese (cht-3)."""

from __future__ import annotations

from time import process_time

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
    "pawn:ann": ("Ann",),
    "pawn:ann-marie": ("Ann-Marie",),
    "pawn:ivan": ("Иван",),
    "pawn:ram": ("राम",),
    "pawn:minsu": ("민수",),
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
        ("see https://mastodon.social/@Bo please", [], "see https://mastodon.social/@Bo please"),
        ("see mastodon.social/@Bo, @Mara", ["pawn:mara"], "see mastodon.social/@Bo, Mara"),
        ("看https://a.example/x请@Bo看", ["pawn:bo"], "看https://a.example/x请Bo看"),
        ("Ann/@Bo", ["pawn:bo"], "Ann/Bo"),
        ("~~~py\n@Bo\n~~~\n@Mara", ["pawn:mara"], "~~~py\n@Bo\n~~~\nMara"),
        ("Look:\n\n    @Bo\n\t@Bo\n\nat it, @Mara", ["pawn:mara"], "Look:\n\n    @Bo\n\t@Bo\n\nat it, Mara"),
        ("    @Bo\n", [], "    @Bo\n"),
        ("a line\n    @Bo", ["pawn:bo"], "a line\n    Bo"),
        ("Hi.@Bo what?", ["pawn:bo"], "Hi.Bo what?"),
        ("好.@Bo", ["pawn:bo"], "好.Bo"),
        ("1.@Bo", ["pawn:bo"], "1.Bo"),
        ("well-@Bo", ["pawn:bo"], "well-Bo"),
        ("well-@bo.com and a.b+@bo.com", [], "well-@bo.com and a.b+@bo.com"),
        ("@Иван, да", ["pawn:ivan"], "Иван, да"),
        ("@Иванов", [], "@Иванов"),
        ("почта@Иван", [], "почта@Иван"),
        ("@Ann-Marie2 and @Bo2 and @Bo_", [], "@Ann-Marie2 and @Bo2 and @Bo_"),
        ("@Ann-Marie and @Ann - yes", ["pawn:ann-marie", "pawn:ann"], "Ann-Marie and Ann - yes"),
        ("@Bo's, @Bo-1", ["pawn:bo"], "Bo's, Bo-1"),
        ("@राम और @रामा", ["pawn:ram"], "राम और @रामा"),
        ("@민수야", ["pawn:minsu"], "민수야"),
        ("`@Mara` and ```\n@Bo\n```", [], "`@Mara` and ```\n@Bo\n```"),
        ("@Mara", ["pawn:mara"], "Mara"),
        ("@", [], "@"),
        ("", [], ""),
    ],
)
def test_a_mention_is_found_and_the_text_cleaned(text: str, mentioned: list[str], cleaned: str) -> None:
    found = find_mentions(text, NAMES)
    assert (list(found.participants), found.text) == (mentioned, cleaned)


@pytest.mark.parametrize("repeated", ["a.", "    \n", "~~~\n", "a://", "\n", "@a-"])
def test_a_long_message_is_read_in_no_time(repeated: str) -> None:
    started = process_time()
    find_mentions(repeated * 50_000 + "@", NAMES)
    assert process_time() - started < 2.0


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
