"""The gate, against a model of it so small that it can be checked by eye."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.context import (
    Engine,
    Fragment,
    Layer,
    Part,
    Perspective,
    Position,
    Project,
    Reason,
    Request,
    Tier,
    Timeline,
    TimelineEntry,
    View,
    Visibility,
)
from fabula.context.phrases import load_phrases
from tests.context.strategies import PROJECT, tag, tags_in, together

CHAPTERS = ("one", "two", "three", "four")
SOMEWHERE = (*CHAPTERS, "not in the story")
PEOPLE = ("mara", "lin", "reader", "author")
HIDING = {Reason.NOT_YET, Reason.NOT_KNOWN, Reason.NO_LONGER}

positions = st.sampled_from([Position(name, offset) for name in SOMEWHERE for offset in range(4)])
knowers = st.none() | st.frozensets(st.sampled_from(PEOPLE), max_size=3)
terms = st.builds(
    Visibility, source=st.just("t"), since=st.none() | positions, until=st.none() | positions, known_to=knowers
)
Story = tuple[tuple[str, float | None], ...]
whens = st.sampled_from((None, 1.0, None, 2.0, None, 3.0, None, 4.0))  # as often untold as told
timelines: st.SearchStrategy[Story] = st.builds(
    lambda order, times: tuple(zip(order, times, strict=True)),
    st.permutations(CHAPTERS),
    st.tuples(*[whens] * len(CHAPTERS)),
)
origins = st.lists(terms, max_size=2)
_SEATS = (
    (Layer.RULES, Part.CONSTRAINT),
    (Layer.RULES, Part.PLAIN),
    (Layer.SETTINGS, Part.PLAIN),
    (Layer.RETRIEVED, Part.PLAIN),
    (Layer.IMMEDIATE, Part.SCENE),
    (Layer.IMMEDIATE, Part.WINDOW),
    (Layer.IMMEDIATE, Part.CURSOR),
    (Layer.IMMEDIATE, Part.AFTER),
    (Layer.IMMEDIATE, Part.EDITOR_STATE),
    (Layer.IMMEDIATE, Part.HISTORY),
    (Layer.IMMEDIATE, Part.INSTRUCTION),
)
seats = st.sampled_from(_SEATS)


@st.composite
def offered(draw: st.DrawFn) -> list[Fragment]:
    """Fragments with terms of their own and of what they were made from."""
    found: list[Fragment] = []
    for number in range(draw(st.integers(1, 6))):
        layer, part = draw(seats)
        own = draw(terms)
        found.append(
            Fragment(
                source=f"s:{number}",
                layer=layer,
                part=part,
                tier=Tier.USER,
                text=f"A fact. {tag(number)}",
                project_id=PROJECT,
                since=own.since,
                until=own.until,
                known_to=own.known_to,
                derived_from=tuple(draw(origins)),
            )
        )
    return found


def behind(mark: Position, here: Position, story: Story) -> bool:
    """Has it been read, and has it happened, by the time we are here?"""
    if mark.document == here.document:
        return mark.offset <= here.offset
    read = {name: place for place, (name, _) in enumerate(story, start=1)}
    happened = {name: float(read[name]) if when is None else when for name, when in story}
    if mark.document not in read or here.document not in read:
        return False
    return read[mark.document] < read[here.document] and happened[mark.document] <= happened[here.document]


def may_pass(fragment: Fragment, eyes: Perspective, who: str, here: Position, story: Story) -> bool:
    """Everything it was made from still holds, has been told, and is known to whoever looks."""
    return all(
        (one.until is None or not behind(one.until, here, story))
        and (
            eyes is Perspective.AUTHOR
            or ((one.since is None or behind(one.since, here, story)) and (one.known_to is None or who in one.known_to))
        )
        for one in fragment.visibilities
    )


def unrevealed(fragment: Fragment, here: Position, story: Story) -> bool:
    """Has something it was made from not been told yet?"""
    return any(one.since is not None and not behind(one.since, here, story) for one in fragment.visibilities)


def view_of(story: Story, pov: str | None = None) -> View:
    """A project with chapters in this order."""
    return View(Project(id=PROJECT), Timeline([TimelineEntry(name, when, pov) for name, when in story]))


looks = st.sampled_from(
    (
        (Perspective.READER, "reader"),
        (Perspective.CHARACTER, "mara"),
        (Perspective.CHARACTER, "lin"),
        (Perspective.AUTHOR, "author"),
    )
)
heres = positions


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(offered(), timelines, looks, heres)
def test_only_what_the_obvious_model_lets_pass_is_in_the_prompt(
    fragments: list[Fragment], story: Story, look: tuple[Perspective, str], here: Position
) -> None:
    eyes, who = look
    request = Request(
        project_id=PROJECT,
        document_id=here.document,
        cursor=here.offset,
        perspective=eyes,
        character=who if eyes is Perspective.CHARACTER else None,
    )
    result = Engine().assemble(request, view_of(story), fragments=fragments)
    shown = tags_in(together(result.messages))
    verdicts = {verdict.source: verdict for verdict in result.trace}
    windows = 0
    for number, fragment in enumerate(fragments):
        passes = may_pass(fragment, eyes, who, here, story)
        verdict = verdicts[fragment.source]
        if fragment.part is Part.WINDOW and passes:
            windows += 1
            if windows > 1:  # there is one cursor, so only the first counts
                assert verdict.reason is Reason.DUPLICATE
                continue
        assert (tag(number) in shown) == passes
        assert verdict.included == passes
        assert passes or verdict.reason in HIDING


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(offered(), timelines, heres, st.sampled_from(("en", "zh")))
def test_the_author_is_told_what_must_not_be_revealed_yet(
    fragments: list[Fragment], story: Story, here: Position, language: str
) -> None:
    words = load_phrases(language)
    view = View(Project(id=PROJECT, language="zh" if language == "zh" else "en"), view_of(story).timeline)
    request = Request(project_id=PROJECT, document_id=here.document, cursor=here.offset, perspective=Perspective.AUTHOR)
    result = Engine().assemble(request, view, fragments=fragments)
    verdicts = {verdict.source: verdict for verdict in result.trace}
    for number, fragment in enumerate(fragments):
        verdict = verdicts[fragment.source]
        if verdict.included:
            hidden = unrevealed(fragment, here, story)
            assert (verdict.reason is Reason.NOT_REVEALED) == hidden
            if fragment.part is not Part.WINDOW:
                assert (f"{words.not_revealed}A fact. {tag(number)}" in together(result.messages)) == hidden


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(offered(), timelines, heres, st.booleans())
def test_a_writing_request_looks_through_the_eyes_of_the_scenes_character_or_the_reader(
    fragments: list[Fragment], story: Story, here: Position, has_pov: bool
) -> None:
    pov = "mara" if has_pov and here.document in CHAPTERS else None
    request = Request(project_id=PROJECT, document_id=here.document, cursor=here.offset)
    result = Engine().assemble(request, view_of(story, "mara" if has_pov else None), fragments=fragments)
    eyes, who = (Perspective.CHARACTER, pov) if pov else (Perspective.READER, "reader")
    for number, fragment in enumerate(fragments):
        if fragment.part is not Part.WINDOW:
            assert (tag(number) in result.prompt) == may_pass(fragment, eyes, who, here, story)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.booleans(), st.booleans(), st.booleans())
def test_two_tellings_under_one_name_are_each_judged_by_their_own_terms(
    first_later: bool, second_later: bool, author: bool
) -> None:
    """A source may offer an entry and what is true of it later under the same name."""
    story: Story = (("one", None), ("two", None))
    fragments = [
        Fragment(
            source="codex:entity:mara",
            layer=Layer.IMMEDIATE,
            part=Part.SCENE,
            text=f"A fact. {tag(number)}",
            project_id=PROJECT,
            since=Position("two") if later else Position("one"),
        )
        for number, later in enumerate((first_later, second_later))
    ]
    request = Request(
        project_id=PROJECT,
        document_id="one",
        cursor=3,
        perspective=Perspective.AUTHOR if author else Perspective.READER,
    )
    result = Engine().assemble(request, view_of(story), fragments=fragments)
    for number, later in enumerate((first_later, second_later)):
        assert (tag(number) in result.prompt) == (author or not later)
        marked = f"{load_phrases('en').not_revealed}A fact. {tag(number)}" in result.prompt
        assert marked == (author and later)
