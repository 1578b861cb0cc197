"""Continuity kept in one process, for projects outside a store."""

from __future__ import annotations

import pytest

from fabula.context import NO_CONTINUITY, Engine, Fragment, Layer, Part, Request, Vantage
from fabula.context.vantage import resolve_vantage
from fabula.workspace import continuity as module
from fabula.workspace.continuity import ProcessContinuity, continuity_keys
from tests.context.builders import ask, story

P = "p"


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_number_of_continuities_has_a_bound(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CONTINUITIES", limit)
    kept, engine = ProcessContinuity(), Engine()
    requests = [Request(project_id=P, document_id=f"d-{n}") for n in range(20)]
    for request in requests:
        keys = continuity_keys(request, Vantage(), ())
        kept.commit(P, kept.record(P, keys, engine.assemble(request)))
    places = [kept.load(P, continuity_keys(request, Vantage(), ())).document for request in requests]
    assert sum(place.endswith(request.document_id) for place, request in zip(places, requests, strict=True)) <= limit


def test_places_recipes_models_and_vantages_have_their_own_continuity() -> None:
    view = story()
    requests = [
        ask(),
        ask(document_id="ch-09"),
        ask(conversation_id="t"),
        ask(recipe="chat"),
        ask(model="gpt-4"),
        ask(character="shenmo"),
    ]
    keys = {continuity_keys(request, resolve_vantage(request, view), ()).place.row_key for request in requests}
    assert len(keys) == len(requests)
    other_skill = ask(skill_id="rewrite")
    assert continuity_keys(other_skill, resolve_vantage(other_skill, view), ()).place.row_key in keys


def test_unchanged_means_since_the_last_request_wherever_in_the_book_that_was() -> None:
    engine, kept = Engine(), ProcessContinuity()

    def is_unchanged(document: str, rule: str) -> bool:
        request = Request(project_id=P, document_id=document)
        keys = continuity_keys(request, Vantage(), ())
        rules = Fragment(source="constraint:1", layer=Layer.RULES, part=Part.CONSTRAINT, text=rule, project_id=P)
        result = engine.assemble(request, fragments=[rules], continuity=kept.load(P, keys))
        kept.record(P, keys, result)
        return result.stable_prefix_unchanged

    answers = [
        is_unchanged("a", "One."),
        is_unchanged("a", "One."),
        is_unchanged("b", "Two."),
        is_unchanged("a", "One."),
    ]
    assert answers == [False, True, False, False]


def test_a_place_that_was_never_seen_has_no_continuity() -> None:
    keys = continuity_keys(Request(project_id=P, document_id="a"), Vantage(), ())
    assert ProcessContinuity().load(P, keys) == NO_CONTINUITY
