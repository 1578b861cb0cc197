"""The timeline as a value: both orders, and who is counted."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fabula.codex import Entry
from fabula.codex.name_index import NameIndex
from fabula.core.errors import Code, FabulaError
from fabula.workspace import timeline
from fabula.workspace.project import ProjectHandle


def test_only_those_who_are_named_most_are_counted(coast: ProjectHandle) -> None:
    everybody = coast.timeline.read().appearances
    assert coast.timeline.read(most=2).appearances == everybody[:2]
    assert [one.total for one in everybody] == sorted((one.total for one in everybody), reverse=True)
    with pytest.raises(FabulaError) as refusal:
        coast.timeline.read(most=0)
    assert refusal.value.code is Code.REQUEST_INVALID


def test_the_book_is_searched_for_names_once_between_two_changes(
    coast: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[int] = []

    def make_index(entries: Iterable[Entry]) -> NameIndex:
        searched.append(1)
        return NameIndex(entries)

    monkeypatch.setattr(timeline, "NameIndex", make_index)
    first = coast.timeline.read(["Mara"]).appearances
    assert coast.timeline.read(["Mara"]).appearances == first
    assert coast.timeline.read(["Grace Odell"]).appearances != first
    assert len(searched) == 1
    coast.chapters.write("ch-01", "Mara. Mara. Mara.")
    assert coast.timeline.read(["Mara"]).appearances[0].counts[0] == 3
    coast.codex.edit("mara", aliases=["Maz"])
    coast.chapters.write("ch-01", "Maz.")
    assert coast.timeline.read(["Mara"]).appearances[0].counts[0] == 1


def test_a_chapter_happens_where_it_was_put(coast: ProjectHandle) -> None:
    read = [one.document_id for one in coast.timeline.read().documents]
    for one in read:
        coast.chapters.set_story_time(one)
    coast.chapters.set_story_time(read[3], before=read[0])
    coast.chapters.set_story_time(read[1], after=read[-1])
    documents = coast.timeline.read().documents
    happens = [one.document_id for one in sorted(documents, key=lambda one: one.story_index)]
    assert happens == [read[3], read[0], read[2], *read[4:], read[1]]
    assert [one.document_id for one in documents if one.happens_elsewhere] == [read[1], read[3]]
    for wrong in ({"before": read[1]}, {"before": read[0], "after": read[2]}):
        with pytest.raises(FabulaError) as refusal:
            coast.chapters.set_story_time(read[1], **wrong)
        assert refusal.value.code is Code.REQUEST_INVALID
