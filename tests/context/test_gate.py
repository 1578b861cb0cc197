"""The gate, through the engine: what may be known here and now, and by whom."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fabula.context import Engine as House
from fabula.context import (
    Fragment,
    Layer,
    Perspective,
    Position,
    Project,
    Reason,
    Request,
    Result,
    Timeline,
    TimelineEntry,
    View,
    Visibility,
)
from tests.context.builders import PROJECT, chunk, verdicts

STORY = Timeline(
    [
        TimelineEntry("one", pov="mara"),
        TimelineEntry("two"),
        TimelineEntry("past", when=0.5, pov="ephraim"),
        TimelineEntry("three", pov="mara"),
    ]
)
FACT = chunk("The fact.", 0.9, source="x:fact")


def assemble_with(fact: Fragment, document: str, cursor: int | None = 10, **wishes: object) -> Result:
    """An assembly at a place in the story, with one fact offered."""
    request = replace(Request(project_id=PROJECT, document_id=document, cursor=cursor, window=8192), **wishes)
    result = House().assemble(request, View(Project(id=PROJECT), STORY), fragments=[fact])
    assert ("The fact." in result.prompt) is verdicts(result)["x:fact"].included
    return result


def reason(fact: Fragment, document: str, cursor: int | None = 10, **wishes: object) -> Reason:
    return verdicts(assemble_with(fact, document, cursor, **wishes))["x:fact"].reason


def test_a_fact_is_told_from_its_place_on() -> None:
    fact = replace(FACT, since=Position("two", 5))
    assert reason(fact, "one") is Reason.NOT_YET
    assert reason(fact, "two", 4) is Reason.NOT_YET
    assert reason(fact, "two", 5) is Reason.KEPT
    assert reason(fact, "three") is Reason.KEPT
    assert reason(fact, "two", None) is Reason.KEPT


def test_a_fact_is_told_until_its_place() -> None:
    fact = replace(FACT, until=Position("two", 5))
    assert reason(fact, "one") is Reason.KEPT
    assert reason(fact, "two", 4) is Reason.KEPT
    assert reason(fact, "two", 5) is Reason.NO_LONGER
    assert reason(fact, "three") is Reason.NO_LONGER


def test_a_flashback_knows_what_had_happened_and_is_told_only_once_it_was_read() -> None:
    assert reason(replace(FACT, since=Position("one", 0)), "past") is Reason.NOT_YET
    assert reason(replace(FACT, since=Position("past", 3)), "past") is Reason.KEPT
    assert reason(replace(FACT, since=Position("past", 3)), "two") is Reason.NOT_YET
    assert reason(replace(FACT, since=Position("past", 3)), "three") is Reason.KEPT


def test_what_cannot_be_placed_is_never_told() -> None:
    assert reason(replace(FACT, since=Position("nowhere", 0)), "three") is Reason.NOT_YET
    assert reason(replace(FACT, since=Position("one", 0)), "nowhere") is Reason.NOT_YET


def test_what_some_know_is_told_to_them_and_to_no_one_else() -> None:
    fact = replace(FACT, known_to=frozenset({"mara"}))
    assert reason(fact, "one") is Reason.KEPT
    assert reason(fact, "past") is Reason.NOT_KNOWN
    assert reason(fact, "two") is Reason.NOT_KNOWN
    assert reason(fact, "two", character="mara") is Reason.KEPT
    assert reason(fact, "two", speaker_id="mara") is Reason.KEPT
    assert reason(fact, "one", character="will") is Reason.NOT_KNOWN
    assert reason(fact, "one", perspective=Perspective.READER) is Reason.NOT_KNOWN


def test_what_nobody_knows_is_told_to_nobody_but_the_author() -> None:
    fact = replace(FACT, known_to=frozenset[str]())
    assert reason(fact, "one") is Reason.NOT_KNOWN
    assert reason(fact, "one", perspective=Perspective.AUTHOR) is Reason.KEPT


def test_a_fact_may_be_the_readers_as_well() -> None:
    fact = replace(FACT, known_to=frozenset({"reader"}))
    assert reason(fact, "two") is Reason.KEPT
    assert reason(fact, "one") is Reason.NOT_KNOWN


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        (Visibility("x:source", since=Position("three", 0)), Reason.NOT_YET),
        (Visibility("x:source", until=Position("one", 0)), Reason.NO_LONGER),
        (Visibility("x:source", known_to=frozenset({"grace"})), Reason.NOT_KNOWN),
    ],
)
def test_derived_text_inherits_the_strictest_of_its_sources(terms: Visibility, why: Reason) -> None:
    fine = Visibility("x:fine", since=Position("one", 0))
    assert reason(replace(FACT, derived_from=(fine,)), "two") is Reason.KEPT
    assert reason(replace(FACT, derived_from=(fine, terms)), "two") is why


def test_the_author_knows_all_and_sees_what_must_not_be_revealed_marked() -> None:
    later = replace(FACT, since=Position("three", 0), known_to=frozenset({"grace"}))
    result = assemble_with(later, "one", perspective=Perspective.AUTHOR)
    assert verdicts(result)["x:fact"].reason is Reason.NOT_REVEALED
    assert "(not to be revealed yet) The fact." in result.prompt
    now = assemble_with(replace(FACT, since=Position("one", 0)), "one", perspective=Perspective.AUTHOR)
    assert "(not to be revealed yet)" not in now.prompt


def test_the_mark_is_in_the_projects_language_and_goes_when_the_time_comes() -> None:
    later = replace(FACT, text="事实。", since=Position("three", 0))
    view = View(Project(id=PROJECT, language="zh"), STORY)
    assembler = House()
    for document, marked in (("one", True), ("three", False), ("one", True)):
        request = Request(project_id=PROJECT, document_id=document, cursor=0, perspective=Perspective.AUTHOR)
        prompt = assembler.assemble(request, view, fragments=[later]).prompt
        assert ("（尚不可揭示）事实。" in prompt) is marked
        assert "事实。" in prompt


def test_the_mark_is_counted() -> None:
    result = assemble_with(replace(FACT, since=Position("three", 0)), "one", perspective=Perspective.AUTHOR)
    sent = sum(result.model.tokenizer().count(message.content) for message in result.messages)
    assert result.token_count == sent + result.rendered.overhead


@pytest.mark.parametrize("layer", list(Layer))
def test_the_gate_stands_before_every_layer(layer: Layer) -> None:
    secret = Fragment(source="x:fact", layer=layer, text="The fact.", project_id=PROJECT, since=Position("three", 0))
    assert reason(secret, "one") is Reason.NOT_YET
    assert reason(replace(secret, since=None, known_to=frozenset({"grace"})), "one") is Reason.NOT_KNOWN
