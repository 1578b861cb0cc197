"""If it is not in the trace, it did not happen; and what the trace says is so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from fabula.context import (
    NO_CONTINUITY,
    Continuity,
    Engine,
    FabulaError,
    Fragment,
    Layer,
    Part,
    Placement,
    Position,
    Reason,
    Request,
    Tier,
)
from tests.context.strategies import (
    ALL_RECIPES,
    PROJECT,
    engine,
    fragment_lists,
    requests,
    scores,
    tag,
    tags_in,
    texts,
    together,
)

SHORTENED = {Reason.SHORTENED}


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(requests(), fragment_lists(), st.sets(st.integers(0, 14), max_size=3))
def test_every_fragment_offered_has_exactly_one_verdict(
    request: Request, fragments: list[Fragment], unwanted: set[int]
) -> None:
    excluded = tuple(fragments[at].source for at in unwanted if at < len(fragments))
    request = Request(**{name: getattr(request, name) for name in request.__struct_fields__} | {"exclude": excluded})
    try:
        result = engine().assemble(request, fragments=fragments)
    except FabulaError:
        assume(False)
    verdicts = [verdict for verdict in result.trace if not verdict.source.startswith(("attachment:", "preset:"))]
    assert Counter(verdict.source for verdict in verdicts) == Counter(fragment.source for fragment in fragments)
    attached = [verdict.source for verdict in result.trace if verdict.source.startswith("attachment:")]
    assert sorted(attached) == sorted(f"attachment:{item.id}" for item in request.attachments)
    nodes = request.preset.nodes if request.preset is not None else ()
    own = [verdict.text for verdict in result.trace if verdict.layer is None]
    assert sorted(own) == sorted(node.content for node in nodes if node.enabled and node.content.strip())


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(requests(), fragment_lists())
def test_what_the_trace_calls_included_is_in_the_prompt_and_nothing_else_is(
    request: Request, fragments: list[Fragment]
) -> None:
    try:
        result = engine().assemble(request, fragments=fragments)
    except FabulaError:
        assume(False)
    shown = Counter(tags_in(together(result.messages)))
    reasons = {verdict.source: verdict for verdict in result.trace}
    for number, fragment in enumerate(fragments):
        verdict = reasons[fragment.source]
        if verdict.reason not in SHORTENED:
            assert shown[tag(number)] == (1 if verdict.included else 0), verdict


_KINDS = (
    (Layer.RETRIEVED, Part.PLAIN),
    (Layer.RETRIEVED, Part.PLAIN),
    (Layer.SETTINGS, Part.PLAIN),
    (Layer.RULES, Part.PLAIN),
    (Layer.RULES, Part.CONSTRAINT),
    (Layer.IMMEDIATE, Part.HISTORY),
    (Layer.IMMEDIATE, Part.WINDOW),
    (Layer.IMMEDIATE, Part.AFTER),
)


def alike(kinds: Sequence[tuple[Layer, Part]], most: int = 9) -> st.SearchStrategy[list[Fragment]]:
    """Fragments of few sources and few texts, so that many of them meet."""
    rows = st.tuples(
        st.sampled_from(("codex:1", "codex:2", "Mara")),
        st.sampled_from(("Mara", "codex:1", "林远 is a surveyor.", " Mara\n", " \n　")),
        st.sampled_from(kinds),
        st.sampled_from((Tier.LEARNED, Tier.USER)),
        st.sampled_from((0.3, 0.5, 0.9)),
    )
    return st.lists(rows, max_size=most).map(
        lambda found: [
            Fragment(source=source, text=text, layer=layer, part=part, tier=tier, score=score, project_id=PROJECT)
            for source, text, (layer, part), tier, score in found
        ]
    )


collections = alike(_KINDS)
retrieved = alike(_KINDS[:1], 5)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(collections | retrieved, st.sampled_from(list(ALL_RECIPES)))
@example(
    [
        Fragment(source="codex:2", text="needed", score=0.9, layer=Layer.RETRIEVED, project_id=PROJECT),
        Fragment(source="codex:1", text="Mara", score=0.3, layer=Layer.RETRIEVED, project_id=PROJECT),
        Fragment(source="codex:2", text="Mara", score=0.5, layer=Layer.RETRIEVED, project_id=PROJECT),
    ],
    "novel",
)
def test_fragments_that_share_a_source_or_a_text_have_a_verdict_each_in_every_request_of_a_chain(
    fragments: list[Fragment], recipe: str
) -> None:
    here, request = engine(), Request(project_id=PROJECT, document_id="d", recipe=recipe)
    continuity: Continuity = NO_CONTINUITY
    for _ in range(3):
        result = here.assemble(request, fragments=fragments, continuity=continuity)
        continuity = result.continuity
        got = Counter((verdict.source, verdict.layer, verdict.score) for verdict in result.trace)
        assert got == Counter((fragment.source, fragment.layer, float(fragment.score)) for fragment in fragments)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(collections | retrieved)
def test_a_duplicate_shares_its_text_or_its_source_with_something_that_is_in(fragments: list[Fragment]) -> None:
    """The same fact enters once (bud-10): that takes a second telling of it, not a text that reads like an id."""
    result = engine().assemble(Request(project_id=PROJECT, document_id="d"), fragments=fragments)
    verdicts = list(result.trace)
    inside = [verdict for verdict in verdicts if verdict.included]
    for verdict in verdicts:
        if verdict.reason in (Reason.DUPLICATE, Reason.SAME_SOURCE) and verdict.layer in (
            Layer.RETRIEVED,
            Layer.SETTINGS,
            Layer.RULES,
        ):
            assert any(
                twin.layer is verdict.layer
                and (twin.text.strip() == verdict.text.strip() or twin.source == verdict.source)
                for twin in inside
            ), verdict


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(retrieved)
def test_the_same_retrieved_fact_enters_once(fragments: list[Fragment]) -> None:
    result = engine().assemble(Request(project_id=PROJECT, document_id="d"), fragments=fragments)
    inside = [verdict for verdict in result.trace if verdict.included and verdict.layer is Layer.RETRIEVED]
    assert len({verdict.source for verdict in inside}) == len(inside)
    assert len({verdict.text.strip() for verdict in inside}) == len(inside)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.integers(-3, 3), st.sampled_from((Layer.RETRIEVED, Layer.SETTINGS)), st.integers(0, 3))
def test_what_is_injected_at_any_depth_is_where_the_trace_says(depth: int, layer: Layer, messages: int) -> None:
    """A depth below nought is no depth: refused, or placed, but never said to be in while it is nowhere."""
    history = [
        Fragment(
            source=f"history:{at}", layer=Layer.IMMEDIATE, part=Part.HISTORY, text=f"Line {at}", project_id=PROJECT
        )
        for at in range(messages)
    ]
    request = Request(project_id=PROJECT, document_id="d", recipe="chat")
    try:
        injected = Fragment(
            source="codex:1", layer=layer, text=tag(0), project_id=PROJECT, placement=Placement(depth=depth)
        )
        result = Engine().assemble(request, fragments=[injected, *history])
    except FabulaError:
        assume(depth < 0)
        return
    verdict = next(iter(result.explain("codex:1")))
    assert verdict.included == (tag(0) in result.prompt)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(texts(), scores)
def test_a_dry_run_says_the_same_and_leaves_the_continuity_alone(text: str, score: float) -> None:
    fragments = [
        Fragment(source="codex:1", layer=Layer.RETRIEVED, text=text, project_id=PROJECT, score=score),
        Fragment(
            source="codex:2", layer=Layer.RETRIEVED, text="later", project_id=PROJECT, since=Position("d", 1 << 70)
        ),
    ]
    request = Request(project_id=PROJECT, document_id="d")
    here = engine()
    before = here.assemble(request, fragments=fragments[:1]).continuity
    real = here.assemble(request, fragments=fragments, continuity=before)
    dry = here.inspect(request, fragments=fragments, continuity=before)
    assert dry.prompt == real.prompt
    assert list(dry.trace) == list(real.trace)
    assert dry.continuity == before
