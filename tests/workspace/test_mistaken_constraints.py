"""Rules that cannot be what a writer means are refused or remarked upon, and a prompt has those that hold there."""

from __future__ import annotations

import pytest

from fabula.context.trace import Reason
from fabula.core.errors import Code, FabulaError
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace


@pytest.fixture
def book(workspace: Workspace) -> ProjectHandle:
    """A book of six chapters."""
    project = workspace.create_project("三国", language="zh")
    for number in "一二三四五六":
        project.chapters.add(f"第{number}回", "话说天下大势，分久必合。" * 3)
    return project


@pytest.mark.parametrize(
    ("rule", "held"),
    [
        ("前三回不许提吕布。", {1, 2, 3}),
        ("第五回之前不得提到吕布。", {1, 2, 3, 4}),
        ("第二回到第三回不许提到吕布。", {2, 3}),
        ("第四回以后不准提到吕布。", {5, 6}),
        ("不许提到吕布。", {1, 2, 3, 4, 5, 6}),
        ("第五回之前，谁也不知道吕布的父亲是谁。", {1, 2, 3, 4}),  # which only a reader can check
        ("Before chapter 5 nobody knows whose son Lü Bu is.", {1, 2, 3, 4}),
        ("Remember what happened before chapter 5.", {1, 2, 3, 4, 5, 6}),
        ("结婚之前不许提到吕布。", {1, 2, 3, 4, 5, 6}),  # only a reader knows when that is
    ],
)
def test_a_rule_is_in_the_prompt_only_where_its_understood_condition_holds(
    book: ProjectHandle, rule: str, held: set[int]
) -> None:
    book.codex.add("吕布", kind="character")
    book.constraints.add(rule)
    found = set()
    for number, chapter in enumerate(book.chapters.list_chapters(), start=1):
        result = book.inspect(book.request(document_id=chapter.id))
        if rule in result.prompt:
            found.add(number)
        else:
            verdict = next(one for one in result.trace if one.text == rule)
            assert verdict.reason is Reason.CONDITION_UNMET
            assert "it holds only" in str(verdict.cause)
    assert found == held


def test_the_list_says_in_which_chapters_a_rule_is_sent(book: ProjectHandle) -> None:
    made = book.constraints.add("Before chapter 5 nobody knows whose son he is.")
    assert made.check is None
    assert str(made.how).startswith("sent before chapter 5 (now “第五回”), and left to the judge model, because ")


def test_a_rule_before_a_chapter_whose_number_occurs_twice_is_not_said_to_be_checked(workspace: Workspace) -> None:
    project = workspace.create_project("Two parts")
    for part in ("Part one", "Part two"):
        outer = project.chapters.add(part, kind="part")
        for title in ("Chapter 1", "Chapter 2"):
            project.chapters.add(title, "Queequeg came.", into=outer.id)
    made = project.constraints.add("Do not mention Queequeg before chapter 1.")
    assert made.check is None
    assert "more than one chapter 1" in str(made.how)


@pytest.mark.parametrize("text", ["第三回之前", "Before chapter 3.", "In chapters 2 to 4"])
def test_a_condition_without_a_rule_is_refused(book: ProjectHandle, text: str) -> None:
    with pytest.raises(FabulaError) as refused:
        book.constraints.add(text)
    assert refused.value.code is Code.CONSTRAINT_VALIDATION_ERROR
    assert not book.constraints.list_constraints()


def test_only_what_is_wrong_with_a_constraint_or_an_entry_is_named(book: ProjectHandle) -> None:
    with pytest.raises(FabulaError) as refused:
        book.constraints.add("No rain.", priority=900)
    assert str(refused.value.message).startswith("The priority of a constraint is a number from 0 to 100, not 900.")
    with pytest.raises(FabulaError) as refused:
        book.codex.add(" ")
    assert str(refused.value.message).startswith("An entry needs a name")


def test_a_forbidden_name_that_no_entry_has_is_remarked_upon(book: ProjectHandle) -> None:
    assert book.constraints.add("Don't mention Gandalf before chapter 5.").unknown_names == ("Gandalf",)
    book.codex.add("Gandalf", kind="character")
    assert book.constraints.add("Don't mention Gandalf before chapter 4.").unknown_names == ()
