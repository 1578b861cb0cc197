"""Ids and times."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

from fabula.core.ids import current_timestamp, is_valid_id, make_timestamp, new_id, parse_timestamp


def test_a_moment_is_the_same_wherever_it_was_written_down() -> None:
    noon = datetime(2023, 5, 8, 12, tzinfo=UTC)
    stamps = ("2023-05-08T12:00:00Z", "2023-05-08T12:00:00", "2023-05-08T20:00:00+08:00")
    assert {parse_timestamp(stamp) for stamp in stamps} == {noon}
    assert [parse_timestamp(stamp) for stamp in ("", "yesterday", "2023-13-40")] == [None] * 3


def test_timestamps_sort_by_time_and_have_one_form() -> None:
    before = make_timestamp(datetime.now(UTC))
    stamps = [before, *(current_timestamp() for _ in range(1000)), make_timestamp(datetime.now(UTC))]
    assert all(one <= other for one, other in pairwise(stamps))
    assert {len(stamp) for stamp in stamps} == {len("2023-05-08T12:00:00.000000Z")}
    assert all(make_timestamp(parse_timestamp(stamp) or datetime.min) == stamp for stamp in stamps)


def test_ids_are_new_and_of_one_length() -> None:
    ids = {new_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert {len(one) for one in ids} == {20}
    assert all(map(is_valid_id, ids))
