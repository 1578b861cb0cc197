"""The preview: which memories a prompt would contain, and why not the others (mem-3)."""

from __future__ import annotations

from fabula.context.trace import Reason
from fabula.core.story import Position
from fabula.memory.model import Memory, MemoryNote, MemoryScope, Preference
from fabula.memory.outcomes import find_memory_sources
from fabula.memory.preview import preview_memory
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY
from tests.manuscript.stories import PROJECT, ask, chapter, story

MEMORY = Memory(
    PROJECT,
    preferences=[
        Preference("fog", "Likes fog.", 0.9, explanation="you confirmed it"),
        Preference("same", "likes fog", 0.5, scope=MemoryScope.USER),
        Preference("later", "Wants a funeral.", 0.8, Position("ch-2", 0)),
    ],
    style_samples=[MemoryNote("s", "The lamp was the first thing.")],
    episodes=[MemoryNote("e", "Once asked for a shorter scene.")],
)


def test_it_shows_what_is_in_what_is_out_and_why() -> None:
    project = story(chapter(1, "One came."), chapter(2, "Two."), memory=MEMORY)
    request = project.request(document_id="ch-1")
    found = preview_memory(
        project.inspect(request, working_memory=EMPTY_WORKING_MEMORY.with_opened("ch-1", "Chapter 1"))
    )
    assert [(one.source, one.kind) for one in found.injected] == [
        ("memory:fog", "preference"),
        ("style:s", "style sample"),
        ("working:1", "working"),
    ]
    assert {one.source: one.reason for one in found.omitted} == {
        "memory:same": Reason.DUPLICATE.value,
        "memory:later": Reason.NOT_YET.value,
        "memory:e": Reason.NOT_CHOSEN.value,
    }
    assert str(found.injected[0].sentence) == "you confirmed it"
    assert found.tokens == sum(one.tokens for one in found.injected) > 0
    assert {one.kind for one in found.omitted} == {"preference", "episode"}


def test_it_says_what_the_engine_does_and_changes_nothing() -> None:
    project = story(chapter(1, "One came."), memory=MEMORY)
    result = ask(project)
    shown = preview_memory(result)
    assert all(one.text in result.prompt for one in shown.injected)
    assert preview_memory(ask(project)) == shown


def test_the_profile_is_shown_where_it_stands_in_the_prompt() -> None:
    result = ask(story(chapter(1, "One came."), memory=MEMORY))
    assert preview_memory(result, "Writes at night.").profile == ""
    assert preview_memory(result, "One came.").profile == "One came."


def test_an_outcome_can_be_told_which_memories_stood_in_the_prompt() -> None:
    trace = ask(story(chapter(1, "One came."), memory=MEMORY)).trace
    assert find_memory_sources(verdict.source for verdict in trace if verdict.included) == ("memory:fog", "style:s")
