"""A greeting is recognised by the text of its card, with its macros filled in."""

from __future__ import annotations

import pytest

from fabula.conversation.cards import Cards, CardTexts, has_text_of
from fabula.conversation.model import GREETING, Message
from fabula.text.macros import split_at_macros

CARDS = Cards({"persona:Mara": CardTexts(first_message="Hello, {{user}}.", group_greetings=("All here?",))})


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Plain.", ["Plain."]),
        ("{{user}}", ["", ""]),
        ("Hi {{user}}, <BOT> here{{// note}}!", ["Hi ", ", ", " here", "!"]),
        ("A {{random::{{user}}::b}} c", ["A ", " c"]),
        ("Open {{user", ["Open ", ""]),
        ("A }} b", ["A }} b"]),
    ],
)
def test_a_text_is_split_at_its_macros(text: str, parts: list[str]) -> None:
    assert split_at_macros(text) == parts


@pytest.mark.parametrize(
    ("text", "template", "is_same"),
    [
        ("Hello there.", "Hello  there.\r\n", True),
        ("Hello there. More.", "Hello there.", False),
        ("Hello, Ann. Sit down.", "Hello, {{user}}. Sit down.", True),
        ("Hello, Ann. Stand up.", "Hello, {{user}}. Sit down.", False),
        ("Well. Hello, Ann.", "Hello, {{user}}.", False),
        ("Ann, sit. Ann, sit down.", "{{user}}, sit. <USER>, sit down.", True),
        ("Hello, and then I said a lot that no card says, as long as it is.", "Hello, {{user}}.", False),
        ("Anything at all", "{{random::a::b}}", False),
        ("aa", "aa{{trim}}aa", False),
    ],
)
def test_a_text_can_be_a_template_with_its_macros_filled_in(text: str, template: str, is_same: bool) -> None:
    assert has_text_of(text, template) is is_same


def test_only_the_first_message_of_its_character_is_a_greeting_unless_it_is_marked() -> None:
    said = Message(id="m", role="assistant", content="Hello, Ann.", speaker="persona:Mara#2")
    assert CARDS.is_greeting(said)
    assert CARDS.is_greeting(Message(id="m", role="assistant", content="All here?", speaker="persona:Mara"))
    for other in (
        Message(id="m", role="assistant", content="Hello, Ann.", speaker="persona:Mara", parent_id="before"),
        Message(id="m", role="assistant", content="Hello, Ann.", speaker="persona:Bo"),
        Message(id="m", role="user", content="Hello, Ann.", speaker="persona:Mara"),
        Message(id="m", role="assistant", content="Goodbye.", speaker="persona:Mara"),
    ):
        assert not CARDS.is_greeting(other)
    assert Cards().is_greeting(Message(id="m", role="assistant", content="Any.", extra={GREETING: True}))
