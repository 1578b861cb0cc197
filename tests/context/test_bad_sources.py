"""Bad fragments and bad sources: the code, a sentence that helps, and nothing half done."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabula.context import (
    Code,
    Engine,
    EngineSettings,
    FabulaError,
    Fragment,
    FunctionSource,
    Layer,
    Limits,
    Project,
    Reason,
    Request,
    Result,
    Source,
    View,
)
from fabula.context.recipes import NOVEL
from fabula.context.request import SourceRequest
from fabula.manuscript.model import Document
from fabula.workspace.sources import all_sources
from tests.context.bad import GOOD, SAME, good, unharmed
from tests.context.builders import (
    PROJECT,
    RULES,
    Failing,
    ask,
    check_result,
    chunk,
    codes,
    engine,
    included,
    refused,
    story,
    verdicts,
    warned,
)

# Fragments


@pytest.mark.parametrize("score", [-0.1, float("nan"), float("inf"), -float("inf"), True, "0.5", None])
def test_a_score_that_is_no_score_is_refused(score: object) -> None:
    error = refused_fragment(score=score)
    assert "score" in error.sentence


def refused_fragment(**fields: object) -> FabulaError:
    wishes: dict[str, Any] = {"source": "x:1", "layer": Layer.RETRIEVED, "text": "文", "project_id": PROJECT, **fields}
    with pytest.raises(FabulaError) as caught:
        Fragment(**wishes)
    assert caught.value.code is Code.FRAGMENT_INVALID
    assert len(caught.value.sentence) > 30
    return caught.value


@pytest.mark.parametrize(
    "fields",
    [
        {"source": ""},
        {"source": None},
        {"text": None},
        {"text": b"bytes"},
        {"text": "half \ud83d"},
        {"project_id": ""},
        {"layer": "rules"},
        {"layer": "attic"},
        {"token_count": -1},
        {"token_count": 1.5},
        {"since": "ch-03"},
        {"until": 3},
        {"known_to": "mara"},
        {"known_to": 5},
        {"derived_from": 3},
        {"title": None},
        {"role": "robot"},
        {"part": "attic"},
        {"tier": 99},
        {"tier": "user"},
        {"placement": {"depth": 1}},
    ],
    ids=lambda fields: (
        "-".join(f"{key}={value!r}" for key, value in fields.items()).encode("ascii", "replace").decode()
    ),
)
def test_a_fragment_of_the_wrong_shape_is_refused(fields: dict[str, object]) -> None:
    refused_fragment(**fields)


def offering(call: Callable[[SourceRequest, View], object], *, blocking: bool = False) -> FunctionSource:
    """The search replaced by a function that answers whatever it likes."""
    return FunctionSource(
        name="search",
        function=cast("Callable[[SourceRequest, View], Iterable[Fragment]]", call),
        unavailable_code=Code.RETRIEVAL_UNAVAILABLE,
        blocking=blocking,
    )


def left_out(source: Source, *, limits: Limits | None = None, **wishes: object) -> Result:
    """The source costs its own fragments and a warning; everything else is there."""
    settings = EngineSettings(limits=limits) if limits else EngineSettings()
    assembler = engine(instead=[source], settings=settings)
    result = assembler.assemble(ask(**wishes), SAME)
    warned(Code.RETRIEVAL_UNAVAILABLE, result)
    assert not [name for name in included(result) if name.startswith("search:")]
    assert {f"constraint:{one.id}" for one in RULES} <= included(result)
    dead = engine(instead=[Failing(name="search", unavailable_code=Code.RETRIEVAL_UNAVAILABLE)]).assemble(
        ask(**wishes), SAME
    )
    assert result.messages == dead.messages
    check_result(result)
    return result


def a_wrong_fragment(**fields: object) -> Iterator[Fragment]:
    yield chunk("先给一个好的。", 0.9)
    wishes: dict[str, Any] = {"source": "x:1", "layer": Layer.RETRIEVED, "text": "文", "project_id": PROJECT, **fields}
    yield Fragment(**wishes)


@pytest.mark.parametrize("fields", [{"score": float("nan")}, {"score": -1}, {"token_count": -5}, {"text": 7}])
@pytest.mark.parametrize("waits", [False, True], ids=["plain", "waiting"])
def test_a_malformed_fragment_counts_as_its_source_failing(fields: dict[str, object], waits: bool) -> None:
    left_out(offering(lambda asked, view: a_wrong_fragment(**fields), blocking=waits))


@pytest.mark.parametrize(
    "fields",
    [{"since": "ch-03"}, {"known_to": 5}, {"derived_from": 3}, {"placement": {"depth": 1}}],
    ids=["since", "known_to", "derived_from", "placement"],
)
def test_a_fragment_with_terms_of_the_wrong_type_counts_as_its_source_failing(fields: dict[str, object]) -> None:
    left_out(offering(lambda asked, view: a_wrong_fragment(**fields)))


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "　　"])
@pytest.mark.parametrize("layer", list(Layer))
def test_an_empty_text_renders_nothing_and_says_so(text: str, layer: Layer) -> None:
    empty = Fragment(source="x:empty", layer=layer, text=text, project_id=PROJECT)
    result = engine().assemble(GOOD, SAME, fragments=[empty])
    assert verdicts(result)["x:empty"].reason is Reason.EMPTY
    assert result.prompt == good().prompt


def test_an_empty_document_is_a_place_to_begin() -> None:
    view = story(documents=[Document("ch-10", "第10章", "")])
    result = engine().assemble(ask(cursor=0), view)
    assert "[光标之前的正文]" not in result.prompt
    assert result.warnings == ()
    check_result(result)


@pytest.mark.parametrize("layer", list(Layer))
def test_a_fragment_of_another_project_refuses_everything(layer: Layer, caplog: pytest.LogCaptureFixture) -> None:
    assembler = engine()
    stranger = Fragment(source="x:stranger", layer=layer, text="别处的秘密", project_id="B")
    with caplog.at_level(logging.DEBUG, "fabula"):
        error = refused(Code.SCOPE_VIOLATION, lambda: assembler.assemble(GOOD, SAME, fragments=[stranger]))
    assert "x:stranger" in error.sentence
    lines = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(lines) == 1
    assert all(word in lines[0].getMessage() for word in ("security", "x:stranger", PROJECT, "B"))
    assert "别处的秘密" not in caplog.text
    unharmed(assembler)


def test_a_fragment_of_another_project_is_not_saved_by_being_excluded_or_not_yet_known() -> None:
    stranger = replace(chunk("别处的秘密", 0.9, project="B", source="x:stranger"), known_to=frozenset({"nobody"}))
    assembler = engine()
    for wishes in (ask(), ask(exclude=("x:stranger",))):
        refused(Code.SCOPE_VIOLATION, partial(assembler.assemble, wishes, SAME, fragments=[stranger]))
        refused(Code.SCOPE_VIOLATION, partial(assembler.inspect, wishes, SAME, fragments=[stranger]))
    unharmed(assembler)


# Sources


@pytest.mark.parametrize("waits", [False, True], ids=["plain", "waiting"])
@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), KeyError("x"), MemoryError(), RecursionError(), OSError(5, "gone"), StopIteration()]
)
def test_a_source_that_raises_costs_a_warning(error: Exception, waits: bool) -> None:
    def raising(asked: SourceRequest, view: View) -> list[Fragment]:
        raise error

    left_out(offering(raising, blocking=waits))


def test_a_source_that_wants_to_end_the_process_costs_a_warning() -> None:
    def leaving(asked: SourceRequest, view: View) -> list[Fragment]:
        raise SystemExit(3)

    left_out(offering(leaving, blocking=True))


def test_a_source_that_raises_half_way_offers_nothing_at_all() -> None:
    def half(asked: SourceRequest, view: View) -> Iterator[Fragment]:
        yield chunk("前一半。", 0.9)
        raise RuntimeError("the connection broke")

    result = left_out(offering(half))
    assert "前一半。" not in result.prompt


def test_what_a_source_complains_of_reaches_neither_the_log_nor_the_warning(caplog: pytest.LogCaptureFixture) -> None:
    def telling(asked: SourceRequest, view: View) -> list[Fragment]:
        raise RuntimeError(f"cannot parse: {asked.nearby[0].text}")

    with caplog.at_level(logging.DEBUG, "fabula"):
        result = left_out(offering(telling))
    assert "时辰" not in caplog.text
    assert "时辰" not in " ".join(result.warnings)


def test_a_source_that_hangs_is_left_behind_at_the_deadline() -> None:
    release = threading.Event()

    def hanging(asked: SourceRequest, view: View) -> list[Fragment]:
        release.wait(30)
        return [chunk("来晚了。", 0.9)]

    started = time.monotonic()
    try:
        left_out(offering(hanging, blocking=True), limits=Limits(source_seconds=0.2))
    finally:
        release.set()
    assert time.monotonic() - started < 5


def test_a_source_that_hangs_again_and_again_is_no_longer_waited_on_by_new_threads() -> None:
    release = threading.Event()

    def hanging(asked: SourceRequest, view: View) -> list[Fragment]:
        release.wait(30)
        return []

    assembler = engine(
        instead=[offering(hanging, blocking=True)], settings=EngineSettings(limits=Limits(source_seconds=0.02))
    )
    before = threading.active_count()
    try:
        for _ in range(20):
            assert "RETRIEVAL_UNAVAILABLE" in codes(assembler.assemble(GOOD, SAME))
        assert threading.active_count() - before <= 10
    finally:
        release.set()
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert codes(assembler.assemble(GOOD, SAME)) == []


def endless(asked: SourceRequest, view: View) -> Iterator[Fragment]:
    for n in count():
        yield chunk(f"第{n}个。", 0.5, source=f"search:{n}")


def endless_rubbish(asked: SourceRequest, view: View) -> Iterator[object]:
    yield from count()


@pytest.mark.parametrize(
    "call",
    [
        lambda asked, view: None,
        lambda asked, view: 7,
        lambda asked, view: [1, 2, 3],
        lambda asked, view: [None],
        lambda asked, view: "a text",
        lambda asked, view: {"a": 1},
        lambda asked, view: [chunk("好的。", 0.5), "not a fragment"],
        lambda asked, view: (chunk("好的。", 0.5), None),
        lambda asked, view: [Fragment],
        endless,
        endless_rubbish,
    ],
    ids=["None", "7", "ints", "Nones", "text", "dict", "mixed", "tuple", "class", "endless", "endless rubbish"],
)
@pytest.mark.parametrize("waits", [False, True], ids=["plain", "waiting"])
def test_a_source_that_answers_rubbish_costs_a_warning(
    call: Callable[[SourceRequest, View], object], waits: bool
) -> None:
    left_out(offering(call, blocking=waits))


def test_every_source_may_fail_at_once() -> None:
    dead = [
        Failing(name=source.name, unavailable_code=source.unavailable_code, runs_first=source.runs_first)
        for source in all_sources()
        if source.name in NOVEL.sources
    ]
    assembler = Engine(dead)
    result = assembler.assemble(GOOD, SAME)
    assert len(result.warnings) == len(dead)
    assert {"KG_UNAVAILABLE", "MEMORY_UNAVAILABLE", "RETRIEVAL_UNAVAILABLE", "EDITOR_UNAVAILABLE"} <= set(codes(result))
    assert result.prompt.startswith("你是这部作品作者的写作伙伴")
    check_result(result)


def test_warnings_about_sources_follow_the_projects_language() -> None:
    dead = [Failing(name="codex", unavailable_code=Code.KG_UNAVAILABLE)]
    english = engine(instead=dead).assemble(Request(project_id="p", window=8192), View(Project(id="p", language="en")))
    assert english.warnings[0].isascii()
    assert warned(Code.KG_UNAVAILABLE, english)
