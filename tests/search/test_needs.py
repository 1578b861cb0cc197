"""Which part of a chapter the questions of a place serve."""

from __future__ import annotations

import pytest

from fabula.core.story import Perspective, Position, Vantage
from fabula.search.needs import REACH, NeedPlace, Needs, find_last_offset

SHORT = "The rain went on.\n\nNobody came that day, and the lamp was lit.\n\n***\n\nIn spring they left.\n\nSo it was."
LONG = "The rain went on, and the clerk wrote another line about it.\n\n" * 120
CHINESE = "雨一直下。灯还亮着。\n\n" * 200


def make_place(offset: int) -> NeedPlace:
    return NeedPlace(id="n", since=Position("c", offset), vantage="reader", questions=("Who lit the lamp?",))


@pytest.mark.parametrize(
    ("text", "offset"), [(SHORT, 0), (SHORT, 30), (SHORT, len(SHORT)), (LONG, 100), (LONG, 5000), (CHINESE, 40)]
)
def test_the_last_offset_is_where_requests_no_longer_find_the_questions(text: str, offset: int) -> None:
    place = make_place(offset)
    needs = Needs([place])

    def is_served(cursor: int) -> bool:
        vantage = Vantage(Perspective.READER, Position("c", cursor))
        return needs.find_place(vantage, text, cursor) is not None

    served = [cursor for cursor in range(len(text) + 1) if is_served(cursor)]
    assert (served[0], served[-1]) == (offset, find_last_offset(place, text))


def test_a_scene_ends_the_reach_of_a_question() -> None:
    assert find_last_offset(make_place(10), SHORT) < SHORT.index("In spring") + 1
    assert find_last_offset(make_place(100), LONG) == 100 + REACH - 1
