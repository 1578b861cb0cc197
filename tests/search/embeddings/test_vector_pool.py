from __future__ import annotations

import numpy as np
import pytest

from fabula.search.embeddings import vector_pool as pool_module
from fabula.search.embeddings.vector_cache import text_key
from fabula.search.embeddings.vector_pool import TextRows, VectorPool
from tests.search.embedders import Letters

TEXTS = [chr(ord("a") + at) * 9 for at in range(12)]


def make_rows(texts: list[str]) -> TextRows:
    return TextRows(texts, [text_key(text) for text in texts])


def add_texts(pool: VectorPool, texts: list[str]) -> None:
    pool.add([text_key(text) for text in texts], Letters().embed(texts))


def test_each_text_is_scored_in_its_place() -> None:
    pool = VectorPool()
    add_texts(pool, TEXTS[::-1])
    text_rows = make_rows(TEXTS)
    for at, text in enumerate(TEXTS):
        scores = pool.scores(Letters().embed([text])[0], text_rows)
        assert scores.shape == (12,)
        assert scores.argmax() == at
        assert scores[at] == pytest.approx(1, abs=1e-3)


def test_texts_without_a_vector_score_0_until_it_comes() -> None:
    pool, text_rows = VectorPool(), make_rows(TEXTS)
    query = Letters().embed(["aaa"])[0]
    assert not pool.scores(query, text_rows).any()
    add_texts(pool, TEXTS[:3])
    assert pool.has_vectors(text_rows).tolist() == [True] * 3 + [False] * 9
    assert (pool.scores(query, text_rows) != 0).tolist() == [True] * 3 + [False] * 9
    add_texts(pool, TEXTS)
    assert pool.has_vectors(text_rows).all()


def test_texts_that_are_to_have_no_vector_never_get_one() -> None:
    pool = VectorPool()
    add_texts(pool, ["a", ""])
    text_rows = TextRows(["a", "雾"], [text_key("a"), b""])
    assert pool.has_vectors(text_rows).tolist() == [True, False]


def test_one_text_twice_has_one_vector() -> None:
    pool = VectorPool()
    add_texts(pool, ["aa", "bb", "aa"])
    add_texts(pool, ["bb"])
    assert len(pool) == 2
    assert pool.has_vectors(make_rows(["bb", "aa", "bb"])).all()


def test_what_is_shed_is_gone_and_the_rest_keeps_its_scores() -> None:
    pool, text_rows = VectorPool(), make_rows(TEXTS)
    add_texts(pool, TEXTS)
    query = Letters().embed(["ccc"])[0]
    before = pool.scores(query, text_rows)
    pool.keep_only({text_key(text) for text in TEXTS[::2]})
    after = pool.scores(query, text_rows)
    assert np.array_equal(after[::2], before[::2])
    assert not after[1::2].any()
    add_texts(pool, TEXTS)
    assert np.array_equal(pool.scores(query, text_rows), before)


def test_another_dimension_begins_it_anew() -> None:
    pool, text_rows = VectorPool(), make_rows(TEXTS)
    add_texts(pool, TEXTS)
    pool.add([text_key("aaaaaaaaa")], Letters(dimension=30).embed(["aaaaaaaaa"]))
    assert pool.has_vectors(text_rows).sum() == 1
    assert not pool.scores(Letters().embed(["a"])[0], text_rows).any()
    assert pool.scores(Letters(dimension=30).embed(["a"])[0], text_rows)[0] > 0.9


def test_it_takes_so_many_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_VECTORS", 5)
    pool = VectorPool()
    add_texts(pool, TEXTS)
    assert len(pool) == 5
    assert pool.has_vectors(make_rows(TEXTS)).sum() == 5


def test_nothing_at_all_scores_nothing() -> None:
    assert VectorPool().scores(np.ones(3, np.float32), make_rows([])).shape == (0,)


def test_vectors_are_what_they_are_when_read_back() -> None:
    pool = VectorPool()
    add_texts(pool, TEXTS)
    keys, vectors = pool.get_vectors()
    again = VectorPool()
    again.add(keys, vectors.astype(np.float16).astype(np.float32))
    assert np.array_equal(again.get_vectors()[1], vectors)
