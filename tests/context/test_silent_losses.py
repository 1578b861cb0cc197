"""Nothing is dropped in silence (ctx-14): input, sources, names in recipes, preset fields, failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

import msgspec
import pytest
from msgspec.structs import replace

import fabula.context
from fabula.context import (
    Code,
    Condition,
    Engine,
    EngineSettings,
    FabulaError,
    Fragment,
    FunctionSource,
    Layer,
    Limits,
    Node,
    Part,
    Preset,
    Recipe,
    Request,
    Result,
    SourceRequest,
    View,
)
from fabula.context.recipes import NOVEL, RECIPES
from fabula.core.decoding import explain_decode_error
from fabula.presets.edits import parse_preset
from fabula.workspace.sources import all_sources
from tests.context.builders import PROJECT, ask, chunk, story

REQUEST = Request(project_id=PROJECT, window=8192, additional_input="Write on, in the rain.")
NOTE = chunk("The lamp is out.", 0.9, source="notes:1")


def instruction(text: str) -> Fragment:
    return Fragment(
        source="skill:own", layer=Layer.IMMEDIATE, text=text, project_id=PROJECT, part=Part.INSTRUCTION, role="user"
    )


def message(text: str, number: int = 1) -> Fragment:
    return Fragment(
        source=f"history:{number}", layer=Layer.IMMEDIATE, text=text, project_id=PROJECT, part=Part.HISTORY, role="user"
    )


def notes(source_request: SourceRequest, view: View) -> list[Fragment]:
    return [NOTE]


def with_source(
    source: FunctionSource, *, sources: Sequence[str] | None = None, limits: Limits | None = None
) -> Engine:
    """An engine with one source, and a recipe that names it or others."""
    recipe = Recipe(name="novel", preset=NOVEL.preset, sources=(source.name,) if sources is None else tuple(sources))
    return Engine([source], recipes={"novel": recipe}, settings=EngineSettings(limits=limits or Limits()))


def codes(result: Result) -> list[str]:
    return [warning.partition(":")[0] for warning in result.warnings]


# Input


def test_input_that_no_source_renders_is_the_last_user_message() -> None:
    result = Engine().assemble(REQUEST, fragments=[NOTE])
    last = result.messages[-1]
    assert last.role == "user"
    assert last.content.endswith("Write on, in the rain.")
    assert result.prompt.count("Write on, in the rain.") == 1
    (verdict,) = result.explain("input")
    assert verdict.included


@pytest.mark.parametrize("recipe", RECIPES)
def test_input_is_rendered_by_every_recipe(recipe: str) -> None:
    result = Engine(all_sources()).assemble(replace(REQUEST, recipe=recipe, skill_id="continue"), story())
    assert result.prompt.count("Write on, in the rain.") == 1


@pytest.mark.parametrize("given", [instruction("Write on, in the rain."), message("Write on, in the rain.\n")])
def test_input_that_was_handed_in_is_not_rendered_twice(given: Fragment) -> None:
    result = Engine().assemble(REQUEST, fragments=[given])
    assert result.prompt.count("Write on, in the rain.") == 1


def test_input_that_an_older_message_says_too_is_rendered() -> None:
    talk = [message("Write on, in the rain."), message("Stop.", 2)]
    assert Engine().assemble(REQUEST, fragments=talk).prompt.count("Write on, in the rain.") == 2


def test_a_source_may_say_that_it_renders_the_input() -> None:
    def rendered(source_request: SourceRequest, view: View) -> list[Fragment]:
        return [instruction(f"Do this: {source_request.request.additional_input}")]

    for renders_input in (True, False):
        source = FunctionSource(name="own", function=rendered, renders_input=renders_input)
        count = with_source(source).assemble(REQUEST).prompt.count("Write on, in the rain.")
        assert count == (1 if renders_input else 2)


def test_a_failing_source_does_not_take_the_input_with_it() -> None:
    def failing(source_request: SourceRequest, view: View) -> list[Fragment]:
        raise OSError

    source = FunctionSource(name="own", function=failing, renders_input=True)
    assert with_source(source).assemble(REQUEST).prompt.count("Write on, in the rain.") == 1


def test_empty_input_renders_nothing() -> None:
    result = Engine().assemble(replace(REQUEST, additional_input=" \n"), fragments=[NOTE])
    assert result.explain("input") == []


# Sources and recipes


def test_a_source_that_no_recipe_names_is_a_warning_with_the_nearest_name() -> None:
    result = Engine([FunctionSource(name="serch", function=notes)]).assemble(REQUEST)
    (warning,) = result.warnings
    assert warning.startswith(Code.SOURCE_NOT_IN_RECIPE.value)
    assert "'serch'" in warning
    assert "'search'" in warning


def test_a_recipe_that_names_a_missing_source_is_a_warning_with_the_nearest_name() -> None:
    engine = with_source(FunctionSource(name="notes", function=notes), sources=("notes", "note", "weather"))
    near, far = engine.assemble(REQUEST).warnings
    assert near.startswith(Code.RECIPE_SOURCE_MISSING.value)
    assert "'note'" in near
    assert "'notes'" in near
    assert "'weather'" in far
    assert "?" not in far


def test_the_warnings_are_in_the_language_of_the_project() -> None:
    (warning,) = Engine([FunctionSource(name="serch", function=notes)]).assemble(ask(), story()).warnings
    assert "来源" in warning
    assert "search" in warning


def test_an_engine_without_sources_does_not_warn() -> None:
    assert Engine().assemble(REQUEST, fragments=[NOTE]).warnings == ()


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_own_sources_and_recipes_do_not_warn(recipe: str) -> None:
    assert codes(Engine(all_sources()).assemble(ask(recipe=recipe), story())) == []


def test_some_of_the_own_sources_are_enough() -> None:
    assert Engine([FunctionSource(name="codex", function=notes)]).assemble(REQUEST).warnings == ()


# Presets


def test_everything_a_preset_needs_is_exported() -> None:
    for name in (
        "Condition",
        "InjectionStrategy",
        "Node",
        "Preset",
        "Recipe",
        "Role",
        "UserProfile",
        "available_anchors",
    ):
        assert name in fabula.context.__all__
        assert hasattr(fabula.context, name)
    preset = Preset(nodes=(Node(content="Only in the rain.", condition=Condition(keywords=("rain",))),))
    assert "Only in the rain." in Engine().assemble(replace(REQUEST, preset=preset)).prompt


def test_every_exported_name_exists_once() -> None:
    assert len(set(fabula.context.__all__)) == len(fabula.context.__all__)
    assert all(hasattr(fabula.context, name) for name in fabula.context.__all__)


@pytest.mark.parametrize(
    ("written", "nearest"),
    [
        ('{"nods": []}', "nodes"),
        ('{"nodes": [{"contnet": "x"}]}', "content"),
        ('{"nodes": [{"injectionStrategy": {"dept": 1}}]}', "depth"),
        ('{"nodes": [{"condition": {"keyword": ["x"]}}]}', "keywords"),
    ],
)
def test_an_unknown_field_of_a_preset_is_refused_with_the_nearest_name(written: str, nearest: str) -> None:
    with pytest.raises(FabulaError) as refusal:
        parse_preset(written)
    assert refusal.value.code is Code.PRESET_INVALID
    assert repr(nearest) in refusal.value.sentence
    with pytest.raises(msgspec.ValidationError) as problem:
        msgspec.json.decode(written, type=Preset)
    assert str(explain_decode_error(problem.value, Preset)).endswith(f"the nearest is {nearest!r}")


# Coroutine functions


async def later(source_request: SourceRequest, view: View) -> list[Fragment]:
    await asyncio.sleep(0.001)
    return [NOTE]


async def streamed(source_request: SourceRequest, view: View) -> AsyncIterator[Fragment]:
    await asyncio.sleep(0.001)
    yield NOTE


class AsyncSource:
    """A class whose `fragments` is a coroutine function, though it does not say that it blocks."""

    name = "own"
    unavailable_code = Code.SOURCE_UNAVAILABLE
    blocking = False
    runs_first = False

    async def fragments(self, source_request: SourceRequest, view: View) -> list[Fragment]:
        return await later(source_request, view)

    def explain_omitted(self, source_request: SourceRequest, view: View) -> tuple[()]:
        return ()


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("function", [later, streamed])
def test_a_coroutine_function_is_awaited(function: object, blocking: bool) -> None:
    source = FunctionSource(name="own", function=function, blocking=blocking)  # type: ignore[arg-type]
    result = with_source(source).assemble(REQUEST)
    assert result.warnings == ()
    assert NOTE.text in result.prompt


def test_a_source_whose_method_is_a_coroutine_function_is_awaited() -> None:
    recipe = Recipe(name="novel", preset=NOVEL.preset, sources=("own",))
    result = Engine([AsyncSource()], recipes={"novel": recipe}).assemble(REQUEST)
    assert result.warnings == ()
    assert NOTE.text in result.prompt


def test_a_coroutine_function_is_awaited_inside_an_event_loop() -> None:
    engine = with_source(FunctionSource(name="own", function=later))

    async def assemble() -> Result:
        return engine.assemble(REQUEST)

    assert NOTE.text in asyncio.run(assemble()).prompt


def test_a_coroutine_function_has_a_deadline() -> None:
    async def endless(source_request: SourceRequest, view: View) -> list[Fragment]:
        await asyncio.sleep(60)
        return [NOTE]

    engine = with_source(FunctionSource(name="own", function=endless), limits=Limits(source_seconds=0.05))
    assert codes(engine.assemble(REQUEST)) == [Code.SOURCE_UNAVAILABLE.value]


# Failures


def recite(text: str) -> list[Fragment]:
    raise ValueError(f"cannot parse {text!r}")


@pytest.mark.parametrize("blocking", [False, True])
def test_a_failure_is_logged_with_its_stack_and_without_story_text(
    blocking: bool, caplog: pytest.LogCaptureFixture
) -> None:
    source = FunctionSource(
        name="own", function=lambda request, view: recite("the secret of the lamp"), blocking=blocking
    )
    with caplog.at_level(logging.DEBUG, "fabula"):
        with_source(source).assemble(REQUEST)
    (record,) = [record for record in caplog.records if "own" in record.getMessage()]
    line = record.getMessage()
    assert "ValueError" in line
    assert f"test_silent_losses.py:{recite.__code__.co_firstlineno + 1}:recite" in line
    assert record.exc_info is None
    assert "lamp" not in caplog.text


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (Code.SOURCE_UNAVAILABLE, "own"),
        (Code.KG_UNAVAILABLE, "own"),
        (Code.RETRIEVAL_UNAVAILABLE, "synopses"),
        (Code.RETRIEVAL_NOT_READY, "own"),
    ],
)
def test_a_failing_source_is_named_in_the_warning(code: Code, name: str) -> None:
    def failing(source_request: SourceRequest, view: View) -> list[Fragment]:
        raise OSError

    (warning,) = (
        with_source(FunctionSource(name=name, function=failing, unavailable_code=code)).assemble(REQUEST).warnings
    )
    assert warning.startswith(f"{code.value}: ")
    assert name in warning


def test_the_warning_of_the_codex_is_the_sentence_of_the_specification() -> None:
    def failing(source_request: SourceRequest, view: View) -> list[Fragment]:
        raise OSError

    source = FunctionSource(name="codex", function=failing, unavailable_code=Code.KG_UNAVAILABLE)
    assert with_source(source).assemble(ask(), story()).warnings == ("KG_UNAVAILABLE: 知识图谱数据未注入",)
