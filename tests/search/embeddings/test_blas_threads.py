from __future__ import annotations

from threading import Barrier, Thread

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from fabula.search.embeddings.blas_threads import single_blas_thread


def documents() -> set[int]:
    """How many threads matrix products may use now."""
    assert np.eye(2).sum() == 2
    return {int(library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas"}


def test_the_limit_holds_while_it_lasts_and_no_longer() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = documents()
        with single_blas_thread():
            assert documents() == {1}
            with single_blas_thread():
                assert documents() == {1}
            assert documents() == {1}
        assert documents() == before


def test_the_last_of_several_threads_lifts_it() -> None:
    before = documents()
    both, seen = Barrier(2), []

    def first() -> None:
        with single_blas_thread():
            both.wait(10)
        both.wait(10)

    def second() -> None:
        with single_blas_thread():
            both.wait(10)
            both.wait(10)  # the first has left
            seen.append(documents())

    workers = [Thread(target=first), Thread(target=second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == [{1}]
    assert documents() == before
