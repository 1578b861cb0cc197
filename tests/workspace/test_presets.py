"""Presets: stored, activated, laid out and removed."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.workspace.project import ProjectHandle

NODES = '[{"id": "brief", "content": "Be brief."}, {"type": "placeholder", "id": "mood"}]'


def test_a_preset_is_stored_activated_and_removed(coast: ProjectHandle) -> None:
    presets = coast.presets
    presets.activate(None)
    assert presets.find() is None
    stored = presets.write("Mine", NODES)
    assert presets.write("Mine", NODES, active=True).id == stored.id
    assert presets.write(stored.id, NODES).title == "Mine"
    active = presets.find()
    assert active is not None
    assert active.id == stored.id
    assert presets.list_anchors()[-1] == "mood"
    layout = presets.lay_out(recipe="chat")
    assert any(row.note == "较早的消息" for row in presets.lay_out(recipe="chat", reader_language="zh").rows)
    assert (layout.preset, layout.recipe) == (active, "chat")
    assert "brief" in [row.name for row in layout.rows]
    assert presets.remove("Mine").id == stored.id
    assert presets.find() is None


def test_bad_input_is_refused(coast: ProjectHandle, read_only_coast: ProjectHandle) -> None:
    for call, code in (
        (lambda: coast.presets.find("Yours"), Code.STORE_NOT_FOUND),
        (lambda: coast.presets.lay_out(recipe="opera"), Code.RECIPE_UNKNOWN),
        (lambda: coast.presets.write("Odd", "["), Code.PRESET_INVALID),
        (lambda: read_only_coast.presets.write("Mine", NODES), Code.PROJECT_READ_ONLY),
    ):
        with pytest.raises(FabulaError) as refusal:
            call()
        assert refusal.value.code is code
    assert read_only_coast.presets.lay_out().rows


def test_a_preset_that_is_not_stored_is_laid_out(coast: ProjectHandle) -> None:
    data = {"nodes": [{"id": "new", "content": "Be new.", "injectionStrategy": {"anchorTarget": "settings"}}]}
    names = [row.name for row in coast.presets.preview(data).rows]
    assert names.index("new") == names.index("settings") + 1
    assert "new" not in [row.name for row in coast.presets.lay_out().rows]
    twice = {"nodes": [{"type": "placeholder", "id": "mood"}] * 2}
    with pytest.raises(FabulaError, match="mood") as refusal:
        coast.presets.preview(twice)
    assert refusal.value.code is Code.PRESET_INVALID


def test_two_nodes_of_one_id_are_refused_and_a_stored_preset_stays(coast: ProjectHandle) -> None:
    coast.presets.write("Mine", NODES)
    with pytest.raises(FabulaError, match="'brief'") as refusal:
        coast.presets.write("Mine", '[{"id": "brief", "content": "A."}, {"id": "brief", "content": "B."}]')
    assert refusal.value.code is Code.PRESET_INVALID
    stored = coast.presets.find("Mine")
    assert stored is not None
    assert [node.content for node in stored.nodes] == ["Be brief.", ""]


def test_a_condition_that_names_no_recipe_skill_or_mode_says_so(coast: ProjectHandle) -> None:
    data = {
        "nodes": [
            {"id": "typo", "content": "A.", "condition": {"modes": ["nvoel", "chat"]}},
            {"id": "far", "content": "B.", "condition": {"modes": ["qqqqqq"]}},
            {"id": "good", "content": "C.", "condition": {"modes": ["novel", "continue", "quiz"]}},
        ]
    }
    notes = {row.name: row.note for row in coast.presets.preview(data, reader_language="en").rows}
    assert notes["typo"] == "no recipe, skill or mode is called 'nvoel'; the nearest is 'novel'"
    assert notes["far"] == "no recipe, skill or mode is called 'qqqqqq'"
    assert notes["good"] == ""
