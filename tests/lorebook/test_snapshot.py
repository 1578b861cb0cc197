"""The snapshot of active lorebooks, parsed once."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fabula.formats.lore.editing import parse_lorebook
from fabula.lorebook import edits, snapshot
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.snapshot import Lorebooks
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.views import ProjectViews
from fabula.workspace.workspace import Workspace

P = "coast"
ISLES = Lorebook(
    id="isles", name="The Isles", format="sillytavern", book={"entries": {"0": {"uid": 0, "key": ["Mara"]}}}
)
CARD = Lorebook(id="card", name="The Isles", format="character_book", book={"entries": [{"keys": ["Tom"]}]})


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with a project and two books of one name."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.save_lorebook(tx, ISLES)
        edits.save_lorebook(tx, CARD)
    return store


def load(store: Store, before: Lorebooks | None = None, moved: frozenset[str] | None = None) -> Lorebooks | None:
    with store.read(project=P) as reading:
        return snapshot.load_lorebooks(reading, P, parse_lorebook, before, moved)


def test_every_active_book_is_on_the_shelf_under_its_id(coast: Store) -> None:
    found = load(coast)
    assert found is not None
    assert {ident: [entry.key for entry in one.parsed.entries] for ident, one in found.books.items()} == {
        "card": [("Tom",)],
        "isles": [("Mara",)],
    }


def test_a_book_that_is_not_in_use_is_not_on_the_shelf(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.save_lorebook(tx, replace(ISLES, active=False))
        edits.remove_lorebook(tx, "card")
    assert load(coast) is None


def test_what_did_not_move_is_shared(coast: Store) -> None:
    before = load(coast)
    assert before is not None
    assert load(coast, before, frozenset()) is before
    with coast.write(project=P) as tx:
        edits.save_lorebook(tx, replace(CARD, rules="fabula"))
    after = load(coast, before, frozenset({"card"}))
    assert after is not None
    assert after.books["isles"] is before.books["isles"]
    assert after.books["card"].rules == "fabula"


def test_a_book_that_cannot_be_read_costs_only_itself(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.save_lorebook(tx, replace(CARD, format="", book={"hello": "there"}))
    found = load(coast)
    assert found is not None
    assert "neither a lorebook nor a card" in str(found.books["card"].problem)
    assert found.books["isles"].problem is None


def test_the_library_keeps_the_shelf_until_a_book_moves(coast: Store) -> None:
    library = ProjectViews(coast)
    first = library.view(P).snapshot(Lorebooks)
    assert first is not None
    with coast.write(project=P) as tx:
        projects.update(tx, {"title": "Another"})
    assert library.view(P).snapshot(Lorebooks) is first
    with coast.write(project=P) as tx:
        edits.remove_lorebook(tx, "card")
    second = library.view(P).snapshot(Lorebooks)
    assert second is not None
    assert list(second.books) == ["isles"]
    with coast.write(project=P) as tx:
        edits.remove_lorebook(tx, "isles")
    assert library.view(P).snapshot(Lorebooks) is None


def test_a_stored_book_reaches_the_prompt(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.save_lorebook(
            tx, replace(ISLES, book={"entries": {"0": {"uid": 0, "constant": True, "content": "It rains."}}})
        )
    project = Workspace(coast).project(P)
    assert "It rains." in project.assemble(project.request(skill_id="", window=8192)).prompt
