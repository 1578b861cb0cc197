"""A slice of `benchmarks.history`: it fills a store, and finds, records, pages and assembles in it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.history import SMALL, measure


def test_every_figure_is_measured_on_a_small_store(tmp_path: Path) -> None:
    figures = measure(tmp_path, SMALL)
    wanted = {"subset_p95_ms", "record_ratio", "page_ms", "speaker_p50_ms", "speaker_search_p50_ms"}
    assert wanted <= figures.keys()
    assert all(figures[name] > 0 for name in wanted)
