"""Documents in reading order."""

from __future__ import annotations

from fabula.core.story import Position
from fabula.manuscript.model import Direction, Document, Manuscript

BOOK = Manuscript(tuple(Document(f"ch-{n}", f"Chapter {n}", f"Text {n}.") for n in range(1, 6)))


def test_documents_are_found_by_id_in_reading_order() -> None:
    assert BOOK.by_id["ch-3"].title == "Chapter 3"
    assert list(BOOK.by_id) == ["ch-1", "ch-2", "ch-3", "ch-4", "ch-5"]


def test_the_timeline_keeps_reading_order_story_time_and_point_of_view() -> None:
    book = Manuscript(
        (Document("a", "A", ""), Document("b", "B", "", pov="mara", story_time=0.5), Document("c", "C", ""))
    )
    timeline = book.timeline()
    assert [moment.document for moment in timeline.entries] == ["a", "b", "c"]
    flashback = timeline.entry("b")
    assert flashback is not None
    assert (flashback.pov, flashback.when) == ("mara", 0.5)
    assert not timeline.has_reached(Position("a"), Position("b"))
    assert timeline.has_reached(Position("b"), Position("c"))


def test_a_project_says_its_rules_in_its_language_and_in_order() -> None:
    direction = Direction(kind="novel", person="first", world=("No magic.",), rules=("Short.", "Quiet."))
    assert [name for name, _ in direction.rule_lines("en")] == ["kind", "person", "world-1", "rule-1", "rule-2"]
    assert dict(direction.rule_lines("zh"))["person"] == "叙述人称：first"
    assert list(Direction().rule_lines("en")) == []
