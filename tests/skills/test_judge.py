"""The judge: findings by program, and parsing of the answer of the model."""

from __future__ import annotations

import json

import pytest

from fabula.codex import Entry, Progression
from fabula.constraints.model import BannedWords, Constraint
from fabula.core.story import Position
from fabula.core.view import Language
from fabula.skills.continuity import find_continuity_problems
from fabula.skills.judge import (
    check_by_program,
    find_active_constraints,
    find_prompt_constraints,
    format_complaint,
    parse_verdict,
)
from fabula.skills.model import JudgeFinding
from tests.manuscript.stories import ask, chapter, story

RULES = [
    Constraint(id="marks", text="No exclamation marks.", check=BannedWords(words=("!",))),
    Constraint(id="secret", text="Nobody says who lit the lamp.", until=Position("ch-3", 0)),
]
TALE = story(
    chapter(1, "Mara lived by the sea."),
    chapter(2, "Old Ben died in the night."),
    chapter(3, "The lamp burned on."),
    entries=[
        Entry(id="mara", type="character", name="Mara"),
        Entry(
            id="ben",
            type="character",
            name="Ben",
            description="A fisherman.",
            progressions=(Progression("Ben died in the storm.", Position("ch-2", 0)),),
        ),
    ],
    constraints=RULES,
)
HERE = Position("ch-3", 10)


def test_a_finding_by_program_has_a_range_and_a_reason() -> None:
    found = check_by_program("She ran! Nobody saw.", TALE.view, HERE)
    assert [(one.rule_id, one.quote, one.start) for one in found] == [("marks", "!", 7)]


@pytest.mark.parametrize(
    "text", ["“Go,” said Ben.", "Ben said nothing more than that.", "“Go,” whispered Ben, and smiled."]
)
def test_dialogue_by_a_dead_character_is_flagged(text: str) -> None:
    found = check_by_program(text, TALE.view, HERE)
    assert [(one.rule_id, one.quote, one.is_hint) for one in found] == [("continuity", "Ben", False)]


@pytest.mark.parametrize(
    ("text", "here"),
    [
        ("“Go,” said Ben.", Position("ch-1", 5)),  # he lives yet
        ("Mara said that Ben was gone.", HERE),
        ("She thought of Ben. “Go,” said Mara.", HERE),
    ],
)
def test_living_and_merely_mentioned_characters_are_not_flagged(text: str, here: Position) -> None:
    assert check_by_program(text, TALE.view, here) == []


@pytest.mark.parametrize(
    ("text", "found"), [("老本说道：“走吧。”", ["老本"]), ("老本问题很多。", []), ("她想起老本。", [])]
)
def test_dialogue_by_a_dead_character_is_flagged_in_chinese(text: str, found: list[str]) -> None:
    entry = Entry(id="b", type="character", name="老本", description="渔夫，母亲早年去世。")
    alive = story(chapter(1, "海"), entries=[entry], language="zh")
    assert check_by_program(text, alive.view, Position("ch-1", 1)) == []
    died = Entry(
        id="b", type="character", name="老本", progressions=(Progression("老本死于风暴。", Position("ch-1", 0)),)
    )
    dead = story(chapter(1, "海"), entries=[died], language="zh")
    assert [one.quote for one in check_by_program(text, dead.view, Position("ch-1", 1)) if not one.is_hint] == found


def test_a_character_who_came_back_may_speak() -> None:
    back = Progression("Ben came back, alive.", Position("ch-3", 0))
    entry = Entry(id="b", type="character", name="Ben", description="Ben died young.", progressions=(back,))
    tale = story(chapter(1, "x"), chapter(2, "y"), chapter(3, "z" * 20), entries=[entry])
    assert check_by_program("“Go,” said Ben.", tale.view, HERE) == []
    assert check_by_program("“Go,” said Ben.", tale.view, Position("ch-2", 1)) != []


@pytest.mark.parametrize(
    ("language", "text", "known", "names"),
    [
        ("en", "She met Tobias Fenn at the door. Mara waved.", "she met at the door waved", ["Tobias Fenn"]),
        ("en", "She met Tobias there, on Monday.", "Tobias was known.", []),
        ("en", "Rain fell. Nobody came.", "", []),
        ("zh", "她在门口遇见了周怀安。", "", ["周怀安"]),
        ("zh", "她在门口遇见了周怀安。", "周怀安是谁？", []),
    ],
)
def test_an_unknown_name_is_a_hint(language: Language, text: str, known: str, names: list[str]) -> None:
    tale = story(chapter(1, "x"), entries=[Entry(id="mara", type="character", name="Mara")], language=language)
    found = find_continuity_problems(text, tale.view, Position("ch-1", 1), [known])
    assert [finding.quote for finding in found] == names
    assert all(finding.is_hint for finding in found)


def test_only_constraints_in_force_are_active_and_numbers_are_those_of_the_prompt() -> None:
    assert [rule.id for rule in find_active_constraints(TALE.view, Position("ch-1", 0))] == ["marks", "secret"]
    assert [rule.id for rule in find_active_constraints(TALE.view, HERE)] == ["marks"]
    asked = ask(TALE, skill_id="judge", document_id="ch-1", cursor=0, additional_input="Text.")
    rules = find_prompt_constraints(asked, TALE.view)
    assert sorted(rule.id for rule in rules) == ["marks", "secret"]
    for number, rule in enumerate(rules, start=1):
        assert f"{number}. {rule.text}" in asked.prompt


def test_a_finding_on_a_rule_not_in_force_is_a_hint_and_missing_rules_are_reported() -> None:
    row = {"constraint": "2", "quote": "lamp", "reason": "Told."}
    verdict = parse_verdict(json.dumps({"violations": [row]}), "The lamp.", RULES, "en", RULES[:1])
    assert [(one.rule_id, one.is_hint) for one in verdict.findings] == [("secret", True)]
    assert verdict.problem == ""
    verdict = parse_verdict('{"violations": []}', "The lamp.", RULES[:1], "zh", RULES)
    assert "1条约束" in verdict.problem


def test_findings_of_the_model_get_their_constraint_and_range() -> None:
    text = "It was Mara who lit  the “lamp”, in truth."
    rows = [
        {"constraint": "2", "quote": 'who lit the "lamp"', "reason": "It is told."},
        {"constraint": "marks", "quote": "in truth", "reason": "No."},
        {"constraint": "the weather", "quote": "was Mara", "reason": "It rains."},
        {"constraint": "1", "quote": "nowhere to be found", "reason": "Invented."},
        {"constraint": "1", "quote": 7, "reason": "x"},
        {"constraint": "1", "quote": "  ", "reason": "x"},
    ]
    answer = "Here it is:\n```json\n" + json.dumps({"violations": rows}) + "\n```"
    verdict = parse_verdict(answer, text, RULES, "en")
    assert verdict.problem == ""
    assert [(f.rule_id, f.quote, f.is_hint) for f in verdict.findings] == [
        ("secret", "who lit  the “lamp”", False),
        ("marks", "in truth", False),
        ("continuity", "was Mara", False),
        ("marks", "nowhere to be found", True),
    ]
    assert len(verdict.violations) == 3


@pytest.mark.parametrize(
    "rubbish",
    [
        "",
        "I think it is fine.",
        "{",
        "[]",
        '{"violations": "none"}',
        '{"violations": [3]}',
        '{"other": []}',
        "{" * 5000,
        '{"a":' * 3000 + "1" + "}" * 3000,
        "\ud800{}",
    ],
)
def test_an_unreadable_answer_is_reported_as_a_problem(rubbish: str) -> None:
    verdict = parse_verdict(rubbish, "text", RULES, "en")
    assert (verdict.findings, verdict.model_consulted) == ((), True)
    assert "gave no verdict" in verdict.problem


def test_the_complaint_names_each_violation_once() -> None:
    finding = JudgeFinding(rule_id="marks", quote="Stop!", reason="It shouts.", checked_by="program", start=0, end=5)
    complaint = format_complaint([finding, finding], RULES, "en")
    assert complaint.count("Stop!") == 1
    assert "No exclamation marks." in complaint
    assert "重写" in format_complaint([finding], RULES, "zh")


def test_the_manuscript_is_not_joined_to_look_up_names() -> None:
    class Chapter(str):
        """A text that only may be searched."""

        def __add__(self, other: str) -> str:
            raise AssertionError("joined")

        def __str__(self) -> str:
            raise AssertionError("copied")

    tale = story(chapter(1, "x"), entries=[Entry(id="mara", type="character", name="Mara")])
    known = [Chapter("Tobias was known."), Chapter("There was an old fenn behind the house.")]
    text = "She met Tobias and old Fenn, and Ada."
    found = find_continuity_problems(text, tale.view, Position("ch-1", 1), known)
    assert [finding.quote for finding in found] == ["Ada"]
