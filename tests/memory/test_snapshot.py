"""The snapshot of memory: memories of the project and of the user."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fabula.core.story import Position
from fabula.core.view import Project
from fabula.manuscript import projects
from fabula.memory import edits
from fabula.memory.model import Memory, MemoryItem, MemoryKind, MemoryOrigin, MemoryScope, MemoryState, Preference
from fabula.memory.snapshot import load_memory
from fabula.store.store import Store
from fabula.workspace.read_only import open_read_only
from fabula.workspace.views import ProjectViews

COAST = Project(id="coast")


@pytest.fixture
def coast(store: Store) -> Store:
    """A store where a project and a person are remembered."""
    projects.create(store, "The Coast", project_id=COAST.id)
    with store.write(project=COAST.id, user="ada") as tx:
        edits.add_memory(tx, MemoryItem(id="fog", text="Likes fog.", confidence=0.9, since=Position("ch-1", 2)))
        edits.add_memory(tx, MemoryItem(id="both", text="The project's."))
        edits.add_memory(tx, MemoryItem(id="maybe", text="Perhaps.", state=MemoryState.PROPOSED))
        edits.add_memory(tx, MemoryItem(id="ep", text="Once.", kind=MemoryKind.EPISODE))
        edits.add_memory(tx, MemoryItem(id="sea", text="Likes sea.", confidence=0.95), scope=MemoryScope.USER)
        edits.add_memory(tx, MemoryItem(id="both", text="The person's."), scope=MemoryScope.USER)
    return store


def load(
    store: Store,
    before: Memory | None = None,
    *,
    project: Project = COAST,
    user: str = "ada",
) -> Memory:
    with store.read(project=COAST.id, user=user) as reading:
        return load_memory(reading, project, before)


def test_a_project_and_a_person_are_one_memory(coast: Store) -> None:
    memory = load(coast)
    assert memory.preferences == (
        Preference("sea", "Likes sea.", 0.95, scope=MemoryScope.USER),
        Preference("fog", "Likes fog.", 0.9, Position("ch-1", 2)),
        Preference("both", "The project's."),
    )
    assert [note.id for note in memory.episodes] == ["ep"]
    assert memory.fragments[1].since == Position("ch-1", 2)


def test_another_person_gets_the_project_alone(coast: Store) -> None:
    assert [one.id for one in load(coast, user="bob").preferences] == ["fog", "both"]


def test_a_proposal_enters_once_it_is_confirmed(coast: Store) -> None:
    before = load(coast)
    with coast.write(project=COAST.id) as tx:
        edits.edit_memory(tx, "maybe", {"confidence": 0.4})
    assert load(coast, before) is before
    with coast.write(project=COAST.id) as tx:
        edits.edit_memory(tx, "maybe", {"state": "confirmed"})
    assert load(coast, before).preferences[-1].text == "Perhaps."


def test_two_projects_and_two_people_never_see_each_others_memory(coast: Store) -> None:
    projects.create(coast, "Another", project_id="other")
    with coast.write(project="other", user="bob") as tx:
        edits.add_memory(tx, MemoryItem(id="ice", text="Likes ice."))
        edits.add_memory(tx, MemoryItem(id="sun", text="Likes sun."), scope=MemoryScope.USER)
    found = {
        (project, user): {fragment.text for fragment in view_memory(coast, project, user).fragments}
        for project in (COAST.id, "other")
        for user in ("ada", "bob")
    }
    assert not any("ice" in text for user in ("ada", "bob") for text in found[COAST.id, user])
    assert not any("fog" in text.lower() for user in ("ada", "bob") for text in found["other", user])
    assert found["other", "ada"] == {"Likes ice.", "Likes sea.", "The person's."}
    assert found["other", "bob"] == {"Likes ice.", "Likes sun."}


def view_memory(store: Store, project: str, user: str) -> Memory:
    memory = ProjectViews(store).view(project, user=user).snapshot(Memory)
    assert memory is not None
    return memory


def test_what_was_learnt_and_has_faded_rests(coast: Store) -> None:
    with coast.write(project=COAST.id) as tx:
        edits.edit_memory(tx, "maybe", {"state": "confirmed", "origin": "learned", "votes_for": 5, "confidence": 0.3})
    (learnt,) = (one for one in load(coast).preferences if one.id == "maybe")
    assert str(learnt.explanation) == "you confirmed it; 5 of your changes speak for it, 0 against it"
    with coast.write(project=COAST.id) as tx:
        edits.edit_memory(tx, "maybe", {"confidence": 0.19})
        assert edits.get_memory(tx, "maybe").origin is MemoryOrigin.LEARNED
    assert "maybe" not in [one.id for one in load(coast).preferences]


def test_where_nothing_moved_the_snapshot_stays(coast: Store) -> None:
    before = load(coast)
    assert load(coast, before) is before
    assert load(coast, before, project=replace(COAST, language="zh")) is not before


def test_a_sample_story_comes_back_from_the_store_as_it_was(store: Store) -> None:
    for name in ("lantern_coast", "wugang"):
        view = open_read_only(f"sample:{name}").view
        memory = view.snapshot(Memory)
        assert memory is not None
        projects.create(store, name, project_id=view.project.id)
        with store.write(project=view.project.id) as tx:
            edits.save_snapshot(tx, memory)
        with store.read(project=view.project.id, user="ada") as reading:
            assert load_memory(reading, view.project).fragments == memory.fragments
