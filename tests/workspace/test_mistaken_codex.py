"""Mistakes that a writer makes with the codex are refused or remarked upon, and change nothing in silence."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace


@pytest.fixture
def book(workspace: Workspace) -> ProjectHandle:
    """A whaler of three chapters with two people and an owner who is not aboard."""
    project = workspace.create_project("Whale")
    for number in (1, 2, 3):
        project.chapters.add(f"Chapter {number}", "Ahab and Starbuck. " * 5)
    project.codex.add("Ahab", kind="character", aliases=["Captain Ahab"])
    project.codex.add("Starbuck", kind="character")
    return project


def refuse(change: object, code: Code = Code.CODEX_INVALID) -> str:
    """The sentence with which a change is refused."""
    assert callable(change)
    with pytest.raises(FabulaError) as refused:
        change()
    assert refused.value.code is code
    return str(refused.value.message)


@pytest.mark.parametrize("name", ["Ahab", "Captain Ahab", "captain ahab"])
def test_a_second_entry_of_a_name_that_another_has_is_refused(book: ProjectHandle, name: str) -> None:
    assert "`allowDuplicate`" in refuse(lambda: book.codex.add(name), Code.STORE_DUPLICATE)
    assert "`allowDuplicate`" in refuse(lambda: book.codex.edit("Starbuck", name=name), Code.STORE_DUPLICATE)
    assert [one.name for one in book.codex.list_entries()] == ["Ahab", "Starbuck"]
    made = book.codex.add(name, allow_duplicate=True)
    assert [(shared, other.name) for shared, other in book.codex.list_namesakes(made.id)] == [(name, "Ahab")]


def test_nobody_is_related_to_themselves(book: ProjectHandle) -> None:
    assert "itself" in refuse(lambda: book.codex.relate("Ahab", "Captain Ahab", kind="friend"))


def test_a_relation_without_anything_new_is_not_said_to_be_made(book: ProjectHandle) -> None:
    book.codex.relate("Ahab", "Starbuck", kind="commands")
    assert "commands" in refuse(lambda: book.codex.relate("Ahab", "Starbuck", kind=""))


def test_a_relation_that_is_not_there_is_named_when_it_is_taken_back(book: ProjectHandle) -> None:
    book.codex.relate("Ahab", "Starbuck", kind="commands")
    said = refuse(lambda: book.codex.unrelate("Ahab", "Starbuck", kind="comands"), Code.STORE_NOT_FOUND)
    assert "'comands'" in said
    assert "series" not in said


def test_the_same_progression_twice_is_refused(book: ProjectHandle) -> None:
    book.codex.add_progression("Ahab", "He has lost a leg.", since="2")
    said = refuse(lambda: book.codex.add_progression("Ahab", "He has lost a leg.", since="2"), Code.STORE_DUPLICATE)
    assert "number 1" in said
    assert len(book.codex.find("Ahab").progressions) == 1


def test_nobody_knows_a_thing_before_it_is_true_and_what_was_said_before_is_named(book: ProjectHandle) -> None:
    book.codex.add_progression("Ahab", "He has lost a leg.", since="2")
    said = refuse(lambda: book.codex.set_knowledge("Ahab", "Starbuck", progression=1, since="1"))
    assert "Chapter 2" in said
    assert book.codex.set_knowledge("Ahab", "Starbuck", progression=1, since="2")[2] is None
    replaced = book.codex.set_knowledge("Ahab", "Starbuck", progression=1, since="3")[2]
    assert replaced is not None
    assert replaced.since == Position(book.chapters.list_chapters()[1].id)


@pytest.mark.parametrize("number", [-1, 0, 2, 2**64])
def test_a_progression_that_is_not_there_is_refused_where_one_asks_who_is_unaware(
    book: ProjectHandle, number: int
) -> None:
    book.codex.add_progression("Ahab", "He has lost a leg.", since="2")
    assert "1 progression" in refuse(lambda: book.codex.is_unaware("Ahab", number), Code.STORE_NOT_FOUND)
    assert not book.codex.is_unaware("Ahab", 1)
