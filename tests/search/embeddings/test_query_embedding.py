from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import numpy as np
import pytest

from fabula.search.embeddings.endpoint import EmbeddingEndpoint
from fabula.search.embeddings.query_embedding import NEAR_CHARACTERS, WHOLE_CHARACTERS, QueryEmbedder, split_query_text
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


def test_a_short_text_is_one_piece_and_a_long_one_its_last_sentences() -> None:
    assert split_query_text("  One. Two.  ") == ["One. Two."]
    long = "The harbour lay still. " * 100 + "He counted the lamps. One was missing!"
    pieces = split_query_text(long)
    assert pieces[-2:] == ["He counted the lamps.", "One was missing!"]
    assert set(pieces[:-2]) == {"The harbour lay still."}
    assert sum(map(len, pieces)) <= NEAR_CHARACTERS


def test_a_long_text_without_sentences_is_its_end() -> None:
    assert split_query_text("word " * 20_000) == [("word " * 20_000)[-NEAR_CHARACTERS:].strip()]
    assert split_query_text("x" * (WHOLE_CHARACTERS + 1)) == ["x" * (WHOLE_CHARACTERS + 1)]


def test_writing_on_costs_the_new_sentence_alone() -> None:
    letters = Letters()
    embedder = QueryEmbedder(letters)
    page = "".join(f"Sentence {number} tells of the sea. " for number in range(30))
    embedder.embed([(page, 1.0)])
    before = len(letters.texts)
    embedder.embed([(page + "And then it rained. ", 1.0)])
    assert letters.texts[before:] == ["And then it rained."]


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
