"""Bad input, a row at a time: the code, a sentence that helps, and nothing half done.

"Nothing half done" means here: the same engine answers the next good request exactly as an engine that
never saw the bad one.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import count
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabula.app import all_sources
from fabula.constraints.model import Constraint, Constraints
from fabula.context import (
    Attachment,
    Called,
    Code,
    Engine,
    Eyes,
    FabulaError,
    Fragment,
    Injection,
    Layer,
    Limits,
    Node,
    Part,
    Placement,
    Preset,
    Profile,
    Project,
    Reason,
    Request,
    Result,
    Settings,
    Share,
    Source,
    Tier,
    View,
)
from fabula.context.render import recount
from fabula.context.request import Ask
from fabula.context.wire import read_request
from fabula.manuscript.model import Document, Manuscript
from fabula.text.models import Model
from fabula.text.offsets import from_utf16
from tests.context.builders import (
    PROJECT,
    RULES,
    Failing,
    ask,
    attempt,
    chunk,
    codes,
    engine,
    helpful,
    holds,
    included,
    prose,
    refused,
    rule,
    sized,
    story,
    verdicts,
    warned,
)

GOOD = ask()
SAME = story()  # nothing changes a view


@cache
def good() -> Result:
    """What an engine that never saw anything bad answers."""
    return engine().assemble(GOOD, SAME)


def unharmed(house: Engine, expected: Result | None = None) -> None:
    """The engine answers the next good request exactly as before."""
    expected = expected or good()
    result = house.assemble(GOOD, SAME)
    assert result.messages == expected.messages
    assert result.token_count == expected.token_count
    assert result.warnings == expected.warnings
    assert result.continuity == expected.continuity


def refuses(code: Code, view: View | None = None, *, house: Engine | None = None, **wishes: object) -> FabulaError:
    """A request is refused, and the engine is none the worse for it."""
    house = house or engine()
    error = refused(code, lambda: house.assemble(ask(**wishes), view or SAME))
    unharmed(house)
    return error


# Models and encodings


def test_an_unknown_model_is_refused_with_the_nearest_names() -> None:
    error = refuses(Code.MODEL_UNKNOWN, model="gpt4-o")
    assert "gpt-4o" in error.sentence
    assert "window and an encoding" in error.sentence


def test_a_model_like_no_other_is_refused_with_the_names_there_are() -> None:
    assert "claude" in refuses(Code.MODEL_UNKNOWN, model="zzzzzz").sentence


def test_an_empty_model_name_is_refused() -> None:
    refuses(Code.MODEL_UNKNOWN, model="", window=None)


def test_any_model_will_do_with_a_window_and_an_encoding() -> None:
    result = engine().assemble(ask(model="my-own", window=9000, encoding="cl100k_base"), SAME)
    assert result.budget.window == 9000
    holds(result)


def test_an_unknown_encoding_is_refused_with_the_nearest_names() -> None:
    house = engine()
    with pytest.raises(FabulaError) as caught:
        house.assemble(ask(model="my-own", encoding="o200k"), SAME)
    assert caught.value.code is Code.MODEL_UNKNOWN
    assert "o200k_base" in caught.value.sentence
    helpful(caught.value.sentence)
    unharmed(house)


@pytest.mark.parametrize("window", [0, -1, -100_000, 1, 40])
def test_a_window_without_room_for_anything_is_refused(window: int) -> None:
    house = engine()
    with pytest.raises(FabulaError) as caught:
        house.assemble(ask(window=window), SAME)
    assert caught.value.code in (Code.RULES_TOO_LARGE, Code.REQUEST_INVALID)
    helpful(caught.value.sentence)
    unharmed(house)


@pytest.mark.parametrize("reply", [-1, -4000, 8192, 1_000_000])
def test_a_reply_that_cannot_be_kept_free_is_refused(reply: int) -> None:
    house = engine()
    with pytest.raises(FabulaError) as caught:
        house.assemble(ask(reply_tokens=reply), SAME)
    assert caught.value.code in (Code.RULES_TOO_LARGE, Code.REQUEST_INVALID)
    helpful(caught.value.sentence)
    unharmed(house)


# Cursors and selections


def test_a_cursor_past_the_end_is_refused() -> None:
    refuses(Code.CURSOR_INVALID, cursor=10_000_000)


def test_a_cursor_one_past_the_end_is_refused_and_at_the_end_is_not() -> None:
    length = len(prose(10, 12))
    assert engine().assemble(ask(cursor=length), SAME).prompt == good().prompt
    refuses(Code.CURSOR_INVALID, cursor=length + 1)


@pytest.mark.parametrize("cursor", [-1, -10_000_000])
def test_a_negative_cursor_is_refused(cursor: int) -> None:
    refuses(Code.CURSOR_INVALID, cursor=cursor)


def test_a_cursor_inside_a_character_is_refused() -> None:
    text = "水𠮷门"  # the middle one is two UTF-16 units
    assert from_utf16(text, 1) == 1
    assert from_utf16(text, 3) == 2
    refused(Code.CURSOR_INVALID, lambda: from_utf16(text, 2))


@pytest.mark.parametrize("units", [-1, 5, 10**12], ids=["negative", "one past the end", "far past the end"])
def test_a_cursor_in_units_outside_the_text_is_refused(units: int) -> None:
    refused(Code.CURSOR_INVALID, lambda: from_utf16("水𠮷门", units))
    refused(Code.CURSOR_INVALID, lambda: from_utf16("abc", units))


def on_the_wire(**fields: object) -> Request:
    texts = {"ch-01": "水𠮷门"}
    return read_request(json.dumps({"projectId": PROJECT, "documentId": "ch-01", **fields}), texts.get)


def test_a_cursor_on_the_wire_counts_utf16_units() -> None:
    assert on_the_wire(cursorPosition=3).cursor == 2
    assert on_the_wire(selection=[1, 3]).selection == (1, 2)
    assert on_the_wire(cursorPosition=4, unsavedText="a\r\nb𠮷").cursor == 3


@pytest.mark.parametrize("fields", [{"cursorPosition": 2}, {"cursorPosition": -1}, {"selection": [0, 2]}])
def test_a_cursor_on_the_wire_that_is_no_place_is_refused(fields: dict[str, object]) -> None:
    refused(Code.CURSOR_INVALID, lambda: on_the_wire(**fields))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"projectId": 5}',
        b'{"documentId": "ch-01"}',
        b'{"projectId": "p", "cursor": 1}',
        b"\xff\xfe",
    ],
    ids=["empty", "cut off", "a list", "wrong type", "no project", "unknown field", "not text"],
)
def test_a_request_that_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(FabulaError) as caught:
        read_request(data, lambda document: None)
    assert caught.value.code is Code.REQUEST_INVALID
    assert len(caught.value.sentence) > 30


def test_a_selection_outside_the_text_is_refused() -> None:
    refuses(Code.CURSOR_INVALID, selection=(0, 10_000_000), skill_id="rewrite")
    refuses(Code.CURSOR_INVALID, selection=(-3, 10), skill_id="rewrite")


def test_a_selection_made_backwards_is_the_same_selection() -> None:
    forwards = engine().assemble(ask(selection=(5, 60), skill_id="rewrite"), SAME)
    backwards = engine().assemble(ask(selection=(60, 5), skill_id="rewrite"), SAME)
    assert backwards.prompt == forwards.prompt


def long_chapter() -> View:
    return story(documents=[Document("ch-10", "第10章", prose(10, 200))])


def test_a_selection_larger_than_the_window_is_refused() -> None:
    """Not as rules that are too large: it is the selection that has to shrink."""
    house = engine()
    view = long_chapter()
    wishes = ask(skill_id="rewrite", selection=(0, len(prose(10, 200))))
    error = refused(Code.INPUT_TOO_LARGE, lambda: house.assemble(wishes, view))
    assert "elect" in error.sentence
    unharmed(house)


def test_an_instruction_larger_than_the_window_is_refused() -> None:
    house = engine()
    error = refused(Code.INPUT_TOO_LARGE, lambda: house.assemble(ask(additional_input=sized(7000)), SAME))
    assert "instruction" in error.sentence
    unharmed(house)


# Documents, recipes, skills, eyes


def test_an_unknown_document_is_refused_with_the_documents_there_are() -> None:
    assert "ch-01" in refuses(Code.DOCUMENT_UNKNOWN, document_id="ch-99").sentence


def test_a_stale_revision_is_refused_unless_the_text_comes_along() -> None:
    refuses(Code.DOCUMENT_STALE, revision=7)
    result = engine().assemble(ask(revision=7, unsaved_text="　　新的一行。"), SAME)
    assert "新的一行。" in result.prompt


def test_an_unknown_recipe_is_refused_with_the_recipes_there_are() -> None:
    assert "character-chat" in refuses(Code.RECIPE_UNKNOWN, recipe="opera").sentence


def test_an_unknown_skill_is_refused_with_the_skills_there_are() -> None:
    assert "continue" in refuses(Code.SKILL_UNKNOWN, skill_id="sing").sentence


def test_eyes_without_a_character_are_refused() -> None:
    refuses(Code.REQUEST_INVALID, eyes=Eyes.CHARACTER)


def test_a_request_without_a_project_is_refused() -> None:
    house = engine()
    with pytest.raises(FabulaError) as caught:
        house.assemble(ask(project_id=""), SAME)
    assert caught.value.code is Code.REQUEST_INVALID
    unharmed(house)


def test_a_view_of_another_project_is_refused_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    house = engine()
    with caplog.at_level(logging.DEBUG, "fabula"):
        refused(Code.SCOPE_VIOLATION, lambda: house.assemble(GOOD, View(Project(id="B"))))
    assert [record for record in caplog.records if record.levelno >= logging.ERROR and "security" in record.message]
    unharmed(house)


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


def offering(call: Callable[[Ask, View], object], *, waits: bool = False) -> Called:
    """The search replaced by a function that answers whatever it likes."""
    return Called(
        name="search",
        call=cast("Callable[[Ask, View], Iterable[Fragment]]", call),
        failing=Code.RETRIEVAL_UNAVAILABLE,
        waits=waits,
    )


def left_out(source: Source, *, limits: Limits | None = None, **wishes: object) -> Result:
    """The source costs its own fragments and a warning; everything else is there."""
    settings = Settings(limits=limits) if limits else Settings()
    house = engine(instead=[source], settings=settings)
    result = house.assemble(ask(**wishes), SAME)
    warned(Code.RETRIEVAL_UNAVAILABLE, result)
    assert not [name for name in included(result) if name.startswith("search:")]
    assert {f"constraint:{one.id}" for one in RULES} <= included(result)
    dead = engine(instead=[Failing(name="search", failing=Code.RETRIEVAL_UNAVAILABLE)]).assemble(ask(**wishes), SAME)
    assert result.messages == dead.messages
    holds(result)
    return result


def a_wrong_fragment(**fields: object) -> Iterator[Fragment]:
    yield chunk("先给一个好的。", 0.9)
    wishes: dict[str, Any] = {"source": "x:1", "layer": Layer.RETRIEVED, "text": "文", "project_id": PROJECT, **fields}
    yield Fragment(**wishes)


@pytest.mark.parametrize("fields", [{"score": float("nan")}, {"score": -1}, {"token_count": -5}, {"text": 7}])
@pytest.mark.parametrize("waits", [False, True], ids=["plain", "waiting"])
def test_a_malformed_fragment_counts_as_its_source_failing(fields: dict[str, object], waits: bool) -> None:
    left_out(offering(lambda asked, view: a_wrong_fragment(**fields), waits=waits))


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
    holds(result)


@pytest.mark.parametrize("layer", list(Layer))
def test_a_fragment_of_another_project_refuses_everything(layer: Layer, caplog: pytest.LogCaptureFixture) -> None:
    house = engine()
    stranger = Fragment(source="x:stranger", layer=layer, text="别处的秘密", project_id="B")
    with caplog.at_level(logging.DEBUG, "fabula"):
        error = refused(Code.SCOPE_VIOLATION, lambda: house.assemble(GOOD, SAME, fragments=[stranger]))
    assert "x:stranger" in error.sentence
    lines = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(lines) == 1
    assert all(word in lines[0].getMessage() for word in ("security", "x:stranger", PROJECT, "B"))
    assert "别处的秘密" not in caplog.text
    unharmed(house)


def test_a_fragment_of_another_project_is_not_saved_by_being_excluded_or_not_yet_known() -> None:
    stranger = replace(chunk("别处的秘密", 0.9, project="B", source="x:stranger"), known_to=frozenset({"nobody"}))
    house = engine()
    for wishes in (ask(), ask(exclude=("x:stranger",))):
        refused(Code.SCOPE_VIOLATION, partial(house.assemble, wishes, SAME, fragments=[stranger]))
        refused(Code.SCOPE_VIOLATION, partial(house.inspect, wishes, SAME, fragments=[stranger]))
    unharmed(house)


# Sources


@pytest.mark.parametrize("waits", [False, True], ids=["plain", "waiting"])
@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), KeyError("x"), MemoryError(), RecursionError(), OSError(5, "gone"), StopIteration()]
)
def test_a_source_that_raises_costs_a_warning(error: Exception, waits: bool) -> None:
    def raising(asked: Ask, view: View) -> list[Fragment]:
        raise error

    left_out(offering(raising, waits=waits))


def test_a_source_that_wants_to_end_the_process_costs_a_warning() -> None:
    def leaving(asked: Ask, view: View) -> list[Fragment]:
        raise SystemExit(3)

    left_out(offering(leaving, waits=True))


def test_a_source_that_raises_half_way_offers_nothing_at_all() -> None:
    def half(asked: Ask, view: View) -> Iterator[Fragment]:
        yield chunk("前一半。", 0.9)
        raise RuntimeError("the connection broke")

    result = left_out(offering(half))
    assert "前一半。" not in result.prompt


def test_what_a_source_complains_of_reaches_neither_the_log_nor_the_warning(caplog: pytest.LogCaptureFixture) -> None:
    def telling(asked: Ask, view: View) -> list[Fragment]:
        raise RuntimeError(f"cannot parse: {asked.near[0].text}")

    with caplog.at_level(logging.DEBUG, "fabula"):
        result = left_out(offering(telling))
    assert "时辰" not in caplog.text
    assert "时辰" not in " ".join(result.warnings)


def test_a_source_that_hangs_is_left_behind_at_the_deadline() -> None:
    release = threading.Event()

    def hanging(asked: Ask, view: View) -> list[Fragment]:
        release.wait(30)
        return [chunk("来晚了。", 0.9)]

    started = time.monotonic()
    try:
        left_out(offering(hanging, waits=True), limits=Limits(source_seconds=0.2))
    finally:
        release.set()
    assert time.monotonic() - started < 5


def test_a_source_that_hangs_again_and_again_is_no_longer_waited_on_by_new_threads() -> None:
    release = threading.Event()

    def hanging(asked: Ask, view: View) -> list[Fragment]:
        release.wait(30)
        return []

    house = engine(instead=[offering(hanging, waits=True)], settings=Settings(limits=Limits(source_seconds=0.02)))
    before = threading.active_count()
    try:
        for _ in range(20):
            assert "RETRIEVAL_UNAVAILABLE" in codes(house.assemble(GOOD, SAME))
        assert threading.active_count() - before <= 10
    finally:
        release.set()
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert codes(house.assemble(GOOD, SAME)) == []


def endless(asked: Ask, view: View) -> Iterator[Fragment]:
    for n in count():
        yield chunk(f"第{n}个。", 0.5, source=f"search:{n}")


def endless_rubbish(asked: Ask, view: View) -> Iterator[object]:
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
def test_a_source_that_answers_rubbish_costs_a_warning(call: Callable[[Ask, View], object], waits: bool) -> None:
    left_out(offering(call, waits=waits))


def test_every_source_may_fail_at_once() -> None:
    dead = [Failing(name=source.name, failing=source.failing, ahead=source.ahead) for source in all_sources()]
    house = Engine(dead)
    result = house.assemble(GOOD, SAME)
    assert len(result.warnings) == len(dead)
    assert {"KG_UNAVAILABLE", "MEMORY_UNAVAILABLE", "RETRIEVAL_UNAVAILABLE", "EDITOR_UNAVAILABLE"} <= set(codes(result))
    assert result.prompt.startswith("你是这部作品作者的写作伙伴")
    holds(result)


def test_warnings_about_sources_follow_the_projects_language() -> None:
    dead = [Failing(name="codex", failing=Code.KG_UNAVAILABLE)]
    english = engine(instead=dead).assemble(Request(project_id="p", window=8192), View(Project(id="p", language="en")))
    assert english.warnings[0].isascii()
    assert warned(Code.KG_UNAVAILABLE, english)


# Tokenizers


class Odd:
    """A tokenizer that answers what it is told to."""

    name = "odd"
    exact = True
    additive = True

    def __init__(self, answer: object, *, after: int = 0) -> None:
        self._answer = answer
        self._sound = after

    def count(self, text: str) -> int:
        self._sound -= 1
        if self._sound >= 0:
            return len(text)
        if isinstance(self._answer, Exception):
            raise self._answer
        return cast("int", self._answer)


def with_tokenizer(odd: Callable[[], Odd]) -> Engine:
    def tokenizer_for(model: Model) -> Odd:
        return odd()

    return Engine(all_sources(), tokenizer_for=tokenizer_for)


@pytest.mark.parametrize(
    "answer", [RuntimeError("no vocabulary"), -1, float("nan"), float("inf"), None, "7", 1.5], ids=repr
)
@pytest.mark.parametrize("after", [0, 8, 30], ids=["at once", "soon", "later"])
def test_a_tokenizer_that_cannot_count_falls_back_to_a_cautious_estimate(answer: object, after: int) -> None:
    house = with_tokenizer(lambda: Odd(answer, after=after))
    result = house.assemble(GOOD, SAME)
    warned(Code.BUDGET_FALLBACK, result)
    assert not result.exact
    assert result.token_count <= result.budget.total
    assert recount(result.messages, result.model.tokenizer()) <= result.token_count
    assert house.assemble(GOOD, SAME).messages == result.messages


def test_a_tokenizer_that_cannot_even_be_made_falls_back() -> None:
    def tokenizer_for(model: Model) -> Odd:
        raise OSError("no such file")

    result = Engine(all_sources(), tokenizer_for=tokenizer_for).assemble(GOOD, SAME)
    warned(Code.BUDGET_FALLBACK, result)


def test_what_a_tokenizer_complains_of_reaches_neither_the_log_nor_the_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Telling(Odd):
        def count(self, text: str) -> int:
            if "时辰" in text:
                raise ValueError(f"cannot encode {text}")
            return len(text)

    with caplog.at_level(logging.DEBUG, "fabula"):
        result = with_tokenizer(lambda: Telling(0)).assemble(GOOD, SAME)
    warned(Code.BUDGET_FALLBACK, result)
    assert "时辰" not in caplog.text
    assert "时辰" not in " ".join(result.warnings)


# Budgets and limits


def test_a_window_smaller_than_the_users_rules_is_refused() -> None:
    house = engine()
    own = [Constraint(id=f"c-{n}", text=sized(150, seed=n).replace("\n", "")) for n in range(12)]
    error = refused(Code.RULES_TOO_LARGE, lambda: house.assemble(ask(window=2000), story(constraints=own)))
    assert "larger window" in error.sentence
    unharmed(house)


def test_rules_that_are_not_the_users_give_way_before_anything_is_refused() -> None:
    own = [rule(sized(150, seed=n).replace("\n", ""), source=f"graph:{n}", tier=Tier.GRAPH) for n in range(12)]
    result = engine().assemble(ask(window=2400), story(constraints=()), fragments=own)
    warned(Code.RULES_OVERBUDGET, result)
    holds(result)


def test_ninety_thousand_tokens_are_refused() -> None:
    house = engine()
    huge = [chunk(sized(9000, seed=n), 0.5, source=f"search:{n}") for n in range(10)]
    error = refused(Code.INPUT_TOO_LARGE, lambda: house.assemble(GOOD, SAME, fragments=huge))
    assert "64000" in error.sentence.replace(",", "")
    unharmed(house)


def test_a_manuscript_of_any_length_is_not_too_large() -> None:
    view = story(documents=[Document("ch-10", "第10章", prose(10, 4000))])
    result = engine().assemble(GOOD, view)
    assert result.warnings == ()
    holds(result)


def test_one_endless_paragraph_is_not_too_large() -> None:
    view = story(documents=[Document("ch-10", "第10章", "雨" * 300_000)])
    result = engine().assemble(GOOD, view)
    assert "雨" * 500 in result.prompt
    holds(result)


def test_the_next_constraint_after_five_hundred_is_refused() -> None:
    many = [Constraint(id=f"c-{n}", text=f"规则{n}") for n in range(501)]
    assert len(Constraints(PROJECT, many[:500]).constraints) == 500
    refused(Code.CONSTRAINT_LIMIT, lambda: Constraints(PROJECT, many))


def test_of_more_than_two_hundred_chunks_the_best_are_kept() -> None:
    many = [chunk(f"第{n}段。", 0.2 + (n * 37 % 300) / 1000, source=f"x:{n}") for n in range(260)]
    plain = Engine()
    result = plain.assemble(Request(project_id=PROJECT, window=32_000), View(Project(id=PROJECT)), fragments=many)
    assert "260" in warned(Code.RETRIEVED_CHUNK_LIMIT, result)
    found = verdicts(result).values()
    kept = [verdict.score for verdict in found if verdict.included]
    gone = [verdict.score for verdict in found if verdict.reason is Reason.CHUNK_LIMIT]
    assert (len(kept), len(gone)) == (200, 60)
    assert min(kept) >= max(gone)
    assert result.layers[Layer.RETRIEVED].chunks == 200
    again = plain.assemble(Request(project_id=PROJECT, window=32_000), View(Project(id=PROJECT)), fragments=many[:200])
    assert again.warnings == ()


BAD_RATIOS = [
    Profile(rules=Share(-0.1, 0)),
    Profile(rules=Share(0.9, 0)),
    Profile(immediate=Share(float("nan"), 0)),
    Profile(reply_ratio=2.0),
    Profile(settings=Share(cast("float", "a tenth"), 0)),
    Profile(settings=Share(True, 0)),
]
BAD_MINIMUMS = [
    Profile(rules=Share(0.15, -1)),
    Profile(rules=Share(0.15, cast("int", 1.5))),
    Profile(reply_most=-1),
    Profile(immediate=Share(0.5, cast("int", None))),
]


@pytest.mark.parametrize("profile", BAD_RATIOS)
def test_shares_that_cannot_be_meant_are_refused(profile: Profile) -> None:
    refused(Code.BUDGET_INVALID_RATIO, profile.check)


@pytest.mark.parametrize("profile", BAD_MINIMUMS)
def test_minimums_that_cannot_be_meant_are_refused(profile: Profile) -> None:
    with pytest.raises(FabulaError) as caught:
        profile.check()
    assert caught.value.code is Code.BUDGET_INVALID_MINIMUM


@pytest.mark.parametrize("profile", [*BAD_RATIOS, *BAD_MINIMUMS])
def test_an_engine_with_a_bad_profile_uses_the_default_one_and_warns(profile: Profile) -> None:
    result = engine(settings=Settings(profile=profile)).assemble(GOOD, SAME)
    assert "default" in warned(Code.BUDGET_FALLBACK, result)
    assert result.prompt == good().prompt


# Presets


def preset(*names: str) -> Preset:
    kinds = {"chat_history": "chat_history", "user_profile": "user_profile"}
    return Preset(nodes=tuple(Node(type=cast("Any", kinds.get(name, "placeholder")), id=name) for name in names))


@pytest.mark.parametrize(
    "names",
    [("settings", "rules"), ("rules", "retrieved", "settings", "immediate"), ("chat_history", "immediate")],
)
def test_a_preset_that_turns_the_layers_round_is_refused(names: tuple[str, ...]) -> None:
    refuses(Code.PRESET_LAYER_ORDER, preset=preset(*names))


def test_a_preset_with_an_anchor_twice_is_refused() -> None:
    refuses(Code.PRESET_INVALID, preset=preset("rules", "attic", "attic"))


def test_a_negative_depth_is_refused_or_placed_and_never_lost() -> None:
    lost = Node(id="lost", content="深度是负数的备注。", injection_strategy=Injection(depth=-1))
    house = engine()
    came = attempt(lambda: house.assemble(ask(preset=Preset(nodes=(lost,))), SAME))
    if isinstance(came, FabulaError):
        assert came.code is Code.PRESET_INVALID
        helpful(came.sentence)
    else:
        assert "深度是负数的备注。" in came.prompt
    unharmed(house)


def test_a_fragment_at_a_negative_depth_is_refused_when_it_is_made() -> None:
    with pytest.raises(FabulaError) as caught:
        replace(chunk("深度是负数的词条。", 0.9, source="x:lost"), placement=Placement(depth=-1))
    assert caught.value.code is Code.FRAGMENT_INVALID


def test_a_missing_anchor_warns_and_the_message_stays_where_it_is_listed() -> None:
    note = Node(id="note", content="靠着阁楼的备注。", injection_strategy=Injection(anchor_target="attic"))
    result = engine().assemble(ask(preset=Preset(nodes=(note,))), SAME)
    assert "attic" in warned(Code.PRESET_ANCHOR_MISSING, result)
    assert result.prompt.index("靠着阁楼的备注。") < result.prompt.index("[创作约束")


def test_a_preset_larger_than_the_window_is_refused() -> None:
    house = engine()
    huge = Preset(nodes=(Node(content=sized(7000)),))
    refused(Code.RULES_TOO_LARGE, lambda: house.assemble(ask(preset=huge), SAME))
    unharmed(house)


# Attachments, exclusions


@pytest.mark.parametrize("tokens", [-1, -50_000])
def test_an_image_of_negative_size_does_not_make_room(tokens: int) -> None:
    house = engine()
    image = Attachment(id="i", kind="image", reference="file:i.png", tokens=tokens)
    many = [chunk(sized(200, seed=n), 0.5, source=f"x:{n}") for n in range(60)]
    came = attempt(lambda: house.assemble(ask(attachments=(image,)), SAME, fragments=many))
    if isinstance(came, FabulaError):
        assert came.code is Code.REQUEST_INVALID
        helpful(came.sentence)
    else:
        assert recount(came.messages, came.model.tokenizer()) + came.rendered.overhead <= came.budget.total
    unharmed(house)


def test_excluding_nothing_excludes_nothing() -> None:
    """An empty name is what a form sends when a field was left blank; it must not drop the constraints."""
    result = engine().assemble(ask(exclude=("",)), SAME)
    assert result.prompt == good().prompt


def test_including_what_does_not_exist_changes_nothing() -> None:
    result = engine().assemble(ask(include=("codex:entity:nobody", "", "///")), SAME)
    assert result.prompt == good().prompt


def test_half_characters_in_the_unsaved_text_are_made_whole() -> None:
    result = engine().assemble(ask(unsaved_text="　　半个字\ud83d在这里。"), SAME)
    result.prompt.encode()
    assert "半个字" in result.prompt


def test_half_characters_in_the_input_are_refused_or_made_whole() -> None:
    house = engine()
    came = attempt(lambda: house.assemble(ask(additional_input="接着写\ud83d。"), SAME))
    if isinstance(came, FabulaError):
        assert came.code is Code.REQUEST_INVALID
    else:
        came.prompt.encode()
        assert "接着写" in came.prompt
        assert "你现在是作者。" in came.prompt
    unharmed(house)


def test_a_window_fragment_beside_a_document_does_not_shake_the_window() -> None:
    """Two windows are offered; one stands, the other has a verdict."""
    second = Fragment(source="x:window", layer=Layer.IMMEDIATE, text="另一扇窗。", project_id=PROJECT, part=Part.WINDOW)
    result = engine().assemble(GOOD, SAME, fragments=[second])
    windows = [verdict for verdict in result.trace if verdict.source in ("x:window", "editor:cursor-window")]
    assert sorted(verdict.included for verdict in windows) == [False, True]
    holds(result)


def test_a_document_that_is_not_of_the_story_has_no_later_secrets() -> None:
    """A note outside the timeline cannot be placed, so nothing tied to the story passes there."""
    view = story()
    manuscript = view.room(Manuscript)
    assert manuscript is not None
    result = engine().assemble(ask(document_id="note", unsaved_text="随手记下的一行。"), view)
    assert not [name for name in included(result) if name.startswith(("synopsis:", "search:"))]
    holds(result)
