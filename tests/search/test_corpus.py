"""The shelf: an index made when first asked for, in the background where it is large, and followed by edits."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fabula.search.corpus import TALK, Made, Shelf, Talks
from fabula.search.index import disk_cache as cache
from fabula.search.index.index import Index
from fabula.search.index.passages import Text
from fabula.search.model import Passage, Query, Thread
from tests.manuscript.stories import filler

THINGS = ("amulet", "beaker", "casket", "dagger", "ewer", "flask")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of our own."""
    monkeypatch.setenv(cache.SETTING, str(tmp_path / "cache"))
    return tmp_path / "cache"


def book(chapters: int = 6, words: int = 400) -> list[Text]:
    return [
        Text(f"ch-{n}", f"Chapter {n}", filler(words, f"tide{n}") + f"\n\nThe {THINGS[n]} lay there.")
        for n in range(chapters)
    ]


def best(made: Made | None, words: str) -> str:
    assert made is not None
    hits = made.index.search(Query(parts=((words, 1.0),)), most=1)
    return made.index.passages[hits[0].number].text if hits else ""


def eventually(shelf: Shelf) -> Made:
    until = time.monotonic() + 60
    while (made := shelf.look()) is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    return made


def test_a_small_project_is_indexed_while_the_first_request_waits() -> None:
    assert "dagger" in best(Shelf("p", book()).look(), "dagger")


def test_a_large_one_is_made_in_the_background_and_then_there() -> None:
    shelf = Shelf("p", book(), at_once=1000)
    assert shelf.look() is None
    assert "dagger" in best(eventually(shelf), "dagger")
    assert shelf.look() is shelf.look()


def test_however_many_ask_it_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = Index.__init__

    def counted(self: Index, *given: Any, **named: Any) -> None:
        made.append(1)
        real(self, *given, **named)

    monkeypatch.setattr(Index, "__init__", counted)
    shelf = Shelf("p", book(), at_once=1000)
    asking = [threading.Thread(target=lambda: eventually(shelf)) for _ in range(8)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert len(made) == 1


def test_waiting_for_it_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    Shelf("p", book(), at_once=1000).finished(lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1]
    assert len(told) == 6


def test_an_edit_is_in_the_next_answer_and_the_rest_is_shared() -> None:
    first = Shelf("p", book(), at_once=2000)
    before = first.finished()
    texts = list(first.texts)
    texts[2] = Text("ch-2", "Chapter 2", texts[2].text.replace("casket", "astrolabe"))
    after = Shelf("p", texts, before=first, at_once=2000).look()
    assert "astrolabe" in best(after, "astrolabe")
    assert "casket" not in best(after, "casket")
    assert after is not None
    for name, (_, thread) in before.cuts.items():
        assert (after.cuts[name][1] is thread) == (name != "ch-2")
    assert "casket" in best(before, "casket"), "whoever still holds the view before finds what was there"


def test_an_edit_of_one_word_in_a_book_of_one_document_needs_no_background() -> None:
    text = "\n\n".join(f"Paragraph {n}: " + "the tide came in over grey stones. " * 8 for n in range(300))
    first = Shelf("p", [Text("a", "A", text)], at_once=20_000)
    first.finished()
    second = Shelf("p", [Text("a", "A", text.replace("Paragraph 150", "The astrolabe"))], before=first, at_once=20_000)
    assert "astrolabe" in best(second.look(), "astrolabe")


def test_chapters_come_and_go_and_change_places() -> None:
    first = Shelf("p", book())
    first.finished()
    texts = [*first.texts[:2], Text("new", "New", "The sextant was new."), *reversed(first.texts[3:])]
    made = Shelf("p", texts, before=first).look()
    assert "sextant" in best(made, "sextant")
    assert best(made, "casket") == ""
    assert made is not None
    assert [thread.id for thread in made.index.threads] == [text.id for text in texts]
    assert [made.thread_of(number).id for number in made.first.values()] == [text.id for text in texts]


def test_a_shelf_of_another_project_shares_nothing() -> None:
    first = Shelf("p", book())
    first.finished()
    assert best(Shelf("q", [Text("a", "A", "Nothing here.")], before=first).look(), "dagger") == ""


def test_what_was_said_is_read_only_when_the_index_is_made() -> None:
    read: list[int] = []

    def threads() -> Sequence[Thread]:
        read.append(1)
        return [Thread(f"{TALK}desk", (Passage("history:m1", "The astrolabe is under the stairs.", "Mara"),))]

    shelf = Shelf("p", book(), Talks(40, threads))
    assert not read
    assert "astrolabe" in best(shelf.look(), "astrolabe")
    assert read == [1]


def test_a_failure_in_the_background_is_told_once_and_tried_again() -> None:
    broken = [True]

    def threads() -> Sequence[Thread]:
        if broken[0]:
            raise ConnectionError("the store is gone")
        return ()

    shelf = Shelf("p", book(), Talks(0, threads), at_once=1000)
    assert shelf.look() is None
    with pytest.raises(ConnectionError):
        eventually(shelf)
    broken[0] = False
    assert "dagger" in best(eventually(shelf), "dagger")


def test_nothing_to_search_finds_nothing() -> None:
    made = Shelf("p").look()
    assert best(made, "anything") == ""
    assert made is not None
    assert made.trouble == ""
