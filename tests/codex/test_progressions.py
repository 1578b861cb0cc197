"""What becomes true of an entry, and not before it does (cdx-4, cdx-8)."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.codex.model import Entry, Level, Progression, Relation
from fabula.context.trace import Reason
from fabula.conversation.model import Message
from fabula.core.story import Eyes, Position
from fabula.manuscript.model import Document
from tests.manuscript.stories import ask, chapter, everything, reason, sources, story

TEXT = "Mara and Bram came."
BOOK = [chapter(n, TEXT) for n in range(1, 10)]


def mara(level: Level = Level.WHEN_DETECTED, **fields: Any) -> Entry:
    steps = (
        Progression("she keeps the light", Position("ch-2")),
        Progression("she is the smuggler", Position("ch-9")),
    )
    made = {"progressions": steps, **fields}
    return Entry(id="mara", type="character", name="Mara", description="A woman.", level=level, **made)


@pytest.mark.parametrize("level", [Level.ALWAYS, Level.WHEN_DETECTED, Level.MANUAL])
def test_a_progression_holds_from_its_chapter_on(level: Level) -> None:
    fabula = story(*BOOK, entries=[mara(level)])
    told = [
        [text in ask(fabula, document_id=f"ch-{n}", include=("mara",)).prompt for text in ("the light", "the smuggler")]
        for n in (1, 2, 8, 9)
    ]
    assert told == [[False, False], [True, False], [True, False], [True, True]]


def test_what_is_revealed_in_chapter_nine_reaches_chapter_three_by_no_path() -> None:
    friend = Entry(id="bram", type="character", name="Bram", relations=(Relation("mara", "sister"),))
    talk = [Message(id="m", role="user", content="What is Mara?")]
    for level in (Level.ALWAYS, Level.WHEN_DETECTED):
        fabula = story(*BOOK, entries=[mara(level), friend], talk=talk)
        later = fabula.request(document_id="ch-9")
        fabula.commit(later, fabula.assemble(later))
        for wishes in (
            {},
            {"include": ("mara", "codex:entity:mara#2")},
            {"additional_input": "Is Mara the smuggler's friend?"},
            {"conversation_id": "desk"},
            {"recipe": "chat"},
            {"cursor": 0},
        ):
            result = ask(fabula, document_id="ch-3", **wishes)
            assert "she is the smuggler" not in everything(result)
            assert reason(result, "codex:entity:mara#2") is Reason.NOT_YET


def test_a_progression_inside_a_chapter_holds_from_its_words_on() -> None:
    text = "Mara came. The lamp fell. Mara ran."
    step = Progression("she broke the lamp", Position("ch-1", text.index(" Mara ran")))
    fabula = story(chapter(1, text), entries=[mara(progressions=(step,))])
    assert "she broke the lamp" not in everything(ask(fabula, cursor=12))
    assert "she broke the lamp" in ask(fabula, cursor=len(text)).prompt
    assert "she broke the lamp" in ask(fabula).prompt


def test_words_typed_before_a_revelation_do_not_bring_it_nearer() -> None:
    """Unsaved text shifts what stands behind it; the revelation is still to come."""
    text = "Mara came. The lamp fell. Mara ran."
    step = Progression("she broke the lamp", Position("ch-1", text.index(" Mara ran")))
    fabula = story(chapter(1, text), entries=[mara(progressions=(step,))])
    typed = "It was a long and quiet night on the coast. "
    unsaved = typed + text
    result = ask(fabula, unsaved_text=unsaved, cursor=len(typed) + len("Mara came."))
    assert "she broke the lamp" not in everything(result)


def test_words_deleted_before_a_revelation_do_not_take_it_back() -> None:
    text = "It was a long and quiet night. Mara came. The lamp fell. Mara ran. Then Mara slept."
    step = Progression("she broke the lamp", Position("ch-1", text.index(" Mara ran")))
    fabula = story(chapter(1, text), entries=[mara(progressions=(step,))])
    unsaved = text.removeprefix("It was a long and quiet night. ")
    result = ask(fabula, unsaved_text=unsaved, cursor=unsaved.index(" Then Mara"))
    assert "she broke the lamp" in result.prompt


def test_in_a_flashback_what_becomes_true_later_is_not_told() -> None:
    book = [chapter(1, TEXT), chapter(2, TEXT), chapter(3, TEXT, when=0.5), chapter(4, TEXT)]
    fabula = story(*book, entries=[mara()])
    assert "she keeps the light" in ask(fabula, document_id="ch-2").prompt
    assert "she keeps the light" not in everything(ask(fabula, document_id="ch-3"))
    assert "she keeps the light" in ask(fabula, document_id="ch-4").prompt


def test_the_author_is_told_what_is_to_come_and_that_it_is_not_revealed_yet() -> None:
    result = ask(story(*BOOK, entries=[mara()]), document_id="ch-3", skill_id="plan")
    assert "(not to be revealed yet) Mara (by now): she is the smuggler" in result.prompt
    assert reason(result, "codex:entity:mara#2") is Reason.NOT_REVEALED
    assert "(not to be revealed yet) Mara (by now): she keeps the light" not in result.prompt


def test_an_entry_that_begins_later_is_not_known_before() -> None:
    fabula = story(*BOOK, entries=[mara(since=Position("ch-5"), progressions=())])
    assert reason(ask(fabula, document_id="ch-4"), "codex:entity:mara") is Reason.NOT_YET
    assert reason(ask(fabula, document_id="ch-5"), "codex:entity:mara") is Reason.KEPT


def test_an_excluded_entry_takes_its_progressions_with_it() -> None:
    fabula = story(*BOOK, entries=[mara()])
    result = ask(fabula, document_id="ch-9", exclude=("codex:entity:mara",))
    assert "she keeps the light" not in everything(result)
    assert "she is the smuggler" not in everything(result)


@pytest.mark.parametrize("wanted", ["mara", "codex:entity:mara"])
def test_include_and_exclude_take_the_same_names(wanted: str) -> None:
    fabula = story(*BOOK, entries=[mara(progressions=())])
    assert "codex:entity:mara" in sources(ask(fabula, include=(wanted,)))
    assert "codex:entity:mara" not in sources(ask(fabula, exclude=(wanted,)))


SECRET = mara(known_to=frozenset({"bram"}), progressions=())


@pytest.mark.parametrize(
    ("wishes", "known"),
    [
        ({"character": "bram"}, True),
        ({"speaker_id": "bram", "recipe": "character-chat"}, True),
        ({"character": "cole"}, False),
        ({"eyes": Eyes.READER}, False),
        ({"eyes": Eyes.AUTHOR}, True),
        ({}, False),
    ],
)
def test_what_some_know_is_told_through_their_eyes_only(wishes: dict[str, object], known: bool) -> None:
    result = ask(story(*BOOK, entries=[SECRET]), **wishes)
    assert ("codex:entity:mara" in sources(result)) is known
    assert ("A woman." in everything(result)) is known


def test_the_point_of_view_of_a_scene_decides_whose_knowledge_it_is() -> None:
    book = [Document("a", "A", TEXT, pov="bram"), Document("b", "B", TEXT, pov="cole")]
    fabula = story(*book, entries=[SECRET])
    assert "A woman." in ask(fabula, document_id="a").prompt
    assert "A woman." not in everything(ask(fabula, document_id="b"))


def test_a_fact_the_reader_knows_too_is_told_to_the_reader() -> None:
    shared = mara(known_to=frozenset({"bram", "reader"}), progressions=())
    assert "A woman." in ask(story(*BOOK, entries=[shared])).prompt


def test_a_progression_is_known_to_nobody_who_does_not_know_the_entry() -> None:
    step = Progression("she broke the lamp", Position("ch-1"), frozenset({"bram", "cole"}))
    fabula = story(*BOOK, entries=[mara(known_to=frozenset({"bram"}), progressions=(step,))])
    assert "she broke the lamp" in ask(fabula, character="bram").prompt
    assert "she broke the lamp" not in everything(ask(fabula, character="cole"))


def test_what_becomes_true_of_an_entry_waits_for_the_entry_itself() -> None:
    step = Progression("she keeps the light", Position("ch-2"))
    late = mara(since=Position("ch-6"), progressions=(step,))
    told = story(*BOOK, entries=[late])
    assert "she keeps the light" not in everything(ask(told, document_id="ch-3", include=("mara",)))


def test_whoever_speaks_in_a_scene_is_shown_only_what_it_may_know_of_it() -> None:
    seen = chapter(1, "Mara hid the key under the stone.", pov="mara", beats=("Mara is found out",))
    fabula = story(seen)
    wishes = {"document_id": "ch-1", "recipe": "character-chat", "skill_id": "chat", "additional_input": "Well?"}
    assert "under the stone" in ask(fabula, speaker_id="mara", **wishes).prompt
    other = ask(fabula, speaker_id="reeve", **wishes).prompt
    assert "under the stone" not in other
    assert "found out" not in other
