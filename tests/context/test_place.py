"""Place: layers in their order, messages at their depth and beside their anchor."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fabula.context import (
    NOVEL,
    Code,
    Engine,
    Fragment,
    InjectionStrategy,
    Layer,
    Node,
    Part,
    Placement,
    Preset,
    Project,
    Reason,
    Request,
    Result,
    View,
    available_anchors,
)
from fabula.context.recipes import complete_preset
from tests.context.builders import (
    PROJECT,
    ask,
    check_result,
    chunk,
    codes,
    engine,
    make_message,
    rule,
    setting,
    sized,
    story,
    verdicts,
    warned,
)


def note(text: str, *, role: str = "system", **wish: object) -> Node:
    strategy = replace(InjectionStrategy(), **wish) if wish else None
    return replace(Node(id=text, content=f"<{text}>", injection_strategy=strategy), role=role)


def closing(text: str = "The input.") -> Fragment:
    return Fragment(source="input", layer=Layer.IMMEDIATE, text=text, project_id=PROJECT, part=Part.INSTRUCTION)


def talk(*nodes: Node, messages: int = 4, more: tuple[Fragment, ...] = (), window: int = 8192) -> Result:
    """A conversation of a few messages, the input after them, and a preset."""
    given = [
        rule("A rule."),
        setting("A setting."),
        chunk("A passage.", 0.9),
        Fragment(source="editor:scene", layer=Layer.IMMEDIATE, text="A scene.", project_id=PROJECT, part=Part.SCENE),
        *(make_message(n, f"M{n}.") for n in range(1, messages + 1)),
        closing(),
        *more,
    ]
    request = Request(project_id=PROJECT, recipe="chat", window=window, preset=Preset(nodes=nodes))
    result = Engine().assemble(request, View(Project(id=PROJECT)), fragments=given)
    check_result(result)
    return result


def in_order(result: Result, *texts: str) -> None:
    """Each text stands once, and in this order."""
    for text in texts:
        assert result.prompt.count(text) == 1, f"{text!r} stands {result.prompt.count(text)} times"
    places = [result.prompt.index(text) for text in texts]
    assert places == sorted(places), [text for _, text in sorted(zip(places, texts, strict=True))]


def test_a_preset_without_layers_gets_them_before_the_conversation() -> None:
    in_order(talk(note("mine")), "<mine>", "A rule.", "A setting.", "A passage.", "A scene.", "M1.", "The input.")


def test_an_empty_preset_is_as_good_as_none() -> None:
    assert talk().prompt == talk(Node(content=" "), Node(enabled=False, content="off")).prompt


def test_a_preset_may_put_its_messages_between_the_layers() -> None:
    nodes = (
        Node(type="placeholder", id="rules"),
        note("between"),
        Node(type="placeholder", id="settings"),
        Node(type="placeholder", id="retrieved"),
        note("late"),
        Node(type="placeholder", id="immediate"),
        Node(type="chat_history", id="chat_history", role="user"),
        note("end"),
    )
    in_order(talk(*nodes), "A rule.", "<between>", "A setting.", "A passage.", "<late>", "A scene.", "M1.", "<end>")


@pytest.mark.parametrize(
    ("depth", "before", "after"),
    [
        (0, "The input.", ""),
        (1, "M4.", "The input."),
        (2, "M3.", "M4."),
        (5, "A scene.", "M1."),
        (99, "A scene.", "M1."),
    ],
)
def test_depth_counts_the_messages_that_follow_with_the_input_as_one(depth: int, before: str, after: str) -> None:
    result = talk(note("here", depth=depth))
    in_order(result, *(text for text in (before, "<here>", after) if text))
    if not after:
        assert result.prompt.endswith("<here>")


@pytest.mark.parametrize(("depth", "before", "after"), [(0, "TURN", ""), (1, "M2.", "M3."), (3, "", "M1.")])
def test_the_line_that_says_who_speaks_next_is_no_message_by_depth(depth: int, before: str, after: str) -> None:
    turn = replace(closing(), source="turn", text="TURN")
    given = [*(make_message(n, f"M{n}.") for n in range(1, 4)), turn]
    request = Request(project_id=PROJECT, recipe="chat", window=8192, preset=Preset(nodes=(note("here", depth=depth),)))
    in_order(Engine().assemble(request, fragments=given), *filter(None, (before, "<here>", after)))


@pytest.mark.parametrize(
    ("depth", "listed"), [(0, ("TURN", "<here>")), (1, ("<here>", "TURN")), (4, ("<here>", "TURN"))]
)
def test_what_stands_at_a_depth_is_in_the_prompt_before_anybody_has_said_anything(
    depth: int, listed: tuple[str, ...]
) -> None:
    turn = replace(closing(), source="turn", text="TURN")
    request = Request(project_id=PROJECT, recipe="chat", window=8192, preset=Preset(nodes=(note("here", depth=depth),)))
    in_order(Engine().assemble(request, fragments=[turn]), *listed)


def test_depth_zero_without_an_input_stands_behind_the_newest_message() -> None:
    given = [make_message(n, f"M{n}.") for n in range(1, 4)]
    request = Request(project_id=PROJECT, recipe="chat", window=8192, preset=Preset(nodes=(note("here", depth=0),)))
    result = Engine().assemble(request, fragments=given)
    assert result.prompt.endswith("M3.\n\n<here>")


def test_a_higher_order_comes_first_and_equals_keep_the_order_of_the_list() -> None:
    nodes = (
        note("c", depth=1),
        note("d", depth=1),
        note("a", depth=1, order=200),
        note("e", depth=1, order=1),
        note("b", depth=1, order=101),
    )
    in_order(talk(*nodes), "M4.", "<a>", "<b>", "<c>", "<d>", "<e>", "The input.")


@pytest.mark.parametrize("anchor", [layer.value for layer in Layer])
def test_a_message_can_stand_on_either_side_of_a_layer(anchor: str) -> None:
    texts = {"rules": "A rule.", "settings": "A setting.", "retrieved": "A passage.", "immediate": "A scene."}
    result = talk(
        note("behind", anchor_target=anchor), note("in front", anchor_target=anchor, anchor_position="before")
    )
    in_order(result, "<in front>", texts[anchor], "<behind>")


def test_a_message_beside_the_conversation_stands_outside_all_of_it() -> None:
    result = talk(
        note("behind", anchor_target="chat_history"),
        note("in front", anchor_target="chat_history", anchor_position="before"),
    )
    in_order(result, "A scene.", "<in front>", "M1.", "M4.", "The input.", "<behind>")


def test_a_message_beside_an_empty_layer_still_stands_there() -> None:
    request = Request(
        project_id=PROJECT, recipe="chat", preset=Preset(nodes=(note("here", anchor_target="retrieved"),))
    )
    result = Engine().assemble(request, fragments=[rule("A rule."), closing()])
    in_order(result, "A rule.", "<here>", "The input.")


def test_depth_outranks_anchor() -> None:
    in_order(talk(note("here", depth=1, anchor_target="rules")), "M4.", "<here>", "The input.")


def test_own_anchors_are_places_too() -> None:
    nodes = (
        note("behind", anchor_target="world_info"),
        Node(type="placeholder", id="world_info", content="<world>"),
        note("in front", anchor_target="world_info", anchor_position="before"),
    )
    in_order(talk(*nodes), "<in front>", "<world>", "<behind>", "A rule.")


def test_available_anchors_are_the_built_in_ones_and_the_presets_own() -> None:
    built_in = {"chat_history", "user_profile", "character", "rules", "settings", "retrieved", "immediate"}
    assert set(available_anchors(Preset(nodes=()))) == built_in
    own = Preset(nodes=(Node(type="placeholder", id="world_info"), Node(type="placeholder", id="rules")))
    assert set(available_anchors(own)) == {*built_in, "world_info"}


@pytest.mark.parametrize("anchor", available_anchors(Preset(nodes=())))
def test_every_anchor_that_is_listed_as_available_is_there(anchor: str) -> None:
    result = talk(note("here", anchor_target=anchor))
    assert result.warnings == ()
    assert "<here>" in result.prompt


@pytest.mark.parametrize("target", ["attic", "world_info"], ids=["missing", "disabled"])
def test_without_its_anchor_a_message_stays_where_it_stands_in_the_list(target: str) -> None:
    off = Node(type="placeholder", id="world_info", enabled=False)
    result = talk(note("first"), note("here", anchor_target=target), off, note("last"))
    in_order(result, "<first>", "<here>", "<last>", "A rule.")
    assert target in warned(Code.PRESET_ANCHOR_MISSING, result)


def test_a_fragment_with_a_placement_stands_there_and_not_in_its_layer() -> None:
    lore = replace(chunk("<lore>", 0.9, source="book:1"), placement=Placement(depth=1))
    beside = replace(chunk("<beside>", 0.9, source="book:2"), placement=Placement(anchor="settings", side="before"))
    result = talk(more=(lore, beside))
    in_order(result, "A rule.", "<beside>", "A setting.", "A passage.", "M4.", "<lore>", "The input.")
    assert verdicts(result)["book:1"].reason is Reason.KEPT
    assert result.layers[Layer.RETRIEVED].chunks == 3


def test_a_fragment_whose_anchor_is_missing_is_told_and_marked_so() -> None:
    lore = replace(chunk("<lore>", 0.9, source="book:1"), placement=Placement(anchor="attic"))
    result = talk(more=(lore,))
    assert "<lore>" in result.prompt
    assert verdicts(result)["book:1"].reason is Reason.ANCHOR_MISSING
    assert codes(result) == ["PRESET_ANCHOR_MISSING"]


def test_injections_are_reserved_and_the_history_is_cut_for_them() -> None:
    long = note("here", depth=1)
    long = replace(long, content=sized(500, seed=99))
    without = talk(messages=0, window=2048)
    given = [make_message(n, sized(120, seed=n)) for n in range(1, 31)]
    request = Request(project_id=PROJECT, recipe="chat", window=2048, preset=Preset(nodes=(long,)))
    result = Engine().assemble(request, fragments=[*given, closing()])
    check_result(result)
    assert sized(500, seed=99) in result.prompt
    assert sized(120, seed=30) in result.prompt
    assert sized(120, seed=1) not in result.prompt
    assert result.prompt.index(sized(500, seed=99)) < result.prompt.index("The input.")
    assert without.token_count < result.token_count


def test_preset_messages_are_reported_beside_the_layers() -> None:
    with_one, without = talk(note("a note that costs something", depth=1)), talk()
    assert without.preset_tokens == 0
    assert with_one.preset_tokens > 0
    assert with_one.layers[Layer.RULES].tokens == without.layers[Layer.RULES].tokens


def test_depth_and_anchors_behind_the_prefix_do_not_move_it() -> None:
    plain = talk()
    for node in (
        note("x", depth=1),
        note("x", depth=99),
        note("x", anchor_target="retrieved", anchor_position="before"),
    ):
        assert talk(node).stable_prefix_hash == plain.stable_prefix_hash
    for node in (note("x", anchor_target="rules"), note("x", anchor_target="settings"), note("x")):
        assert talk(node).stable_prefix_hash != plain.stable_prefix_hash


def test_the_current_input_stands_exactly_once_and_last() -> None:
    result = talk(messages=8)
    assert result.prompt.endswith("The input.")
    assert result.prompt.count("The input.") == 1


def test_session_details_stand_behind_the_stable_prefix_and_only_when_given() -> None:
    session = {"timezone": "Asia/Shanghai", "device": "desk", "local time": "21:07"}
    without = engine().assemble(ask(), story())
    result = engine().assemble(ask(session=session), story())
    assert "Asia/Shanghai" not in without.prompt
    assert result.stable_prefix_hash == without.stable_prefix_hash
    stable = sum(message.stable for message in result.messages)
    assert result.prompt.index("Asia/Shanghai") > stable
    assert result.prompt.index("Asia/Shanghai") < result.prompt.index("你现在是作者。")
    check_result(result)


def test_what_is_on_the_desk_is_offered_as_perhaps_not_relevant() -> None:
    state = Fragment(
        source="working:1", layer=Layer.IMMEDIATE, text="刚打开过第二章。", project_id=PROJECT, part=Part.EDITOR_STATE
    )
    result = engine().assemble(ask(), story(), fragments=[state])
    heading, body = "[案头状态，未必相关，请自行判断]", "刚打开过第二章。"
    assert result.prompt.index(heading) < result.prompt.index(body)


def test_layers_stand_in_one_order_whatever_the_order_of_fragments() -> None:
    given = [closing(), make_message(1, "M1."), chunk("A passage.", 0.9), setting("A setting."), rule("A rule.")]
    for some in (given, given[::-1]):
        result = Engine().assemble(Request(project_id=PROJECT, recipe="chat"), fragments=some)
        in_order(result, "A rule.", "A setting.", "A passage.", "M1.", "The input.")


@pytest.mark.parametrize("nodes", [(), (Node(id="note", content="NOTE"),), (Node(type="placeholder", id="rules"),)])
def test_a_recipe_whose_preset_lacks_layers_gets_them_before_the_conversation(nodes: tuple[Node, ...]) -> None:
    recipe = replace(NOVEL, name="bare", preset=Preset(nodes=nodes))
    fragments = [
        Fragment(source=f"x:{layer}", layer=layer, text=f"TEXT OF {layer.upper()}.", project_id=PROJECT)
        for layer in Layer
    ]
    request = Request(project_id=PROJECT, recipe="bare", additional_input="GO ON.")
    prompt = Engine(recipes={"bare": recipe}).assemble(request, fragments=fragments).prompt
    places = [prompt.index(text) for text in (*(fragment.text for fragment in fragments), "GO ON.")]
    assert places == sorted(places)


def test_messages_of_a_recipes_own_preset_are_not_added_to_the_preset_of_a_request() -> None:
    recipe = Preset(nodes=(Node(id="own", content="OWN"), Node(type="chat_history")))
    assert "own" not in [node.id for node in complete_preset(Preset(nodes=()), recipe).nodes]
