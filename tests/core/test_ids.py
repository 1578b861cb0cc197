"""Ids and times."""

from __future__ import annotations

from datetime import UTC, datetime

from fabula.core.ids import parse_timestamp


def test_a_moment_is_the_same_wherever_it_was_written_down() -> None:
    noon = datetime(2023, 5, 8, 12, tzinfo=UTC)
    stamps = ("2023-05-08T12:00:00Z", "2023-05-08T12:00:00", "2023-05-08T20:00:00+08:00")
    assert {parse_timestamp(stamp) for stamp in stamps} == {noon}
    assert [parse_timestamp(stamp) for stamp in ("", "yesterday", "2023-13-40")] == [None] * 3
