"""Style samples: passages of the writer's own prose with their position (man-5)."""

from __future__ import annotations

import pytest

from fabula.context.trace import Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import documents, projects
from fabula.memory import edits
from fabula.memory.model import MAX_STYLE_SAMPLES, Memory, MemoryKind, MemoryNote, MemoryScope, MemoryState
from fabula.store.store import Store
from fabula.workspace.workspace import Workspace
from tests.manuscript.stories import PROJECT, ask, chapter, reason, sources, story

TEXT = "The lamp was the first thing. It stood in the window, and nobody had lit it. Then she came in."


@pytest.fixture
def coast(store: Store) -> Store:
    projects.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        documents.add(tx, "One", document_id="ch-1", text="It began.")
        documents.add(tx, "Two", document_id="ch-2", text=TEXT)
    return store


def test_a_passage_is_chosen_by_its_first_and_last_words_and_not_told_before_its_place(coast: Store) -> None:
    start, end = edits.find_passage(TEXT, "It stood", "lit it.")
    with coast.write(project="coast") as tx:
        made = edits.add_style_sample(tx, TEXT[start:end], end=Position("ch-2", end))
    assert (made.kind, made.text) == (MemoryKind.STYLE_SAMPLE, "It stood in the window, and nobody had lit it.")
    assert (made.state, made.since) == (MemoryState.CONFIRMED, Position("ch-2", end))
    project = Workspace(coast).project("coast")
    early = project.inspect(project.request(document_id="ch-1"))
    assert reason(early, f"style:{made.id}") is Reason.NOT_YET
    assert "nobody had lit it" not in early.prompt
    assert reason(project.inspect(project.request(document_id="ch-2")), f"style:{made.id}") is Reason.KEPT


def test_the_same_passage_is_one_sample_and_a_persons_sample_has_no_place(coast: Store) -> None:
    with coast.write(project="coast", user="ada") as tx:
        first, again = (edits.add_style_sample(tx, TEXT) for _ in range(2))
        assert first.id == again.id
        assert edits.add_style_sample(tx, TEXT, scope=MemoryScope.USER).since is None
        assert len(edits.list_memories(tx, kind=MemoryKind.STYLE_SAMPLE)) == 1


@pytest.mark.parametrize("text", ["Too short.", "long " * 400, "   "])
def test_a_sample_is_a_paragraph_or_two(coast: Store, text: str) -> None:
    with pytest.raises(FabulaError) as refused, coast.write(project="coast") as tx:
        edits.add_style_sample(tx, text)
    assert refused.value.code is Code.REQUEST_INVALID


@pytest.mark.parametrize(
    ("first", "last"), [("Nowhere", "in."), ("The lamp", "nowhere"), ("", "in."), ("t", "in."), ("Then", "thing.")]
)
def test_a_passage_that_is_not_there_is_refused(first: str, last: str) -> None:
    with pytest.raises(FabulaError):
        edits.find_passage(TEXT, first, last)


TALK = [MemoryNote(f"t{n}", f"“Come in,” he said. “It is late, and number {n} is out.”") for n in range(4)]
TOLD = [MemoryNote(f"d{n}", f"The sea lay flat under the moon for {n} hours and nobody spoke.") for n in range(4)]
MANY = Memory(PROJECT, style_samples=[*TALK, *TOLD])


def test_of_many_samples_those_that_fit_the_scene_are_shown() -> None:
    spoken = ask(story(chapter(1, "“Who is there?” she asked. “Nobody,” he said. “Go to bed.”"), memory=MANY))
    assert sources(spoken, "style:") == ["style:t0", "style:t1", "style:t2"]
    assert reason(spoken, "style:d0") is Reason.NOT_CHOSEN
    told = ask(story(chapter(1, "The project was dark and the road empty."), memory=MANY))
    assert sources(told, "style:") == ["style:d0", "style:d1", "style:d2"]


def test_the_choice_stays_while_the_writer_goes_on_so_that_the_prefix_does() -> None:
    text = "The project was dark and the road empty. " * 35 + "\n\n“Who is there?” she asked. “Nobody,” he said." * 30
    project = story(chapter(1, text), memory=MANY)
    first = project.request(document_id="ch-1", cursor=600)
    result = project.assemble(first)
    project.report_answer(result.assembly_id)
    later = project.assemble(project.request(document_id="ch-1"))
    assert later.stable_prefix_hash == result.stable_prefix_hash
    assert later.stable_prefix_unchanged
    alone = story(chapter(1, text), memory=MANY).assemble(project.request(document_id="ch-1"))
    assert alone.stable_prefix_hash != result.stable_prefix_hash, "chosen anew, it is a scene of talk"


def test_a_few_samples_are_all_shown() -> None:
    few = Memory(PROJECT, style_samples=[*TALK[:2], *TOLD[:1]])
    assert len(few.style_samples) == MAX_STYLE_SAMPLES
    assert sources(ask(story(chapter(1, "One."), memory=few)), "style:") == ["style:t0", "style:t1", "style:d0"]
