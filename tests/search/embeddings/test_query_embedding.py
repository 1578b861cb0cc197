from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.search.embeddings.endpoint import EmbeddingEndpoint
from fabula.search.embeddings.query_embedding import (
    MAX_CHARACTERS,
    QueryEmbedder,
    join_page_parts,
    shorten_to_end,
)
from tests.search.embedders import Letters
from tests.search.servers import Server, embedding_server


@pytest.fixture
def server() -> Iterator[Server]:
    with embedding_server() as running:
        yield running


def test_a_direction_has_length_1_and_follows_the_weights() -> None:
    embedder = QueryEmbedder(Letters())
    direction = embedder.embed([("aaaa", 3.0), ("bbbb", 1.0)])
    assert direction is not None
    assert np.linalg.norm(direction) == pytest.approx(1, abs=1e-5)
    assert direction[0] > direction[1] > direction[2]


@pytest.mark.parametrize("parts", [[], [("", 1.0)], [("  \n", 1.0)], [("雾港", 1.0)], [("aaa", 0.0)]])
def test_where_there_is_nothing_to_go_by_there_is_no_direction_and_no_trouble(parts: list[tuple[str, float]]) -> None:
    embedder = QueryEmbedder(Letters())
    assert embedder.embed(parts) is None
    assert embedder.error is None


def test_of_two_languages_the_one_that_is_read_counts() -> None:
    assert QueryEmbedder(Letters()).embed([("雾港", 1.0), ("aaa", 1.0)]) is not None


def test_a_text_is_asked_about_once() -> None:
    letters = Letters()
    embedder = QueryEmbedder(letters)
    first = embedder.embed([("aaaa", 1.0)])
    again = embedder.embed([("aaaa", 1.0), ("bbbb", 1e-9)])
    assert letters.texts == ["aaaa", "bbbb"]
    assert first is not None
    assert again is not None
    assert np.allclose(first, again)


def test_what_was_asked_before_changes_nothing() -> None:
    fresh, used = QueryEmbedder(Letters()), QueryEmbedder(Letters())
    used.embed([("The debt was paid.", 1.0)])
    parts = [("The debt was paid.", 1.0), ("Nobody knew.", 0.5)]
    first, second = fresh.embed(parts), used.embed(parts)
    assert first is not None
    assert second is not None
    assert np.array_equal(first, second)


def test_of_a_long_text_the_last_sentences_count() -> None:
    assert shorten_to_end("  One. Two.  ") == "One. Two."
    long = "The harbour lay still. " * 100 + "He counted the lamps. One was missing!"
    shortened = shorten_to_end(long)
    assert shortened.startswith("The harbour")
    assert shortened.endswith("He counted the lamps. One was missing!")
    assert MAX_CHARACTERS / 2 < len(shortened) <= MAX_CHARACTERS


def test_a_long_text_without_sentences_is_its_end() -> None:
    assert shorten_to_end("word " * 20_000) == ("word " * 20_000)[-MAX_CHARACTERS:].strip()
    assert shorten_to_end("x" * (MAX_CHARACTERS + 1)) == "x" * MAX_CHARACTERS


def test_the_paragraphs_of_a_page_are_one_text_in_the_order_in_which_they_are_read() -> None:
    parts = [("He sat down.", 1.0), ("She came in.", 1.0), ("It rained.", 0.7), ("Another scene.", 0.1)]
    assert join_page_parts(parts) == [("It rained.\nShe came in.\nHe sat down.", 1.0)]
    assert join_page_parts([("He sat down.", 1.0), ("x" * MAX_CHARACTERS, 1.0)]) == [("He sat down.", 1.0)]
    assert join_page_parts([("x" * 2000, 1.0), ("He sat down.", 1.0)]) == [("x" * 2000, 1.0)]


@given(st.lists(st.tuples(st.text(max_size=700), st.floats(0, 4))))
def test_any_page_is_one_text_that_ends_as_its_nearest_part_does(parts: list[tuple[str, float]]) -> None:
    ((text, _),) = join_page_parts(parts) if parts else [("", 1.0)]
    heaviest = max((weight for _, weight in parts), default=0.0)
    nearest = next((part for part, weight in parts if weight >= 0.3 * heaviest), "")
    assert text.endswith(nearest)
    assert len(text) <= max(MAX_CHARACTERS + len(parts), len(nearest))


def test_of_all_it_was_ever_asked_it_remembers_so_much() -> None:
    letters = Letters()
    embedder = QueryEmbedder(letters)
    for number in range(600):
        embedder.embed([(f"question {number}", 1.0)])
    embedder.embed([("question 599", 1.0)])
    assert len(letters.texts) == 600
    embedder.embed([("question 0", 1.0)])
    assert len(letters.texts) == 601


def test_a_model_that_fails_says_why_and_may_be_asked_again() -> None:
    letters = Letters()
    embedder = QueryEmbedder(letters)
    letters.failing = True
    assert embedder.embed([("aaa", 1.0)]) is None
    assert str(embedder.error) == "It is tired."
    letters.failing = False
    assert embedder.embed([("aaa", 1.0)]) is not None
    assert embedder.error is None


def test_a_server_answers_like_a_model(server: Server) -> None:
    direction = QueryEmbedder(EmbeddingEndpoint(server.url, "m")).embed([("aaaa", 1.0)])
    assert direction is not None
    assert direction.argmax() == 0


def test_a_server_that_fails_is_left_alone_for_a_while(server: Server) -> None:
    server.status = 500
    embedder = QueryEmbedder(EmbeddingEndpoint(server.url, "m"), deadline=10)
    assert embedder.embed([("aaa", 1.0)]) is None
    assert "status 500" in str(embedder.error)
    server.status = 200
    assert embedder.embed([("aaa", 1.0)]) is None
    assert "status 500" in str(embedder.error)
    assert len(server.asked) == 1


def test_a_server_is_asked_again_after_that(server: Server) -> None:
    server.status = 500
    embedder = QueryEmbedder(EmbeddingEndpoint(server.url, "m"), deadline=10, retry_after=0.0)
    assert embedder.embed([("aaa", 1.0)]) is None
    server.status = 200
    assert embedder.embed([("aaa", 1.0)]) is not None
    assert embedder.error is None


def test_nobody_waits_long_for_a_server_and_its_answer_serves_the_next() -> None:
    slow = Letters(local=False)
    slow.go.clear()
    embedder = QueryEmbedder(slow, deadline=0.05)
    assert embedder.embed([("aaa", 1.0)]) is None
    assert "takes longer" in str(embedder.error)
    assert embedder.embed([("bbb", 1.0)]) is None  # one question at a time
    assert slow.texts == ["aaa"]
    slow.go.set()
    waited = Event()
    while embedder.error:
        waited.wait(0.01)
    assert embedder.embed([("aaa", 1.0)]) is not None
    assert slow.texts == ["aaa"]
