"""Nodes without a role or an id: what a person says stays the person's, and each node is told apart by its number."""

from __future__ import annotations

import msgspec
import pytest

from fabula.context import Code, Engine, FabulaError, Layer, Reason, Request, Result
from fabula.context.recipes import NOVEL, RECIPES, Condition, InjectionStrategy, Node, Preset, complete_preset
from fabula.manuscript import projects
from fabula.presets import edits
from fabula.presets.edits import parse_preset
from fabula.presets.layout import make_layout
from fabula.presets.tables import presets
from fabula.store.store import Store
from tests.context.builders import PROJECT, chunk, make_message

SKELETON = NOVEL.preset


def assemble(preset: Preset, recipe: str = "novel") -> Result:
    request = Request(project_id=PROJECT, recipe=recipe, window=8192, preset=preset, additional_input="Go on.")
    return Engine().assemble(request, fragments=[make_message(1, "Hello."), chunk("A passage.", 0.5)])


def anchored(target: str, content: str, ident: str = "") -> Node:
    return Node(id=ident, content=content, injection_strategy=InjectionStrategy(anchor_target=target))


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_a_chat_history_node_without_a_role_leaves_the_input_to_the_user(recipe: str) -> None:
    result = assemble(parse_preset('[{"type": "chat_history"}]'), recipe)
    assert [part.role for part in result.messages if "Go on." in part.content] == ["user"]


@pytest.mark.parametrize("layer", list(Layer))
def test_a_placeholder_without_a_role_has_the_role_of_the_recipe(layer: Layer) -> None:
    given = Preset(nodes=(Node(type="placeholder", id=layer.value),))
    roles = {node.anchor: node.role for node in complete_preset(given, SKELETON).nodes}
    assert roles == {node.anchor: node.role for node in SKELETON.nodes}


def test_a_conversation_with_the_role_of_the_system_is_refused() -> None:
    with pytest.raises(FabulaError) as refused:
        assemble(Preset(nodes=(Node(type="chat_history", role="system"),)))
    assert refused.value.code is Code.PRESET_INVALID
    assert "role user" in refused.value.sentence


def test_a_role_that_an_earlier_version_stored_for_the_conversation_is_not_taken_for_the_persons_choice(
    store: Store,
) -> None:
    projects.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        ident = edits.put(tx, "Mine", Preset(nodes=(Node(type="chat_history"),)), active=True)
        nodes = msgspec.to_builtins((Node(type="chat_history", role="system"),))
        tx.update_row(presets, {"id": ident}, {"nodes": nodes})
    with store.read(project="coast") as reading:
        preset = edits.load_active(reading)
    assert preset is not None
    assert assemble(preset).messages[-1].role == "user"


def test_an_unnamed_node_with_a_missing_anchor_says_nothing_of_the_other_unnamed_nodes() -> None:
    nodes = (anchored("nowhere", "Lost."), anchored("rules", "Found."), anchored("settings", "Found too."))
    result = assemble(Preset(nodes=nodes))
    reasons = {verdict.text: verdict.reason for verdict in result.trace if verdict.source.startswith("preset:")}
    assert reasons == {"Lost.": Reason.ANCHOR_MISSING, "Found.": Reason.KEPT, "Found too.": Reason.KEPT}
    warning = next(text for text in result.warnings if text.startswith(Code.PRESET_ANCHOR_MISSING.value))
    assert "Message 1 of the preset" in warning


def test_a_node_without_an_id_has_its_number_in_the_preset_as_it_was_written() -> None:
    nodes = (Node(content="Off.", enabled=False), Node(type="chat_history"), Node(content="Third."))
    result = assemble(Preset(nodes=nodes))
    assert [v.source for v in result.trace if v.text == "Third."] == ["preset:3"]
    assert [row.name for row in make_layout(Preset(nodes=nodes), SKELETON) if row.excerpt == "Third."] == ["3"]


def test_conditions_of_nodes_without_an_id_are_named_by_the_number_as_it_was_written() -> None:
    never = Condition(keywords=("nobody says this",))
    nodes = (Node(type="chat_history"), Node(content="Second.", condition=never), Node(content="Third."))
    result = assemble(Preset(nodes=nodes))
    assert {v.text: (v.source, v.reason) for v in result.trace if v.layer is None} == {
        "Second.": ("preset:2", Reason.CONDITION_UNMET),
        "Third.": ("preset:3", Reason.KEPT),
    }


def test_a_number_that_another_node_has_as_its_id_is_told_apart() -> None:
    here = Condition(keywords=("go",))
    nodes = (Node(id="2", content="Named.", condition=here), Node(content="Unnamed.", condition=here))
    result = assemble(Preset(nodes=nodes))
    sources = {v.text: v.source for v in result.trace if v.layer is None}
    assert sources == {"Named.": "preset:2", "Unnamed.": "preset:#2"}
