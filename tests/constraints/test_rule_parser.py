"""Constraints in plain words, understood or left to the model."""

from __future__ import annotations

import pytest

from fabula.constraints.model import Banned, Check, Constraints, Length, Person, Unnamed
from fabula.constraints.rule_parser import understood
from fabula.workspace.project import Fabula

KNOWN = ("Ephraim", "Ephraim Hale", "沈默")
SAID: list[tuple[str, Check]] = [
    ("no exclamation marks", Banned(words=("!", "！"))),
    ("Do not use exclamation points.", Banned(words=("!", "！"))),
    ("Avoid semicolons in narration.", Banned(words=(";", "；"), narration=True)),
    ("不要使用感叹号", Banned(words=("!", "！"))),
    ("不用感叹号。", Banned(words=("!", "！"))),
    ("叙述中禁止使用省略号", Banned(words=("…", "..."), narration=True)),
    ("write in the first person", Person(person="first")),
    ("Told in close third person, past tense.", Person(person="third")),
    ("Second-person narration", Person(person="second")),
    ("第三人称叙述", Person(person="third")),
    ("严格第一人称叙述", Person(person="first")),
    ("sentences under 25 words", Length(most=24)),
    ("No sentence longer than 20 words.", Length(most=20)),
    ("Keep every sentence to at most 30 words", Length(most=30)),
    ("每句不超过30字", Length(most=30, unit="characters")),
    ("每句话不超过三十五个字。", Length(most=35, unit="characters")),
    ("句子控制在20字以内", Length(most=20, unit="characters")),
    ("每句少于一百字", Length(most=99, unit="characters")),
    ("never use the word 'suddenly'", Banned(words=("suddenly",))),
    ("Never use the words “suddenly” or “very”.", Banned(words=("suddenly", "very"))),
    ("never use the word suddenly", Banned(words=("suddenly",))),
    ("No 'very'.", Banned(words=("very",))),
    ("Do not use “very” or “really”.", Banned(words=("very", "really"))),
    ("不得出现'忽然'", Banned(words=("忽然",))),
    ("禁止使用“忽然”、“竟然”等词", Banned(words=("忽然", "竟然"))),
    ("Do not mention Ephraim Hale before chapter 5.", Unnamed(names=("Ephraim Hale",), before=5)),
    ("第五章之前不得提到沈默", Unnamed(names=("沈默",), before=5)),
    ("Never mention “the Fox” until chapter 12", Unnamed(names=("the Fox",), before=12)),
]


@pytest.mark.parametrize(("text", "meant"), SAID, ids=[text for text, _ in SAID])
def test_a_plain_sentence_is_understood(text: str, meant: Check) -> None:
    assert understood(text, KNOWN) == meant


@pytest.mark.parametrize(
    "text",
    [
        "She never takes off the mask.",
        "It never rains on the coast.",
        "Do not write in the first person.",
        "Letters are in first person, the rest in third person.",
        "Sentences of more than ten words are welcome.",
        "Every sentence has more than 10 words.",
        "No question goes unanswered.",
        "Never let Mara say 'I love you'.",
        "Ephraim must not use a gun.",
        "Villagers use exclamation marks in dialogue only.",
        "本世界没有魔法",
        "林远性格冷静，不会大声喊叫",
        "不要写“红门”的故事",
        "对话中不要使用感叹号",
        "",
    ],
)
def test_what_may_mean_something_else_is_left_to_the_model(text: str) -> None:
    assert understood(text, KNOWN) is None


@pytest.mark.parametrize("name", ["lantern_coast", "wugang"])
def test_the_samples_rules_are_not_misunderstood(name: str) -> None:
    rules = Fabula.open(f"sample:{name}").view.room(Constraints)
    assert rules is not None
    for rule in rules.constraints:
        meant = understood(rule.text)
        assert meant is None or isinstance(meant, Banned | Person | Length), rule.text
