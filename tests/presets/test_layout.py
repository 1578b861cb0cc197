"""The layout of a preset matches the prompt (inj-1, inj-2, inj-3)."""

from __future__ import annotations

import pytest

from fabula.context import Engine
from fabula.context.recipes import (
    CHAT,
    NOVEL,
    Condition,
    InjectionStrategy,
    Node,
    Preset,
    UserProfile,
    available_anchors,
)
from fabula.context.request import Request
from fabula.core.fragment import Fragment, Layer, Part
from fabula.presets.layout import describe_condition, make_layout

PRESET = Preset(
    title="Mine",
    nodes=(
        Node(id="top", content="TOP stands where it is listed."),
        Node(type="placeholder", id="mood", content="MOOD is a place of one's own."),
        Node(type="chat_history", role="user"),
        Node(id="d0", content="D0", injection_strategy=InjectionStrategy(depth=0)),
        Node(id="d2b", content="D2B", injection_strategy=InjectionStrategy(depth=2, order=50)),
        Node(id="d2a", content="D2A", injection_strategy=InjectionStrategy(depth=2, order=200)),
        Node(id="d9", content="D9", injection_strategy=InjectionStrategy(depth=9)),
        Node(
            id="before",
            content="BEFORE",
            injection_strategy=InjectionStrategy(anchor_target="mood", anchor_position="before"),
        ),
        Node(id="after", content="AFTER", injection_strategy=InjectionStrategy(anchor_target="retrieved")),
        Node(id="lost", content="LOST", injection_strategy=InjectionStrategy(anchor_target="nowhere")),
        Node(id="off", content="OFF", enabled=False),
        Node(id="empty", content="  "),
    ),
)


def test_the_layout_lists_messages_in_prompt_order() -> None:
    history = [
        Fragment(
            source=f"history:{n}", layer=Layer.IMMEDIATE, text=f"said {n}", project_id="p", part=Part.HISTORY, score=1.0
        )
        for n in range(5)
    ]
    request = Request(project_id="p", recipe="chat", preset=PRESET)
    prompt = Engine().assemble(request, fragments=history).prompt
    shown = [
        row.excerpt for row in make_layout(PRESET, CHAT.preset) if row.kind in ("message", "anchor") and row.excerpt
    ]
    assert len(shown) == 9
    assert [prompt.index(words) for words in shown] == sorted(prompt.index(words) for words in shown)


def test_depth_rows_say_how_many_messages_follow() -> None:
    rows = [(row.name, row.note) for row in make_layout(PRESET, CHAT.preset)]
    start = rows.index(("chat_history", "older messages"))
    assert rows[start + 1 : start + 7] == [
        ("d9", ""),
        ("chat_history", "7 messages"),
        ("d2a", ""),
        ("d2b", ""),
        ("chat_history", "2 messages, the input last"),
        ("d0", ""),
    ]


def test_disabled_messages_and_missing_anchors_are_shown() -> None:
    rows = {row.name: row for row in make_layout(PRESET, NOVEL.preset)}
    assert rows["off"].kind == "off"
    assert "the anchor 'nowhere' is not here" in rows["lost"].note
    assert "empty" not in rows


def test_the_layers_and_the_profile_are_in_every_layout() -> None:
    rows = make_layout(Preset(nodes=()), NOVEL.preset, UserProfile("I write\nabout the sea."))
    assert [row.name for row in rows] == [
        *("identity", "user_profile", "character", "rules", "settings", "retrieved", "immediate", "chat_history")
    ]
    assert rows[1].excerpt == "I write about the sea."


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition(), ""),
        (Condition(keywords=("a", "b"), logic="all"), "mentions all of a, b"),
        (Condition(pattern="x+", probability=50), "matches x+; 50 % of the time"),
        (Condition(delay=3, max_messages=9), "3 to 9 messages"),
        (Condition(min_messages=4, sticky=2, cooldown=3), "from 4 messages on; lasts 2; rests 3"),
        (Condition(modes=("chat",), models=("gpt*",), group="mood"), "in chat; for gpt*; one of mood"),
    ],
)
def test_a_condition_is_described_in_a_few_words(condition: Condition, words: str) -> None:
    assert describe_condition(condition) == words


def test_a_new_anchor_is_available_at_once() -> None:
    assert available_anchors(PRESET)[-1] == "mood"
    more = Preset(nodes=(*PRESET.nodes, Node(type="placeholder", id="weather")))
    assert available_anchors(more)[-2:] == ("mood", "weather")
