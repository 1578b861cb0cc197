"""Entries go from a book to its series, with a preview and an undo (man-3)."""

from __future__ import annotations

import pytest

from fabula.codex import Codex
from fabula.core.errors import Code, FabulaError
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace


@pytest.fixture
def books(workspace: Workspace) -> tuple[ProjectHandle, ProjectHandle]:
    """Two books of a series; the first one has Ahab, his ship and a whale of its own."""
    workspace.create_series("The Sea Books")
    first, second = workspace.create_project("Moby-Dick"), workspace.create_project("Omoo")
    for book in (first, second):
        book.chapters.add("Chapter 1", "Ahab came aboard the Pequod.")
        book.chapters.add("Chapter 2", "Ahab saw the whale.")
    first.codex.add("Pequod", kind="item")
    first.codex.add("Moby Dick", kind="other")
    first.codex.add("Ahab", kind="character", aliases=["Captain Ahab"], description="A captain.", since="1")
    first.codex.relate("Ahab", "Pequod", kind="captain of")
    first.codex.relate("Ahab", "Moby Dick", kind="hunts")
    first.codex.add_progression("Ahab", "He is lost.", since="2")
    first.codex.set_knowledge("Ahab", "reader", progression=1, since="2")
    return first, second


def read_codex(book: ProjectHandle) -> Codex:
    found = book.view.snapshot(Codex)
    assert found is not None
    return found


def test_a_shared_entry_moves_to_the_series_and_the_book_keeps_its_own_story(
    workspace: Workspace, books: tuple[ProjectHandle, ProjectHandle]
) -> None:
    first, second = books
    for title in ("Moby-Dick", "Omoo"):
        workspace.join_series(title, "The Sea Books")
    before = read_codex(first)
    _, ahab = first.codex.preview_share(["pequod", "captain ahab"])
    assert read_codex(first) == before
    assert [str(one) for one in ahab.moved] == ["aliases", "description", "1 relation"]
    assert [str(one) for one in ahab.kept] == ["where it begins", "1 progression", "1 relation"]
    first.codex.share(["Pequod", "Ahab"])
    after = read_codex(first)
    assert (after.by_id, after.knowledge) == (before.by_id, before.knowledge)
    found = second.codex.find("Captain Ahab")
    assert (found.description, [step.text for step in found.progressions]) == ("A captain.", ["He is lost."])
    assert [relation.kind for relation in found.relations] == ["captain of"]
    assert [one.name for one in second.codex.list_entries()] == ["Ahab", "Pequod"]
    first.changes.undo()
    assert read_codex(first).by_id == before.by_id
    assert second.codex.list_entries() == []
    first.changes.redo()
    assert [one.name for one in second.codex.list_entries()] == ["Ahab", "Pequod"]


def test_what_cannot_be_shared_is_refused_and_nothing_changes(
    workspace: Workspace, books: tuple[ProjectHandle, ProjectHandle]
) -> None:
    first, second = books

    def refuse(code: Code, *names: str, book: ProjectHandle = first) -> str:
        before = read_codex(book).by_id
        with pytest.raises(FabulaError) as refusal:
            book.codex.share(names)
        assert refusal.value.code is code
        assert read_codex(book).by_id == before
        return str(refusal.value.message)

    assert "Moby-Dick belongs to no series" in refuse(Code.PROJECT_INVALID, "Ahab")
    workspace.join_series("Omoo", "The Sea Books")
    workspace.join_series("Moby-Dick", "The Sea Books")
    assert "Did you mean Ahab" in refuse(Code.STORE_NOT_FOUND, "Pequod", "Ahabb")
    assert "Omoo would know it from the start" in refuse(Code.CODEX_INVALID, "Ahab")  # it comes before
    first.codex.share(["Ahab"], allow_early=True)
    assert "Ahab is shared by The Sea Books already" in refuse(Code.STORE_DUPLICATE, "Ahab")
    second.codex.add("Captain Ahab", allow_duplicate=True)
    second.codex.add("Pequod")
    assert "with a name of Captain Ahab already: Ahab" in refuse(Code.STORE_DUPLICATE, "Captain Ahab", book=second)
    (share,) = first.codex.preview_share(["Pequod"])
    assert [str(one) for one in share.remarks] == [
        "Omoo has an entry of its own with one of its names. It will have two then."
    ]
