"""Groups of fragments that come again with every request: measuring them once never changes what may be known."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from msgspec.structs import replace

from fabula.context import (
    Engine,
    Fragment,
    FunctionSource,
    Layer,
    Part,
    Perspective,
    Position,
    Project,
    Reason,
    Recipe,
    Request,
    Result,
    Timeline,
    TimelineEntry,
    View,
    Visibility,
    candidates,
)
from fabula.context.candidates import Candidates
from fabula.context.measure import MeasuredFragment
from fabula.context.recipes import NOVEL
from tests.context.builders import PROJECT, chunk, verdicts

STORY = Timeline(
    [
        TimelineEntry("one", pov="mara"),
        TimelineEntry("two"),
        TimelineEntry("past", when=0.5),
        TimelineEntry("three", pov="mara"),
    ]
)
FACT = chunk("The fact.", 0.9, source="x:fact")


def make_engine(*groups: tuple[Fragment, ...]) -> Engine:
    """An engine whose sources offer these very tuples again and again."""

    def source(number: int, group: tuple[Fragment, ...]) -> FunctionSource:
        return FunctionSource(name=f"group{number}", function=lambda ask, view: group, blocking=False)

    feeds = [source(number, group) for number, group in enumerate(groups)]
    recipe = Recipe(name="novel", preset=NOVEL.preset, sources=tuple(feed.name for feed in feeds))
    return Engine(feeds, recipes={"novel": recipe})


VIEW = View(Project(id=PROJECT), STORY)


def assemble_at(
    engine: Engine, document: str, cursor: int = 10, *, timeline: Timeline = STORY, **wishes: object
) -> Result:
    request = replace(Request(project_id=PROJECT, document_id=document, cursor=cursor, window=8192), **wishes)
    return engine.assemble(request, View(Project(id=PROJECT), timeline))


def reason(result: Result) -> Reason:
    return verdicts(result)["x:fact"].reason


def test_a_fact_told_in_one_place_is_not_told_in_another_where_it_is_not_known() -> None:
    engine = make_engine((replace(FACT, since=Position("two", 5)),))
    for _ in range(2):
        assert reason(assemble_at(engine, "three")) is Reason.KEPT
        assert reason(assemble_at(engine, "one")) is Reason.NOT_YET
        assert reason(assemble_at(engine, "two", 4)) is Reason.NOT_YET
        assert reason(assemble_at(engine, "two", 5)) is Reason.KEPT
        assert reason(assemble_at(engine, "past")) is Reason.NOT_YET


def test_where_somebody_learns_it_inside_the_chapter_the_place_in_it_counts() -> None:
    terms = Visibility("x:fact", known_to=frozenset({"mara"}), learned_at=(("mara", Position("one", 50)),))
    engine = make_engine((replace(FACT, known_to=terms.known_to, derived_from=(terms,)),))
    for _ in range(2):
        assert reason(assemble_at(engine, "one", 60)) is Reason.KEPT
        assert reason(assemble_at(engine, "one", 40)) is Reason.NOT_KNOWN


def test_what_one_may_know_is_not_told_to_another() -> None:
    engine = make_engine((replace(FACT, known_to=frozenset({"mara"})),))
    for _ in range(2):
        assert reason(assemble_at(engine, "one")) is Reason.KEPT
        assert reason(assemble_at(engine, "one", character="ephraim")) is Reason.NOT_KNOWN
        assert reason(assemble_at(engine, "one", perspective=Perspective.READER)) is Reason.NOT_KNOWN


def test_in_another_order_of_the_story_it_is_judged_anew() -> None:
    engine = make_engine((replace(FACT, since=Position("two", 5)),))
    turned = Timeline([TimelineEntry("two"), TimelineEntry("one")])
    for _ in range(2):
        assert reason(assemble_at(engine, "one")) is Reason.NOT_YET
        assert reason(assemble_at(engine, "one", timeline=turned)) is Reason.KEPT


def test_what_the_author_must_not_reveal_is_marked_every_time() -> None:
    engine = make_engine((replace(FACT, since=Position("three")),))
    for _ in range(2):
        result = assemble_at(engine, "one", perspective=Perspective.AUTHOR)
        assert reason(result) is Reason.NOT_REVEALED
        assert "(not to be revealed yet) The fact." in result.prompt
    assert "(not to be revealed yet)" not in assemble_at(engine, "three").prompt


def test_a_mark_is_traced_every_time_though_two_sources_offer_the_same_group() -> None:
    group = (replace(FACT, since=Position("three", 0)),)
    engine = make_engine(group, group)
    for _ in range(3):
        result = assemble_at(engine, "one", perspective=Perspective.AUTHOR)
        assert [v.reason for v in result.trace if v.source == "x:fact"] == [Reason.NOT_REVEALED, Reason.DUPLICATE]


@pytest.mark.parametrize("layer", [Layer.RULES, Layer.SETTINGS, Layer.RETRIEVED])
@pytest.mark.parametrize("eyes", [Perspective.AUTHOR, Perspective.READER])
def test_a_fragment_that_is_offered_twice_enters_once(layer: Layer, eyes: Perspective) -> None:
    twice = replace(FACT, layer=layer)
    engine = make_engine((replace(FACT, source="x:later", text="Later.", since=Position("three", 0)), twice), (twice,))
    for _ in range(3):
        result = assemble_at(engine, "one", perspective=eyes)
        assert result.prompt.count("The fact.") == 1
        assert [v.reason for v in result.trace if v.source == "x:fact"] == [Reason.KEPT, Reason.DUPLICATE]


def test_a_window_in_a_group_is_there_every_time() -> None:
    window = Fragment(
        source="x:window", layer=Layer.IMMEDIATE, text="The text so far.", project_id=PROJECT, part=Part.WINDOW
    )
    engine = make_engine((window, replace(FACT, since=Position("one", 1))))
    for _ in range(3):
        assert "The text so far." in assemble_at(engine, "three").prompt


def test_a_window_that_had_to_stand_back_once_is_there_when_it_is_the_only_one() -> None:
    window = Fragment(
        source="x:window", layer=Layer.IMMEDIATE, text="The text so far.", project_id=PROJECT, part=Part.WINDOW
    )
    engine = make_engine((window, replace(FACT, since=Position("one", 1))))
    other = replace(window, source="x:other", text="Another text.")
    for _ in range(2):
        engine.assemble(Request(project_id=PROJECT, document_id="three", cursor=10), VIEW, fragments=[other])
        assert "The text so far." in assemble_at(engine, "three").prompt


@pytest.mark.parametrize("seed", range(20))
def test_an_engine_that_remembers_answers_as_one_that_does_not(seed: int) -> None:
    random = Random(seed)
    documents = ("one", "two", "past", "three", "nowhere")

    def place() -> Position | None:
        return random.choice((None, Position(random.choice(documents), random.randint(0, 20))))

    def fragment(number: int) -> Fragment:
        known_to = random.choice((None, frozenset({"mara"}), frozenset({"reader", "ephraim"})))
        learnt = ((random.choice(("mara", "ephraim")), Position(random.choice(documents), random.randint(0, 20))),)
        terms = Visibility(f"x:{number}", place(), place(), known_to, random.choice(((), learnt)))
        return replace(
            chunk(f"Fact {number}.", random.random(), source=f"x:{number}"),
            layer=random.choice((Layer.RETRIEVED, Layer.SETTINGS, Layer.RULES)),
            since=place(),
            until=place(),
            known_to=known_to,
            derived_from=random.choice(((), (terms,))),
        )

    groups = [tuple(fragment(10 * at + n) for n in range(random.randint(1, 5))) for at in range(4)]
    engine = make_engine(*groups)
    for _ in range(40):
        document, cursor = random.choice(documents[:4]), random.randint(0, 20)
        eyes = random.choice((None, Perspective.AUTHOR, Perspective.READER))
        who, out = random.choice((None, "ephraim")), random.choice(((), ("x:1", "x:12")))
        mine, plain = (
            assemble_at(each, document, cursor, perspective=eyes, character=who, exclude=out)
            for each in (engine, make_engine(*groups))
        )
        assert mine.prompt == plain.prompt
        assert verdicts(mine) == verdicts(plain)


def test_rules_that_come_again_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two equal rules of a snapshot one is left out of each prompt, and the comparison is made for the first."""
    rules = tuple(
        Fragment(source=f"constraint:{number}", layer=Layer.RULES, part=Part.CONSTRAINT, text=text, project_id=PROJECT)
        for number, text in enumerate(("No lamps.", "No storms.", "No lamps."))
    )
    engine, compared = make_engine(rules), list[tuple[str, ...]]()
    drop_duplicates = candidates._drop_duplicates

    def note(found: Candidates, names: tuple[str, ...], rank: Callable[[MeasuredFragment], float]) -> None:
        compared.append(names)
        drop_duplicates(found, names, rank)

    monkeypatch.setattr(candidates, "_drop_duplicates", note)
    results = [assemble_at(engine, "one", cursor) for cursor in (3, 5, 8)]
    assert compared.count(("constraints", "rules")) == 1
    assert len({result.prompt for result in results}) == 1
    for result in results:
        assert [verdict.reason for verdict in result.explain("constraint:2")] == [Reason.DUPLICATE]


def test_a_limited_rule_that_repeats_another_is_left_out_where_it_holds() -> None:
    always = Fragment(
        source="constraint:a", layer=Layer.RULES, part=Part.CONSTRAINT, text="No lamps.", project_id=PROJECT
    )
    later = replace(always, source="constraint:b", since=Position("two"))
    engine = make_engine((always,), (later,))
    assert [one.reason for one in assemble_at(engine, "one").explain("constraint:b")] == [Reason.NOT_YET]
    assert [one.reason for one in assemble_at(engine, "three").explain("constraint:b")] == [Reason.DUPLICATE]
    assert [one.included for one in assemble_at(engine, "one").explain("constraint:a")] == [True]
