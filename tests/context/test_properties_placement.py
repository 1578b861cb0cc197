"""Depth, anchors and order, against a model that builds the list of messages the plain way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from fabula.context import (
    Code,
    Fragment,
    InjectionStrategy,
    Layer,
    Node,
    Part,
    Placement,
    Preset,
    Reason,
    Request,
    available_anchors,
)
from tests.context.strategies import PROJECT, engine, roles, tags_in, together

LAYERS = [layer.value for layer in Layer]
BUILT_IN = {"chat_history", "user_profile", "character", *LAYERS}
OWN = ("own", "another", "第三")
TARGETS = ("chat_history", "user_profile", "character", *LAYERS, *OWN, "nowhere")
RECIPE_NAMES = ("novel", "chat", "apart")


Closing = Literal["", "input", "turn"]  # what the conversation ends with


class Wish(Struct, frozen=True):
    """A message and the place it asks for."""

    text: str
    depth: int | None
    anchor: str | None
    side: str
    order: int


wishes = st.builds(
    InjectionStrategy,
    depth=st.none() | st.integers(0, 7),
    anchor_target=st.none() | st.sampled_from(TARGETS),
    anchor_position=st.sampled_from(("before", "after")),
    order=st.sampled_from((0, 100, 100, 200)),
)


@st.composite
def any_presets(draw: st.DrawFn, *, disabled: bool = False) -> Preset:
    """Messages and places in any order that is allowed, each message with a tag."""
    spine: list[Node] = []
    if draw(st.booleans()):
        spine += [Node(type="placeholder", id=name) for name in LAYERS]
    if draw(st.booleans()):
        spine.append(Node(type="chat_history", role="user"))
    loose = [Node(type="placeholder", id=name) for name in OWN if draw(st.booleans())]
    loose += [Node(type="user_profile")] if draw(st.booleans()) else []
    loose += [Node(type="placeholder", id="character")] if draw(st.booleans()) else []
    loose = [replace(node, enabled=not (disabled and draw(st.booleans()))) for node in loose]
    loose = [replace(node, content=f"⟦{node.anchor}⟧") if draw(st.booleans()) else node for node in loose]
    loose += [
        Node(id=f"m{at}", role=draw(roles), content=f"⟦m{at}⟧", injection_strategy=draw(st.none() | wishes))
        for at in range(draw(st.integers(0, 5)))
    ]
    nodes = list(spine)
    for node in draw(st.permutations(loose)):
        nodes.insert(draw(st.integers(0, len(nodes))), node)
    return Preset(nodes=tuple(nodes))


@st.composite
def injected_fragments(draw: st.DrawFn) -> list[Fragment]:
    """Retrieved things that ask for a place of their own."""
    return [
        Fragment(
            source=f"lore:{at}",
            layer=Layer.RETRIEVED,
            text=f"⟦f{at}⟧",
            project_id=PROJECT,
            role=draw(roles),
            placement=Placement(
                draw(st.none() | st.integers(0, 7)),
                draw(st.none() | st.sampled_from(TARGETS)),
                draw(st.sampled_from(("before", "after"))),
                draw(st.sampled_from((0, 100, 100, 200))),
            ),
        )
        for at in range(draw(st.integers(0, 4)))
    ]


def material(messages: int, *, closing: Closing) -> list[Fragment]:
    """One thing in every layer, and a conversation."""
    found = [
        Fragment(source="rule:1", layer=Layer.RULES, text="⟦rules⟧", project_id=PROJECT),
        Fragment(source="memory:1", layer=Layer.SETTINGS, text="⟦settings⟧", project_id=PROJECT),
        Fragment(source="codex:1", layer=Layer.RETRIEVED, text="⟦retrieved⟧", project_id=PROJECT),
        Fragment(source="scene:1", layer=Layer.IMMEDIATE, part=Part.SCENE, text="⟦immediate⟧", project_id=PROJECT),
    ]
    found += [
        Fragment(
            source=f"history:{at}",
            layer=Layer.IMMEDIATE,
            part=Part.HISTORY,
            text=f"⟦h{at}⟧",
            project_id=PROJECT,
            role="user" if at % 2 else "assistant",
        )
        for at in range(messages)
    ]
    if closing:
        text = f"⟦{closing}⟧"
        found.append(
            Fragment(source=closing, layer=Layer.IMMEDIATE, part=Part.INSTRUCTION, text=text, project_id=PROJECT)
        )
    return found


def completed(preset: Preset) -> list[Node]:
    """The enabled nodes, with the places every prompt has."""
    nodes = [node for node in preset.nodes if node.enabled]

    def anchors() -> list[str | None]:
        return [node.anchor for node in nodes]

    if "chat_history" not in anchors():
        nodes.append(Node(type="chat_history"))
    if "rules" not in anchors():
        at = anchors().index("chat_history")
        nodes[at:at] = [Node(type="placeholder", id=name) for name in LAYERS]
    switched_off = {node.anchor for node in preset.nodes if not node.enabled}
    if "character" not in anchors() and "character" not in switched_off:
        nodes.insert(anchors().index("rules"), Node(type="placeholder", id="character"))
    if "user_profile" not in anchors() and "user_profile" not in switched_off:
        behind = "character" if "character" in anchors() else "rules"
        nodes.insert(anchors().index(behind), Node(type="user_profile"))
    return nodes


def expected(
    preset: Preset, fragments: Sequence[Fragment], messages: int, *, closing: Closing
) -> tuple[list[str], int]:
    """The tags in the order in which they should stand, and how many wishes could not be met."""
    nodes = completed(preset)
    anchors = {node.anchor for node in nodes if node.anchor}
    found = [
        Wish(
            node.content,
            wish.depth,
            wish.anchor_target,
            wish.anchor_position if wish.depth is None else "after",
            wish.order,
        )
        for node in nodes
        if node.type == "message" and (wish := node.injection_strategy) is not None
    ]
    found += [
        Wish(fragment.text, place.depth, place.anchor, place.side, place.order)
        for fragment in fragments
        if (place := fragment.placement) is not None
    ]
    missing = {wish.text for wish in found if wish.depth is None and wish.anchor and wish.anchor not in anchors}
    moved = [wish for wish in found if wish.depth is not None or (wish.anchor and wish.anchor in anchors)]
    away = {wish.text for wish in moved}

    def by_order(chosen: list[Wish]) -> list[str]:
        return [wish.text for wish in sorted(chosen, key=lambda wish: -wish.order)]

    def beside(anchor: str, side: str) -> list[str]:
        return by_order([one for one in moved if one.depth is None and one.anchor == anchor and one.side == side])

    talk = [f"⟦h{at}⟧" for at in range(messages)] + (["⟦input⟧"] if closing == "input" else [])
    turn = ["⟦turn⟧"] if closing == "turn" else []  # which is no message by depth
    before_end = by_order([wish for wish in moved if wish.depth == 0 and wish.side == "before"])
    at_end = by_order([wish for wish in moved if wish.depth == 0 and wish.side == "after"])
    conversation: list[str] = []
    depths = sorted({wish.depth for wish in moved if wish.depth is not None}, reverse=True)
    for at in range(len(talk) + 1):
        following = len(talk) - at
        for depth in depths:
            if depth and min(depth, len(talk)) == following:
                conversation += by_order([wish for wish in moved if wish.depth == depth])
        if closing == "input" and following == 1:
            conversation += before_end
        conversation += talk[at : at + 1]
    conversation += {"input": at_end, "turn": [*before_end, *turn, *at_end], "": [*at_end, *before_end]}[closing]

    own = {name: [f"⟦{name}⟧"] for name in LAYERS}
    own["retrieved"] = ["⟦retrieved⟧", *(fragment.text for fragment in fragments if fragment.text not in away)]
    listed: list[str] = []
    for node in nodes:
        if node.anchor is None:
            listed += [] if node.content in away else [node.content]
            continue
        listed += beside(node.anchor, "before")
        if node.anchor == "chat_history":
            listed += conversation
        else:
            listed += own.get(node.anchor, [node.content] if node.content else [])
        listed += beside(node.anchor, "after")
    return listed, len(missing)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    any_presets(disabled=True),
    injected_fragments(),
    st.integers(0, 5),
    st.sampled_from(("", "input", "turn")),
    st.sampled_from(RECIPE_NAMES),
)
def test_everything_stands_where_the_obvious_model_puts_it(
    preset: Preset, injected: list[Fragment], messages: int, closing: Closing, recipe: str
) -> None:
    base = material(messages, closing=closing)
    request = Request(project_id=PROJECT, document_id="d", recipe=recipe, preset=preset)
    offered = [*base[:3], *injected, *base[3:]]
    result = engine().assemble(request, fragments=offered)
    listed, missing = expected(preset, injected, messages, closing=closing)
    assert tags_in(together(result.messages)) == listed
    warned = [warning for warning in result.warnings if warning.startswith(Code.PRESET_ANCHOR_MISSING.value)]
    assert len(warned) == missing


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(any_presets(), st.integers(0, 5), st.sampled_from(RECIPE_NAMES))
def test_a_preset_message_keeps_its_role(preset: Preset, messages: int, recipe: str) -> None:
    request = Request(project_id=PROJECT, document_id="d", recipe=recipe, preset=preset)
    result = engine().assemble(request, fragments=material(messages, closing="input"))
    for node in preset.nodes:
        if node.type == "message":
            assert [message.role for message in result.messages if node.content in message.content] == [node.role]


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(any_presets(disabled=True), injected_fragments(), st.sampled_from(RECIPE_NAMES))
def test_a_disabled_anchor_is_a_missing_one(preset: Preset, injected: list[Fragment], recipe: str) -> None:
    """inj-3: a warning, and the message stays where it stands in the list."""
    off = {node.anchor for node in preset.nodes if not node.enabled}
    base = material(2, closing="input")
    request = Request(project_id=PROJECT, document_id="d", recipe=recipe, preset=preset)
    result = engine().assemble(request, fragments=[*base, *injected])
    for node in preset.nodes:
        wish = node.injection_strategy
        if wish is not None and wish.depth is None and wish.anchor_target in off:
            assert any(
                warning.startswith(Code.PRESET_ANCHOR_MISSING.value) and node.id in warning
                for warning in result.warnings
            ), wish.anchor_target
    for fragment in injected:
        place = fragment.placement
        if place is not None and place.depth is None and place.anchor in off:
            verdict = next(iter(result.explain(fragment.source)))
            assert verdict.reason is Reason.ANCHOR_MISSING, place.anchor


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(any_presets(), st.text(min_size=1, max_size=5))
def test_available_anchors_are_the_built_in_ones_and_the_presets_own_and_new_ones_at_once(
    preset: Preset, name: str
) -> None:
    own = {node.id for node in preset.nodes if node.type == "placeholder"}
    found = available_anchors(preset)
    assert len(set(found)) == len(found)
    assert set(found) == BUILT_IN | own
    wider = replace(preset, nodes=(*preset.nodes, Node(type="placeholder", id=name)))
    assert set(available_anchors(wider)) == BUILT_IN | own | {name}


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(any_presets(), st.sampled_from(RECIPE_NAMES))
def test_an_anchor_that_is_listed_as_available_is_never_missing(preset: Preset, recipe: str) -> None:
    names = available_anchors(preset)
    targets = [Node(id="x", content="x", injection_strategy=InjectionStrategy(anchor_target=name)) for name in names]
    nodes = tuple(replace(node, injection_strategy=None) for node in preset.nodes)
    request = Request(
        project_id=PROJECT, document_id="d", recipe=recipe, preset=replace(preset, nodes=(*nodes, *targets))
    )
    result = engine().assemble(request)
    assert not [warning for warning in result.warnings if warning.startswith(Code.PRESET_ANCHOR_MISSING.value)]


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(any_presets(), injected_fragments(), st.sampled_from(RECIPE_NAMES), st.integers(0, 3))
def test_depth_and_anchor_content_stays_behind_the_stable_prefix_unless_it_targets_an_anchor_inside(
    preset: Preset, injected: list[Fragment], recipe: str, messages: int
) -> None:
    base = material(messages, closing="input")
    result = engine().assemble(
        Request(project_id=PROJECT, document_id="d", recipe=recipe, preset=preset), fragments=[*base, *injected]
    )
    stable = tags_in("\n".join(message.content[: message.stable] for message in result.messages))
    assert "⟦settings⟧" in stable
    anchors = [node.anchor for node in completed(preset)]
    inside = anchors[: anchors.index("settings") + 1]
    wished = [
        (node.content, node.injection_strategy.depth, node.injection_strategy.anchor_target)
        for node in preset.nodes
        if node.injection_strategy is not None
    ]
    wished += [
        (fragment.text, fragment.placement.depth, fragment.placement.anchor)
        for fragment in injected
        if fragment.placement is not None
    ]
    for text, depth, anchor in wished:
        if depth is not None or (anchor in anchors and anchor not in inside):
            assert text not in stable
