"""Preferences, style samples, episodes and working memory in a prompt (mem-1)."""

from __future__ import annotations

from fabula.core.fragment import Layer
from fabula.core.relevance import EPISODE
from fabula.memory.model import Memory, MemoryNote, Preference
from tests.manuscript.stories import PROJECT, ask, chapter, sources, story

MEMORY = Memory(
    PROJECT,
    preferences=[
        Preference("weak", "Likes rain.", 0.2),
        Preference("sure", "Likes fog.", 0.9),
        Preference("a", "Likes sea.", 0.9),
    ],
    style_samples=[MemoryNote("s1", "The lamp was the first thing.")],
    episodes=[MemoryNote("e1", "Once asked for a shorter scene.")],
    working_notes=[MemoryNote("1", "Chapter 2 was open."), MemoryNote("2", "The ending was edited.")],
)


def test_preferences_are_settings_the_surest_first() -> None:
    result = ask(story(chapter(1, "One."), memory=MEMORY))
    places = [result.prompt.index(text) for text in ("Likes sea.", "Likes fog.", "Likes rain.")]
    assert places == sorted(places)
    layers = {verdict.source: verdict.layer for verdict in result.trace}
    assert layers["memory:sure"] is Layer.SETTINGS


def test_style_samples_stand_in_settings_behind_preferences() -> None:
    result = ask(story(chapter(1, "One."), memory=MEMORY))
    assert result.prompt.index("Likes rain.") < result.prompt.index("The lamp was the first thing.")
    assert next(v.layer for v in result.trace if v.source == "style:s1") is Layer.SETTINGS


def test_episodes_are_retrieved_at_the_low_end_of_the_scale() -> None:
    result = ask(story(chapter(1, "One."), memory=MEMORY), additional_input="A shorter scene, please.")
    episode = next(verdict for verdict in result.trace if verdict.source == "memory:e1")
    assert episode.included
    assert episode.layer is Layer.RETRIEVED
    assert EPISODE[0] <= episode.score <= EPISODE[1]


def test_working_memory_is_offered_behind_the_text_as_possibly_irrelevant() -> None:
    result = ask(story(chapter(1, "One came."), memory=MEMORY))
    assert result.prompt.index("One came.") < result.prompt.index("Chapter 2 was open.")
    assert result.prompt.index("judge for yourself") < result.prompt.index("Chapter 2 was open.")
    assert sources(result, "working:") == ["working:1", "working:2"]


def test_preferences_belong_to_the_stable_prefix_and_episodes_do_not() -> None:
    plain = ask(story(chapter(1, "One."), memory=Memory(PROJECT, preferences=[Preference("a", "Likes sea.")])))
    more = Memory(
        PROJECT,
        preferences=[Preference("a", "Likes sea.")],
        episodes=[MemoryNote("e", "Once.")],
        working_notes=[MemoryNote("1", "x")],
    )
    other = Memory(PROJECT, preferences=[Preference("a", "Likes land.")])
    assert ask(story(chapter(1, "One."), memory=more)).stable_prefix_hash == plain.stable_prefix_hash
    assert ask(story(chapter(1, "One."), memory=other)).stable_prefix_hash != plain.stable_prefix_hash


def test_the_least_sure_preference_goes_first_when_there_is_no_room() -> None:
    many = [Preference(f"p{n:03}", f"Preference {n} " + "that goes on and on " * 10, n / 200) for n in range(200)]
    result = ask(story(chapter(1, "word " * 20_000), memory=Memory(PROJECT, preferences=many)), window=8192)
    kept = {verdict.score for verdict in result.trace if verdict.source.startswith("memory:") and verdict.included}
    gone = {verdict.score for verdict in result.trace if verdict.source.startswith("memory:") and not verdict.included}
    assert kept
    assert gone
    assert min(kept) > max(gone)


def test_nothing_remembered_offers_nothing() -> None:
    result = ask(story(chapter(1, "One."), memory=Memory(PROJECT)))
    assert sources(result, "memory:") == []
    assert result.layers[Layer.SETTINGS].tokens == 0
