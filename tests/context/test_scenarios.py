"""Every scenario of the context engine specification, and the goldens of those that yield a prompt.

Shown in other packages: the judge that finds a broken constraint (`tests/test_judging.py`), constraints that are
stored (`tests/constraints/test_service.py`), and two updates of one budget (`tests/settings/test_service.py`).
The figures for speed are measured in `benchmarks/`; here 500 assemblies only have to keep their budget.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
from msgspec.structs import replace

from fabula.codex import Entry, Level
from fabula.constraints import Constraint, ConstraintKind, ConstraintOrigin
from fabula.context import (
    NO_CONTINUITY,
    Code,
    Continuity,
    Engine,
    EngineSettings,
    Fragment,
    FunctionSource,
    InjectionStrategy,
    Layer,
    Limits,
    Node,
    Part,
    Preset,
    Principal,
    Project,
    Reason,
    Request,
    Result,
    Source,
    View,
)
from fabula.context.assembly import MAX_LOGGED_RULES, LoggedRules
from fabula.context.engine import DEFAULT_SETTINGS
from fabula.context.request import SourceRequest
from fabula.core.fragment import LAYERS
from fabula.manuscript.model import Document, Manuscript
from fabula.memory.model import MemoryNote, Preference
from fabula.text.tokens.models import Model
from fabula.workspace.read_only import open_read_only
from fabula.workspace.sources import all_sources
from tests.context.builders import (
    PREFERENCES,
    PROJECT,
    RULES,
    WINDOW,
    Failing,
    ask,
    chapters,
    check_result,
    chunk,
    codes,
    engine,
    included,
    prose,
    refused,
    rule,
    setting,
    sized,
    story,
    verdicts,
    warned,
)
from tests.context.goldens import FOLDER, PREFIXES, file_names, same_as_golden, same_prefixes

Scenario = Callable[[], Sequence[Result]]
SCENARIOS: dict[str, Scenario] = {}
AFRESH: dict[str, Scenario] = {}


def scenario(name: str) -> Callable[[Scenario], Scenario]:
    """Name what a scenario assembles; it is assembled once, however many tests look at it."""

    def keep(made: Scenario) -> Scenario:
        AFRESH[name], SCENARIOS[name] = made, cache(made)
        return SCENARIOS[name]

    return keep


# 四层上下文架构


@scenario("four-layers")
def four_layers() -> list[Result]:
    """Chapter ten, cursor in its second half, with a complete graph and memory."""
    view = story(
        documents=chapters(10, last=60), episodes=[MemoryNote("e-1", "作者退回过一段争执，改成林远把杯子转了半圈。")]
    )
    text = view.snapshots[Manuscript]
    assert isinstance(text, Manuscript)
    cursor = text.by_id["ch-10"].text.index("　　这是第10日的第50个时辰")
    return [engine().assemble(ask(cursor=cursor, additional_input="写林远又拿出青铜罗盘，指针还卡在刻度七上。"), view)]


def test_four_layers_are_assembled_in_their_order() -> None:
    (result,) = four_layers()
    prompt, found = result.prompt, verdicts(result)
    assert "叙述人称：第一人称" in prompt
    assert found["project:person"].layer is Layer.RULES
    assert found["codex:entity:linyuan"].layer is Layer.RULES
    assert found["memory:m-1"].layer is Layer.SETTINGS
    assert "- 动作场景偏好短句" in prompt
    passages = [verdict for source, verdict in found.items() if source.startswith("search:")]
    assert passages
    assert {verdict.layer for verdict in passages} == {Layer.RETRIEVED}
    assert found["editor:cursor-window"].layer is Layer.IMMEDIATE
    assert found["editor:cursor-window"].tokens >= 2000
    marks = ["[创作约束 - 不可违反]", "[偏好与风格]", "[此处可能相关]", "[光标之前的正文]", "你现在是作者。"]
    places = [prompt.index(mark) for mark in marks]
    assert places == sorted(places)
    assert [prompt.count(mark) for mark in marks] == [1] * len(marks)
    assert result.warnings == ()
    check_result(result)


def test_constraints_are_a_numbered_block_under_their_heading() -> None:
    (result,) = four_layers()
    assert (
        "[创作约束 - 不可违反]\n1. 严格第一人称叙述\n2. 本世界没有魔法\n3. 林远性格冷静，不会大声喊叫\n\n"
        in result.prompt
    )


def test_what_stands_before_the_cursor_ends_at_the_cursor() -> None:
    (result,) = four_layers()
    before, after = result.prompt.split("[光标之前的正文]\n")[1].split("[光标之后的正文]\n")
    assert "第10日的第49个时辰" in before
    assert "第10日的第50个时辰" not in before
    assert after.lstrip("　").startswith("这是第10日的第50个时辰")


def an_empty_project(language: str = "zh") -> View:
    """A project made a minute ago: one document, no rules, no memory, no codex."""
    manuscript = Manuscript((Document("ch-10", "第一章", "　　雨下了一夜。我推开门，院子里没有人。"),))
    project = Project(id=PROJECT, language="zh" if language == "zh" else "en")
    return View(project, manuscript.timeline(), {Manuscript: manuscript})


@scenario("empty-project")
def empty_project() -> list[Result]:
    return [engine().assemble(ask(), an_empty_project())]


def test_a_new_project_has_empty_layers_and_a_working_prompt() -> None:
    (result,) = empty_project()
    assert [result.layers[layer].tokens for layer in LAYERS[:3]] == [0, 0, 0]
    assert not any(report.truncated for report in result.layers.values())
    assert result.layers[Layer.RETRIEVED].chunks == 0
    assert "雨下了一夜。我推开门，院子里没有人。" in result.prompt
    for heading in ("[创作约束", "[项目规则]", "[偏好与风格]", "[此处可能相关]", "[光标之后的正文]"):
        assert heading not in result.prompt
    assert result.prompt.startswith("你是这部作品作者的写作伙伴")
    assert result.warnings == ()
    check_result(result)


# Token 预算管理


def four_layers_of(rules: int, settings: int, retrieved: int, immediate: int) -> list[Fragment]:
    """Fragments of four layers, of about so many tokens each; ten chunks and five preferences."""
    window = Fragment(
        source="editor:cursor-window",
        layer=Layer.IMMEDIATE,
        text=sized(immediate, seed=40),
        project_id=PROJECT,
        part=Part.WINDOW,
    )
    closing = Fragment(
        source="input", layer=Layer.IMMEDIATE, text="接着写。", project_id=PROJECT, part=Part.INSTRUCTION
    )
    return [
        *(rule(sized(rules // 4, seed=n).replace("\n", ""), source=f"constraint:{n}") for n in range(4)),
        *(
            setting(sized(settings // 5, seed=10 + n).replace("\n", ""), 0.5 + n / 10, source=f"memory:{n}")
            for n in range(5)
        ),
        # Scores neither rise nor fall with the place, so that trimming from an end would be seen.
        *(
            chunk(sized(retrieved // 10, seed=20 + n), round(0.3 + (n * 7 % 10) / 25, 3), source=f"search:{n}")
            for n in range(10)
        ),
        window,
        closing,
    ]


def desk() -> Engine:
    """No sources: everything is handed in."""
    return Engine()


def plain(**wishes: object) -> Request:
    return replace(Request(project_id=PROJECT, window=WINDOW), **wishes)


def in_chinese() -> View:
    return View(Project(id=PROJECT, language="zh"))


@scenario("within-budget")
def within_budget() -> list[Result]:
    return [desk().assemble(plain(), in_chinese(), fragments=four_layers_of(600, 400, 1500, 3000))]


def test_within_the_budget_nothing_is_trimmed() -> None:
    (result,) = within_budget()
    assert 5000 < result.token_count <= 6144
    assert all(verdict.reason is Reason.KEPT for verdict in result.trace)
    assert not any(report.truncated for report in result.layers.values())
    assert result.warnings == ()
    check_result(result)


@scenario("over-budget")
def over_budget() -> list[Result]:
    return [desk().assemble(plain(), in_chinese(), fragments=four_layers_of(850, 500, 3000, 2900))]


def test_over_the_budget_the_chunks_with_the_lowest_scores_go_and_nothing_else() -> None:
    (result,) = over_budget()
    chunks = verdicts(result, Layer.RETRIEVED).values()
    kept = [verdict.score for verdict in chunks if verdict.included]
    gone = [verdict.score for verdict in chunks if not verdict.included]
    assert kept
    assert gone
    assert min(kept) > max(gone)
    assert {verdict.reason for verdict in chunks if not verdict.included} == {Reason.NO_ROOM}
    assert result.layers[Layer.RETRIEVED].truncated
    assert result.layers[Layer.RETRIEVED].chunks == len(kept)
    for layer in (Layer.RULES, Layer.SETTINGS, Layer.IMMEDIATE):
        assert not result.layers[layer].truncated
        assert all(verdict.reason is Reason.KEPT for verdict in verdicts(result, layer).values())
    check_result(result)


def test_over_the_budget_no_more_goes_than_must() -> None:
    (result,) = over_budget()
    smallest = min(verdict.tokens for verdict in result.trace if not verdict.included)
    assert result.budget.total - result.token_count < smallest


def test_what_is_needed_now_is_not_left_out_while_there_is_room_for_it() -> None:
    """A chapter longer than its window leaves room behind when the window steps; that room is no one's loss."""
    given = four_layers_of(600, 400, 0, 6000)
    needed = [chunk(sized(250, seed=60 + n), 0.9, source=f"codex:entity:{n}") for n in range(12)]
    result = desk().assemble(plain(), in_chinese(), fragments=[*given, *needed])
    free = result.budget.total - result.token_count
    left_out = [verdict for verdict in verdicts(result, Layer.RETRIEVED).values() if not verdict.included]
    assert all(verdict.tokens > free for verdict in left_out if verdict.text.strip()), f"{free} tokens stay unused"


def a_hundred_people() -> tuple[Entry, ...]:
    """A graph of a hundred characters, three of whom are met in the chapter."""
    names = [f"{family}{given}" for family in "赵钱孙李周吴郑王冯陈" for given in "甲乙丙丁戊己庚辛壬癸"]
    return tuple(
        Entry(
            id=f"e-{n:03}",
            type="character",
            name=name,
            level=Level.ALWAYS,
            description=f"水道第{n}段的看守，脾气很慢，只在换班的时候说话。",
        )
        for n, name in enumerate(names)
    )


@scenario("rules-over-the-line")
def rules_over_the_line() -> list[Result]:
    text = prose(10, 4) + "\n\n　　赵甲把灯递给孙丙，孙丙没有接。后面跟着的是陈癸。"
    view = story(documents=(*chapters(9), Document("ch-10", "第10章", text)), entries=a_hundred_people())
    return [engine().assemble(ask(), view)]


def test_rules_over_their_line_keep_the_people_of_the_scene() -> None:
    (result,) = rules_over_the_line()
    sentence = warned(Code.RULES_OVERBUDGET, result)
    assert str(result.budget.rules_limit) in sentence
    assert {"codex:entity:e-000", "codex:entity:e-022", "codex:entity:e-099"} <= included(result)
    assert result.layers[Layer.RULES].truncated
    assert result.layers[Layer.RULES].tokens <= result.budget.rules_limit
    out = [verdict for verdict in verdicts(result, Layer.RULES).values() if not verdict.included]
    assert {verdict.reason for verdict in out} == {Reason.RULES_OVERBUDGET}
    assert {f"constraint:{constraint.id}" for constraint in RULES} <= included(result)
    check_result(result)


def test_rules_over_their_line_are_reduced_to_the_people_of_the_scene() -> None:
    """bud-4: entries are reduced to those relevant here, before any constraint goes; nobody else is kept."""
    (result,) = rules_over_the_line()
    people = {source for source in included(result) if source.startswith("codex:entity:")}
    assert people == {"codex:entity:e-000", "codex:entity:e-022", "codex:entity:e-099"}


def test_rules_left_out_are_logged_by_id_and_without_their_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "fabula"):
        AFRESH["rules-over-the-line"]()
    (result,) = rules_over_the_line()
    for source, verdict in verdicts(result, Layer.RULES).items():
        assert (source in caplog.text) is (not verdict.included)
    assert "脾气很慢" not in caplog.text


def test_the_same_rules_left_out_of_a_project_are_logged_once() -> None:
    logged = LoggedRules()
    assert logged.is_new("coast", ["a", "b"])
    assert not logged.is_new("coast", ["b", "a"])
    assert logged.is_new("coast", ["a"])
    assert logged.is_new("other", ["a"])
    assert not logged.is_new("coast", ["a", "b"])
    for number in range(2 * MAX_LOGGED_RULES):
        logged.is_new(str(number), ["a"])
    assert len(logged._logged) <= MAX_LOGGED_RULES


# Stable Prefix Hash


def continuing(texts: Sequence[str], views: Sequence[View]) -> list[Result]:
    """One request after the other, each following on from the last."""
    assembler, before, results = engine(), NO_CONTINUITY, list[Result]()
    for text, view in zip(texts, views, strict=True):
        result = assembler.assemble(ask(unsaved_text=text), view, continuity=before)
        before = result.continuity
        results.append(result)
    return results


@scenario("continuing-three-times")
def continuing_three_times() -> list[Result]:
    text = prose(10, 12)
    texts = [text + "\n\n" + prose(20, n) for n in (1, 2, 3)]
    return continuing(texts, [story()] * 3)


def test_continuing_three_times_keeps_the_stable_prefix() -> None:
    results = continuing_three_times()
    assert len({result.stable_prefix_hash for result in results}) == 1
    assert [result.stable_prefix_unchanged for result in results] == [False, True, True]
    stable = {"".join(message.content[: message.stable] for message in result.messages) for result in results}
    assert len(stable) == 1
    assert all(result.prompt.startswith(next(iter(stable)).rstrip("\n")) for result in results)


def test_continuing_adds_at_the_end_and_leaves_the_beginning_as_it_was() -> None:
    one, two, three = (result.prompt.split("（光标")[0].rstrip() for result in continuing_three_times())
    assert two.startswith(one)
    assert three.startswith(two)


@scenario("settings-change")
def settings_change() -> list[Result]:
    text = prose(10, 12)
    learned = story(preferences=(*PREFERENCES, Preference("m-3", "章末落在物件上", 0.8)))
    return continuing([text] * 3, [story(), learned, learned])


def test_a_preference_confirmed_changes_the_prefix_once() -> None:
    before, after, again = settings_change()
    assert before.stable_prefix_hash != after.stable_prefix_hash
    assert not after.stable_prefix_unchanged
    assert again.stable_prefix_unchanged
    assert "- 章末落在物件上" in after.prompt
    assert "- 章末落在物件上" not in before.prompt


def test_the_hash_is_the_same_in_another_engine_and_with_other_text() -> None:
    one = engine().assemble(ask(), story())
    two = engine().assemble(ask(document_id="ch-03", additional_input="别的指示", session={"time": "12:00"}), story())
    assert one.stable_prefix_hash == two.stable_prefix_hash
    assert len(one.stable_prefix_hash) == 64
    assert set(one.stable_prefix_hash) <= set("0123456789abcdef")


# Constraints


@scenario("constraint-added")
def constraint_added() -> list[Result]:
    text = prose(10, 12)
    added = Constraint(id="c-9", text="主角在第五章之前不知道真相", kind=ConstraintKind.PLOT)
    return continuing([text] * 2, [story(), story(constraints=(*RULES, added))])


def test_a_constraint_added_stands_in_the_next_prompt() -> None:
    before, after = constraint_added()
    assert "主角在第五章之前不知道真相" not in before.prompt
    rules = after.prompt.split("[创作约束 - 不可违反]\n")[1].split("\n\n")[0]
    assert "主角在第五章之前不知道真相" in rules
    assert verdicts(after)["constraint:c-9"].layer is Layer.RULES
    assert not after.stable_prefix_unchanged


def many_constraints() -> list[Constraint]:
    """Thirty of the user's, and as many again that came out of the graph or were learned."""
    own = [
        Constraint(id=f"u-{n:02}", text=f"第{n}段水道里不许出现活物，也不许有人提起前一段水道的看守", priority=50)
        for n in range(30)
    ]
    found = [
        Constraint(
            id=f"g-{n:02}",
            text=f"第{n}号看守与第{n + 1}号看守是旧识，见面时不打招呼，也不交换钥匙",
            origin=ConstraintOrigin.GRAPH if n % 2 else ConstraintOrigin.LEARNED,
            priority=30 + n,
        )
        for n in range(40)
    ]
    return own + found


@scenario("too-many-constraints")
def too_many_constraints() -> list[Result]:
    return [engine().assemble(ask(), story(constraints=many_constraints()))]


def test_too_many_constraints_give_up_the_graphs_before_the_users() -> None:
    (result,) = too_many_constraints()
    warned(Code.RULES_OVERBUDGET, result)
    kept = included(result)
    assert {f"constraint:u-{n:02}" for n in range(30)} <= kept
    graph = {f"constraint:g-{n:02}" for n in range(1, 40, 2)}
    learned = {f"constraint:g-{n:02}" for n in range(0, 40, 2)}
    assert not graph & kept or learned <= kept
    assert "30. " in result.prompt
    assert result.layers[Layer.RULES].truncated
    check_result(result)


def test_constraints_left_out_are_logged_by_id(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "fabula"):
        result = engine().assemble(ask(), story(constraints=many_constraints()))
    out = [source for source, verdict in verdicts(result, Layer.RULES).items() if not verdict.included]
    assert out
    assert all(source in caplog.text for source in out)
    assert "见面时不打招呼" not in caplog.text


# 上下文组装 API


@scenario("skill-continue")
def skill_continue() -> list[Result]:
    return [engine().assemble(ask(document_id="ch-07"), story())]


@scenario("skill-rewrite")
def skill_rewrite() -> list[Result]:
    wishes = ask(document_id="ch-07", skill_id="rewrite", selection=(0, 40), additional_input="改得更短。")
    return [engine().assemble(wishes, story())]


def test_a_skill_gets_a_result_with_every_layers_tokens() -> None:
    (result,) = skill_continue()
    assert set(result.layers) == set(Layer)
    assert all(report.tokens > 0 for report in result.layers.values())
    spent = sum(report.tokens for report in result.layers.values())
    assert spent + result.identity_tokens + result.preset_tokens + result.rendered.overhead == result.token_count
    assert result.prompt.endswith("你现在是作者。从正文停下之处接着写，保持原有语调。只写正文，不加标题和说明。")
    assert "[第6章·梗概]" in result.prompt
    assert "第8章" not in result.prompt
    check_result(result)


def test_skills_share_one_stable_prefix() -> None:
    (writing,), (rewriting,) = skill_continue(), skill_rewrite()
    assert writing.stable_prefix_hash == rewriting.stable_prefix_hash
    assert rewriting.prompt.endswith("改得更短。")
    assert "[选中的文字]\n　　这是第7日的第1个时辰。" in rewriting.prompt


@scenario("dead-knowledge-graph")
def dead_knowledge_graph() -> list[Result]:
    dead = Failing(name="codex", unavailable_code=Code.KG_UNAVAILABLE)
    return [engine(instead=[dead]).assemble(ask(), story())]


def test_a_dead_knowledge_graph_costs_a_warning_and_no_constraint() -> None:
    (result,) = dead_knowledge_graph()
    assert [warning for warning in result.warnings if warning.startswith("KG_UNAVAILABLE: 知识图谱数据未注入")]
    assert len(result.warnings) == 1
    assert {f"constraint:{constraint.id}" for constraint in RULES} <= included(result)
    assert not [source for source in included(result) if source.startswith("codex:")]
    assert "水道测绘员" not in result.prompt
    check_result(result)


@scenario("dead-memory")
def dead_memory() -> list[Result]:
    dead = Failing(name="memory", unavailable_code=Code.MEMORY_UNAVAILABLE)
    return [engine(instead=[dead]).assemble(ask(), story())]


@scenario("dead-retrieval")
def dead_retrieval() -> list[Result]:
    dead = Failing(name="search", unavailable_code=Code.RETRIEVAL_UNAVAILABLE)
    return [engine(instead=[dead]).assemble(ask(), story())]


@pytest.mark.parametrize(
    ("made", "opening"),
    [(dead_memory, "MEMORY_UNAVAILABLE: 记忆数据未注入"), (dead_retrieval, "RETRIEVAL_UNAVAILABLE: 检索结果未注入")],
)
def test_a_layer_that_cannot_be_read_is_left_out_with_a_warning(made: Scenario, opening: str) -> None:
    (result,) = made()
    assert len(result.warnings) == 1
    assert result.warnings[0].startswith(opening)
    assert result.layers[Layer.IMMEDIATE].tokens > 0
    check_result(result)


def test_inspecting_a_dead_knowledge_graph_is_as_unshaken_as_assembling() -> None:
    dead = Failing(name="codex", unavailable_code=Code.KG_UNAVAILABLE)
    result = engine(instead=[dead]).inspect(ask(), story())
    assert codes(result) == ["KG_UNAVAILABLE"]
    assert result.prompt == dead_knowledge_graph()[0].prompt


# 预算计算器异常自动回退


class Broken:
    """A tokenizer that raises."""

    name = "broken"
    exact = True
    additive = True

    def count(self, text: str) -> int:
        raise RuntimeError("no vocabulary")


@scenario("tokenizer-failing")
def tokenizer_failing() -> list[Result]:
    def broken(model: Model) -> Broken:
        return Broken()

    assembler = Engine(_sources(), tokenizer_for=broken)
    return [assembler.assemble(ask(), story())]


def _sources() -> list[Source]:

    return list(all_sources())


def test_a_failing_tokenizer_falls_back_to_a_safe_estimate() -> None:
    (result,) = tokenizer_failing()
    warned(Code.BUDGET_FALLBACK, result)
    assert not result.exact
    assert result.token_count <= result.budget.total
    real = sum(result.model.tokenizer().count(message.content) for message in result.messages)
    assert real <= result.token_count
    assert result.stable_prefix_hash == engine().assemble(ask(), story()).stable_prefix_hash


# 异常与边界


@scenario("four-cursors-at-once")
def four_cursors_at_once() -> list[Result]:
    """Four assemblies of one document at different cursors, at the same time."""
    view, assembler = story(documents=chapters(10, last=40)), engine()
    length = len(prose(10, 40))
    start = threading.Barrier(4)

    def run(quarter: int) -> Result:
        start.wait()
        return assembler.assemble(ask(cursor=length * quarter // 4), view)

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(run, (1, 2, 3, 4)))


def test_assemblies_at_once_each_give_what_they_would_give_alone() -> None:
    length = len(prose(10, 40))
    for quarter, together in enumerate(four_cursors_at_once(), start=1):
        view = story(documents=chapters(10, last=40))
        alone = engine().assemble(ask(cursor=length * quarter // 4), view)
        assert together.prompt == alone.prompt
        assert together.messages == alone.messages
        assert together.token_count == alone.token_count
        assert [(v.source, v.reason, v.sentence) for v in together.trace] == [
            (v.source, v.reason, v.sentence) for v in alone.trace
        ]


def test_something_of_another_project_refuses_the_whole_assembly(caplog: pytest.LogCaptureFixture) -> None:
    def other(asked: SourceRequest, view: View) -> list[Fragment]:
        return [chunk("另一个项目的秘密。", 0.9, project="B", source="search:b#1")]

    search = FunctionSource(name="search", function=other, unavailable_code=Code.RETRIEVAL_UNAVAILABLE)
    with caplog.at_level(logging.DEBUG, "fabula"):
        refused(Code.SCOPE_VIOLATION, lambda: engine(instead=[search]).assemble(ask(), story()))
    record = next(record for record in caplog.records if "security" in record.getMessage())
    assert record.levelno >= logging.ERROR
    assert "search:b#1" in record.getMessage()
    assert PROJECT in record.getMessage()
    assert "秘密" not in caplog.text


def test_ninety_thousand_tokens_are_refused_with_advice() -> None:
    huge = [chunk(sized(9000, seed=n), 0.5, source=f"search:{n}") for n in range(10)]
    error = refused(Code.INPUT_TOO_LARGE, lambda: engine().assemble(ask(window=128_000), story(), fragments=huge))
    assert "Narrow the search" in error.sentence


def test_of_twenty_at_once_four_run_and_sixteen_wait_and_none_is_lost() -> None:
    gate, inside = threading.Event(), threading.Semaphore(0)
    most, running, lock = 0, 0, threading.Lock()

    def slow(asked: SourceRequest, view: View) -> list[Fragment]:
        nonlocal most, running
        with lock:
            running += 1
            most = max(most, running)
        inside.release()
        gate.wait(10)
        with lock:
            running -= 1
        return []

    assembler = engine(
        instead=[FunctionSource(name="search", function=slow)],
        settings=replace(DEFAULT_SETTINGS, limits=Limits(source_seconds=20)),
    )
    view = story()
    with ThreadPoolExecutor(20) as pool:
        calls = [pool.submit(assembler.assemble, ask(), view) for _ in range(20)]
        for _ in range(4):
            assert inside.acquire(timeout=10)
        gate.set()
        results = [call.result(timeout=20) for call in calls]
    assert most == 4
    assert len({result.prompt for result in results}) == 1
    assert all(result.warnings == () for result in results)


@pytest.mark.parametrize(
    ("settings", "principal"),
    [
        (EngineSettings(debug=False), Principal()),
        (EngineSettings(), Principal("guest", may_inspect=False)),
        (EngineSettings(debug=False), Principal("guest", may_inspect=False)),
    ],
    ids=["no debug mode", "no authority", "neither"],
)
def test_looking_inside_needs_debug_mode_and_authority(settings: EngineSettings, principal: Principal) -> None:
    assembler = engine(settings=settings)
    refused(Code.INSPECT_FORBIDDEN, lambda: assembler.inspect(ask(principal=principal), story()))
    assert assembler.assemble(ask(principal=principal), story()).prompt


def test_five_hundred_assemblies_keep_their_budget() -> None:
    view, assembler = story(), engine()

    def run(n: int) -> Result:
        place = n % 50
        wishes = ask(document_id=f"ch-{place % 10 + 1:02}", conversation_id=f"talk-{place}", cursor=n % 200)
        return assembler.assemble(wishes, view)

    with ThreadPoolExecutor(50) as pool:
        results = list(pool.map(run, range(500)))
    assert all(result.token_count <= result.budget.total for result in results)
    assert len({result.stable_prefix_hash for result in results}) == 1


# 样例故事与对话


def _sample(name: str, chapter: str) -> list[Result]:
    project = open_read_only(f"sample:{name}")
    return [project.assemble(project.request(document_id=chapter, window=WINDOW))]


@scenario("sample-lantern-coast-ch-03")
def lantern_coast_3() -> list[Result]:
    return _sample("lantern_coast", "ch-03")


@scenario("sample-lantern-coast-ch-06")
def lantern_coast_6() -> list[Result]:
    return _sample("lantern_coast", "ch-06")


@scenario("sample-wugang-ch-03")
def wugang_3() -> list[Result]:
    return _sample("wugang", "ch-03")


@scenario("sample-wugang-ch-06")
def wugang_6() -> list[Result]:
    return _sample("wugang", "ch-06")


@pytest.mark.parametrize("made", [lantern_coast_3, lantern_coast_6, wugang_3, wugang_6])
def test_a_sample_is_assembled_without_warnings_and_within_its_window(made: Scenario) -> None:
    (result,) = made()
    assert result.warnings == ()
    check_result(result)


@pytest.mark.parametrize("made", [lantern_coast_3, lantern_coast_6, wugang_3, wugang_6])
def test_no_paragraph_of_a_sample_is_told_twice(made: Scenario) -> None:
    """The same fact enters once: a passage that stands in the window is not retrieved as well."""
    (result,) = made()
    paragraphs = [line.strip() for line in result.prompt.split("\n") if len(line.strip()) > 40]
    twice = {line[:60] for line in paragraphs if paragraphs.count(line) > 1}
    assert not twice


CHAT_PRESET = Preset(
    id="harbour-talk",
    nodes=(
        Node(type="user_profile", id="user_profile"),
        Node(id="voice", content="Answer as a colleague at the next desk, in a few sentences."),
        Node(
            id="profile-note",
            content="The writer works in the mornings and likes two alternatives.",
            injection_strategy=InjectionStrategy(anchor_target="user_profile", anchor_position="after"),
        ),
        Node(
            id="last-word",
            content="[Stay with what is on the quay.]",
            injection_strategy=InjectionStrategy(depth=0),
        ),
        Node(
            id="low", content="[Second of two at depth two.]", injection_strategy=InjectionStrategy(depth=2, order=50)
        ),
        Node(
            id="high", content="[First of two at depth two.]", injection_strategy=InjectionStrategy(depth=2, order=150)
        ),
        Node(
            id="before-retrieved",
            content="[What follows may matter or not.]",
            injection_strategy=InjectionStrategy(anchor_target="retrieved", anchor_position="before"),
        ),
        Node(id="far", content="[Before all that was said.]", injection_strategy=InjectionStrategy(depth=99)),
        Node(
            id="lost",
            content="[Asked for an anchor that is not there.]",
            injection_strategy=InjectionStrategy(anchor_target="attic"),
        ),
    ),
)


@scenario("chat-with-injections")
def chat_with_injections() -> list[Result]:
    project = open_read_only("sample:lantern_coast")
    request = project.request(
        recipe="chat",
        skill_id="chat",
        conversation_id="desk",
        document_id="ch-07",
        preset=CHAT_PRESET,
        window=WINDOW,
        additional_input="Should Reeve say anything when he drives the nail?",
    )
    return [project.assemble(request)]


def test_injections_stand_at_their_depth_and_beside_their_anchor() -> None:
    (result,) = chat_with_injections()
    prompt = result.prompt
    order = [
        "[What follows may matter or not.]",
        "[What may matter here]",
        "[Before all that was said.]",
        "I have got chapter 7 as far as",
        "[First of two at depth two.]",
        "[Second of two at depth two.]",
        "Yes. And Mara should then look at her watch",
        "Should Reeve say anything when he drives the nail?",
        "[Stay with what is on the quay.]",
    ]
    places = [prompt.index(words) for words in order]
    assert places == sorted(places)
    assert all(prompt.count(words) == 1 for words in order)
    assert prompt.index("The writer works in the mornings") < prompt.index("[Writing constraints")
    assert "[Asked for an anchor that is not there.]" in prompt
    assert "attic" in warned(Code.PRESET_ANCHOR_MISSING, result)
    check_result(result)


def test_depth_counts_messages_with_the_input_as_one() -> None:
    (result,) = chat_with_injections()
    contents = [message.content for message in result.messages]
    at = next(n for n, content in enumerate(contents) if "[Second of two at depth two.]" in content)
    behind = "\n".join([contents[at].split("[Second of two at depth two.]")[1], *contents[at + 1 :]])
    assert behind.count("Yes. And Mara should then look") == 1
    assert "Agreed. He drives it badly" not in behind
    assert "Should Reeve say anything" in behind


# Goldens


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_prompt_is_the_golden_one(name: str) -> None:
    same_as_golden(name, SCENARIOS[name]())


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_stable_prefix_moves_only_where_the_golden_says_so(name: str) -> None:
    same_prefixes(name, SCENARIOS[name]())


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_is_counted_as_sent_and_within_its_budget(name: str) -> None:
    for result in SCENARIOS[name]():
        assert result.token_count <= result.budget.total
        if result.exact:
            check_result(result)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_is_byte_for_byte_the_same_when_assembled_again(name: str) -> None:
    again = AFRESH[name]()
    assert [result.messages for result in again] == [result.messages for result in SCENARIOS[name]()]
    assert [result.continuity for result in again] == [result.continuity for result in SCENARIOS[name]()]


def test_no_golden_is_left_over() -> None:
    known = {file for name, made in SCENARIOS.items() for file in file_names(name, made())}
    assert {path.name for path in FOLDER.glob("*.txt")} == known
    assert set(json.loads(PREFIXES.read_text("utf-8"))) == set(SCENARIOS)


def test_a_continuity_is_a_value_that_can_be_lost() -> None:
    """Losing it costs cache and nothing else: the same prompt comes out, said not to follow on."""
    view = story()
    first_one = engine().assemble(ask(), view)
    followed = engine().assemble(ask(), view, continuity=first_one.continuity)
    lost = engine().assemble(ask(), view, continuity=Continuity())
    assert lost.prompt == first_one.prompt
    assert not lost.stable_prefix_unchanged
    assert followed.stable_prefix_unchanged
