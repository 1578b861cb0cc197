"""The same question gets the same bytes: again, elsewhere, in between, and from many threads at once."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fabula.context import (
    NO_CONTINUITY,
    Continuity,
    Engine,
    FabulaError,
    Fragment,
    FunctionSource,
    Recipe,
    Request,
    SourceRequest,
    View,
)
from tests.context.strategies import ALL_RECIPES, engine, fragment_lists, requests

Answer = tuple[object, ...]
questions = st.tuples(requests(), fragment_lists(10))
Question = tuple[Request, list[Fragment]]


def answer(here: Engine, question: Question, continuity: Continuity = NO_CONTINUITY) -> Answer:
    """All that a caller could tell two answers apart by."""
    request, fragments = question
    try:
        result = here.assemble(request, fragments=fragments, continuity=continuity)
    except FabulaError as refusal:
        return refusal.code, refusal.sentence
    return (
        result.prompt.encode(),
        result.messages,
        result.token_count,
        result.stable_prefix_hash,
        result.warnings,
        list(result.trace),
        result.continuity,
        result.layers,
    )


def copied(fragments: Iterable[Fragment]) -> list[Fragment]:
    """Equal fragments that are not the same objects."""
    return [replace(fragment, text=fragment.text[:1] + fragment.text[1:]) for fragment in fragments]


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(questions, st.lists(questions, max_size=2))
def test_the_same_request_gives_the_same_bytes_whatever_was_asked_in_between(
    question: Question, others: list[Question]
) -> None:
    here = engine()
    first = answer(here, question)
    for other in others:
        answer(here, other)
    assert answer(here, question) == first
    assert answer(engine(), (question[0], copied(question[1]))) == first


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(questions, st.lists(questions, min_size=1, max_size=2))
def test_the_same_request_and_continuity_give_the_same_bytes(question: Question, others: list[Question]) -> None:
    request, fragments = question
    here = engine()
    try:
        before = here.assemble(request, fragments=fragments).continuity
    except FabulaError:
        before = NO_CONTINUITY
    second = (replace(request, attachments=()), [*fragments[1:], *fragments[:1]])
    first = answer(here, second, before)
    for other in others:
        answer(here, other, before)
    assert answer(here, second, before) == first
    assert answer(engine(), (second[0], copied(second[1])), before) == first


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(st.lists(questions, min_size=2, max_size=4), st.booleans())
def test_many_threads_each_get_what_they_would_get_alone(asked: list[Question], waits: bool) -> None:
    """Once as the engine likes it (taking turns), once with a source that waits, so that threads truly mix."""

    def nothing(ask: SourceRequest, view: View) -> list[Fragment]:
        return []

    recipes = {
        name: Recipe(**{field: getattr(recipe, field) for field in recipe.__struct_fields__} | {"sources": ("idle",)})
        for name, recipe in ALL_RECIPES.items()
    }
    asked = [(replace(request, document_id=f"d{at}"), given) for at, (request, given) in enumerate(asked)]
    alone = [answer(engine(), question) for question in asked]
    shared = Engine([FunctionSource(name="idle", function=nothing)] if waits else [], recipes=recipes)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda question: answer(shared, question), asked * 4))
    assert found == alone * 4
