"""Whoever the scene is about counts as detected: the point of view, and the people mentioned most (cdx-3)."""

from __future__ import annotations

from dataclasses import replace as replace_document

import pytest
from msgspec.structs import replace

from fabula.codex import Entry, Level, Progression
from fabula.context.result import Result
from fabula.context.trace import Reason, Verdict
from fabula.core.relevance import DETECTED
from fabula.core.story import Position
from tests.manuscript.stories import ask, chapter, sources, story

HE = "He walked on along the shore and thought of nothing at all.\n\n" * 40


def person(name: str, **more: object) -> Entry:
    return replace(Entry(id=name.lower(), type="character", name=name, description=f"All about {name}."), **more)


PEOPLE = [person("Mara"), person("Bram"), person("Cole"), person("Dora"), person("Edda")]


def verdict(result: Result, name: str) -> Verdict:
    return next(one for one in result.trace if one.source == f"codex:entity:{name.lower()}")


def people(text: str, **more: object) -> set[str]:
    found = sources(ask(story(chapter(1, text), entries=PEOPLE), **more), "codex:entity:")
    return {source.removeprefix("codex:entity:") for source in found}


def test_the_protagonist_is_detected_at_the_end_of_a_chapter_told_with_he() -> None:
    result = ask(story(chapter(1, f"Mara came home. Mara waited.\n\n{HE}"), entries=PEOPLE))
    found = verdict(result, "Mara")
    assert (found.reason, found.score) == (Reason.KEPT, DETECTED[0])
    assert found.sentence == "named 2 times since the scene began"


def test_the_point_of_view_is_detected_without_being_named() -> None:
    told = replace_document(chapter(1, HE), pov="bram")
    result = ask(story(told, entries=PEOPLE))
    found = verdict(result, "Bram")
    assert (found.reason, found.score) == (Reason.KEPT, DETECTED[0])
    assert found.sentence == "the point of view of this scene"


@pytest.mark.parametrize("mark", ["***", "#", "* * *", "◇"])
def test_people_of_an_earlier_scene_do_not_count(mark: str) -> None:
    before = "Mara came. Mara went. Mara came again.\n\n"
    after = "Bram sat down. Bram waited.\n\n"
    assert people(f"{before}{mark}\n\n{after}{HE}") == {"bram"}


def test_a_few_people_count_and_those_mentioned_least_do_not() -> None:
    often = "Mara spoke. Bram spoke. Cole spoke. Dora spoke.\n\n" * 4 + "Mara. Bram. Cole. Edda left. Edda came.\n\n"
    assert people(often + HE) == {"mara", "bram", "cole"}


def test_the_second_of_a_scene_counts_however_often_the_first_is_named() -> None:
    assert people("Mara spoke. " * 40 + "Bram spoke. Bram left. Cole came.\n\n" + HE) == {"mara", "bram"}


def test_a_name_that_is_revealed_later_does_not_count_for_the_scene() -> None:
    later = Progression("He is the count.", Position("ch-1", 100_000), aliases=("Sinbad",))
    entries = [person("Edmond", progressions=(later,))]
    result = ask(story(chapter(1, f"Sinbad came. Sinbad went. Sinbad slept.\n\n{HE}"), entries=entries))
    assert "codex:entity:edmond" not in sources(result)


def test_manual_and_never_entries_are_not_brought_by_the_point_of_view() -> None:
    for level in (Level.MANUAL, Level.NEVER):
        told = replace_document(chapter(1, HE), pov="bram")
        assert "codex:entity:bram" not in sources(ask(story(told, entries=[person("Bram", level=level)])))
