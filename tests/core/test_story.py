"""The two orders of a story: as it is read and as it happens."""

from __future__ import annotations

import pytest

from fabula.core.story import Perspective, Position, Timeline, TimelineEntry, Vantage

PLAIN = Timeline([TimelineEntry("ch-1"), TimelineEntry("ch-2"), TimelineEntry("ch-3")])
# Chapter 3 is a flashback to before the story; chapter 5 goes on where 4 stopped.
FLASHBACK = Timeline(
    [
        TimelineEntry("ch-1"),
        TimelineEntry("ch-2"),
        TimelineEntry("ch-3", when=0.5),
        TimelineEntry("ch-4"),
        TimelineEntry("ch-5"),
    ]
)


@pytest.mark.parametrize(
    ("mark", "here", "reached"),
    [
        (Position("ch-1", 900), Position("ch-2", 0), True),
        (Position("ch-2", 0), Position("ch-1", 900), False),
        (Position("ch-1", 0), Position("ch-3", 0), True),
        (Position("ch-2", 10), Position("ch-2", 9), False),
        (Position("ch-2", 10), Position("ch-2", 10), True),
        (Position("ch-2", 10), Position("ch-2", 11), True),
    ],
)
def test_in_a_plain_story_what_was_read_has_been_reached(mark: Position, here: Position, reached: bool) -> None:
    assert PLAIN.has_reached(mark, here) is reached


def test_in_a_flashback_nothing_that_happens_later_has_been_reached() -> None:
    here = Position("ch-3", 100)
    assert not FLASHBACK.has_reached(Position("ch-1", 0), here)
    assert not FLASHBACK.has_reached(Position("ch-2", 50), here)
    assert FLASHBACK.has_reached(Position("ch-3", 100), here)


def test_a_flashback_is_not_known_before_it_is_read() -> None:
    assert not FLASHBACK.has_reached(Position("ch-3", 0), Position("ch-1", 900))
    assert not FLASHBACK.has_reached(Position("ch-3", 0), Position("ch-2", 900))


def test_behind_a_flashback_everything_read_so_far_has_been_reached() -> None:
    here = Position("ch-4", 0)
    assert all(FLASHBACK.has_reached(Position(chapter, 900), here) for chapter in ("ch-1", "ch-2", "ch-3"))
    assert not FLASHBACK.has_reached(Position("ch-5", 0), here)


def test_a_flash_forward_is_reached_only_when_the_story_has_caught_up_with_it() -> None:
    timeline = Timeline(
        [
            TimelineEntry("now"),
            TimelineEntry("later", when=10.0),
            TimelineEntry("then"),
            TimelineEntry("end", when=11.0),
        ]
    )
    assert not timeline.has_reached(Position("later", 5), Position("then", 0))
    assert timeline.has_reached(Position("later", 5), Position("end", 0))


def test_two_documents_of_the_same_time_are_in_reading_order() -> None:
    timeline = Timeline([TimelineEntry("here", when=3.0), TimelineEntry("meanwhile", when=3.0)])
    assert timeline.has_reached(Position("here", 5), Position("meanwhile", 0))
    assert not timeline.has_reached(Position("meanwhile", 0), Position("here", 5))


def test_what_cannot_be_placed_is_never_reached() -> None:
    assert not PLAIN.has_reached(Position("ch-1"), None)
    assert not PLAIN.has_reached(Position("deleted"), Position("ch-3", 5))
    assert not PLAIN.has_reached(Position("ch-1"), Position("deleted", 5))
    assert not Timeline().has_reached(Position("ch-1"), Position("ch-2"))


def test_a_document_outside_the_story_still_has_an_order_of_its_own() -> None:
    assert PLAIN.has_reached(Position("note", 3), Position("note", 4))
    assert not PLAIN.has_reached(Position("note", 5), Position("note", 4))


def test_documents_are_numbered_as_they_are_read() -> None:
    assert [FLASHBACK.chapter_number(f"ch-{n}") for n in (1, 3, 5)] == [1, 3, 5]
    assert FLASHBACK.chapter_number("ch-9") is None
    assert "ch-3" in FLASHBACK
    assert "ch-9" not in FLASHBACK


def test_a_document_gives_its_own_record() -> None:
    timeline = Timeline([TimelineEntry("ch-1", pov="mara", title="One")])
    moment = timeline.entry("ch-1")
    assert moment is not None
    assert (moment.pov, moment.title) == ("mara", "One")
    assert timeline.entry("ch-9") is None


def test_vantages_are_told_apart_by_name_and_not_by_position() -> None:
    names = [
        Vantage(Perspective.AUTHOR).name,
        Vantage(Perspective.READER).name,
        Vantage(Perspective.CHARACTER, None, "mara").name,
        Vantage(Perspective.CHARACTER, None, "lin").name,
    ]
    assert len(set(names)) == 4
    assert (
        Vantage(Perspective.READER, Position("ch-1", 3)).name == Vantage(Perspective.READER, Position("ch-2", 9)).name
    )
