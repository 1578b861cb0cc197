"""A slice of `benchmarks.week`: a group chat in a process that is killed twice."""

from __future__ import annotations

from pathlib import Path

from benchmarks.week import count_doubled, measure


def test_a_chat_that_is_killed_loses_nothing_tells_no_secrets_and_stays_in_budget(tmp_path: Path) -> None:
    figures = measure(tmp_path, messages=120, kills=2)
    assert figures["kills"] == 2
    assert figures["messages"] >= 120
    assert figures["leaks"] == figures["doubled_recaps"] == figures["over_budget"] == figures["lost"] == 0
    assert figures["prefix_reuse_between_speakers"] >= 70


def test_a_round_in_two_summaries_counts_as_doubled() -> None:
    assert count_doubled([("summary", (1, 2)), ("summary", (3,)), ("recap", (1, 2, 3))]) == 0
    assert count_doubled([("summary", (1, 2)), ("summary", (2, 3))]) == 1
