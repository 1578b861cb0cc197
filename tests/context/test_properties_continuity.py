"""Continuity: a sitting at the desk, request after request, each handed what the last one left."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from fabula.context import (
    NO_CONTINUITY,
    Continuity,
    Engine,
    Fragment,
    Layer,
    Part,
    Position,
    Project,
    Reason,
    Request,
    Result,
    Timeline,
    TimelineEntry,
    View,
)
from fabula.core.relevance import NEEDED, PREVIOUSLY_INCLUDED
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.windows import make_text_window
from tests.context.strategies import PROJECT, tag, tags_in, together

NOT_FITTING = {Reason.NO_ROOM, Reason.TOO_LARGE, Reason.PASSED_OVER, Reason.CHUNK_LIMIT}
HIDDEN = {Reason.NOT_YET, Reason.NOT_KNOWN, Reason.NO_LONGER}
KINDS = ("codex", "search", "lore")
THINGS = 9
LATER = Position("e", 1_000_000)
VIEW = View(Project(id=PROJECT), Timeline([TimelineEntry("d"), TimelineEntry("e")]))


class Step(Struct, frozen=True):
    """One request of a sitting: how far the text has grown, and what is noticed."""

    grown: int
    noticed: dict[int, float]
    document: str = "d"
    cursor_back: int = 0


class Sitting(Struct, frozen=True):
    """A window size, a recipe, the sizes of the things there are, and the requests."""

    size: int
    recipe: str
    late: bool | None
    sizes: list[int]
    held: bool
    steps: list[Step]


# Made once: what is made while drawing is looked through anew each time.
how_many = st.integers(2, 6)
growths = st.sampled_from((0, 1, 3, 20, 60))
notices = st.dictionaries(st.integers(0, THINGS - 1), st.sampled_from((0.3, 0.6, 0.8, 0.9, 1.0)), max_size=7)
backs = st.sampled_from((0, 0, 0, 200))
all_sizes = st.lists(st.sampled_from((1, 5, 20, 60)), min_size=THINGS, max_size=THINGS)
window_sizes = st.sampled_from((700, 1000, 1500, 2500, 4000, 8000))
recipe_names = st.sampled_from(("novel", "chat"))
perhaps = st.none() | st.booleans()


@st.composite
def sittings(draw: st.DrawFn, documents: tuple[str, ...] = ("d", "d", "d", "e")) -> Sitting:
    """A chain of growing texts with detections that come and go."""
    grown, steps, chapters = 0, [], st.sampled_from(documents)
    for _ in range(draw(how_many)):
        grown += draw(growths)
        steps.append(Step(grown, draw(notices), draw(chapters), draw(backs)))
    return Sitting(
        draw(window_sizes),
        draw(recipe_names),
        draw(perhaps),
        draw(all_sizes),
        draw(st.booleans()),
        steps,
    )


def thing(number: int, score: float, size: int, secret: bool) -> Fragment:
    """Something that may be told; every third is a secret of a later chapter."""
    return Fragment(
        source=f"{KINDS[number % 3]}:{number}",
        layer=Layer.RETRIEVED,
        text=f"{tag(number)} " + "林远 has known the sluice for years. " * size,
        project_id=PROJECT,
        score=score,
        since=LATER if secret else None,
    )


def written(step: Step) -> tuple[str, int]:
    """The text as far as it has grown, and where in it the cursor stands."""
    text = "".join(f"Line {at}: the water rose again, 水又涨了。\n" for at in range(step.grown))
    return text, max(len(text) - step.cursor_back, 0)


def offered(step: Step, sitting: Sitting, before: Continuity, *, secrets: bool = False) -> list[Fragment]:
    """The text before the cursor, what is noticed now, and what was told last time if it is held."""
    text, cursor = written(step)
    last = (*before.retrieved, *before.late) if sitting.held else ()
    found: list[Fragment] = [make_text_window(Paragraphs(text), cursor, source="w", project_id=PROJECT, reach=100_000)]
    for number in range(THINGS):
        score = step.noticed.get(number)
        if score is None and f"{KINDS[number % 3]}:{number}" in last:
            score = PREVIOUSLY_INCLUDED
        if score is not None:
            found.append(thing(number, score, sitting.sizes[number], secrets and number % 3 == 1))
    closing = Fragment(source="input", layer=Layer.IMMEDIATE, part=Part.INSTRUCTION, text="Go on.", project_id=PROJECT)
    return [*found, closing]


def request_of(step: Step, sitting: Sitting) -> Request:
    """The request of one step."""
    return Request(
        project_id=PROJECT,
        document_id=step.document,
        cursor=written(step)[1],
        model="gpt-4",
        window=sitting.size,
        reply_tokens=0,
        recipe=sitting.recipe,
        late_joiners=sitting.late,
    )


def play(sitting: Sitting, *, secrets: bool = False) -> list[tuple[Step, list[Fragment], Continuity, Result]]:
    """The whole sitting: what was offered at each step, what came in with it, and what came out."""
    here, before = Engine(), NO_CONTINUITY
    played = []
    for step in sitting.steps:
        fragments = offered(step, sitting, before, secrets=secrets)
        result = here.assemble(request_of(step, sitting), VIEW, fragments=fragments, continuity=before)
        played.append((step, fragments, before, result))
        before = result.continuity
    return played


def included_sources(result: Result) -> list[str]:
    """The retrieved things in the order in which they stand in the prompt."""
    return tags_in(together(result.messages))


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(sittings())
def test_whatever_is_needed_now_is_in_the_prompt_or_traced_as_not_fitting(sitting: Sitting) -> None:
    for _, fragments, _, result in play(sitting):
        verdicts = {verdict.source: verdict for verdict in result.trace}
        shown = included_sources(result)
        for fragment in fragments:
            if fragment.layer is not Layer.RETRIEVED:
                continue
            verdict = verdicts[fragment.source]
            assert (tags_in(fragment.text)[0] in shown) == verdict.included
            if fragment.score >= NEEDED and not verdict.included:
                assert verdict.reason in NOT_FITTING
                lower = [
                    v.tokens
                    for v in verdicts.values()
                    if v.included and v.source != "w" and v.score < fragment.score and v.layer is Layer.RETRIEVED
                ]
                assert verdict.tokens > sum(lower)  # nothing merely welcome stands in its place


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(sittings())
def test_the_total_holds_at_every_step(sitting: Sitting) -> None:
    for _, fragments, _, result in play(sitting):
        assert result.token_count <= result.budget.total
        assert sorted(verdict.source for verdict in result.trace) == sorted(one.source for one in fragments)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(sittings())
def test_kept_things_keep_their_place_until_a_window_steps_or_the_chapter_changes(sitting: Sitting) -> None:
    """pre-3. Nothing was given up, the window begins where it began, the chapter is the same."""
    last: Result | None = None
    for step, _, before, result in play(sitting):
        if last is not None and before.document == step.document:
            stood, stands = included_sources(last), included_sources(result)
            quiet = result.continuity.window_start == before.window_start and set(stood) <= set(stands)
            full = any(verdict.reason in NOT_FITTING for verdict in result.trace)
            if quiet and not full:
                assert [one for one in stands if one in stood] == stood
                settled = list(before.retrieved)
                assert list(result.continuity.retrieved[: len(settled)]) == settled
        last = result


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(sittings(("d",)))
def test_a_step_that_changes_nothing_but_the_end_of_the_text_leaves_the_prefix_alone(sitting: Sitting) -> None:
    """The same things noticed, a few lines more, no step of the window: all before the new lines stays as it was."""
    first = replace(sitting.steps[0], cursor_back=0)
    steps = [first, first, replace(first, grown=first.grown + 1)]
    played = play(replace(sitting, steps=steps))
    second, third = played[1][3], played[2][3]
    if second.continuity.window_start == third.continuity.window_start and included_sources(second) == included_sources(
        third
    ):
        stable = second.prompt.removesuffix("Go on.").rstrip()
        if "[Also in this scene]" not in second.prompt:
            assert third.prompt.startswith(stable)
    assert played[0][3].stable_prefix_hash == second.stable_prefix_hash
    assert second.stable_prefix_unchanged


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(sittings())
def test_losing_the_continuity_changes_nothing_that_the_gate_decides(sitting: Sitting) -> None:
    here = Engine()
    for step, fragments, _, result in play(sitting, secrets=True):
        alone = here.assemble(request_of(step, sitting), VIEW, fragments=fragments)
        hidden = {verdict.source: verdict.reason for verdict in result.trace if verdict.reason in HIDDEN}
        assert hidden == {verdict.source: verdict.reason for verdict in alone.trace if verdict.reason in HIDDEN}
        secret = [one for one in fragments if one.since is not None]
        assert set(hidden) == {one.source for one in secret}
        for one in secret:
            assert one.text.strip() not in result.prompt


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(sittings())
def test_losing_the_continuity_changes_no_content_where_there_is_room_for_all(sitting: Sitting) -> None:
    sitting = replace(sitting, size=60_000)
    here = Engine()
    for step, fragments, _, result in play(sitting):
        alone = here.assemble(request_of(step, sitting), VIEW, fragments=fragments)
        assert sorted(included_sources(alone)) == sorted(included_sources(result))
        assert alone.stable_prefix_hash == result.stable_prefix_hash


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(sittings(), st.integers(0, 5))
def test_a_foreign_or_stale_continuity_costs_only_order_and_steps(sitting: Sitting, at: int) -> None:
    """Whatever comes in as continuity, the total holds and every fragment has its verdict."""
    played = play(sitting)
    step, fragments, _, _ = played[at % len(played)]
    for _, _, before, _ in played:
        result = Engine().assemble(request_of(step, sitting), VIEW, fragments=fragments, continuity=before)
        assert result.token_count <= result.budget.total
        assert sorted(verdict.source for verdict in result.trace) == sorted(one.source for one in fragments)
