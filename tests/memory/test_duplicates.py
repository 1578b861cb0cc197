"""The same fact enters a prompt once, whichever memory or constraint says it (bud-10)."""

from __future__ import annotations

import pytest

from fabula.constraints import Constraint
from fabula.context.trace import Reason
from fabula.core.story import Position
from fabula.memory.model import Memory, MemoryNote, MemoryScope, Preference
from tests.manuscript.stories import PROJECT, ask, chapter, reason, sources, story

USER = MemoryScope.USER


def make_memory(*preferences: Preference, episodes: tuple[MemoryNote, ...] = ()) -> Memory:
    return Memory(PROJECT, preferences=preferences, episodes=episodes)


def test_of_two_that_say_the_same_the_surer_stays() -> None:
    memory = make_memory(
        Preference("a", "No exclamation marks.", 0.5), Preference("b", "Avoid exclamation points.", 0.9)
    )
    result = ask(story(chapter(1, "One."), memory=memory))
    assert sources(result, "memory:") == ["memory:b"]
    (left,) = (verdict for verdict in result.trace if verdict.source == "memory:a")
    assert (left.reason, left.detail) == (Reason.DUPLICATE, "Avoid exclamation points.")
    assert [one.id for one in memory.preferences] == ["b", "a"], "nothing is lost from memory itself"


def test_what_the_project_says_stands_for_what_the_person_says() -> None:
    memory = make_memory(
        Preference("mine", "不要使用感叹号。", 0.99, scope=USER), Preference("its", "No exclamation marks.", 0.4)
    )
    assert sources(ask(story(chapter(1, "One."), memory=memory)), "memory:") == ["memory:its"]


def test_what_the_project_says_overrules_the_opposite_of_the_person() -> None:
    memory = make_memory(
        Preference("mine", "Prefers long sentences.", 0.99, scope=USER), Preference("its", "短句为好，保持短句。")
    )
    memory = make_memory(
        Preference("mine", "Prefers long sentences.", 0.99, scope=USER),
        Preference("its", "Prefers short sentences.", 0.4),
    )
    result = ask(story(chapter(1, "One."), memory=memory))
    assert sources(result, "memory:") == ["memory:its"]
    assert reason(result, "memory:mine") is Reason.NOT_CHOSEN
    assert "otherwise: Prefers short" in next(v.sentence for v in result.trace if v.source == "memory:mine")


def test_two_of_one_project_that_contradict_each_other_both_stand() -> None:
    memory = make_memory(Preference("a", "Prefers long sentences."), Preference("b", "Prefers short sentences."))
    assert sources(ask(story(chapter(1, "One."), memory=memory)), "memory:") == ["memory:a", "memory:b"]


def test_one_that_holds_later_does_not_stand_for_one_that_holds_now() -> None:
    later = Preference("later", "No exclamation marks.", 0.9, Position("ch-2", 0))
    project = story(
        chapter(1, "One."),
        chapter(2, "Two."),
        memory=make_memory(later, Preference("now", "Avoid exclamation marks.", 0.5)),
    )
    assert sources(ask(project, document_id="ch-1"), "memory:") == ["memory:now"]
    assert sources(ask(project, document_id="ch-2"), "memory:") == ["memory:later", "memory:now"]


def test_an_episode_that_says_what_a_preference_says_is_left_out() -> None:
    memory = make_memory(
        Preference("fog", "Likes fog over the harbour at night."),
        episodes=(MemoryNote("e", "The writer likes fog at night over the harbour."),),
    )
    result = ask(story(chapter(1, "Fog over the harbour at night."), memory=memory))
    assert reason(result, "memory:e") is Reason.DUPLICATE
    assert sources(result, "memory:") == ["memory:fog"]


def test_what_a_constraint_says_is_left_to_the_constraint() -> None:
    rules = (
        Constraint(id="calm", text="Never use exclamation marks."),
        Constraint(id="x", text="No dreams.", until=Position("ch-2", 0)),
    )
    memory = make_memory(Preference("calm", "No exclamation marks."), Preference("dreams", "No dreams."))
    project = story(chapter(1, "One."), chapter(2, "Two."), memory=memory, constraints=rules)
    result = ask(project, document_id="ch-1")
    (left,) = (verdict for verdict in result.trace if verdict.source == "memory:calm")
    assert (left.reason, left.detail) == (Reason.DUPLICATE, "Never use exclamation marks.")
    assert sources(result, "memory:") == ["memory:dreams"], "a constraint that does not always hold stands for nobody"


@pytest.mark.parametrize("rules", [(), (Constraint(id="x", text="No dreams."),)])
def test_settings_are_the_same_tuple_every_time(rules: tuple[Constraint, ...]) -> None:
    from fabula.context.request import Request, SourceRequest
    from fabula.core.fragment import Layer
    from fabula.core.story import Vantage
    from fabula.text.tokens.tokenizer import load_encoding
    from fabula.workspace.sources import all_sources

    project = story(chapter(1, "One."), memory=make_memory(Preference("a", "Likes sea.")), constraints=rules)
    (memory,) = (source for source in all_sources() if source.name == "memory")
    told = SourceRequest(
        request=Request(project_id=PROJECT),
        vantage=Vantage(),
        language="en",
        tokenizer=load_encoding("o200k_base"),
        token_shares=dict.fromkeys(Layer, 100),
        available_tokens=1000,
    )
    assert memory.fragments(told, project.view) is memory.fragments(told, project.view)


EPISODES = tuple(
    MemoryNote(f"e{n}", text)
    for n, text in enumerate(
        [
            "Asked for the harbour at dusk without lanterns; the writer kept the second version.",
            "A suggestion that Hope should weep in the chandlery was rejected.",
            "The brig scene explained the channel in a paragraph of geography, and the writer cut it.",
        ]
    )
)


def test_only_episodes_that_bear_on_this_are_offered() -> None:
    project = story(
        chapter(1, "Hope stood in the chandlery and would not weep."), memory=make_memory(episodes=EPISODES)
    )
    result = ask(project)
    assert sources(result, "memory:") == ["memory:e1"]
    assert reason(result, "memory:e2") is Reason.NOT_CHOSEN
    asked = ask(project, additional_input="Now the brig scene, with no geography.")
    assert sources(asked, "memory:") == ["memory:e1", "memory:e2"]
    scores = {verdict.source: verdict.score for verdict in asked.trace}
    assert 0.2 <= scores["memory:e1"] <= 0.5
    assert 0.2 <= scores["memory:e2"] <= 0.5


def test_an_episode_told_before_stays_while_the_writer_goes_on() -> None:
    text = "Hope stood in the chandlery and would not weep.\n\n" + "The road went on and on over the hills. " * 40
    project = story(chapter(1, text), memory=make_memory(episodes=EPISODES))
    first = project.request(document_id="ch-1", cursor=47)
    told = project.assemble(first)
    project.report_answer(told.assembly_id)
    later = project.assemble(project.request(document_id="ch-1"))
    assert sources(later, "memory:") == ["memory:e1"]
    assert sources(story(chapter(1, text), memory=make_memory(episodes=EPISODES)).assemble(first), "memory:") == [
        "memory:e1"
    ]
    alone = story(chapter(1, text), memory=make_memory(episodes=EPISODES)).assemble(project.request(document_id="ch-1"))
    assert sources(alone, "memory:") == []


def test_only_a_few_episodes_are_told_and_what_is_still_to_come_takes_nobodys_place() -> None:
    later = tuple(
        MemoryNote(f"l{n}", f"Hope wept in the chandlery, number {n}.", Position("ch-2", 0)) for n in range(6)
    )
    now = tuple(MemoryNote(f"n{n}", f"Hope went to the chandlery and bought {n} candles.") for n in range(6))
    project = story(
        chapter(1, "Hope wept in the chandlery."), chapter(2, "Two."), memory=make_memory(episodes=(*later, *now))
    )
    result = ask(project, document_id="ch-1")
    assert len(sources(result, "memory:n")) == 4
    assert sources(result, "memory:l") == []


def test_chinese_episodes_are_found_by_pairs_of_characters() -> None:
    notes = (MemoryNote("a", "作者把争执改成林远转了半圈杯子。"), MemoryNote("b", "写灯塔时删去了比喻。"))
    memory = Memory(PROJECT, language="zh", episodes=notes)
    result = ask(story(chapter(1, "林远把杯子转了半圈，没有争执。"), memory=memory, language="zh"))
    assert sources(result, "memory:") == ["memory:a"]
