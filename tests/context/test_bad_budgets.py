"""Bad tokenizers, budgets, presets and attachments: the code, a sentence that helps, and nothing half done."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabula.constraints import Constraint, Constraints
from fabula.context import (
    Attachment,
    BudgetProfile,
    Code,
    Engine,
    EngineSettings,
    FabulaError,
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
    Share,
    Tier,
    View,
)
from fabula.context.render import count_whole
from fabula.manuscript.model import Document, Manuscript
from fabula.text.tokens.models import Model
from fabula.workspace.sources import all_sources
from tests.context.bad import GOOD, SAME, good, refuses, unharmed
from tests.context.builders import (
    PROJECT,
    ask,
    attempt,
    check_result,
    chunk,
    engine,
    helpful,
    included,
    prose,
    refused,
    rule,
    sized,
    story,
    verdicts,
    warned,
)

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
    assembler = with_tokenizer(lambda: Odd(answer, after=after))
    result = assembler.assemble(GOOD, SAME)
    warned(Code.BUDGET_FALLBACK, result)
    assert not result.exact
    assert result.token_count <= result.budget.total
    assert count_whole(result.messages, result.model.tokenizer()) <= result.token_count
    assert assembler.assemble(GOOD, SAME).messages == result.messages


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
    assembler = engine()
    own = [Constraint(id=f"c-{n}", text=sized(150, seed=n).replace("\n", "")) for n in range(12)]
    error = refused(Code.RULES_TOO_LARGE, lambda: assembler.assemble(ask(window=2000), story(constraints=own)))
    assert "larger window" in error.sentence
    unharmed(assembler)


def test_rules_that_are_not_the_users_give_way_before_anything_is_refused() -> None:
    own = [rule(sized(150, seed=n).replace("\n", ""), source=f"graph:{n}", tier=Tier.GRAPH) for n in range(12)]
    result = engine().assemble(ask(window=2400), story(constraints=()), fragments=own)
    warned(Code.RULES_OVERBUDGET, result)
    check_result(result)


def test_ninety_thousand_tokens_are_refused() -> None:
    assembler = engine()
    huge = [chunk(sized(9000, seed=n), 0.5, source=f"search:{n}") for n in range(10)]
    error = refused(Code.INPUT_TOO_LARGE, lambda: assembler.assemble(GOOD, SAME, fragments=huge))
    assert "64000" in error.sentence.replace(",", "")
    unharmed(assembler)


def test_a_manuscript_of_any_length_is_not_too_large() -> None:
    view = story(documents=[Document("ch-10", "第10章", prose(10, 4000))])
    result = engine().assemble(GOOD, view)
    assert result.warnings == ()
    check_result(result)


def test_one_endless_paragraph_is_not_too_large() -> None:
    view = story(documents=[Document("ch-10", "第10章", "雨" * 300_000)])
    result = engine().assemble(GOOD, view)
    assert "雨" * 500 in result.prompt
    check_result(result)


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
    BudgetProfile(rules=Share(-0.1, 0)),
    BudgetProfile(rules=Share(0.9, 0)),
    BudgetProfile(immediate=Share(float("nan"), 0)),
    BudgetProfile(reply_ratio=2.0),
    BudgetProfile(settings=Share(cast("float", "a tenth"), 0)),
    BudgetProfile(settings=Share(True, 0)),
]
BAD_MINIMUMS = [
    BudgetProfile(rules=Share(0.15, -1)),
    BudgetProfile(rules=Share(0.15, cast("int", 1.5))),
    BudgetProfile(reply_most=-1),
    BudgetProfile(immediate=Share(0.5, cast("int", None))),
]


@pytest.mark.parametrize("profile", BAD_RATIOS)
def test_shares_that_cannot_be_meant_are_refused(profile: BudgetProfile) -> None:
    refused(Code.BUDGET_INVALID_RATIO, profile.check)


@pytest.mark.parametrize("profile", BAD_MINIMUMS)
def test_minimums_that_cannot_be_meant_are_refused(profile: BudgetProfile) -> None:
    with pytest.raises(FabulaError) as caught:
        profile.check()
    assert caught.value.code is Code.BUDGET_INVALID_MINIMUM


@pytest.mark.parametrize("profile", [*BAD_RATIOS, *BAD_MINIMUMS])
def test_an_engine_with_a_bad_profile_uses_the_default_one_and_warns(profile: BudgetProfile) -> None:
    result = engine(settings=EngineSettings(profile=profile)).assemble(GOOD, SAME)
    assert "默认" in warned(Code.BUDGET_FALLBACK, result)
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
    lost = Node(id="lost", content="深度是负数的备注。", injection_strategy=InjectionStrategy(depth=-1))
    assembler = engine()
    came = attempt(lambda: assembler.assemble(ask(preset=Preset(nodes=(lost,))), SAME))
    if isinstance(came, FabulaError):
        assert came.code is Code.PRESET_INVALID
        helpful(came.sentence)
    else:
        assert "深度是负数的备注。" in came.prompt
    unharmed(assembler)


def test_a_fragment_at_a_negative_depth_is_refused_when_it_is_made() -> None:
    with pytest.raises(FabulaError) as caught:
        replace(chunk("深度是负数的词条。", 0.9, source="x:lost"), placement=Placement(depth=-1))
    assert caught.value.code is Code.FRAGMENT_INVALID


def test_a_missing_anchor_warns_and_the_message_stays_where_it_is_listed() -> None:
    note = Node(id="note", content="靠着阁楼的备注。", injection_strategy=InjectionStrategy(anchor_target="attic"))
    result = engine().assemble(ask(preset=Preset(nodes=(note,))), SAME)
    assert "attic" in warned(Code.PRESET_ANCHOR_MISSING, result)
    assert result.prompt.index("靠着阁楼的备注。") < result.prompt.index("[创作约束")


def test_a_preset_larger_than_the_window_is_refused() -> None:
    assembler = engine()
    huge = Preset(nodes=(Node(content=sized(7000)),))
    refused(Code.RULES_TOO_LARGE, lambda: assembler.assemble(ask(preset=huge), SAME))
    unharmed(assembler)


# Attachments, exclusions


@pytest.mark.parametrize("tokens", [-1, -50_000])
def test_an_image_of_negative_size_does_not_make_room(tokens: int) -> None:
    assembler = engine()
    image = Attachment(id="i", kind="image", reference="file:i.png", tokens=tokens)
    many = [chunk(sized(200, seed=n), 0.5, source=f"x:{n}") for n in range(60)]
    came = attempt(lambda: assembler.assemble(ask(attachments=(image,)), SAME, fragments=many))
    if isinstance(came, FabulaError):
        assert came.code is Code.REQUEST_INVALID
        helpful(came.sentence)
    else:
        assert count_whole(came.messages, came.model.tokenizer()) + came.rendered.overhead <= came.budget.total
    unharmed(assembler)


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
    assembler = engine()
    came = attempt(lambda: assembler.assemble(ask(additional_input="接着写\ud83d。"), SAME))
    if isinstance(came, FabulaError):
        assert came.code is Code.REQUEST_INVALID
    else:
        came.prompt.encode()
        assert "接着写" in came.prompt
        assert "你现在是作者。" in came.prompt
    unharmed(assembler)


def test_a_window_fragment_beside_a_document_does_not_shake_the_window() -> None:
    """Two windows are offered; one stands, the other has a verdict."""
    second = Fragment(source="x:window", layer=Layer.IMMEDIATE, text="另一扇窗。", project_id=PROJECT, part=Part.WINDOW)
    result = engine().assemble(GOOD, SAME, fragments=[second])
    windows = [verdict for verdict in result.trace if verdict.source in ("x:window", "editor:cursor-window")]
    assert sorted(verdict.included for verdict in windows) == [False, True]
    check_result(result)


def test_a_document_that_is_not_of_the_story_has_no_later_secrets() -> None:
    """A note outside the timeline cannot be placed, so nothing tied to the story passes there."""
    view = story()
    manuscript = view.snapshot(Manuscript)
    assert manuscript is not None
    result = engine().assemble(ask(document_id="note", unsaved_text="随手记下的一行。"), view)
    assert not [name for name in included(result) if name.startswith(("synopsis:", "search:"))]
    check_result(result)
