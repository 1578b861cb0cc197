"""Working memory: the latest events of the session, with a limited length (mem-1)."""

from __future__ import annotations

from fabula.context.trace import Reason
from fabula.core.story import Position
from fabula.memory.model import MAX_WORKING_NOTES, Decision
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY, WorkingMemory
from tests.manuscript.stories import PROJECT, chapter, reason, sources, story


def list_texts(recent: WorkingMemory) -> list[str]:
    return [fragment.text for fragment in recent.fragments(PROJECT)]


def test_what_was_open_was_looked_at_and_each_document_is_told_once() -> None:
    recent = EMPTY_WORKING_MEMORY.with_opened("a", "Fog").with_opened("b", "Sea").with_opened("a", "Fog")
    assert list_texts(recent) == ["Looked at lately: Sea", "Open now: Fog"]
    assert EMPTY_WORKING_MEMORY.events == ()


def test_edits_and_suggestions_are_noted_in_brief() -> None:
    recent = EMPTY_WORKING_MEMORY.with_edit("a", 9, "The lamp\nburned " + "low " * 100).with_decision(
        Decision.ACCEPTED, "She went."
    )
    recent = (
        recent.with_decision(Decision.REJECTED, "She stayed.")
        .with_decision(Decision.REWRITTEN, "She ran.")
        .with_decision(Decision.ACCEPTED, "  ")
    )
    found = list_texts(recent)
    assert found[0].startswith("Just changed: “The lamp burned low")
    assert len(found[0]) < 150
    assert found[1:] == [
        "Accepted: “She went.”",
        "Rejected: “She stayed.”",
        "Rewritten by the writer to: “She ran.”",
    ]
    assert [f.text for f in recent.fragments(PROJECT, "zh")][1] == "已采纳：“She went.”"


def test_a_sitting_is_bounded_and_its_notes_keep_their_names() -> None:
    recent = EMPTY_WORKING_MEMORY
    for number in range(50):
        recent = recent.with_decision(Decision.ACCEPTED, f"Line {number}.")
    assert len(recent.events) == MAX_WORKING_NOTES
    assert [f.source for f in recent.fragments(PROJECT)][-1] == "working:50"
    assert len({f.source for f in recent.fragments(PROJECT)}) == MAX_WORKING_NOTES


def test_it_enters_the_prompt_it_is_handed_to_and_no_other() -> None:
    project = story(chapter(1, "One came."), chapter(2, "Two came."))
    recent = EMPTY_WORKING_MEMORY.with_opened("ch-1", "Chapter 1").with_decision(
        Decision.REJECTED, "A speech.", Position("ch-1", 4)
    )
    request = project.request(document_id="ch-1")
    result = project.inspect(request, working_memory=recent)
    assert result.prompt == project.assemble(request, working_memory=recent).prompt
    assert sources(result, "working:") == ["working:1", "working:2"]
    assert result.prompt.index("judge for yourself") < result.prompt.index("Rejected: “A speech.”")
    assert sources(project.inspect(request), "working:") == []
    assert result.stable_prefix_hash == project.assemble(request).stable_prefix_hash


def test_what_was_done_later_in_the_story_is_not_told_before() -> None:
    project = story(chapter(1, "One came."), chapter(2, "Two came."))
    recent = EMPTY_WORKING_MEMORY.with_opened("ch-2", "The Death of Two").with_edit("ch-2", 9, "Two died.")
    early = project.inspect(project.request(document_id="ch-1"), working_memory=recent)
    assert "Death" not in early.prompt
    assert "died" not in early.prompt
    assert reason(early, "working:1") is reason(early, "working:2") is Reason.NOT_YET
    assert "Two died." in project.inspect(project.request(document_id="ch-2"), working_memory=recent).prompt
