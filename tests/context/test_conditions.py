"""Messages that exist only where their condition holds."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from msgspec.structs import replace

from fabula.context import Engine
from fabula.context.continuity import NO_CONTINUITY, Continuity
from fabula.context.recipes import Condition, InjectionStrategy, Node, Preset, UserProfile
from fabula.context.recipes.conditions import ConditionContext, evaluate_conditions
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.context.trace import Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.view import Project, View
from tests.conversation.test_source import make_messages as spoken
from tests.manuscript.stories import ask, chapter, story

P = "coast"


def history(*said: str) -> list[Fragment]:
    return [
        Fragment(
            source=f"history:{n}",
            layer=Layer.IMMEDIATE,
            text=text,
            project_id=P,
            part=Part.HISTORY,
            role="user",
            score=1.0,
        )
        for n, text in enumerate(said)
    ]


def assemble_with(
    condition: Condition | None,
    *said: str,
    spoken: str = "",
    recipe: str = "chat",
    model: str = "gpt-4o",
    before: Continuity = NO_CONTINUITY,
    others: tuple[Node, ...] = (),
    mode: str = "",
) -> Result:
    preset = Preset(nodes=(Node(id="note", content="THE NOTE", condition=condition), *others))
    request = Request(
        project_id=P,
        conversation_id="talk",
        mode=mode,
        recipe=recipe,
        model=model,
        preset=preset,
        additional_input=spoken,
    )
    return Engine().assemble(request, fragments=history(*said), continuity=before)


def there(result: Result) -> bool:
    return "THE NOTE" in result.prompt


def judge(condition: Condition, count: int, timed: Mapping[str, int] | None = None) -> tuple[bool, Mapping[str, int]]:
    settled = evaluate_conditions(
        {"n": condition}, ConditionContext(project_id=P, scope="t", messages=["x"] * count, active_since=timed or {})
    )
    return "n" in settled.met, settled.active_since


@pytest.mark.parametrize(
    ("condition", "said", "holds"),
    [
        (Condition(keywords=("dragon",)), "A Dragon came.", True),
        (Condition(keywords=("dragon",)), "Snapdragons bloom.", False),
        (Condition(keywords=("dragon",), case_sensitive=True), "A Dragon came.", False),
        (Condition(keywords=("мир",)), "МИР им", True),
        (Condition(keywords=("мир",)), "Мираж", False),
        (Condition(keywords=("龙", "凤")), "山上有龙。", True),
        (Condition(keywords=("dragon", "cave"), logic="all"), "A dragon in a cave.", True),
        (Condition(keywords=("dragon", "cave"), logic="all"), "A dragon.", False),
        (Condition(keywords=("dragon",), logic="none"), "A dragon.", False),
        (Condition(keywords=("dragon",), logic="none"), "A horse.", True),
        (Condition(pattern=r"drag(?:on|oness)\b"), "The DRAGONESS slept.", True),
        (Condition(pattern=r"fire.*ice"), "ice, then fire", False),
    ],
)
def test_a_message_comes_in_with_what_is_said(condition: Condition, said: str, holds: bool) -> None:
    assert there(assemble_with(condition, said)) is holds


def test_the_input_is_said_too() -> None:
    assert there(assemble_with(Condition(keywords=("dragon",)), "Nothing.", spoken="Where is the dragon?"))


def test_only_the_newest_messages_are_looked_at_where_it_says_so() -> None:
    condition = Condition(keywords=("dragon",), scan_depth=2)
    assert there(assemble_with(condition, "one", "a dragon", "three"))
    assert not there(assemble_with(condition, "a dragon", "two", "three"))


def test_messages_modes_and_models_decide() -> None:
    assert not there(assemble_with(Condition(min_messages=3), "one", "two"))
    assert there(assemble_with(Condition(min_messages=3), "one", "two", spoken="three"))
    assert not there(assemble_with(Condition(max_messages=1), "one", "two"))
    assert not there(assemble_with(Condition(delay=3), "one", "two"))
    assert there(assemble_with(Condition(modes=("chat",)), "one"))
    assert not there(assemble_with(Condition(modes=("novel",)), "one"))
    assert there(assemble_with(Condition(models=("gpt-4*",)), "one"))
    assert not there(assemble_with(Condition(models=("claude*",)), "one"))


def test_every_message_of_a_long_conversation_counts_not_only_those_with_room() -> None:
    said = ["word " * 400] * 60
    request = Request(
        project_id=P,
        conversation_id="talk",
        recipe="chat",
        window=8192,
        preset=Preset(nodes=(Node(id="n", content="THE NOTE", condition=Condition(min_messages=60)),)),
    )
    assert there(Engine().assemble(request, fragments=history(*said)))


def test_every_message_of_a_stored_conversation_counts() -> None:
    told = story(chapter(1, "One."), talk=spoken(200, 40))
    preset = Preset(nodes=(Node(id="n", content="THE NOTE", condition=Condition(min_messages=200)),))
    assert there(ask(told, conversation_id="desk", recipe="chat", window=8192, preset=preset))
    more = Preset(nodes=(Node(id="n", content="THE NOTE", condition=Condition(min_messages=202)),))
    assert not there(ask(told, conversation_id="desk", recipe="chat", window=8192, preset=more))


def test_a_message_out_is_as_if_it_had_never_been_written() -> None:
    out = assemble_with(Condition(keywords=("dragon",)), "one", "two")
    never = Engine().assemble(
        Request(project_id=P, conversation_id="talk", recipe="chat", preset=Preset(nodes=())),
        fragments=history("one", "two"),
    )
    assert (out.prompt, out.token_count, out.budget) == (never.prompt, never.token_count, never.budget)


def test_a_message_in_is_as_if_it_had_no_condition() -> None:
    held = assemble_with(Condition(keywords=("one",)), "one", "two")
    plain = assemble_with(None, "one", "two")
    assert (held.prompt, held.token_count, held.budget) == (plain.prompt, plain.token_count, plain.budget)


def test_the_trace_says_why_a_message_is_out() -> None:
    (verdict,) = assemble_with(Condition(min_messages=9), "one").trace.find("preset:note")
    assert verdict.reason is Reason.CONDITION_UNMET
    assert "it asks for 9 messages or more, and there are 1" in verdict.sentence


def test_chance_is_the_same_for_the_same_request_and_about_as_often_as_asked_for() -> None:
    condition = Condition(probability=30)
    drawn = [judge(condition, count)[0] for count in range(2000)]
    assert drawn == [judge(condition, count)[0] for count in range(2000)]
    assert 0.25 < sum(drawn) / len(drawn) < 0.35
    assert not any(judge(Condition(probability=0), count)[0] for count in range(50))


def test_it_sticks_then_rests_then_may_come_again() -> None:
    condition = Condition(min_messages=5, max_messages=5, sticky=3, cooldown=2)
    again = replace(condition, max_messages=None)
    holds, timed = judge(condition, 5)
    assert holds
    assert [judge(condition, count, timed)[0] for count in (5, 6, 7, 8)] == [True, True, True, False]
    marks = judge(again, 5)[1]
    assert [judge(again, count, marks)[0] for count in (6, 7, 8, 9, 10)] == [True, True, False, False, True]


def test_an_edit_ends_what_was_running() -> None:
    condition = Condition(min_messages=5, max_messages=5, sticky=9)
    _, timed = judge(condition, 5)
    assert judge(condition, 6, timed)[0]
    assert not judge(replace(condition, sticky=8), 6, timed)[0]


def test_what_sticks_travels_in_the_continuity_and_its_loss_costs_nothing_else() -> None:
    condition = Condition(keywords=("dragon",), scan_depth=1, sticky=3)
    first = assemble_with(condition, "a dragon")
    second = assemble_with(condition, "a dragon", "two", before=first.continuity)
    assert there(second)
    assert not there(assemble_with(condition, "a dragon", "two"))
    fourth = assemble_with(condition, "a dragon", "two", "three", "four", before=second.continuity)
    assert not there(fourth)
    assert not fourth.continuity.source_state


def test_of_a_group_one_is_drawn_by_weight() -> None:
    conditions = {
        "light": Condition(group="mood", group_weight=10),
        "heavy": Condition(group="mood", group_weight=90),
        "never": Condition(group="mood", group_weight=0),
        "other": Condition(),
    }
    drawn = []
    for count in range(1000):
        settled = evaluate_conditions(conditions, ConditionContext(project_id=P, scope="t", messages=["x"] * count))
        assert "other" in settled.met
        (winner,) = settled.met - {"other"}
        drawn.append(winner)
        assert all("was drawn from the group 'mood'" in str(why) for why in settled.unmet.values())
    assert 0.05 < drawn.count("light") / 1000 < 0.15
    assert "never" not in drawn


def test_what_sticks_is_not_beaten_by_others_of_its_group() -> None:
    conditions = {
        "stuck": Condition(group="mood", group_weight=1, sticky=5),
        "loud": Condition(group="mood", group_weight=99_999, min_messages=2),
    }
    first = evaluate_conditions(conditions, ConditionContext(project_id=P, scope="t", messages=["x"]))
    assert first.met == {"stuck"}
    then = evaluate_conditions(
        conditions, ConditionContext(project_id=P, scope="t", messages=["x"] * 2, active_since=first.active_since)
    )
    assert then.met == {"stuck"}


def test_conditions_and_depth_go_together() -> None:
    node = Node(
        id="deep", content="DEEP", injection_strategy=InjectionStrategy(depth=1), condition=Condition(keywords=("one",))
    )
    result = assemble_with(Condition(keywords=("nothing",)), "one", "two", others=(node,))
    assert not there(result)
    assert result.prompt.index("one") < result.prompt.index("DEEP") < result.prompt.index("two")


@pytest.mark.parametrize(
    "condition",
    [
        Condition(pattern="(a+"),
        Condition(keywords=("",)),
        Condition(keywords=("x" * 201,)),
        Condition(probability=101),
        Condition(probability=float("nan")),
        Condition(sticky=-1),
        Condition(min_messages=3, max_messages=2),
    ],
)
def test_a_condition_that_cannot_be_used_is_refused(condition: Condition) -> None:
    with pytest.raises(FabulaError) as refused:
        assemble_with(condition, "one")
    assert refused.value.code is Code.PRESET_INVALID
    assert "'note'" in refused.value.sentence


def test_places_have_no_conditions_and_names_are_told_apart() -> None:
    for nodes in (
        (Node(type="placeholder", id="own", condition=Condition()),),
        (Node(id="a", content="x", condition=Condition()), Node(id="a", content="y", condition=Condition())),
    ):
        with pytest.raises(FabulaError) as refused:
            Engine().assemble(Request(project_id=P, preset=Preset(nodes=nodes)))
        assert refused.value.code is Code.PRESET_INVALID


def test_conditions_are_camel_case_on_the_wire_and_strangers_are_refused() -> None:
    node = msgspec.json.decode(
        b'{"content":"x","condition":{"keywords":["a"],"scanDepth":2,"minMessages":1}}', type=Node
    )
    assert node.condition == Condition(keywords=("a",), scan_depth=2, min_messages=1)
    assert b'"groupWeight":100' in msgspec.json.encode(node)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"condition":{"keyword":["a"]}}', type=Node)


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a" * 1001, "(?i)a", r"(a)\1", "a**", "/a/ii"])
def test_a_pattern_that_is_none_is_refused_with_the_reason(pattern: str) -> None:
    assert "its pattern" in str(Condition(pattern=pattern).find_flaw())


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\bdrag(?:on|oness)s?\b", "Dragons!", True),
        ("(龙|凤)凰?", "凤来了", True),
        ("/Yes/", "yes", False),
        ("/^y.s$/im", "no\nYES", True),
        (r"(?<!un)seen", "unseen", False),
        (r"(?<who>Ann|Bob) (?=left)", "bob left", True),
        (r"(\w+ )+end", "to the very end", True),
        ("a/b", "a/b", True),
    ],
)
def test_a_pattern_is_one_of_javascript_bare_or_between_slashes(pattern: str, text: str, found: bool) -> None:
    assert there(assemble_with(Condition(pattern=pattern, scan_depth=1), text)) is found


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(.*a){25}b", "a{0,99}a{0,99}b", "(a{1,999}){1,999}b"])
def test_a_pattern_that_others_never_come_back_from_ends(pattern: str) -> None:
    assert not there(assemble_with(Condition(pattern=pattern, scan_depth=1), "a" * 100_000))


def test_what_a_person_says_of_themselves_stands_at_its_anchor() -> None:
    view = View(Project(id=P), snapshots={UserProfile: UserProfile("I write about the sea.")})
    beside = Node(id="b", content="BESIDE", injection_strategy=InjectionStrategy(anchor_target="user_profile"))
    request = Request(project_id=P, preset=Preset(nodes=(beside,)))
    prompt = Engine().assemble(request, view).prompt
    assert "I write about the sea.\n\nBESIDE" in prompt
    assert "I write about the sea." not in Engine().assemble(request, View(Project(id=P))).prompt
    off = Preset(nodes=(Node(type="user_profile", enabled=False),))
    assert "the sea" not in Engine().assemble(replace(request, preset=off), view).prompt


def test_every_message_of_a_preset_is_in_the_trace_with_its_place() -> None:
    others = (
        Node(id="deep", content="DEEP", injection_strategy=InjectionStrategy(depth=1)),
        Node(id="beside", content="BESIDE", injection_strategy=InjectionStrategy(anchor_target="rules")),
        Node(id="lost", content="LOST", injection_strategy=InjectionStrategy(anchor_target="nowhere")),
        Node(id="plain", content="PLAIN"),
        Node(id="off", content="OFF", enabled=False),
    )
    result = assemble_with(Condition(keywords=("nothing",)), "one", others=others)
    found = {verdict.source: verdict for verdict in result.trace if verdict.layer is None}
    assert {name: (v.reason, v.included) for name, v in found.items()} == {
        "preset:note": (Reason.CONDITION_UNMET, False),
        "preset:deep": (Reason.KEPT, True),
        "preset:beside": (Reason.KEPT, True),
        "preset:lost": (Reason.ANCHOR_MISSING, True),
        "preset:plain": (Reason.KEPT, True),
    }
    assert [str(found[f"preset:{name}"].detail).partition(", ")[2] for name in ("deep", "beside", "plain")] == [
        "at depth 1",
        "after rules",
        "where it is listed",
    ]
    assert "nowhere" in found["preset:lost"].sentence
    assert all(verdict.tokens for verdict in found.values() if verdict.included)


def test_the_mode_of_a_conversation_is_a_mode() -> None:
    condition = Condition(modes=("werewolf",))
    assert not there(assemble_with(condition, "one"))
    assert there(assemble_with(condition, "one", mode="werewolf"))
