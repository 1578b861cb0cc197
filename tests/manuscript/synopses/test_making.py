"""The synopses of a long book are made in the background: the same ones, and no story is kept alive for them."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from weakref import ref

import pytest

from fabula.context.engine import Engine
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.core.background import ANSWERING
from fabula.core.view import Project, View
from fabula.manuscript.model import Document, Manuscript
from fabula.manuscript.synopses import making
from fabula.manuscript.synopses.chapters import Chapter, extracted_synopses
from fabula.manuscript.synopses.plan import ChapterSynopses
from fabula.text import summaries
from fabula.workspace.sources import all_sources
from tests.manuscript.stories import PROJECT, chapter, filler

PATIENCE = 30.0  # seconds, for what comes at once unless something is broken


def book(chapters: int = 30) -> tuple[Document, ...]:
    return tuple(chapter(n, filler(200, f"harbour{n}")) for n in range(1, chapters + 1))


def count_made(synopses: ChapterSynopses) -> int:
    return sum(one.known_synopsis is not None for one in synopses.chapters)


def wait_until_made(synopses: ChapterSynopses, number: int) -> None:
    until = time.monotonic() + PATIENCE
    while count_made(synopses) < number:
        assert time.monotonic() < until
        time.sleep(0.005)


def is_making() -> bool:
    return any(thread.name == "synopses" for thread in threading.enumerate())


def wait_until_over() -> None:
    until = time.monotonic() + PATIENCE
    while is_making():
        assert time.monotonic() < until
        time.sleep(0.005)


def assemble(manuscript: Manuscript, document: str) -> Result:
    view = View(Project(id=PROJECT), manuscript.timeline(), {Manuscript: manuscript})
    request = Request(project_id=PROJECT, document_id=document, cursor=50, skill_id="continue", model="gpt-4o")
    return Engine(all_sources()).assemble(request, view)


@pytest.fixture
def few_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few chapters are many."""
    monkeypatch.setattr(making, "BACKGROUND_CHARACTERS", 1_000)


@pytest.mark.usefixtures("few_characters")
def test_after_the_first_prompt_all_synopses_of_a_long_book_are_made() -> None:
    manuscript = Manuscript(book())
    assemble(manuscript, "ch-2")
    synopses = ChapterSynopses.for_manuscript(manuscript)
    wait_until_made(synopses, 30)
    wait_until_over()
    extracted_synopses.clear()
    alone = ChapterSynopses(Manuscript(book()))
    assert [one.synopsis for one in synopses.chapters] == [one.synopsis for one in alone.chapters]


@pytest.mark.usefixtures("few_characters")
def test_a_prompt_is_the_same_whether_its_synopses_were_made_before_or_not() -> None:
    manuscript = Manuscript(book())
    assemble(manuscript, "ch-2")
    wait_until_made(ChapterSynopses.for_manuscript(manuscript), 30)
    extracted_synopses.clear()
    with ANSWERING:  # the background waits
        early = assemble(Manuscript(book()), "ch-28")
    late = assemble(manuscript, "ch-28")
    assert early.messages == late.messages
    assert "rollup:" in " ".join(verdict.source for verdict in late.trace if verdict.included)


def test_the_synopses_of_a_short_book_are_made_when_they_are_needed() -> None:
    wait_until_over()  # what another test began
    manuscript = Manuscript(book())
    assemble(manuscript, "ch-2")
    assert not is_making()
    assert count_made(ChapterSynopses.for_manuscript(manuscript)) == 1


@pytest.mark.usefixtures("few_characters")
def test_after_an_edit_the_synopses_that_were_made_stay_and_one_chapter_is_not_made_ahead() -> None:
    documents = book()
    manuscript = Manuscript(documents)
    synopses = ChapterSynopses.for_manuscript(manuscript)
    synopses.make_later()
    wait_until_made(synopses, 30)
    wait_until_over()
    edited = replace(documents[4], text="Nothing happened. " * 20)
    after = ChapterSynopses(Manuscript((*documents[:4], edited, *documents[5:])), synopses)
    after.make_later()
    assert not is_making()
    assert count_made(after) == 29


@pytest.mark.usefixtures("few_characters")
def test_a_later_version_takes_the_place_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Callable[[Callable[[], None]], None]] = []
    monkeypatch.setattr(making, "start_in_background", lambda work, name, **_: begun.append(work))
    before = ChapterSynopses(Manuscript(book()))
    others = tuple(replace(one, text=filler(200, f"island{one.id}")) for one in book())
    after = ChapterSynopses(Manuscript(others), before)
    before.make_later()
    (make,) = begun
    make(after.make_later)  # as soon as the first synopsis is made
    assert len(begun) == 1
    assert (count_made(before), count_made(after)) == (1, 30)


@pytest.mark.usefixtures("few_characters")
def test_a_story_is_not_kept_alive_while_its_synopses_are_made() -> None:
    manuscript = Manuscript(book(400))
    synopses = ChapterSynopses.for_manuscript(manuscript)
    synopses.make_later()
    wait_until_made(synopses, 1)
    gone = ref(synopses)
    del manuscript, synopses
    gc.collect()
    until = time.monotonic() + PATIENCE
    while gone() is not None:  # for a moment the thread looks for its next chapter
        assert time.monotonic() < until
        time.sleep(0.001)
    wait_until_over()


@pytest.mark.usefixtures("few_characters")
def test_a_failure_in_the_background_is_logged_and_does_not_end_prompts(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    extracted_synopses.clear()
    manuscript = Manuscript(book())
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "fabula.manuscript"):
        patch.setattr(Chapter, "_summarise", lambda chapter: 1 / 0)
        synopses = ChapterSynopses.for_manuscript(manuscript)
        synopses.make_later()
        wait_until_over()
    assert [record.getMessage() for record in caplog.records] == [
        "the synopses of a project could not be made: ZeroDivisionError"
    ]
    assert "synopsis:ch-27" in {verdict.source for verdict in assemble(manuscript, "ch-28").trace if verdict.included}
    assert summaries.extract_summary(book()[0].text) == synopses.chapters[0].synopsis.text
