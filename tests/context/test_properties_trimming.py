"""What gives way, in which order, and what remains of the manuscript."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fabula.context import (
    BudgetProfile,
    Code,
    Engine,
    EngineSettings,
    FabulaError,
    Fragment,
    Layer,
    Limits,
    Part,
    Reason,
    Request,
    Result,
    Share,
    Tier,
    Verdict,
)
from fabula.context.continuity import NO_CONTINUITY, Continuity
from fabula.context.phrases import load_phrases
from fabula.core.relevance import NEEDED
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.windows import make_text_window
from tests.context.strategies import PROJECT, engine, long_texts, plain_count, scores, tag, tame_texts, texts

IMMEDIATE_MINIMUM = BudgetProfile().immediate.minimum
CLOSING = Fragment(
    source="input", layer=Layer.IMMEDIATE, part=Part.INSTRUCTION, text="Go on with the scene.", project_id=PROJECT
)
HERE = Fragment(source="editor:0", layer=Layer.IMMEDIATE, part=Part.WINDOW, text="She waited.", project_id=PROJECT)
TALK = [
    Fragment(
        source=f"history:{at}",
        layer=Layer.IMMEDIATE,
        part=Part.HISTORY,
        text="The rain had stopped before dawn. " * 20,
        project_id=PROJECT,
    )
    for at in range(5)
]
MARK = Fragment(source="mark", layer=Layer.IMMEDIATE, part=Part.CURSOR, text="⟦cursor⟧", project_id=PROJECT)
OVERHEAD = 80  # tokens of headings and messages that are counted for the worst case
GONE = {Reason.NO_ROOM, Reason.TOO_LARGE, Reason.PASSED_OVER}


def some(
    kind: str, layer: Layer, part: Part = Part.PLAIN, *, most: int = 6, longest: int = 30
) -> st.SearchStrategy[list[Fragment]]:
    """A few fragments of one kind, of ordinary prose, no two alike."""
    rows = st.lists(st.tuples(tame_texts(1, longest), scores), max_size=most)
    return rows.map(
        lambda found: [
            Fragment(
                source=f"{kind}:{at}",
                layer=layer,
                part=part,
                text=f"{text} {tag(at)}{kind}",
                project_id=PROJECT,
                score=score,
            )
            for at, (text, score) in enumerate(found)
        ]
    )


retrieved = some("codex", Layer.RETRIEVED)
preferences = some("memory", Layer.SETTINGS, longest=6)
history = some("history", Layer.IMMEDIATE, Part.HISTORY, longest=12)
after = some("after", Layer.IMMEDIATE, Part.AFTER, most=1)
before = some("editor", Layer.IMMEDIATE, Part.WINDOW, most=1, longest=300)
sizes = st.integers(500, 6000)


def assemble(
    size: int,
    fragments: Sequence[Fragment],
    here: Engine | None = None,
    recipe: str = "chat",
    continuity: Continuity = NO_CONTINUITY,
) -> Result:
    """A prompt in a window of that size, nothing kept for the answer."""
    request = Request(project_id=PROJECT, document_id="d", model="gpt-4", window=size, reply_tokens=0, recipe=recipe)
    try:
        return (here or engine()).assemble(request, fragments=fragments, continuity=continuity)
    except FabulaError as refusal:
        assume(refusal.code not in (Code.RULES_TOO_LARGE, Code.INPUT_TOO_LARGE))
        raise


def included_verdicts(result: Result, kind: str) -> dict[str, Verdict]:
    """What of one kind is in the prompt."""
    return {v.source: v for v in result.trace if v.included and v.source.startswith(f"{kind}:")}


def out(result: Result, kind: str) -> dict[str, Verdict]:
    """What of one kind is not."""
    return {v.source: v for v in result.trace if not v.included and v.source.startswith(f"{kind}:")}


# What remains of the manuscript


def shown_before_the_mark(result: Result) -> str | None:
    """The manuscript as it stands in the prompt, between its heading and the mark of the cursor."""
    heading = load_phrases("en").headings["window"] + "\n"
    content = next((message.content for message in result.messages if heading in message.content), None)
    if content is None:
        return None
    return content.partition(heading)[2].partition(MARK.text)[0]


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(texts(6) | long_texts(), st.data(), st.integers(250, 4000), st.booleans(), st.sampled_from(("gpt-4", "llama-2")))
def test_what_remains_of_the_manuscript_ends_at_the_cursor(
    text: str, data: st.DataObject, size: int, plain: bool, model: str
) -> None:
    cursor = data.draw(st.integers(0, len(text)))
    told = text[:cursor]
    shown: Fragment = (
        Fragment(source="w", layer=Layer.IMMEDIATE, part=Part.WINDOW, text=told, project_id=PROJECT)
        if plain
        else make_text_window(
            Paragraphs(text), cursor, source="w", project_id=PROJECT, reach=data.draw(st.integers(1, 2 * len(text) + 1))
        )
    )
    request = Request(project_id=PROJECT, document_id="d", model=model, window=size, reply_tokens=0)
    result = engine().assemble(request, fragments=[shown, MARK])
    verdict = next(iter(result.explain("w")))
    found = shown_before_the_mark(result)
    assert (found is not None) == verdict.included
    if found is None:
        assert verdict.reason in (Reason.EMPTY, Reason.NO_ROOM)
        return
    if verdict.reason is Reason.SHORTENED:
        left_out = load_phrases("en").headings["left_out"] + "\n"
        assert found.startswith(left_out)
        found = found.removeprefix(left_out)
    assert found.strip()
    assert told.rstrip().endswith(found.rstrip())
    assert found.endswith("\n\n")
    if verdict.reason is Reason.KEPT and plain:
        assert found.strip() == told.strip()


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(before, retrieved, preferences, history, after, st.integers(3500, 9000))
def test_the_manuscript_keeps_its_minimum_while_anything_else_can_give_way(
    text: list[Fragment],
    found: list[Fragment],
    liked: list[Fragment],
    said: list[Fragment],
    following: list[Fragment],
    size: int,
) -> None:
    """Paragraphs here are shorter than 40 tokens, so whole paragraphs come that near (ctx-3)."""
    assume(text)
    result = assemble(size, [*text, *found, *liked, *said, *following, CLOSING], recipe="novel")
    verdict = next(iter(result.explain(text[0].source)))
    full = plain_count("cl100k_base", text[0].text)
    assert verdict.tokens >= min(full, IMMEDIATE_MINIMUM - 40)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(1, 250), min_size=1, max_size=6), st.integers(3500, 9000))
@example([400, 180], 3500)
def test_the_manuscript_keeps_its_minimum_whatever_the_length_of_its_paragraphs(lengths: list[int], size: int) -> None:
    """Whole paragraphs, then sentences (bud-3); at least 2000 tokens where they exist (ctx-3)."""
    told = "\n".join("".join(f"The rain had stopped by {n} o'clock. " for n in range(length)) for length in lengths)
    fragment = Fragment(source="w", layer=Layer.IMMEDIATE, part=Part.WINDOW, text=told, project_id=PROJECT)
    result = assemble(size, [fragment, CLOSING], recipe="novel")
    verdict = next(iter(result.explain("w")))
    assert verdict.tokens >= min(plain_count("cl100k_base", told.rstrip()), IMMEDIATE_MINIMUM - 40)


# The order of giving way


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(retrieved, preferences, history, after, before, st.sampled_from(("novel", "chat")))
@example([], [], TALK, [], [HERE], "chat")
def test_at_or_under_the_budget_nothing_is_trimmed(
    found: list[Fragment],
    liked: list[Fragment],
    said: list[Fragment],
    following: list[Fragment],
    text: list[Fragment],
    recipe: str,
) -> None:
    """The conversation is kept under its own cap (cnv-2) so that only the budget could cost it anything."""
    if recipe == "novel":
        said = [replace(one, text=one.text[-150:]) for one in said]
    fragments = [*found, *liked, *said, *following, *text, CLOSING]
    whole = assemble(200_000, fragments, recipe=recipe)
    tight = assemble(whole.token_count + 120, fragments, recipe=recipe)
    assert all(verdict.included for verdict in whole.trace)
    assert {v.source: v.reason for v in tight.trace} == {v.source: v.reason for v in whole.trace}


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(retrieved, preferences, history, after, before, sizes)
def test_what_is_retrieved_never_costs_a_preference_its_place(
    found: list[Fragment],
    liked: list[Fragment],
    said: list[Fragment],
    following: list[Fragment],
    text: list[Fragment],
    size: int,
) -> None:
    rest = [*liked, *said, *following, *text, CLOSING]
    assert included_verdicts(assemble(size, [*found, *rest]), "memory") == included_verdicts(
        assemble(size, rest), "memory"
    )


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(retrieved, preferences, history, after, sizes)
def test_what_is_retrieved_never_costs_the_conversation_within_its_share_or_the_text_after_the_cursor_anything(
    found: list[Fragment], liked: list[Fragment], said: list[Fragment], following: list[Fragment], size: int
) -> None:
    rest = [*liked, *said, *following, CLOSING]
    without = assemble(size, rest)
    both = assemble(size, [*found, *rest])
    assert included_verdicts(both, "after") == included_verdicts(without, "after")
    whole = assemble(200_000, rest)
    if whole.layers[Layer.IMMEDIATE].tokens <= both.budget.shares[Layer.IMMEDIATE]:
        assert included_verdicts(both, "history") == included_verdicts(without, "history")


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(retrieved, preferences, history, after, sizes)
def test_preferences_go_before_the_conversation_except_for_their_minimum(
    found: list[Fragment], liked: list[Fragment], said: list[Fragment], following: list[Fragment], size: int
) -> None:
    """bud-3: settings not below their minimum *while immediate is above its own*.

    So a message that was given up while a preference stayed was given up by an immediate layer that
    was above its minimum, or would not have fitted without the preferences either.
    """
    result = assemble(size, [*found, *liked, *said, *following, CLOSING])
    lost = [verdict for verdict in out(result, "history").values() if verdict.reason is Reason.NO_ROOM]
    if (
        included_verdicts(result, "memory")
        and lost
        and not any(v.reason in GONE for v in out(result, "after").values())
    ):
        unused = result.budget.total - result.token_count
        without = unused + result.layers[Layer.SETTINGS].tokens
        assert (
            result.layers[Layer.IMMEDIATE].tokens + lost[-1].tokens > IMMEDIATE_MINIMUM
            or lost[-1].tokens + OVERHEAD > without
        )


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(preferences, history, after, sizes)
def test_without_minimums_preferences_never_cost_the_conversation_within_its_share_anything(
    liked: list[Fragment], said: list[Fragment], following: list[Fragment], size: int
) -> None:
    profile = BudgetProfile(settings=Share(0.1, 0), immediate=Share(0.5, 0))
    here = Engine(settings=EngineSettings(profile=profile))
    rest = [*said, *following, CLOSING]
    whole = assemble(200_000, rest, here)
    result = assemble(size, [*liked, *rest], here)
    assume(whole.layers[Layer.IMMEDIATE].tokens <= result.budget.shares[Layer.IMMEDIATE])
    without = assemble(size, rest, here)
    assert included_verdicts(result, "history") == included_verdicts(without, "history")
    assert included_verdicts(result, "after") == included_verdicts(without, "after")


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(history, after, sizes)
def test_the_conversation_goes_before_the_text_after_the_cursor(
    said: list[Fragment], following: list[Fragment], size: int
) -> None:
    both = assemble(size, [*said, *following, CLOSING])
    assert included_verdicts(both, "after") == included_verdicts(assemble(size, [*following, CLOSING]), "after")


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(history, before, sizes, st.sampled_from(("novel", "chat")))
def test_the_oldest_messages_go_first(said: list[Fragment], text: list[Fragment], size: int, recipe: str) -> None:
    result = assemble(size, [*said, *text, CLOSING], recipe=recipe)
    stays = [fragment.source in included_verdicts(result, "history") for fragment in said]
    assert stays == sorted(stays)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(after, before, sizes)
def test_the_text_after_the_cursor_gives_way_at_its_end(
    following: list[Fragment], text: list[Fragment], size: int
) -> None:
    result = assemble(size, [*following, *text, CLOSING], recipe="novel")
    for fragment in following:
        verdict = next(iter(result.explain(fragment.source)))
        if verdict.included:
            heading = load_phrases("en").headings["after"] + "\n"
            block = result.prompt.partition(heading)[2].partition(CLOSING.text)[0].strip()
            assert fragment.text.startswith(block)
            assert (block == fragment.text.strip()) == (verdict.reason is Reason.KEPT)


def say(number: int, tokens: int, kind: str = "history") -> Fragment:
    """A message of about so many tokens."""
    return Fragment(
        source=f"{kind}:{number}",
        layer=Layer.IMMEDIATE if kind == "history" else Layer.RETRIEVED,
        part=Part.HISTORY if kind == "history" else Part.PLAIN,
        text=f"{kind} {number}. " + "The rain had stopped before dawn. " * (tokens // 7),
        project_id=PROJECT,
        score=0.3,
    )


SAID = [say(number, 240) for number in range(15)]
PASSAGES = [say(number, 280, "search") for number in range(6)]
TEXT = Fragment(
    source="editor:0",
    layer=Layer.IMMEDIATE,
    part=Part.WINDOW,
    text="\n\n".join(f"Paragraph {number}. " + "She waited at the gate. " * 20 for number in range(30)),
    project_id=PROJECT,
)


def test_in_a_chat_history_beyond_its_share_is_not_given_up_while_passages_stay() -> None:
    result = assemble(4950, [*SAID, *PASSAGES, CLOSING])
    assert not out(result, "history")
    assert 0 < len(out(result, "search")) < len(PASSAGES)
    assert {verdict.reason for verdict in out(result, "search").values()} == {Reason.NO_ROOM}


def test_beside_text_history_beyond_its_share_is_not_given_up_while_passages_stay() -> None:
    said = [say(number, 100) for number in range(16)]
    result = assemble(4200, [*said, *PASSAGES, TEXT, CLOSING], recipe="novel")
    reasons = {verdict.reason for verdict in out(result, "history").values()}
    assert reasons <= {Reason.HISTORY_CAP}
    assert out(result, "search")


CHAT_KINDS = ("biography", "recap", "history", "memory", "search", "codex")
kinds_of_chat = st.lists(st.tuples(st.sampled_from(CHAT_KINDS), st.integers(1, 40), scores), max_size=20)
LAYERS_OF_CHAT = {"history": Layer.IMMEDIATE, "memory": Layer.SETTINGS}


def chat_fragments(rows: list[tuple[str, int, float]]) -> list[Fragment]:
    return [
        Fragment(
            source=f"{kind}:{at}",
            layer=LAYERS_OF_CHAT.get(kind, Layer.RETRIEVED),
            part=Part.HISTORY if kind == "history" else Part.PLAIN,
            text=f"{kind} {at}: " + "nobody names the harbour. " * words,
            project_id=PROJECT,
            score=score,
        )
        for at, (kind, words, score) in enumerate(rows)
    ]


def is_passage(fragment: Fragment) -> bool:
    return fragment.source.partition(":")[0] in ("search", "codex")


def fill(available: int, tokens: Sequence[tuple[str, int]], heading: int, *, gaps: bool) -> tuple[set[str], int]:
    """What of a list fits, the most important first, and what is left then."""
    kept: set[str] = set()
    for source, size in tokens:
        needed = size + (0 if kept else heading)
        if needed <= available:
            kept.add(source)
            available -= needed
        elif not gaps:
            break
    return kept, available


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(kinds_of_chat, st.integers(300, 3000))
def test_in_a_chat_passages_and_lore_go_first_then_settings_then_messages_then_biography_and_recaps(
    rows: list[tuple[str, int, float]], size: int
) -> None:
    """Against a model that fills the prompt from the most important to the least."""
    here = Engine(settings=EngineSettings(profile=BudgetProfile(settings=Share(0.1, 0), immediate=Share(0.5, 0))))
    fragments = chat_fragments(rows)
    result = assemble(size, [*fragments, CLOSING], here)
    tokens = {verdict.source: verdict.tokens for verdict in result.trace}
    headings = {name: plain_count("cl100k_base", text + "\n") for name, text in load_phrases("en").headings.items()}
    retrieved = headings["retrieved"] + headings["late"]
    heading_of_settings = plain_count("cl100k_base", load_phrases("en").headings["settings"] + "\n\n") + 1

    def of(*kinds: str, newest_first: bool = False) -> list[tuple[str, int]]:
        found = [fragment for fragment in fragments if fragment.source.partition(":")[0] in kinds]
        ordered = found[::-1] if newest_first else ranked(found)
        return [(fragment.source, tokens[fragment.source]) for fragment in ordered]

    left = result.budget.layer_tokens - tokens["input"]
    needed = sum(tokens[one.source] for one in fragments if one.score >= NEEDED and is_passage(one))
    reserved = min(needed + retrieved, result.budget.shares[Layer.RETRIEVED]) if needed else 0
    all_longest = sum(size for _, size in of("biography", "recap"))
    room = left - reserved - (all_longest + retrieved if all_longest else 0)
    longest, left = fill(left, of("biography", "recap"), retrieved, gaps=False)
    said = of("history", newest_first=True)
    share = result.budget.shares[Layer.IMMEDIATE] - tokens["input"]
    room = min(left, max([room, share, *(size for _, size in said[:1])]))
    messages, unused = fill(room, said, 0, gaps=False)
    left -= room - unused
    liked, left = fill(left, of("memory"), heading_of_settings, gaps=False)
    found, left = fill(left - (0 if longest else retrieved), of("search", "codex"), 0, gaps=True)
    inside = {verdict.source for verdict in result.trace if verdict.included} - {"input"}
    assert inside == longest | messages | liked | found


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(retrieved, preferences, history, before, after, sizes, st.sampled_from(("novel", "chat")), st.integers(0, 6))
def test_nothing_has_no_room_beside_tokens_that_would_hold_it(
    found: list[Fragment],
    liked: list[Fragment],
    said: list[Fragment],
    text: list[Fragment],
    following: list[Fragment],
    size: int,
    recipe: str,
    more: int,
) -> None:
    """In the first request and in those that follow it."""
    continuity, rest = NO_CONTINUITY, [*found, *liked, *text, *following, CLOSING]
    for count in range(max(len(said) - more, 0), len(said) + 1):
        result = assemble(size, [*rest, *said[:count]], recipe=recipe, continuity=continuity)
        continuity = result.continuity
        unused = result.budget.total - result.token_count
        for verdict in result.trace:
            if verdict.reason is Reason.NO_ROOM and verdict.part is not Part.WINDOW:
                assert verdict.tokens + OVERHEAD > unused, verdict


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(retrieved, preferences, history, before, after, sizes, st.sampled_from(("novel", "chat")))
def test_what_is_retrieved_never_costs_a_message_its_place(
    found: list[Fragment],
    liked: list[Fragment],
    said: list[Fragment],
    text: list[Fragment],
    following: list[Fragment],
    size: int,
    recipe: str,
) -> None:
    rest = [*liked, *said, *text, *following, CLOSING]
    both, without = assemble(size, [*found, *rest], recipe=recipe), assemble(size, rest, recipe=recipe)
    assert included_verdicts(both, "history") == included_verdicts(without, "history")


def test_a_long_chat_keeps_its_settings_and_what_is_needed_because_its_window_steps_before() -> None:
    needed = replace(say(1, 200, "codex"), score=0.9)
    liked = [
        Fragment(source=f"memory:{n}", layer=Layer.SETTINGS, text=f"Preference {n}.", project_id=PROJECT, score=0.5)
        for n in range(3)
    ]
    continuity, steps = NO_CONTINUITY, 0
    for count in range(1, 60):
        said = [say(number, 120) for number in range(count)]
        result = assemble(3000, [*said, needed, *liked, *PASSAGES, CLOSING], continuity=continuity)
        assert "codex:1" in included_verdicts(result, "codex")
        assert len(included_verdicts(result, "memory")) == 3
        steps += continuity.history_start not in (None, result.continuity.history_start)
        continuity = result.continuity
    assert 2 <= steps <= 8


# Ranks


def ranked(fragments: Sequence[Fragment]) -> list[Fragment]:
    """The best first; equals in the order in which they were offered."""
    return sorted(fragments, key=lambda fragment: -fragment.score)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(some("codex", Layer.RETRIEVED, most=10), history, before, st.integers(400, 3000))
def test_a_lower_ranked_thing_stays_only_where_a_higher_ranked_one_could_not_have_fitted(
    found: list[Fragment], said: list[Fragment], text: list[Fragment], size: int
) -> None:
    result = assemble(size, [*found, *said, *text, CLOSING])
    inside, outside = included_verdicts(result, "codex"), out(result, "codex")
    order = [fragment.source for fragment in ranked(found)]
    for place, source in enumerate(order):
        if source not in outside:
            continue
        lower = [inside[other].tokens for other in order[place + 1 :] if other in inside]
        assert outside[source].tokens > sum(lower)
        if lower:
            assert outside[source].reason in (Reason.PASSED_OVER, Reason.TOO_LARGE)
        else:
            assert outside[source].reason in (Reason.NO_ROOM, Reason.TOO_LARGE)
        spare = 0 if text or said else result.budget.total - result.token_count
        assert outside[source].tokens + OVERHEAD > spare  # nothing is left out beside room that would hold it


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(some("memory", Layer.SETTINGS, most=10, longest=6), history, before, st.integers(400, 3000))
def test_of_the_preferences_the_least_certain_go_first(
    liked: list[Fragment], said: list[Fragment], text: list[Fragment], size: int
) -> None:
    result = assemble(size, [*liked, *said, *text, CLOSING])
    stays = [fragment.source in included_verdicts(result, "memory") for fragment in ranked(liked)]
    assert stays == sorted(stays, reverse=True)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(some("codex", Layer.RETRIEVED, most=12, longest=2), st.integers(0, 8))
def test_of_more_chunks_than_the_limit_the_best_are_kept(found: list[Fragment], most: int) -> None:
    here = Engine(settings=EngineSettings(limits=Limits(retrieved_chunks=most)))
    result = assemble(50_000, [*found, CLOSING], here)
    order = [fragment.source for fragment in ranked(found)]
    assert set(included_verdicts(result, "codex")) == set(order[:most])
    assert {verdict.reason for verdict in out(result, "codex").values()} <= {Reason.CHUNK_LIMIT}
    assert (len(found) > most) == any(w.startswith(Code.RETRIEVED_CHUNK_LIMIT.value) for w in result.warnings)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(Tier)), st.integers(1, 25), st.sampled_from((0.0, 0.5)), st.booleans()),
        max_size=12,
    ),
    st.integers(1200, 4000),
)
def test_rules_go_in_their_order_of_origin(rows: list[tuple[Tier, int, float, bool]], size: int) -> None:
    """bud-4: entries that are not relevant here first, then graph, learned, (relevant entries,) project."""
    rules = [
        Fragment(
            source=f"rule:{at}",
            layer=Layer.RULES,
            part=Part.CONSTRAINT if numbered else Part.PLAIN,
            text=f"Rule {at}: " + "nobody names the harbour. " * words,
            project_id=PROJECT,
            tier=tier,
            score=score,
        )
        for at, (tier, words, score, numbered) in enumerate(rows)
    ]
    result = assemble(size, [*rules, CLOSING])
    inside = included_verdicts(result, "rule")
    by_tier = {fragment.source: fragment.tier for fragment in rules}
    dropped = [by_tier[source] for source in out(result, "rule")]
    for gone, keeps in ((Tier.LEARNED, Tier.GRAPH), (Tier.PROJECT, Tier.LEARNED), (Tier.FIXED, Tier.PROJECT)):
        if gone in dropped:
            assert keeps not in [by_tier[source] for source in inside]
    if dropped:
        assert any(warning.startswith(Code.RULES_OVERBUDGET.value) for warning in result.warnings)
