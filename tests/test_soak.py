"""A slice of the long run of `benchmarks.soak`: what stays in memory, counted and not timed."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from benchmarks.novels import chapters
from benchmarks.soak import MemorySample, Soak, summarise

from fabula.search.corpus import Corpus
from fabula.search.index.index import SearchIndex
from fabula.workspace.views import CachedView


def find_alive(kind: type) -> dict[int, object]:
    gc.collect()
    return {id(one): one for one in gc.get_objects() if isinstance(one, kind)}


def test_a_day_of_work_keeps_one_index_a_project_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_CACHE", str(tmp_path / "cache"))
    kinds = (SearchIndex, Corpus, CachedView)
    before = {kind: find_alive(kind) for kind in kinds}
    soak = Soak(tmp_path, projects=3, characters=(8_000, 20_000), texts=chapters(None), seed=16)
    with soak.workspace:
        for _ in range(150):
            soak.step()
        soak.save(soak.projects[0])
        soak.workspace.flush()
        for kind in kinds:
            assert len(find_alive(kind).keys() - before[kind].keys()) == 3, kind.__name__
    assert not soak.errors


def test_growth_is_measured_from_the_first_tenth_on() -> None:
    samples = [MemorySample(resident=100 if n else 50, indexes=2, descriptors=9 + n // 19) for n in range(20)]
    figures = summarise(samples, errors=0)
    assert figures["rss_growth"] == 0.0
    assert (figures["indexes_alive"], figures["descriptors"]) == (2, 1)
