"""What a program without type checks may hand to an engine: refused with a code, or read as what it says."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fabula.context import (
    Attachment,
    Code,
    Engine,
    FabulaError,
    Fragment,
    FunctionSource,
    Perspective,
    Principal,
    Reason,
    Request,
    View,
)
from fabula.context.recipes import NOVEL, Condition, InjectionStrategy, Node, Preset, Recipe
from fabula.context.request import SourceRequest
from tests.context.bad import SAME, refuses, unharmed
from tests.context.builders import ask, chunk, engine, refused


def test_negative_added_tokens_are_refused_and_the_budget_stays_exact() -> None:
    error = refuses(Code.REQUEST_INVALID, added_tokens=-100_000)
    assert "`added_tokens` must be at least 0" in error.sentence


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": "8192"},
        {"window": float("nan")},
        {"window": 8192.5},
        {"reply_tokens": "x"},
        {"model": None},
        {"model": 3},
        {"additional_input": None},
        {"identity": 4},
        {"attachments": "x"},
        {"attachments": (Attachment(id="a", kind="image", tokens="many"),)},  # type: ignore[arg-type]
        {"preset": {"nodes": [{"role": "wizard"}]}},
        {"perspective": "everybody"},
        {"selection": (5,)},
        {"reader_language": "fr"},
        {"late_joiners": "no"},
        {"include": "Mara"},
        {"session": []},
        {"principal": "alice"},
    ],
    ids=str,
)
def test_a_request_with_a_value_of_another_type_is_refused_with_the_name_of_its_field(wrong: dict[str, Any]) -> None:
    name = next(iter(wrong))
    named = {"attachments": ("attachments", "tokens"), "preset": ("role",)}.get(name, (name,))
    assert any(one in refuses(Code.REQUEST_INVALID, **wrong).sentence for one in named)


@pytest.mark.parametrize("what", [{"project_id": "p"}, None, "p"])
def test_what_is_no_request_is_refused(what: Any) -> None:
    assembler = engine()
    refused(Code.REQUEST_INVALID, lambda: assembler.assemble(what, SAME))
    refused(Code.REQUEST_INVALID, lambda: assembler.inspect(what, SAME))
    unharmed(assembler)


def test_a_perspective_by_its_name_and_lists_in_place_of_tuples_are_read() -> None:
    loose: Any = {"perspective": "author", "include": ["Mara"]}
    exact = engine().assemble(ask(perspective=Perspective.AUTHOR, include=("Mara",)), SAME)
    result = engine().assemble(ask(**loose), SAME)
    assert result.vantage == exact.vantage
    assert result.messages == exact.messages


def test_a_preset_as_a_table_is_read_as_json_is() -> None:
    table: Any = {"nodes": [{"role": "user", "content": "Be brief."}]}
    assert "Be brief." in engine().assemble(ask(preset=table), SAME).prompt


@pytest.mark.parametrize(
    ("node", "names"),
    [
        (Node(content="Go.", injection_strategy=InjectionStrategy(anchor_position="left")), "'left'"),  # type: ignore[arg-type]
        (Node(content="Go.", injection_strategy=InjectionStrategy(depth="2")), "depth"),  # type: ignore[arg-type]
        (Node(content="Go.", role="wizard"), "'wizard'"),  # type: ignore[arg-type]
        (Node(content="Go.", type="zz"), "'zz'"),  # type: ignore[arg-type]
        (Node(content=None), "content"),  # type: ignore[arg-type]
        (Node(content="Go.", enabled="no"), "enabled"),  # type: ignore[arg-type]
        (Node(content="Go.", condition=Condition(logic="zz")), "'zz'"),  # type: ignore[arg-type]
        (Node(content="Go.", condition=Condition(keywords="Go.")), "keywords"),  # type: ignore[arg-type]
        ("Go.", "nodes"),
    ],
    ids=str,
)
def test_a_preset_made_in_python_is_validated_as_json_is(node: Any, names: str) -> None:
    error = refuses(Code.PRESET_INVALID, preset=Preset(nodes=(node,), title="Mine"))
    assert "Mine" in error.sentence
    assert names in error.sentence


def test_a_preset_is_completed_once_and_a_changed_one_anew() -> None:
    assembler = engine()
    for words in ("Be brief.", "Be kind."):
        preset = Preset(nodes=(Node(content=words),))
        for _ in range(2):
            assert words in assembler.assemble(ask(preset=preset), SAME).prompt


def test_two_sources_of_one_name_are_refused() -> None:
    sources = [FunctionSource(name="lore", function=lambda request, view: []) for _ in range(2)]
    error = refused(Code.REQUEST_INVALID, lambda: Engine(sources))
    assert "'lore'" in error.sentence


def test_the_second_fragment_of_a_source_is_left_out_for_that_reason() -> None:
    first, second = chunk("The sea is cold.", 0.9, source="mine"), chunk("The sky is red.", 0.8, source="mine")
    result = engine().assemble(ask(), SAME, fragments=[first, second])
    left_out = next(one for one in result.trace if one.text == "The sky is red.")
    assert left_out.reason is Reason.SAME_SOURCE
    assert "same source" in left_out.sentence


def test_what_is_no_fragment_no_continuity_and_no_view_is_refused() -> None:
    assembler = engine()
    text: Any = "a"
    nothing: Any = None
    refused(Code.FRAGMENT_INVALID, lambda: assembler.assemble(ask(), SAME, fragments=[text]))
    refused(Code.REQUEST_INVALID, lambda: assembler.assemble(ask(), SAME, continuity=nothing))
    refused(Code.REQUEST_INVALID, lambda: assembler.assemble(ask(), text))
    unharmed(assembler)


def test_settings_and_names_of_another_type_are_refused() -> None:
    nothing: Any = None
    refused(Code.REQUEST_INVALID, lambda: Engine(settings=nothing))
    refused(Code.REQUEST_INVALID, lambda: engine().assemble(ask(), SAME).explain(nothing))


@pytest.mark.parametrize("user", ["", None, 3])
def test_a_principal_without_a_user_is_refused(user: Any) -> None:
    with pytest.raises(FabulaError) as caught:
        Principal(user)
    assert caught.value.code is Code.REQUEST_INVALID
    with pytest.raises(FabulaError):
        replace(Request(project_id="p").principal, user=user)


def test_the_warning_of_a_source_that_fails_names_the_type_of_the_error() -> None:
    def fail(request: SourceRequest, view: View) -> list[Fragment]:
        raise ZeroDivisionError("of the story")

    recipe = Recipe(name="mine", preset=NOVEL.preset, sources=("lore",))
    assembler = Engine([FunctionSource(name="lore", function=fail)], recipes={"mine": recipe})
    result = assembler.assemble(Request(project_id="p", recipe="mine"))
    assert any("lore could not be read (ZeroDivisionError)" in warning for warning in result.warnings)
    assert not any("of the story" in warning for warning in result.warnings)


def test_the_warning_of_a_source_with_a_malformed_fragment_has_its_code() -> None:
    recipe = Recipe(name="mine", preset=NOVEL.preset, sources=("lore",))
    odd: Any = lambda request, view: "A gale."  # noqa: E731
    assembler = Engine([FunctionSource(name="lore", function=odd)], recipes={"mine": recipe})
    result = assembler.assemble(Request(project_id="p", recipe="mine"))
    assert any("lore could not be read (CONTEXT_FRAGMENT_INVALID)" in warning for warning in result.warnings)


def test_what_is_no_source_is_refused_with_what_makes_one() -> None:
    def offer_weather(request: SourceRequest, view: View) -> list[Fragment]:
        return []

    for odd in (offer_weather, "weather", FunctionSource(name="", function=offer_weather)):
        with pytest.raises(FabulaError, match="FunctionSource") as caught:
            Engine([odd])  # type: ignore[list-item]
        assert caught.value.code is Code.REQUEST_INVALID
