"""Rules in plain words: parsed into a check, or left to the model."""

from __future__ import annotations

import pytest

from fabula.constraints.model import (
    BannedWords,
    Constraints,
    ForbiddenNames,
    NarrativePerson,
    SentenceLength,
    TextCheck,
)
from fabula.constraints.rule_parser import is_condition_only, parse_rule
from fabula.workspace.read_only import open_read_only

KNOWN = ("Ephraim", "Ephraim Hale", "沈默")
SAID: list[tuple[str, TextCheck]] = [
    ("no exclamation marks", BannedWords(words=("!", "！"))),
    ("Do not use exclamation points.", BannedWords(words=("!", "！"))),
    ("Avoid semicolons in narration.", BannedWords(words=(";", "；"), narration_only=True)),
    ("不要使用感叹号", BannedWords(words=("!", "！"))),
    ("不用感叹号。", BannedWords(words=("!", "！"))),
    ("叙述中禁止使用省略号", BannedWords(words=("…", "..."), narration_only=True)),
    ("对话中不要使用感叹号", BannedWords(words=("!", "！"), dialogue_only=True)),
    ("No semicolons in dialogue", BannedWords(words=(";", "；"), dialogue_only=True)),
    ("write in the first person", NarrativePerson(person="first")),
    ("Told in close third person, past tense.", NarrativePerson(person="third")),
    ("Second-person narration", NarrativePerson(person="second")),
    ("第三人称叙述", NarrativePerson(person="third")),
    ("严格第一人称叙述", NarrativePerson(person="first")),
    ("sentences under 25 words", SentenceLength(max_length=24)),
    ("No sentence longer than 20 words.", SentenceLength(max_length=20)),
    ("Keep every sentence to at most 30 words", SentenceLength(max_length=30)),
    ("每句不超过30字", SentenceLength(max_length=30, unit="characters")),
    ("每句话不超过三十五个字。", SentenceLength(max_length=35, unit="characters")),
    ("句子控制在20字以内", SentenceLength(max_length=20, unit="characters")),
    ("每句少于一百字", SentenceLength(max_length=99, unit="characters")),
    ("never use the word 'suddenly'", BannedWords(words=("suddenly",))),
    ("Never use the words “suddenly” or “very”.", BannedWords(words=("suddenly", "very"))),
    ("never use the word suddenly", BannedWords(words=("suddenly",))),
    ("No 'very'.", BannedWords(words=("very",))),
    ("Do not use “very” or “really”.", BannedWords(words=("very", "really"))),
    ("不得出现'忽然'", BannedWords(words=("忽然",))),
    ("禁止使用“忽然”、“竟然”等词", BannedWords(words=("忽然", "竟然"))),
    ("Do not mention Ephraim Hale before chapter 5.", ForbiddenNames(names=("Ephraim Hale",), before_number=5)),
    ("第五章之前不得提到沈默", ForbiddenNames(names=("沈默",), before_number=5)),
    ("Never mention “the Fox” until chapter 12", ForbiddenNames(names=("the Fox",), before_number=12)),
]


@pytest.mark.parametrize(("text", "meant"), SAID, ids=[text for text, _ in SAID])
def test_a_plain_rule_is_parsed(text: str, meant: TextCheck) -> None:
    assert parse_rule(text, KNOWN) == meant


@pytest.mark.parametrize(
    "text",
    [
        "She never takes off the mask.",
        "It never rains on the coast.",
        "Do not write in the third person.",
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
        "Do not write a “Red Door” story.",
        "",
    ],
)
def test_an_ambiguous_rule_is_left_to_the_model(text: str) -> None:
    assert parse_rule(text, KNOWN) is None


@pytest.mark.parametrize("name", ["lantern_coast", "wugang"])
def test_the_rules_of_the_samples_are_not_misread(name: str) -> None:
    rules = open_read_only(f"sample:{name}").view.snapshot(Constraints)
    assert rules is not None
    for rule in rules.constraints:
        meant = parse_rule(rule.text)
        assert meant is None or isinstance(meant, BannedWords | NarrativePerson | SentenceLength), rule.text


def test_a_text_that_is_too_long_for_a_rule_is_not_searched_for_a_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("fabula.constraints.rule_parser.split_condition", seen.append)
    assert not is_condition_only("before chapter 3, " * 100)
    assert parse_rule("before chapter 3, " * 100) is None
    assert seen == []
    is_condition_only("before chapter 3")
    assert seen == ["before chapter 3"]
