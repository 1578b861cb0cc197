"""Through whose eyes a chapter is told: set by any name, refused for nobody, taken back, and used by the gate."""

from __future__ import annotations

import pytest

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.workspace.project import ProjectHandle


def find_pov(project: ProjectHandle, chapter: str) -> str | None:
    """The viewpoint of a chapter, as prompts have it."""
    entry = project.view.timeline.entry(chapter)
    assert entry is not None
    return entry.pov


def test_a_viewpoint_is_set_by_any_name_and_taken_away(coast: ProjectHandle) -> None:
    assert coast.chapters.set_viewpoint("1", "grace").pov == "grace"
    assert find_pov(coast, "ch-01") == "grace"
    assert coast.chapters.set_viewpoint("1", "Will").pov == "will"
    assert coast.chapters.set_viewpoint("1").pov is None
    assert find_pov(coast, "ch-01") is None


def test_prompts_of_the_chapter_hold_what_the_character_knows(coast: ProjectHandle) -> None:
    secret = "Grace keeps a second ledger."
    coast.codex.add("Second ledger", kind="item", description=secret, known_to=["Grace"], level="always")
    request = Request(project_id=coast.id, document_id="ch-07", skill_id="continue")
    coast.chapters.set_viewpoint("ch-07", "Will")
    assert secret not in coast.assemble(request).prompt
    coast.chapters.set_viewpoint("ch-07", "Grace")
    assert secret in coast.assemble(request).prompt


def test_only_the_character_and_the_reader_know_what_the_chapter_tells(coast: ProjectHandle) -> None:
    coast.chapters.write("ch-02", "Mara always wore a zephyrine ribbon.")
    coast.chapters.set_viewpoint("ch-02")
    assert coast.search("zephyrine ribbon", character="mara")
    coast.chapters.set_viewpoint("ch-02", "Will")
    assert not coast.search("zephyrine ribbon", character="mara")
    assert coast.search("zephyrine ribbon", character="will")


@pytest.mark.parametrize("name", ["Maraa", "Harrow Light", "", "7"])
def test_whoever_is_no_character_is_refused_with_the_nearest_names(coast: ProjectHandle, name: str) -> None:
    with pytest.raises(FabulaError) as refused:
        coast.chapters.set_viewpoint("2", name)
    assert refused.value.code is Code.STORE_NOT_FOUND
    if name == "Maraa":
        assert "Mara" in str(refused.value)
    assert find_pov(coast, "ch-02") == "will"


def test_what_is_no_part_of_the_story_has_no_viewpoint(coast: ProjectHandle) -> None:
    note = coast.chapters.add("Plan", "Later.", kind="note")
    with pytest.raises(FabulaError) as refused:
        coast.chapters.set_viewpoint(note.id, "Mara")
    assert refused.value.code is Code.REQUEST_INVALID


def test_a_change_of_the_viewpoint_can_be_undone(coast: ProjectHandle) -> None:
    coast.chapters.set_viewpoint("2", "Grace")
    coast.changes.undo()
    assert find_pov(coast, "ch-02") == "will"


def test_a_removed_character_keeps_its_last_name(coast: ProjectHandle) -> None:
    coast.codex.edit("will", name="Will Tarn the pilot")
    coast.codex.add("Oilskin packet", kind="item", description="In her coat.", known_to=["Will Tarn the pilot"])
    coast.codex.remove("will")
    removed = coast.codex.list_removed()
    assert [(one.id, one.name) for one in removed] == [("will", "Will Tarn the pilot")]
    assert find_pov(coast, "ch-02") == "will"
    assert next(one for one in coast.timeline.read().documents if one.document_id == "ch-02").pov == removed[0].name
    assert [one.name for one in coast.codex.list_knowers("Oilskin packet")] == [removed[0].name]
    coast.changes.undo()
    assert coast.codex.list_removed() == []
    coast.codex.remove("will")
    coast.codex.add("Will", kind="character")
    assert [one.name for one in coast.codex.list_removed()] == ["Will Tarn the pilot"]
