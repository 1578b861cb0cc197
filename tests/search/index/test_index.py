"""The index: made from nothing, and from the one before."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.search.index import inverted_index as postings
from fabula.search.index.index import SearchIndex
from fabula.search.model import Passage, Query, SearchDocument, SearchHit
from fabula.text.terms import count_terms

WORDS = ("lamp", "ferry", "harbour", "salt", "灯塔", "渡口", "the", "walked", "Ana:", "1912", "walk")


def thread(name: str, *texts: str) -> SearchDocument:
    return SearchDocument(name, tuple(Passage(f"search:{name}#{at}", text) for at, text in enumerate(texts)))


def find(index: SearchIndex, text: str, most: int = 5) -> list[str]:
    return [index.passages[hit.passage_number].text for hit in index.search(Query(parts=((text, 1.0),)), limit=most)]


def test_passages_are_numbered_in_the_order_of_their_threads() -> None:
    index = SearchIndex([thread("b", "one", "two"), thread("a", "three")])
    assert [passage.text for passage in index.passages] == ["one", "two", "three"]
    sources = ("search:b#0", "search:b#1", "search:a#0", "search:c#0")
    assert [index.find_passage(source) for source in sources] == [0, 1, 2, None]


@pytest.mark.parametrize("documents", [[], [thread("a")], [thread("a", "")], [thread("a"), thread("b", "。")]])
def test_an_index_of_nothing_finds_nothing(documents: Sequence[SearchDocument]) -> None:
    assert find(SearchIndex(documents), "lamp") == []


texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=6)
books = st.dictionaries(st.sampled_from("abcdef"), texts, max_size=5)


@settings(max_examples=60)
@given(st.lists(books, min_size=2, max_size=5), st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join))
def test_an_index_that_follows_another_answers_as_one_made_from_nothing(
    versions: list[dict[str, list[str]]], text: str
) -> None:
    index: SearchIndex | None = None
    query = Query(parts=((text, 1.0),))
    for version in versions:
        documents = [thread(name, *passages) for name, passages in version.items()]
        index = SearchIndex(documents, index)
        fresh = SearchIndex(documents)
        assert rounded(index.search(query, limit=20)) == rounded(fresh.search(query, limit=20))


@settings(max_examples=40)
@given(
    st.lists(texts.filter(bool), min_size=2, max_size=4), st.lists(st.sampled_from((0, 1, 9)), min_size=30, max_size=30)
)
def test_passages_that_are_added_are_counted_as_in_an_index_made_from_nothing(
    additions: list[list[str]], hours: list[int]
) -> None:
    index: SearchIndex | None = None
    passages: tuple[Passage, ...] = ()
    query = Query(parts=(("lamp walked", 1.0), ("灯塔", 0.5)))
    for added in additions:
        for text in added:
            at = f"2026-01-0{1 + len(passages) // 4}T{hours[len(passages) % 30]:02}:00:00Z"
            passages += (Passage(f"history:{len(passages)}", text, at=at, speaker="AB"[len(passages) % 2]),)
        document = SearchDocument("talk", passages)
        index, fresh = SearchIndex([document], index), SearchIndex([document])
        assert rounded(index.search(query, limit=30)) == rounded(fresh.search(query, limit=30))
        assert index.embedding_texts == fresh.embedding_texts
        for number in range(len(passages)):
            assert index.find_neighbours(number) == fresh.find_neighbours(number)


def rounded(hits: Sequence[SearchHit]) -> list[tuple[int, float]]:
    return [(hit.passage_number, round(hit.score, 4)) for hit in hits]


def test_only_passages_that_changed_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def watched(text: str) -> Mapping[str, int]:
        seen.append(text)
        return count_terms(text)

    monkeypatch.setattr(postings, "count_terms", watched)
    first = [thread(f"t{n}", *(f"lamp {n} {m}" for m in range(4))) for n in range(5)]
    index = SearchIndex(first)
    assert len(seen) == 20
    seen.clear()
    changed = thread("t2", "lamp 2 0", "a ferry", "lamp 2 2", "lamp 2 3")
    after = SearchIndex([*first[:2], changed, *first[3:]], index)
    assert seen == ["a ferry"]
    assert after.postings["t1"] is index.postings["t1"]
    assert find(after, "ferry", 1) == ["a ferry"]
    assert find(index, "ferry") == []


def test_counts_read_back_from_a_cache_serve_as_well() -> None:
    documents = [thread("a", "the lamp burns", "a ferry"), thread("b", "salt")]
    index = SearchIndex(documents)
    kept = pickle.loads(pickle.dumps(dict(index.postings)))
    assert find(SearchIndex(documents, cached=kept), "ferry") == find(index, "ferry")


def test_words_of_passages_that_are_gone_are_let_go() -> None:
    index = SearchIndex([thread("a", *(f"word{n}x" for n in range(400)), "lamp")])
    index = SearchIndex([thread("a", "lamp", "salt")], index)
    assert set(index.postings["a"].terms) == {"lamp", "=lamp", "salt", "=salt"}


def test_a_book_without_a_paragraph_is_no_trouble() -> None:
    body = "lamp ferry " * 400
    index = SearchIndex([thread("a", *(f"{body} mark{n}" for n in range(30)))])
    assert find(index, "mark17", 1)[0].endswith("mark17")


def said(*turns: tuple[str, str]) -> SearchDocument:
    return SearchDocument(
        "talk", tuple(Passage(f"history:{at}", text, at=when) for at, (text, when) in enumerate(turns))
    )


def test_those_beside_a_passage_stand_in_its_thread_and_were_said_soon() -> None:
    talk = said(
        ("one", "2023-05-08T10:00:00Z"),
        ("two", ""),
        ("three", "2023-05-08T15:59:00Z"),
        ("four", "2023-05-08T23:00:00Z"),
        ("five", "later"),
    )
    index = SearchIndex([thread("a", "zero"), talk, thread("b", "six", "seven")])
    beside = [index.find_neighbours(number) for number in range(len(index.passages))]
    assert beside == [[], [2], [1, 3], [2], [5], [4], [7], [6]]


def test_words_are_not_lent_across_a_long_pause() -> None:
    def scores(when: str) -> list[float]:
        talk = said(("the ferry and the salt", "2023-05-08T10:00:00Z"), ("nothing", when), ("the ferry", ""))
        hits = SearchIndex([talk, thread("a", "harbour")]).search(Query(parts=(("ferry salt", 1.0),)), limit=9)
        return [
            round(hit.score, 3) for hit in sorted(hits, key=lambda hit: hit.passage_number) if hit.passage_number == 1
        ]

    assert scores("2023-05-08T10:05:00Z")
    assert scores("2023-05-09T10:00:00Z") != scores("2023-05-08T10:05:00Z")


def test_an_index_with_pauses_follows_another_like_one_made_from_nothing() -> None:
    turns = [("the lamp", "2023-05-08T10:00:00Z"), ("the ferry", "2023-05-10T10:00:00Z")]
    before = SearchIndex([said(*turns), thread("a", "salt")])
    documents = [said(*turns, ("the salt lamp", "2023-05-20T10:00:00Z")), thread("a", "salt", "lamp")]
    query = Query(parts=(("salt lamp", 1.0),))
    assert rounded(SearchIndex(documents, before).search(query, limit=9)) == rounded(
        SearchIndex(documents).search(query, limit=9)
    )
