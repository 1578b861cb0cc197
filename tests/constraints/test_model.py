"""The order, the span and the prompt block of constraints (con-1, con-2, con-3)."""

from __future__ import annotations

import random

import pytest

from fabula.constraints.model import MAX_CONSTRAINTS, Constraint, ConstraintKind, ConstraintOrigin, Constraints
from fabula.context.trace import Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Layer
from fabula.core.story import Position
from tests.manuscript.stories import PROJECT, ask, chapter, everything, reason, sources, story

BOOK = [chapter(n, f"Text of chapter {n}.") for n in range(1, 8)]
# In the expected order: origin, then priority, then newest, then id.
SORTED = (
    Constraint(
        id="u-high", text="Rule of the user, high.", origin=ConstraintOrigin.USER, priority=90, created_at="2026-01-01"
    ),
    Constraint(
        id="u-new", text="Rule of the user, new.", origin=ConstraintOrigin.USER, priority=50, created_at="2026-03-01"
    ),
    Constraint(
        id="u-a", text="Rule of the user, a.", origin=ConstraintOrigin.USER, priority=50, created_at="2026-02-01"
    ),
    Constraint(
        id="u-b", text="Rule of the user, b.", origin=ConstraintOrigin.USER, priority=50, created_at="2026-02-01"
    ),
    Constraint(
        id="u-old", text="Rule of the user, old.", origin=ConstraintOrigin.USER, priority=50, created_at="2026-01-01"
    ),
    Constraint(id="p-high", text="Rule of the project, high.", origin=ConstraintOrigin.PROJECT, priority=99),
    Constraint(id="p-low", text="Rule of the project, low.", origin=ConstraintOrigin.PROJECT, priority=1),
    Constraint(id="l", text="Rule that was learned.", origin=ConstraintOrigin.LEARNED, priority=99),
    Constraint(id="g", text="Rule of the graph.", origin=ConstraintOrigin.GRAPH, priority=100),
)


def test_constraints_are_sorted_by_origin_priority_age_and_id() -> None:
    rng = random.Random(1)
    for _ in range(20):
        shuffled = rng.sample(SORTED, len(SORTED))
        assert Constraints("p", shuffled).constraints == SORTED


def test_constraints_are_one_numbered_block_under_a_heading() -> None:
    prompt = ask(story(*BOOK, constraints=SORTED[::-1])).prompt
    lines = [f"{number}. {constraint.text}" for number, constraint in enumerate(SORTED, start=1)]
    assert "\n".join(["[Writing constraints - do not break]", *lines]) in prompt


def test_a_chinese_project_has_a_chinese_heading() -> None:
    rule = Constraint(id="a", text="不用感叹号。")
    assert "[创作约束 - 不可违反]\n1. 不用感叹号。" in ask(story(*BOOK, constraints=[rule], language="zh")).prompt


def test_constraints_are_rules_and_follow_the_identity() -> None:
    result = ask(story(*BOOK, constraints=SORTED))
    found = [verdict for verdict in result.trace if verdict.source.startswith("constraint:")]
    assert {verdict.layer for verdict in found} == {Layer.RULES}
    assert result.prompt.index("[Writing constraints") < result.prompt.index("[Scene]")


@pytest.mark.parametrize("kind", list(ConstraintKind))
def test_every_kind_of_constraint_is_in_force(kind: ConstraintKind) -> None:
    assert "Be brief." in ask(story(*BOOK, constraints=[Constraint(id="a", text="Be brief.", kind=kind)])).prompt


def test_a_constraint_until_chapter_five_holds_in_four_and_no_longer_in_five() -> None:
    rule = Constraint(id="mask", text="She never takes off the mask.", until=Position("ch-5"))
    project = story(*BOOK, constraints=[rule])
    for number in (1, 4):
        assert reason(ask(project, document_id=f"ch-{number}"), "constraint:mask") is Reason.KEPT
    for number in (5, 7):
        result = ask(project, document_id=f"ch-{number}")
        assert reason(result, "constraint:mask") is Reason.NO_LONGER
        assert "mask" not in everything(result)


def test_a_constraint_from_chapter_three_on_is_not_included_before() -> None:
    rule = Constraint(id="limp", text="He limps.", since=Position("ch-3"))
    project = story(*BOOK, constraints=[rule])
    assert reason(ask(project, document_id="ch-2"), "constraint:limp") is Reason.NOT_YET
    assert "He limps." in ask(project, document_id="ch-3").prompt


def test_a_constraint_whose_span_is_over_does_not_leave_a_gap_in_the_numbers() -> None:
    rules = [
        Constraint(id="a", text="First.", priority=90),
        Constraint(id="b", text="Second.", priority=80, until=Position("ch-2")),
        Constraint(id="c", text="Third.", priority=70),
    ]
    assert "1. First.\n2. Third.\n" in ask(story(*BOOK, constraints=rules)).prompt


def test_a_constraint_of_several_lines_stays_one_item() -> None:
    rule = Constraint(id="a", text="One line.\nAnother line.")
    assert "1. One line. Another line.\n" in ask(story(*BOOK, constraints=[rule])).prompt


def test_the_same_rule_is_included_once_in_its_strongest_form() -> None:
    rules = [
        Constraint(id="u", text="No magic.", origin=ConstraintOrigin.USER),
        Constraint(id="g", text="No magic.", origin=ConstraintOrigin.GRAPH),
    ]
    result = ask(story(*BOOK, constraints=rules))
    assert result.prompt.count("No magic.") == 1
    assert sources(result, "constraint:") == ["constraint:u"]
    assert reason(result, "constraint:g") is Reason.DUPLICATE


def test_five_hundred_constraints_are_the_most_a_project_may_have() -> None:
    rules = [Constraint(id=f"c{n}", text=f"Rule {n}.") for n in range(MAX_CONSTRAINTS + 1)]
    assert MAX_CONSTRAINTS == 500
    assert len(Constraints(PROJECT, rules[:MAX_CONSTRAINTS]).constraints) == MAX_CONSTRAINTS
    with pytest.raises(FabulaError) as caught:
        Constraints(PROJECT, rules)
    assert caught.value.code is Code.CONSTRAINT_LIMIT
    assert len(Constraints(PROJECT, rules, limit=501).constraints) == 501


def test_an_excluded_constraint_says_so() -> None:
    result = ask(story(*BOOK, constraints=SORTED), exclude=("constraint:l",))
    assert reason(result, "constraint:l") is Reason.EXCLUDED
    assert "Rule that was learned." not in everything(result)
