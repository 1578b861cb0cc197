"""The corpus and its index: built when first needed, in the background if it is large, updated after edits."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fabula.search import corpus as corpus_module
from fabula.search.corpus import CONVERSATION_PREFIX, ConversationTexts, Corpus
from fabula.search.find import mask_current
from fabula.search.index import disk_cache as cache
from fabula.search.index import passage_table
from fabula.search.index.index import SearchIndex
from fabula.search.index.passages import DocumentText
from fabula.search.model import Passage, Query, SearchDocument
from fabula.text.telling import measure_telling
from tests.manuscript.stories import filler

THINGS = ("amulet", "beaker", "casket", "dagger", "ewer", "flask")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of our own."""
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def book(chapters: int = 6, words: int = 400) -> list[DocumentText]:
    return [
        DocumentText(f"ch-{n}", f"Chapter {n}", filler(words, f"tide{n}") + f"\n\nThe {THINGS[n]} lay there.")
        for n in range(chapters)
    ]


def best(built: SearchIndex | None, words: str) -> str:
    assert built is not None
    hits = built.search(Query(parts=((words, 1.0),)), limit=1)
    return built.passages[hits[0].passage_number].text if hits else ""


def eventually(project_corpus: Corpus) -> SearchIndex:
    until = time.monotonic() + 60
    while (built := project_corpus.get_index()) is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    return built


def test_a_small_project_is_indexed_while_the_first_request_waits() -> None:
    assert "dagger" in best(Corpus("p", book()).get_index(), "dagger")


def test_a_large_one_is_made_in_the_background_and_then_there() -> None:
    project_corpus = Corpus("p", book(), immediate_characters=1000)
    assert project_corpus.get_index() is None
    assert "dagger" in best(eventually(project_corpus), "dagger")
    assert project_corpus.get_index() is project_corpus.get_index()


def test_whoever_waits_gets_an_index_that_is_made_in_the_background() -> None:
    project_corpus = Corpus("p", book(), immediate_characters=1000)
    assert "dagger" in best(project_corpus.get_index(wait_seconds=60), "dagger")
    again = Corpus("p", book(), previous=project_corpus, immediate_characters=1000)
    assert "dagger" in best(again.get_index(wait_seconds=60), "dagger")


def test_however_many_ask_it_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    real = SearchIndex.__init__

    def counted(self: SearchIndex, *given: Any, **named: Any) -> None:
        built.append(1)
        real(self, *given, **named)

    monkeypatch.setattr(SearchIndex, "__init__", counted)
    project_corpus = Corpus("p", book(), immediate_characters=1000)
    asking = [threading.Thread(target=lambda: eventually(project_corpus)) for _ in range(8)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert len(built) == 1


def test_waiting_for_it_tells_how_far_it_is() -> None:
    reported: list[tuple[int, int]] = []
    Corpus("p", book(), immediate_characters=1000).build_index(lambda done, total: reported.append((done, total)))
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)
    assert reported[-1][0] == reported[-1][1]
    assert len(reported) == 6


def test_building_gives_way_after_each_passage_that_is_read_in_whatever_way(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def measure(text: str) -> float:
        steps.append("passage")
        return measure_telling(text)

    monkeypatch.setattr(passage_table, "measure_telling", measure)
    built = Corpus("p", book(), immediate_characters=1000).build(None, lambda: steps.append("way"))
    assert steps.count("passage") == len(built.passages)
    assert ("passage", "passage") not in pairwise(steps)
    # cut, named, counted, measured, and listed by source
    assert steps.count("way") >= 5 * len(built.passages)


def test_an_edit_is_in_the_next_answer_and_the_rest_is_shared() -> None:
    first = Corpus("p", book(), immediate_characters=2000)
    before = first.build_index()
    texts = list(first.texts)
    texts[2] = DocumentText("ch-2", "Chapter 2", texts[2].text.replace("casket", "astrolabe"))
    after = Corpus("p", texts, previous=first, immediate_characters=2000).get_index()
    assert "astrolabe" in best(after, "astrolabe")
    assert "casket" not in best(after, "casket")
    assert after is not None
    for name, document in before.by_id.items():
        assert (after.by_id[name] is document) == (name != "ch-2")
    assert "casket" in best(before, "casket"), "whoever still holds the view before finds what was there"


def test_an_edit_of_one_word_in_a_book_of_one_document_needs_no_background() -> None:
    text = "\n\n".join(f"Paragraph {n}: " + "the tide came in over grey stones. " * 8 for n in range(300))
    first = Corpus("p", [DocumentText("a", "A", text)], immediate_characters=20_000)
    first.build_index()
    second = Corpus(
        "p",
        [DocumentText("a", "A", text.replace("Paragraph 150", "The astrolabe"))],
        previous=first,
        immediate_characters=20_000,
    )
    assert "astrolabe" in best(second.get_index(), "astrolabe")


def test_chapters_come_and_go_and_change_places() -> None:
    first = Corpus("p", book())
    first.build_index()
    texts = [*first.texts[:2], DocumentText("new", "New", "The sextant was new."), *reversed(first.texts[3:])]
    built = Corpus("p", texts, previous=first).get_index()
    assert "sextant" in best(built, "sextant")
    assert best(built, "casket") == ""
    assert built is not None
    assert [thread.id for thread in built.documents] == [text.id for text in texts]
    assert [built.document_of(number).id for number in built.first_passages.values()] == [text.id for text in texts]


def test_a_shelf_of_another_project_shares_nothing() -> None:
    first = Corpus("p", book())
    first.build_index()
    assert best(Corpus("q", [DocumentText("a", "A", "Nothing here.")], previous=first).get_index(), "dagger") == ""


def test_what_was_said_is_read_only_when_the_index_is_made() -> None:
    read: list[int] = []

    def threads() -> Sequence[SearchDocument]:
        read.append(1)
        return [
            SearchDocument(
                f"{CONVERSATION_PREFIX}desk", (Passage("history:m1", "The astrolabe is under the stairs.", "Mara"),)
            )
        ]

    project_corpus = Corpus("p", book(), ConversationTexts(40, threads))
    assert not read
    assert "astrolabe" in best(project_corpus.get_index(), "astrolabe")
    assert read == [1]


def test_a_failure_in_the_background_is_told_once_and_tried_again() -> None:
    broken = [True]

    def threads() -> Sequence[SearchDocument]:
        if broken[0]:
            raise ConnectionError("the store is gone")
        return ()

    project_corpus = Corpus("p", book(), ConversationTexts(0, threads), immediate_characters=1000)
    assert project_corpus.get_index() is None
    with pytest.raises(ConnectionError):
        eventually(project_corpus)
    broken[0] = False
    assert "dagger" in best(eventually(project_corpus), "dagger")


def test_nothing_to_search_finds_nothing() -> None:
    built = Corpus("p").get_index()
    assert best(built, "anything") == ""
    assert built is not None
    assert built.cache_error == ""


def edit(before: Corpus, texts: Sequence[DocumentText], conversations: ConversationTexts | None = None) -> Corpus:
    """The corpus after an edit of a book that counts as long."""
    said = before.conversations if conversations is None else conversations
    return Corpus("p", texts, said, previous=before, immediate_passages=2)


def find_usable(after: Corpus, words: str) -> list[str]:
    """What the index that can be used at once finds, without what is outdated in it."""
    usable = after.get_usable_index()
    assert usable is not None
    allowed = mask_current(usable.index, usable.outdated)
    hits = usable.index.search(Query(parts=((words, 1.0),)), limit=3, allowed=allowed)
    return [usable.index.passages[hit.passage_number].text for hit in hits]


def test_after_an_edit_of_a_long_book_the_index_before_is_used_without_what_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(corpus_module, "UPDATE_PAUSE", 0.01)
    first = Corpus("p", book())
    before = first.build_index()
    texts = list(first.texts)
    texts[2] = DocumentText("ch-2", "Chapter 2", texts[2].text.replace("casket", "astrolabe"))
    second = edit(first, texts)
    usable = second.get_usable_index()
    assert usable is not None
    assert usable.index is before
    assert list(usable.outdated) == ["ch-2"]
    assert not any("casket" in text for text in find_usable(second, "casket"))
    assert any("dagger" in text for text in find_usable(second, "dagger"))
    assert any("tide2" in text for text in find_usable(second, "tide2")), "passages before the edit are as they were"
    assert second.is_done.wait(60)
    after = second.get_usable_index()
    assert after is not None
    assert not after.outdated
    assert "astrolabe" in best(after.index, "astrolabe")


@pytest.mark.parametrize("change", ["knowers", "title", "removed"])
def test_nothing_of_a_chapter_is_used_that_others_may_know_now_or_that_is_gone(change: str) -> None:
    first = Corpus("p", book())
    first.build_index()
    texts = {one.id: one for one in first.texts}
    old = texts.pop("ch-2")
    if change == "knowers":
        texts["ch-2"] = DocumentText(old.id, old.title, old.text, frozenset({"mara"}))
    elif change == "title":
        texts["ch-2"] = DocumentText(old.id, "The casket", old.text)
    second = edit(first, list(texts.values()))
    assert not any("casket" in text or "tide2" in text for text in find_usable(second, "casket tide2"))


def test_messages_that_are_gone_or_that_others_heard_are_not_used() -> None:
    def say(*passages: Passage) -> ConversationTexts:
        return ConversationTexts(60, lambda: [SearchDocument(f"{CONVERSATION_PREFIX}desk", passages)])

    one, two, three = (Passage(f"history:m{n}", f"The {word} is here.") for n, word in enumerate(("key", "map", "axe")))
    first = Corpus("p", book(), say(one, two))
    first.build_index()
    assert find_usable(edit(first, first.texts, say(one, two, three)), "map")[0] == two.text
    assert two.text not in find_usable(edit(first, first.texts, say(one, three)), "map axe")
    whispered = Passage("history:m1", two.text, known_to=frozenset({"bo"}))
    assert two.text not in find_usable(edit(first, first.texts, say(one, whispered)), "map")


def test_edits_that_follow_each_other_are_indexed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "UPDATE_PAUSE", 0.2)
    built: list[SearchIndex] = []
    real = SearchIndex.__init__

    def counted(self: SearchIndex, *given: Any, **named: Any) -> None:
        built.append(self)
        real(self, *given, **named)

    last = first = Corpus("p", book())
    first.build_index()
    monkeypatch.setattr(SearchIndex, "__init__", counted)
    for number in range(5):
        last = edit(
            last, [*first.texts[:-1], DocumentText("ch-5", "Chapter 5", f"The sextant, for the {number}th time.")]
        )
        last.get_usable_index()
    assert last.is_done.wait(60)
    assert "4th" in best(last.built, "sextant")
    assert len(built) == 1
