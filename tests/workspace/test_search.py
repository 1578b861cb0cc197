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


def test_a_chapter_is_found_by_the_words_of_its_title_alone(coast: ProjectHandle) -> None:
    """None of these words stand in the text of their chapter; others were found, or none."""
    project = coast
    project.chapters.add("第九十五回 马谡拒谏失街亭 武侯弹琴退仲达", "孔明登城而望，果然尘土冲天。")
    project.chapters.add("第九十六回 孔明挥泪斩马谡", "武侯升帐，弹琴者退，仲达未到。")
    project.chapters.add("CHAPTER CXIX. The Candles", "The yard-arms were tipped with a pallid fire.")
    for words, begins in (("武侯弹琴退仲达", "孔明登城"), ("the candles", "The yard-arms"), ("马谡失街亭", "孔明登城")):
        found = project.search(words, limit=3)
        assert found[0].passage.text.startswith(begins)
        assert len({one.passage.source for one in found}) == len(found) <= 3
    titles = [one for one in project.search("武侯弹琴退仲达", until="ch-02", limit=3) if "孔明" in one.passage.text]
    assert not titles  # it lies beyond that chapter
