from __future__ import annotations

import numpy as np
import pytest

from fabula.search.embeddings import vector_pool as pool_module
from fabula.search.embeddings.vector_cache import key
from fabula.search.embeddings.vector_pool import Laid, Pool
from tests.search.embedders import Letters

TEXTS = [chr(ord("a") + at) * 9 for at in range(12)]


def laid_of(texts: list[str]) -> Laid:
    return Laid(texts, [key(text) for text in texts])


def added(pool: Pool, texts: list[str]) -> None:
    pool.add([key(text) for text in texts], Letters().embed(texts))


def test_each_text_is_scored_in_its_place() -> None:
    pool = Pool()
    added(pool, TEXTS[::-1])
    laid = laid_of(TEXTS)
    for at, text in enumerate(TEXTS):
        scores = pool.scores(Letters().embed([text])[0], laid)
        assert scores.shape == (12,)
        assert scores.argmax() == at
        assert scores[at] == pytest.approx(1, abs=1e-3)


def test_texts_without_a_vector_score_0_until_it_comes() -> None:
    pool, laid = Pool(), laid_of(TEXTS)
    query = Letters().embed(["aaa"])[0]
    assert not pool.scores(query, laid).any()
    added(pool, TEXTS[:3])
    assert pool.known(laid).tolist() == [True] * 3 + [False] * 9
    assert (pool.scores(query, laid) != 0).tolist() == [True] * 3 + [False] * 9
    added(pool, TEXTS)
    assert pool.known(laid).all()


def test_texts_that_are_to_have_no_vector_never_get_one() -> None:
    pool = Pool()
    added(pool, ["a", ""])
    laid = Laid(["a", "雾"], [key("a"), b""])
    assert pool.known(laid).tolist() == [True, False]


def test_one_text_twice_has_one_vector() -> None:
    pool = Pool()
    added(pool, ["aa", "bb", "aa"])
    added(pool, ["bb"])
    assert len(pool) == 2
    assert pool.known(laid_of(["bb", "aa", "bb"])).all()


def test_what_is_shed_is_gone_and_the_rest_keeps_its_scores() -> None:
    pool, laid = Pool(), laid_of(TEXTS)
    added(pool, TEXTS)
    query = Letters().embed(["ccc"])[0]
    before = pool.scores(query, laid)
    pool.shed({key(text) for text in TEXTS[::2]})
    after = pool.scores(query, laid)
    assert np.array_equal(after[::2], before[::2])
    assert not after[1::2].any()
    added(pool, TEXTS)
    assert np.array_equal(pool.scores(query, laid), before)


def test_another_dimension_begins_it_anew() -> None:
    pool, laid = Pool(), laid_of(TEXTS)
    added(pool, TEXTS)
    pool.add([key("aaaaaaaaa")], Letters(dimension=30).embed(["aaaaaaaaa"]))
    assert pool.known(laid).sum() == 1
    assert not pool.scores(Letters().embed(["a"])[0], laid).any()
    assert pool.scores(Letters(dimension=30).embed(["a"])[0], laid)[0] > 0.9


def test_it_takes_so_many_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MOST", 5)
    pool = Pool()
    added(pool, TEXTS)
    assert len(pool) == 5
    assert pool.known(laid_of(TEXTS)).sum() == 5


def test_nothing_at_all_scores_nothing() -> None:
    assert Pool().scores(np.ones(3, np.float32), laid_of([])).shape == (0,)


def test_vectors_are_what_they_are_when_read_back() -> None:
    pool = Pool()
    added(pool, TEXTS)
    keys, vectors = pool.all()
    again = Pool()
    again.add(keys, vectors.astype(np.float16).astype(np.float32))
    assert np.array_equal(again.all()[1], vectors)
