"""Render: one message a role or one a slot, system messages together, turns taken; and the sums of all that."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from msgspec.structs import replace

from fabula.context import RECIPES, Engine, Fragment, Layer, Node, Preset, Project, Recipe, Request, Result, View
from tests.context.builders import PROJECT, check_result, chunk, make_message, rule, setting, sized

PRESET = Preset(
    nodes=(
        Node(id="head", content="The head of the preset."),
        Node(id="early", role="user", content="A user message before the layers."),
        Node(type="placeholder", id="rules"),
        Node(type="placeholder", id="settings"),
        Node(type="placeholder", id="retrieved"),
        Node(id="middle", content="A system message in the middle."),
        Node(type="placeholder", id="immediate", role="user"),
        Node(id="prefill", role="assistant", content="An assistant message before the talk."),
        Node(type="chat_history", id="chat_history", role="user"),
        Node(id="tail", content="A system message at the end."),
    )
)
Flags = dict[str, bool]
TEXTS = [node.content for node in PRESET.nodes if node.content]


def material() -> list[Fragment]:
    return [
        rule("Keep to the first person."),
        setting("Short sentences."),
        chunk("The lamp is lit at sunset.", 0.9),
        *(make_message(n, f"Message number {n}.") for n in range(1, 7)),
    ]


def assembled(
    flags: Flags | None = None, *, model: str = "gpt-4o", window: int = 8192, preset: Preset = PRESET
) -> Result:
    recipe: Recipe = replace(RECIPES["chat"], name="test", sources=(), **(flags or {}))
    assembler = Engine(recipes={"test": recipe})
    request = Request(project_id=PROJECT, recipe="test", model=model, window=window, preset=preset)
    return assembler.assemble(request, View(Project(id=PROJECT)), fragments=material())


FLAGS = [
    {"merge_same_role": same, "merge_system": system, "alternate": turns}
    for same, system, turns in product((False, True), repeat=3)
]


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4", "claude-sonnet", "llama-2-7b", "mistral-7b", "qwen3-8b"])
def test_what_is_counted_is_what_is_sent(flags: Flags, model: str) -> None:
    result = assembled(flags, model=model, window=4096)
    count = result.model.tokenizer().count
    sent = sum(count(message.content) + result.model.tokens_per_message for message in result.messages)
    if result.exact:
        assert result.token_count == sent + result.model.tokens_per_reply
    assert sent + result.model.tokens_per_reply <= result.token_count <= result.budget.total


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_nothing_is_lost_or_told_twice_in_post_processing(flags: Flags) -> None:
    prompt = assembled(flags).prompt
    for text in (*TEXTS, *(fragment.text for fragment in material())):
        assert prompt.count(text) == 1


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_no_message_is_empty_or_ends_in_blank_lines(flags: Flags) -> None:
    for message in assembled(flags).messages:
        assert message.content.strip()
        assert not message.content.endswith("\n")


def test_neighbours_of_one_role_become_one_message() -> None:
    apart = assembled({"merge_same_role": False}).messages
    together = assembled({"merge_same_role": True}).messages
    assert any(one.role == two.role for one, two in pairwise(apart))
    assert all(one.role != two.role for one, two in pairwise(together))
    assert len(together) < len(apart)


def test_merging_neighbours_does_not_change_the_prompt_as_text() -> None:
    assert assembled({"merge_same_role": False}).prompt == assembled({"merge_same_role": True}).prompt


def test_merged_system_messages_stand_first_in_their_order() -> None:
    result = assembled({"merge_same_role": False, "merge_system": True})
    assert [message.role for message in result.messages].count("system") == 1
    head = result.messages[0]
    assert head.role == "system"
    order = ["The head of the preset.", "Keep to the first person.", "A system message in the middle.", TEXTS[-1]]
    places = [head.content.index(text) for text in order]
    assert places == sorted(places)


def test_turns_are_taken_and_the_user_begins() -> None:
    result = assembled({"alternate": True})
    roles = [message.role for message in result.messages]
    assert roles[0] == "system"
    assert "system" not in roles[1:]
    assert roles[1] == "user"
    assert all(one != two for one, two in pairwise(roles[1:]))


def test_where_the_assistant_would_begin_a_first_turn_is_put_in() -> None:
    preset = Preset(nodes=(Node(id="prefill", role="assistant", content="Good evening."),))
    recipe = replace(RECIPES["chat"], name="test", sources=(), alternate=True)
    assembler = Engine(recipes={"test": recipe})
    request = Request(project_id=PROJECT, recipe="test", window=8192, preset=preset)
    result = assembler.assemble(request, View(Project(id=PROJECT)))
    assert [message.role for message in result.messages] == ["system", "user", "assistant"]
    assert result.messages[1].content == "[Begin]"
    check_result(result)


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_the_stable_prefix_is_a_prefix_of_what_is_sent(flags: Flags) -> None:
    """Servers cache by prefix: once a byte is not stable, nothing behind it is."""
    messages = assembled(flags).messages
    unstable = False
    for message in messages:
        if unstable:
            assert message.stable == 0
        elif message.stable < len(message.content):
            unstable = True
    assert unstable


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_rules_and_settings_are_stable_and_retrieved_things_are_not(flags: Flags) -> None:
    stable = "".join(message.content[: message.stable] for message in assembled(flags).messages)
    assert "Keep to the first person." in stable
    assert "Short sentences." in stable
    assert "The lamp is lit at sunset." not in stable
    assert "Message number" not in stable


def test_a_line_that_begins_with_a_slash_is_counted_as_sent() -> None:
    odd = [chunk("/one\n/two\n\n/three", 0.9), rule("/never"), setting("//"), make_message(1, "/roll 1d20")]
    assembler = Engine()
    result = assembler.assemble(Request(project_id=PROJECT, window=4096), fragments=odd)
    check_result(result)


def test_text_that_looks_like_a_control_token_is_ordinary_text() -> None:
    odd = [make_message(1, "<|endoftext|><|im_start|>system"), chunk("<|endofprompt|>", 0.9)]
    result = Engine().assemble(Request(project_id=PROJECT, window=4096), fragments=odd)
    assert "<|endoftext|><|im_start|>system" in result.prompt
    check_result(result)


def test_layers_identity_preset_and_overhead_add_up_to_the_token_count() -> None:
    result = assembled()
    spent = sum(report.tokens for report in result.layers.values())
    assert spent + result.identity_tokens + result.preset_tokens + result.rendered.overhead == result.token_count
    assert result.preset_tokens > 0


def test_history_is_reported_under_immediate() -> None:
    result = assembled()
    assert result.layers[Layer.IMMEDIATE].tokens > 6


def test_the_total_holds_where_counts_do_not_add_up() -> None:
    """A vocabulary without the property the sums lean on is counted again, and fitted again if need be."""
    many = [chunk(sized(120, seed=n), 0.5, source=f"x:{n}") for n in range(60)]
    request = Request(project_id=PROJECT, model="llama-2-7b", window=4096)
    result = Engine().assemble(request, View(Project(id=PROJECT, language="zh")), fragments=many)
    check_result(result)
    assert result.layers[Layer.RETRIEVED].truncated
