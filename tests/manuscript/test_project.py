"""The project's own writing rules and style."""

from __future__ import annotations

from fabula.core.fragment import Layer
from fabula.manuscript.model import Direction
from tests.manuscript.stories import ask, chapter, sources, story

DIRECTION = Direction(
    kind="a sea story", person="first person", world=("No magic.",), rules=("Quiet verbs.",), style="Plain and dry."
)


def test_kind_person_world_and_rules_are_rules_and_style_is_a_setting() -> None:
    result = ask(story(chapter(1, "One."), direction=DIRECTION))
    layers = {verdict.source: verdict.layer for verdict in result.trace if verdict.source.startswith("project:")}
    assert layers == {
        "project:kind": Layer.RULES,
        "project:person": Layer.RULES,
        "project:world-1": Layer.RULES,
        "project:rule-1": Layer.RULES,
        "project:style": Layer.SETTINGS,
    }
    places = [result.prompt.index(text) for text in ("a sea story", "first person", "No magic.", "Quiet verbs.")]
    assert places == sorted(places)
    assert places[-1] < result.prompt.index("Plain and dry.") < result.prompt.index("One.")


def test_rules_and_style_belong_to_the_stable_prefix() -> None:
    fabula = story(chapter(1, "One came. Two came."), direction=DIRECTION)
    first, second = ask(fabula, cursor=5), ask(fabula, cursor=12, additional_input="Go on.")
    assert first.stable_prefix_hash == second.stable_prefix_hash
    other = story(chapter(1, "One came. Two came."), direction=Direction(style="Lush."))
    assert ask(other, cursor=5).stable_prefix_hash != first.stable_prefix_hash


def test_a_project_that_says_nothing_offers_nothing() -> None:
    result = ask(story(chapter(1, "One."), direction=Direction()))
    assert sources(result, "project:") == []
    assert result.layers[Layer.RULES].tokens == 0
    assert result.layers[Layer.SETTINGS].tokens == 0
