"""Progressions hold from their position on and never before (cdx-4, cdx-8)."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.codex import Entry, Level, Progression, Relation
from fabula.context.trace import Reason
from fabula.conversation.model import Message
from fabula.core.story import Perspective, Position
from fabula.manuscript.model import Document
from tests.manuscript.stories import ask, chapter, everything, reason, sources, story

TEXT = "Mara and Bram came."
BOOK = [chapter(n, TEXT) for n in range(1, 10)]


def mara(level: Level = Level.WHEN_DETECTED, **fields: Any) -> Entry:
    steps = (
        Progression("she keeps the light", Position("ch-2")),
        Progression("she is the smuggler", Position("ch-9")),
    )
    values = {"progressions": steps, **fields}
    return Entry(id="mara", type="character", name="Mara", description="A woman.", level=level, **values)


@pytest.mark.parametrize("level", [Level.ALWAYS, Level.WHEN_DETECTED, Level.MANUAL])
def test_a_progression_holds_from_its_chapter_on(level: Level) -> None:
    project = story(*BOOK, entries=[mara(level)])
    visible = [
        [
            text in ask(project, document_id=f"ch-{n}", include=("mara",)).prompt
            for text in ("the light", "the smuggler")
        ]
        for n in (1, 2, 8, 9)
    ]
    assert visible == [[False, False], [True, False], [True, False], [True, True]]


def test_what_is_revealed_in_chapter_nine_reaches_chapter_three_by_no_path() -> None:
    friend = Entry(id="bram", type="character", name="Bram", relations=(Relation("mara", "sister"),))
    messages = [Message(id="m", role="user", content="What is Mara?")]
    for level in (Level.ALWAYS, Level.WHEN_DETECTED):
        project = story(*BOOK, entries=[mara(level), friend], talk=messages)
        later = project.request(document_id="ch-9")
        project.report_answer(project.assemble(later).assembly_id)
        for options in (
            {},
            {"include": ("mara", "codex:entity:mara#2")},
            {"additional_input": "Is Mara the smuggler's friend?"},
            {"conversation_id": "desk"},
            {"recipe": "chat"},
            {"cursor": 0},
        ):
            result = ask(project, document_id="ch-3", **options)
            assert "she is the smuggler" not in everything(result)
            assert reason(result, "codex:entity:mara#2") is Reason.NOT_YET


def test_a_progression_inside_a_chapter_holds_from_its_offset_on() -> None:
    text = "Mara came. The lamp fell. Mara ran."
    step = Progression("she broke the lamp", Position("ch-1", text.index(" Mara ran")))
    project = story(chapter(1, text), entries=[mara(progressions=(step,))])
    assert "she broke the lamp" not in everything(ask(project, cursor=12))
    assert "she broke the lamp" in ask(project, cursor=len(text)).prompt
    assert "she broke the lamp" in ask(project).prompt


def test_words_typed_before_a_revelation_do_not_bring_it_nearer() -> None:
    """Unsaved text shifts the positions after it, so the progression is still ahead."""
    text = "Mara came. The lamp fell. Mara ran."
    step = Progression("she broke the lamp", Position("ch-1", text.index(" Mara ran")))
    project = story(chapter(1, text), entries=[mara(progressions=(step,))])
    typed = "It was a long and quiet night on the coast. "
    unsaved = typed + text
    result = ask(project, unsaved_text=unsaved, cursor=len(typed) + len("Mara came."))
    assert "she broke the lamp" not in everything(result)


def test_words_deleted_before_a_revelation_do_not_take_it_back() -> None:
    text = "It was a long and quiet night. Mara came. The lamp fell. Mara ran. Then Mara slept."
    step = Progression("she broke the lamp", Position("ch-1", text.index(" Mara ran")))
    project = story(chapter(1, text), entries=[mara(progressions=(step,))])
    unsaved = text.removeprefix("It was a long and quiet night. ")
    result = ask(project, unsaved_text=unsaved, cursor=unsaved.index(" Then Mara"))
    assert "she broke the lamp" in result.prompt


def test_a_flashback_does_not_include_later_progressions() -> None:
    book = [chapter(1, TEXT), chapter(2, TEXT), chapter(3, TEXT, story_time=0.5), chapter(4, TEXT)]
    project = story(*book, entries=[mara()])
    assert "she keeps the light" in ask(project, document_id="ch-2").prompt
    assert "she keeps the light" not in everything(ask(project, document_id="ch-3"))
    assert "she keeps the light" in ask(project, document_id="ch-4").prompt


def test_the_author_sees_later_progressions_marked_as_not_revealed() -> None:
    result = ask(story(*BOOK, entries=[mara()]), document_id="ch-3", skill_id="plan")
    assert "(not to be revealed yet) Mara (by now): she is the smuggler" in result.prompt
    assert reason(result, "codex:entity:mara#2") is Reason.NOT_REVEALED
    assert "(not to be revealed yet) Mara (by now): she keeps the light" not in result.prompt


def test_an_entry_that_begins_later_is_not_known_before() -> None:
    project = story(*BOOK, entries=[mara(since=Position("ch-5"), progressions=())])
    assert reason(ask(project, document_id="ch-4"), "codex:entity:mara") is Reason.NOT_YET
    assert reason(ask(project, document_id="ch-5"), "codex:entity:mara") is Reason.KEPT


def test_an_excluded_entry_takes_its_progressions_with_it() -> None:
    project = story(*BOOK, entries=[mara()])
    result = ask(project, document_id="ch-9", exclude=("codex:entity:mara",))
    assert "she keeps the light" not in everything(result)
    assert "she is the smuggler" not in everything(result)


@pytest.mark.parametrize("wanted", ["mara", "codex:entity:mara"])
def test_include_and_exclude_take_the_same_names(wanted: str) -> None:
    project = story(*BOOK, entries=[mara(progressions=())])
    assert "codex:entity:mara" in sources(ask(project, include=(wanted,)))
    assert "codex:entity:mara" not in sources(ask(project, exclude=(wanted,)))


SECRET = mara(known_to=frozenset({"bram"}), progressions=())


@pytest.mark.parametrize(
    ("options", "known"),
    [
        ({"character": "bram"}, True),
        ({"speaker_id": "bram", "recipe": "character-chat", "additional_input": "Where is Mara?"}, True),
        ({"character": "cole"}, False),
        ({"perspective": Perspective.READER}, False),
        ({"perspective": Perspective.AUTHOR}, True),
        ({}, False),
    ],
)
def test_a_limited_progression_is_included_only_for_those_who_know_it(options: dict[str, object], known: bool) -> None:
    result = ask(story(*BOOK, entries=[SECRET]), **options)
    assert ("codex:entity:mara" in sources(result)) is known
    assert ("A woman." in everything(result)) is known


def test_the_point_of_view_of_a_scene_decides_whose_knowledge_it_is() -> None:
    book = [Document("a", "A", TEXT, pov="bram"), Document("b", "B", TEXT, pov="cole")]
    project = story(*book, entries=[SECRET])
    assert "A woman." in ask(project, document_id="a").prompt
    assert "A woman." not in everything(ask(project, document_id="b"))


def test_a_fact_known_to_the_reader_is_included_for_the_reader() -> None:
    shared = mara(known_to=frozenset({"bram", "reader"}), progressions=())
    assert "A woman." in ask(story(*BOOK, entries=[shared])).prompt


def test_a_progression_is_known_to_nobody_who_does_not_know_the_entry() -> None:
    step = Progression("she broke the lamp", Position("ch-1"), frozenset({"bram", "cole"}))
    project = story(*BOOK, entries=[mara(known_to=frozenset({"bram"}), progressions=(step,))])
    assert "she broke the lamp" in ask(project, character="bram").prompt
    assert "she broke the lamp" not in everything(ask(project, character="cole"))


def test_a_progression_is_not_included_before_its_entry_begins() -> None:
    step = Progression("she keeps the light", Position("ch-2"))
    late = mara(since=Position("ch-6"), progressions=(step,))
    visible = story(*BOOK, entries=[late])
    assert "she keeps the light" not in everything(ask(visible, document_id="ch-3", include=("mara",)))


def test_a_speaker_sees_only_what_it_may_know_of_the_scene() -> None:
    seen = chapter(1, "Mara hid the key under the stone.", pov="mara", beats=("Mara is found out",))
    project = story(seen)
    options = {"document_id": "ch-1", "recipe": "character-chat", "skill_id": "chat", "additional_input": "Well?"}
    assert "under the stone" in ask(project, speaker_id="mara", **options).prompt
    other = ask(project, speaker_id="reeve", **options).prompt
    assert "under the stone" not in other
    assert "found out" not in other
