"""Search by hand through an open project."""

from __future__ import annotations

from fabula.workspace.project import ProjectHandle


def test_a_rebuilt_index_and_words_alone_find_the_same_passages(coast: ProjectHandle) -> None:
    found = coast.search("the weight of the clock", limit=5)
    assert found
    assert coast.search("the weight of the clock", limit=5, rebuild=True, by_meaning=False) == found


def test_nothing_is_found_beyond_the_named_chapter(coast: ProjectHandle) -> None:
    near = coast.search("Mara Grace lamp log", until="ch-02", limit=50)
    far = coast.search("Mara Grace lamp log", until="ch-02", everything=True, limit=50)
    assert {one.document_id for one in near} <= {"ch-01", "ch-02"}
    assert {one.document_id for one in far} - {"ch-01", "ch-02"}
