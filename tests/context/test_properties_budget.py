"""The total is hard: whatever comes in, what goes out fits, and is counted as sent."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fabula.context import (
    Code,
    Engine,
    EngineSettings,
    FabulaError,
    Fragment,
    Layer,
    Limits,
    Part,
    Request,
    Result,
    Tier,
)
from fabula.text.tokens.models import Model, find_model
from tests.context.strategies import ALL_RECIPES, UNCUT, fragment_lists, recount, requests

REFUSALS = {Code.RULES_TOO_LARGE, Code.INPUT_TOO_LARGE}
BOUNDLESS = EngineSettings(limits=Limits(input_tokens=10**9))


def assembled(request: Request, fragments: Sequence[Fragment]) -> Result | FabulaError:
    """A result, or one of the two refusals that a budget may give."""
    try:
        return Engine(settings=BOUNDLESS, recipes=ALL_RECIPES).assemble(request, fragments=fragments)
    except FabulaError as refusal:
        if refusal.code not in REFUSALS:
            raise
        return refusal


def least(request: Request, fragments: Sequence[Fragment]) -> Result:
    """The smallest prompt there can be: only what may never be cut, in a window that holds anything."""
    needed = [
        fragment
        for fragment in fragments
        if (fragment.layer is Layer.RULES and fragment.tier == Tier.USER)
        or (fragment.layer is Layer.IMMEDIATE and fragment.part in UNCUT)
    ]
    roomy = replace(request, window=1_000_000, reply_tokens=0, attachments=())
    return Engine(settings=BOUNDLESS, recipes=ALL_RECIPES).assemble(roomy, fragments=needed)


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(requests(), fragment_lists())
def test_the_prompt_never_exceeds_the_budget(request: Request, fragments: list[Fragment]) -> None:
    result = assembled(request, fragments)
    if isinstance(result, Result):
        assert result.token_count <= result.budget.total
        assert recount(request, result) <= result.budget.total


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(requests(), fragment_lists())
def test_the_count_is_that_of_the_messages_as_sent(request: Request, fragments: list[Fragment]) -> None:
    result = assembled(request, fragments)
    if isinstance(result, Result):
        plain = recount(request, result)
        assert result.token_count == plain if result.exact else result.token_count >= plain


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(requests(), fragment_lists())
def test_the_layers_add_up_to_the_count(request: Request, fragments: list[Fragment]) -> None:
    result = assembled(request, fragments)
    if isinstance(result, Result) and result.model.name != "llama-2-7b" and "\n/" not in result.prompt:
        images = {item.reference: item.tokens for item in request.attachments}
        sent = sum(images[reference] for message in result.messages for reference in message.attachments)
        layers = sum(report.tokens for report in result.layers.values())
        owned = layers + result.identity_tokens + result.preset_tokens
        assert owned + result.rendered.overhead + sent == result.token_count


def held_back(request: Request) -> int:
    """What headings and the edges of messages might cost: spoken for before it is known which are needed (ctx-13)."""
    model = find_model(request.model)
    nodes = len(request.preset.nodes) if request.preset is not None else 0
    return 60 + model.tokens_per_message * (10 + 2 * nodes)


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(requests(), fragment_lists())
def test_it_refuses_only_where_what_cannot_be_cut_does_not_fit(request: Request, fragments: list[Fragment]) -> None:
    result = assembled(request, fragments)
    if isinstance(result, FabulaError):
        assert request.window is not None
        reply = request.reply_tokens if request.reply_tokens is not None else min(request.window // 4, 4096)
        assert least(request, fragments).token_count + held_back(request) > request.window - reply, result.sentence


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(requests(), fragment_lists(), st.integers(0, 60))
def test_it_answers_where_what_cannot_be_cut_just_fits(request: Request, fragments: list[Fragment], more: int) -> None:
    smallest = least(request, fragments).token_count
    tight = replace(request, window=smallest + held_back(request) + more, reply_tokens=0, attachments=())
    result = assembled(tight, fragments)
    assert isinstance(result, Result), result
    assert result.token_count <= result.budget.total


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(requests(), fragment_lists())
def test_a_kept_rule_stands_whole_and_a_users_rule_is_always_kept(request: Request, fragments: list[Fragment]) -> None:
    result = assembled(request, fragments)
    if isinstance(result, FabulaError):
        return
    rules = [fragment for fragment in fragments if fragment.layer is Layer.RULES]
    included = {verdict.source for verdict in result.trace if verdict.included}
    for rule in rules:
        text = rule.text.strip()
        if rule.part is Part.CONSTRAINT:
            text = text.replace("\n", " ")  # one numbered line each
        stands = any(text in message.content for message in result.messages)
        assert stands == (rule.source in included)
        assert stands or rule.tier != Tier.USER


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.sampled_from(list(Tier)), st.sampled_from(list(Tier))), min_size=1, max_size=12))
def test_a_rule_that_has_become_the_users_own_is_kept_whatever_was_left_out_before(
    tiers: list[tuple[Tier, Tier]],
) -> None:
    """Nothing kept between requests may cost a user's rule its place (bud-4)."""

    def rules(which: int) -> list[Fragment]:
        return [
            Fragment(
                source=f"constraint:{at}",
                layer=Layer.RULES,
                part=Part.CONSTRAINT,
                text=f"Rule {at}: " + "never call the harbour by its old name. " * 12,
                project_id="p",
                tier=pair[which],
            )
            for at, pair in enumerate(tiers)
        ]

    request = Request(project_id="p", document_id="d", window=4000, model="gpt-4")
    engine = Engine()
    first = engine.assemble(request, fragments=rules(0))
    second = engine.assemble(request, fragments=rules(1), continuity=first.continuity)
    included = {verdict.source for verdict in second.trace if verdict.included}
    assert {rule.source for rule in rules(1) if rule.tier == Tier.USER} <= included


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.tuples(st.sampled_from(list(Tier)), st.integers(1, 20)), min_size=1, max_size=12),
    st.integers(300, 2500),
)
def test_a_users_rules_are_all_there_or_the_request_is_refused(rows: list[tuple[Tier, int]], window: int) -> None:
    """Where they cannot fit it is said so: none of them is ever left out to make the others fit (bud-4)."""
    rules = [
        Fragment(
            source=f"constraint:{at}",
            layer=Layer.RULES,
            part=Part.CONSTRAINT,
            text=f"Rule {at}: " + "never call the harbour by its old name. " * words,
            project_id="p",
            tier=tier,
        )
        for at, (tier, words) in enumerate(rows)
    ]
    came = assembled(Request(project_id="p", model="gpt-4", window=window, reply_tokens=0), rules)
    if isinstance(came, FabulaError):
        assert came.code is Code.RULES_TOO_LARGE
    else:
        told = [rule for rule in rules if rule.text.strip() in came.prompt]
        assert [rule for rule in rules if rule.tier == Tier.USER and rule not in told] == []


class Foreign:
    """A tokenizer of somebody else's that finds more in a long text than in its parts, and says so."""

    name = "foreign"
    exact = True
    additive = False

    def __init__(self, apart: int) -> None:
        self._apart = apart  # the lower, the further the whole lies from its parts

    def count(self, text: str) -> int:
        return len(text) + len(text) ** 2 // self._apart


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 9)), min_size=8, max_size=60),
    st.integers(1500, 9000),
    st.sampled_from((50_000, 150_000, 500_000)),
)
def test_the_total_holds_where_a_whole_costs_more_than_its_parts(
    found: list[tuple[int, int]], window: int, apart: int
) -> None:
    """What was fitted by its parts is counted whole, and fitted again with less room until it holds (bud-5)."""

    def foreign(model: Model) -> Foreign:
        return Foreign(apart)

    offered = [
        Fragment(
            source=f"search:{at}",
            layer=Layer.RETRIEVED,
            text=f"Passage {at}. " + "The water rose again. " * words,
            project_id="p",
            score=score / 10,
        )
        for at, (words, score) in enumerate(found)
    ]
    request = Request(project_id="p", model="gpt-4", window=window, reply_tokens=0)
    result = Engine(tokenizer_for=foreign).assemble(request, fragments=offered)
    assert result.warnings == ()
    assert result.token_count <= result.budget.total
    inside = sum(Foreign(apart).count(message.content) for message in result.messages)
    assert result.token_count == inside + result.rendered.overhead


class Joining:
    """A tokenizer by which a message costs a little more than the lines it is made of."""

    name = "joining"
    exact = True
    additive = False

    def __init__(self, more: int) -> None:
        self._more = more

    def count(self, text: str) -> int:
        return len(text.split()) + (self._more if "\n" in text.strip() else 0)


@pytest.mark.parametrize("more", [1, 2, 3, 5, 8])
def test_the_total_holds_to_the_token_where_messages_cost_a_little_more(more: int) -> None:
    """Lines of one token fill the room to the last one, so that every token too many would show (bud-5)."""
    text = Fragment(
        source="w", layer=Layer.IMMEDIATE, part=Part.WINDOW, text="word\n" * 9000, project_id="p", score=1.0
    )
    spare = set()
    for window in range(3000, 3040):
        request = Request(project_id="p", model="gpt-4", window=window, reply_tokens=0)
        result = Engine(tokenizer_for=lambda model: Joining(more)).assemble(request, fragments=[text])
        assert result.token_count <= result.budget.total
        inside = sum(Joining(more).count(message.content) for message in result.messages)
        assert result.token_count == inside + result.rendered.overhead
        spare.add(window - result.token_count)
    assert min(spare) <= 2 * more + 4  # it was as near as that
