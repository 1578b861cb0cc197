"""Projects are listed by their last work, found by kind and number, and keep their titles apart (man-1)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabula.codex import Entry, edits
from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import show
from fabula.manuscript import documents
from fabula.manuscript.revisions import compare_texts
from fabula.store.schema import MAX_SHORT_TEXT
from fabula.workspace.schemas.saves import LoadChoices
from fabula.workspace.workspace import Workspace


def test_work_inside_a_project_moves_it_to_the_front_and_changes_its_date(workspace: Workspace) -> None:
    first = workspace.create_project("First")
    workspace.create_project("Second")
    assert [one.title for one in workspace.projects()] == ["Second", "First"]
    before = workspace.projects()[1].updated_at
    first.codex.add("Mara", kind="character")
    assert [one.title for one in workspace.projects()] == ["First", "Second"]
    assert workspace.projects()[0].updated_at > before


def test_a_book_and_a_series_of_one_name_are_told_apart_by_what_is_asked_for(workspace: Workspace) -> None:
    workspace.create_project("The Coast")
    workspace.create_series("The Coast")
    joined, shared, books = workspace.join_series("The Coast", "The Coast")
    assert (joined.kind, shared.kind, [one.title for one in books]) == ("book", "series", ["The Coast"])


def test_an_ambiguous_title_is_answered_with_numbers_and_dates_and_no_ids(workspace: Workspace) -> None:
    ids = [workspace.create_project("The Coast").id for _ in range(2)]
    with pytest.raises(FabulaError) as refused:
        workspace.project("The Coast")
    said = str(refused.value.message)
    assert all(words in said for words in ("number 1", "number 2", "a book, changed"))
    assert not any(one in said for one in ids)
    assert workspace.project("2").id in ids


def test_no_project_gets_the_number_of_another_when_one_is_loaded_deleted_or_restored(
    workspace: Workspace, tmp_path: Path
) -> None:
    def numbers() -> dict[str, int]:
        return {one.title: one.number for one in workspace.projects()}

    workspace.create_project("Old").save(tmp_path / "old.fabula")
    workspace.delete_project("Old")
    with Workspace.open(str(tmp_path / "elsewhere")) as elsewhere:
        elsewhere.create_project("New")
        elsewhere.load_save(tmp_path / "old.fabula")
        assert {one.title: one.number for one in elsewhere.projects()} == {"New": 1, "Old": 2}
    workspace.create_project("Second")
    workspace.create_project("Third")
    assert numbers() == {"Second": 2, "Third": 3}
    workspace.delete_project("2")
    assert numbers() == {"Third": 3}
    workspace.create_project("Fourth")
    workspace.restore_project("Second")
    assert numbers() == {"Second": 2, "Third": 3, "Fourth": 4}
    assert workspace.project("3").id == workspace.project("Third").id


def test_a_title_that_is_taken_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    workspace.create_project("One").save(tmp_path / "one.fabula")
    workspace.create_project("Two")
    for change, field in (
        (lambda: workspace.rename_project("Two", "One"), "`allowDuplicate`"),
        (lambda: workspace.load_save(tmp_path / "one.fabula"), "`beside`"),
    ):
        with pytest.raises(FabulaError) as refused:
            change()
        assert refused.value.code is Code.STORE_DUPLICATE
        assert field in str(refused.value.message)
        assert "--yes" in show(refused.value.message, "en", on_command_line=True)
        assert sorted(one.title for one in workspace.projects()) == ["One", "Two"]
    workspace.rename_project("Two", "One", allow_duplicate=True)
    workspace.load_save(tmp_path / "one.fabula", LoadChoices(beside=True))
    assert [one.title for one in workspace.projects()] == ["One"] * 3


def test_a_chapter_is_not_renamed_onto_another(workspace: Workspace) -> None:
    project = workspace.create_project("One")
    project.chapters.add("The Bell")
    project.chapters.add("The Sea")
    with pytest.raises(FabulaError) as refused:
        project.chapters.rename("The Sea", "The Bell")
    assert refused.value.code is Code.STORE_DUPLICATE
    assert project.chapters.rename("The Sea", "The Bell", allow_duplicate=True).title == "The Bell"
    with pytest.raises(FabulaError) as refused:
        project.chapters.add("The Bell")
    assert refused.value.code is Code.STORE_DUPLICATE
    assert project.chapters.add("The Bell", allow_duplicate=True).title == "The Bell"


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("Ishmael", "12. Biographical: Ishmael"),
        ("chapter three", "Chapter 3: The Inn"),
        ("Chapter 1", "Chapter 1: Sea"),
    ],
)
def test_a_chapter_is_found_by_a_part_of_its_title_and_by_its_number_in_words(
    workspace: Workspace, typed: str, title: str
) -> None:
    project = workspace.create_project("Whale")
    for one in ("Prologue", "Chapter 1: Sea", "Chapter 2: Bag", "Chapter 3: The Inn", "12. Biographical: Ishmael"):
        project.chapters.add(one)
    project.chapters.add("Chapter 13: The Wheelbarrow")
    assert project.chapters.read(typed).record.title == title


@pytest.mark.parametrize("typed", ["第三回", "第3回", "3"])
def test_a_chinese_chapter_is_found_by_its_number(workspace: Workspace, typed: str) -> None:
    project = workspace.create_project("石头记", language="zh")
    for one in ("楔子", "第一回 甄士隐", "第二回 贾夫人", "第三回 荣国府"):
        project.chapters.add(one)
    assert project.chapters.read(typed).record.title == "第三回 荣国府"
    with pytest.raises(FabulaError) as refused:
        project.chapters.read("99")
    assert (
        str(refused.value.message)
        == "There is no chapter 99. The book has 3 chapters with a number. Nothing was changed."
    )


def test_a_prologue_has_no_number_in_the_timeline(workspace: Workspace) -> None:
    project = workspace.create_project("Whale")
    for title in ("Prologue", "The Sea", "The Inn"):
        project.chapters.add(title, "Some words.")
    assert [one.number for one in project.timeline.read().documents] == [None, 1, 2]


def test_a_difference_marks_words_and_not_paragraphs() -> None:
    (line,) = compare_texts("One.\nThe grey sea was calm.", "One.\nThe gray sea was calm.")
    assert (line.line, [(part.kind, part.text) for part in line.parts]) == (
        2,
        [("same", "The "), ("removed", "grey"), ("added", "gray"), ("same", " sea was calm.")],
    )
    (line,) = compare_texts("林远走了。", "林远跑了。")
    assert [part.text for part in line.parts if part.kind != "same"] == ["走", "跑"]


@pytest.mark.parametrize("verb", ["project", "rename", "series", "chapter", "entry", "participant"])
def test_a_title_that_no_save_could_hold_is_refused(workspace: Workspace, verb: str) -> None:
    long = "x" * (MAX_SHORT_TEXT + 1)
    workspace.create_project("Book")
    book = workspace.project("Book")
    before = [(one.title, one.version) for one in workspace.projects()]
    verbs: dict[str, Callable[[], object]] = {
        "project": lambda: workspace.create_project(long),
        "rename": lambda: workspace.rename_project("Book", long),
        "series": lambda: workspace.create_series(long, language="en"),
        "chapter": lambda: _add_chapter(workspace, book.id, long),
        "entry": lambda: _put_entry(workspace, book.id, long),
        "participant": lambda: _add_conversation(workspace, book.id, long),
    }
    with pytest.raises(FabulaError) as refused:
        verbs[verb]()
    assert refused.value.code in (Code.TEXT_INVALID, Code.CODEX_INVALID)
    assert len(str(refused.value)) < 500
    assert [(one.title, one.version) for one in workspace.projects()] == before


def _add_chapter(workspace: Workspace, project: str, title: str) -> None:
    with workspace.store.write(project=project) as tx:
        documents.add(tx, title, text="")


def _put_entry(workspace: Workspace, project: str, name: str) -> None:
    with workspace.store.write(project=project) as tx:
        edits.put(tx, Entry(id="a", type="character", name=name))


def _add_conversation(workspace: Workspace, project: str, title: str) -> None:
    with workspace.store.write(project=project) as tx:
        tx.insert(conversations, {"id": "c", "title": title})
