from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.search.embeddings import passage_vectors as vectors_module
from fabula.search.embeddings.embedder import load_local_model
from fabula.search.embeddings.endpoint import EmbeddingEndpoint
from fabula.search.embeddings.passage_vectors import MAX_PARTS, PassageVectors, split_into_parts, vector_folder
from fabula.search.embeddings.vector_pool import TextRows
from fabula.search.index import disk_cache as cache
from tests.search.embedders import Letters
from tests.search.servers import Server, embedding_server

TEXTS = [f"{chr(ord('a') + at % 26) * 8} {at}" for at in range(60)]


@pytest.fixture
def server() -> Iterator[Server]:
    with embedding_server() as running:
        yield running


def wait_for_vectors(vectors: PassageVectors, text_rows: TextRows) -> None:
    """Wait until the work in the background is done."""
    until = time.monotonic() + 20
    while vectors.progress[0] < vectors.progress[1] and time.monotonic() < until:
        time.sleep(0.005)
    assert vectors.has_vectors(text_rows).sum() == sum(map(bool, text_rows.keys))


def scores(vectors: PassageVectors, text_rows: TextRows, text: str) -> list[float]:
    direction = vectors.embed_query([(text, 1.0)])
    assert direction is not None
    found: list[float] = vectors.scores(direction, text_rows).tolist()
    return found


def test_vectors_come_by_and_by_and_nobody_waits_for_them() -> None:
    letters = Letters()
    letters.go.clear()
    vectors = PassageVectors(letters)
    text_rows = vectors.set_texts(TEXTS)
    assert vectors.progress == (0, 60)
    assert not vectors.has_vectors(text_rows).any()
    letters.go.set()
    wait_for_vectors(vectors, text_rows)
    assert vectors.progress == (60, 60)
    assert int(np.argmax(scores(vectors, text_rows, "cccc"))) % 26 == 2


def test_the_real_model_finds_what_is_meant() -> None:
    model = load_local_model()
    assert model is not None
    vectors = PassageVectors(model)
    text_rows = vectors.set_texts(
        ["He owed the ferryman nine silver coins.", "She painted the door blue.", "The dog slept.", "她把门漆成蓝色。"]
    )
    wait_for_vectors(vectors, text_rows)
    found = scores(vectors, text_rows, "money that somebody must pay back")
    assert found.index(max(found)) == 0
    assert found[3] == 0
    assert vectors.progress == (3, 3)


def test_an_edit_costs_the_edited_text_alone() -> None:
    letters = Letters()
    vectors = PassageVectors(letters)
    text_rows = vectors.set_texts(TEXTS)
    wait_for_vectors(vectors, text_rows)
    after = vectors.set_texts([*TEXTS[:7], "zzzz anew", *TEXTS[8:]], text_rows)
    wait_for_vectors(vectors, after)
    assert letters.texts[60:] == ["zzzz anew"]
    assert int(np.argmax(scores(vectors, after, "zzzz anew"))) == 7


def test_what_nobody_needs_any_more_is_not_made() -> None:
    letters = Letters()
    vectors = PassageVectors(letters)
    before = vectors.set_texts(TEXTS, fill=False)
    del before
    text_rows = vectors.set_texts(TEXTS[:5], fill=False)
    vectors.fill()
    assert sorted(letters.texts) == sorted(TEXTS[:5])
    assert vectors.has_vectors(text_rows).all()


def test_two_sets_of_texts_can_be_laid_at_once() -> None:
    vectors = PassageVectors(Letters())
    one, other = vectors.set_texts(TEXTS[:30], fill=False), vectors.set_texts(TEXTS[20:], fill=False)
    vectors.fill()
    assert vectors.has_vectors(one).all()
    assert vectors.has_vectors(other).all()


def test_filling_at_once_tells_how_far_it_is() -> None:
    vectors = PassageVectors(Letters())
    text_rows = vectors.set_texts(TEXTS, fill=False)
    reported: list[tuple[int, int]] = []
    vectors.fill(lambda done, total: reported.append((done, total)))
    assert reported[-1] == (60, 60)
    assert reported == sorted(reported)
    assert vectors.has_vectors(text_rows).all()


def test_the_pool_lets_go_of_what_old_texts_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "MAX_UNUSED", 10)
    vectors = PassageVectors(Letters())
    text_rows = vectors.set_texts(TEXTS, fill=False)
    vectors.fill()
    del text_rows
    few = vectors.set_texts(TEXTS[:5], fill=False)
    assert len(vectors._pool) == 5
    assert vectors.has_vectors(few).all()


def test_beyond_the_most_texts_are_found_by_words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "MAX_VECTORS", 8)
    vectors = PassageVectors(Letters())
    text_rows = vectors.set_texts(TEXTS, fill=False)
    vectors.fill()
    assert vectors.has_vectors(text_rows).sum() == 8


def test_vectors_are_kept_and_not_made_again(tmp_path: Path) -> None:
    first = PassageVectors(Letters(), tmp_path)
    text_rows = first.set_texts(TEXTS)
    wait_for_vectors(first, text_rows)
    first.stop()
    letters = Letters()
    second = PassageVectors(letters, tmp_path)
    again = second.set_texts(TEXTS)
    assert second.has_vectors(again).all()
    assert letters.asked == []
    assert scores(second, again, "cccc") == scores(first, text_rows, "cccc")


def test_a_deleted_folder_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    vectors = PassageVectors(Letters(), folder)
    vectors.set_texts(TEXTS[:10], fill=False)
    vectors.fill()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    text_rows = vectors.set_texts(TEXTS, fill=False)
    vectors.fill()
    assert vectors.cache_error == ""
    assert vectors.has_vectors(text_rows).all()
    assert any(folder.iterdir())


def test_stopping_keeps_what_was_made(tmp_path: Path) -> None:
    letters = Letters()
    vectors = PassageVectors(letters, tmp_path)
    text_rows = vectors.set_texts(TEXTS)
    while not letters.asked:
        time.sleep(0.001)
    vectors.stop()
    built = int(vectors.has_vectors(text_rows).sum())
    assert built > 0
    reader = PassageVectors(Letters(), tmp_path)
    assert reader.has_vectors(reader.set_texts(TEXTS, fill=False)).sum() == built


def test_after_many_sessions_there_are_few_files(tmp_path: Path) -> None:
    for number in range(25):
        vectors = PassageVectors(Letters(), tmp_path)
        text_rows = vectors.set_texts([*TEXTS, f"session {number}"], fill=False)
        vectors.fill()
        assert vectors.has_vectors(text_rows).all()
    assert len(list(tmp_path.iterdir())) <= 10


def test_another_embedder_starts_anew_and_the_first_is_not_lost(tmp_path: Path) -> None:
    for name, asked in (("one", 5), ("other", 5), ("one", 0)):
        letters = Letters(name=name)
        vectors = PassageVectors(letters, tmp_path)
        vectors.set_texts(TEXTS[:5], fill=False)
        vectors.fill()
        assert len(letters.texts) == asked


def test_a_model_that_now_has_another_dimension_starts_anew(tmp_path: Path) -> None:
    vectors = PassageVectors(Letters(), tmp_path)
    vectors.set_texts(TEXTS[:5], fill=False)
    vectors.fill()
    changed = PassageVectors(Letters(dimension=30), tmp_path)
    text_rows = changed.set_texts(TEXTS, fill=False)
    changed.fill()
    text_rows = changed.set_texts(TEXTS, text_rows, fill=False)
    changed.fill()
    assert changed.has_vectors(text_rows).all()
    assert int(np.argmax(scores(changed, text_rows, "bbbb"))) % 26 == 1


@pytest.mark.parametrize("damage", [b"", b"rubbish", b"FABVEC1\n" + b"\xff" * 40])
def test_a_damaged_file_costs_time_only(tmp_path: Path, damage: bytes) -> None:
    vectors = PassageVectors(Letters(), tmp_path)
    vectors.set_texts(TEXTS, fill=False)
    vectors.fill()
    for path in tmp_path.iterdir():
        path.write_bytes(damage)
    letters = Letters()
    again = PassageVectors(letters, tmp_path)
    text_rows = again.set_texts(TEXTS, fill=False)
    again.fill()
    assert again.has_vectors(text_rows).all()
    assert len(letters.texts) == 60
    assert again.cache_error == ""


def test_a_folder_that_cannot_be_used_is_done_without(tmp_path: Path) -> None:
    place = tmp_path / "taken"
    place.write_text("a file where the folder should be")
    vectors = PassageVectors(Letters(), place)
    text_rows = vectors.set_texts(TEXTS, fill=False)
    vectors.fill()
    assert vectors.has_vectors(text_rows).all()
    assert vectors.cache_error


def test_files_that_cannot_be_read_are_done_without(tmp_path: Path) -> None:
    vectors = PassageVectors(Letters(), tmp_path)
    vectors.set_texts(TEXTS, fill=False)
    vectors.fill()
    (path,) = tmp_path.iterdir()
    path.unlink()
    path.mkdir()  # reading it fails for everybody, also for those whom permissions do not stop
    again = PassageVectors(Letters(), tmp_path)
    text_rows = again.set_texts(TEXTS, fill=False)
    again.fill()
    assert again.has_vectors(text_rows).all()
    assert again.cache_error


def test_a_full_disk_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    vectors = PassageVectors(Letters(), tmp_path)
    text_rows = vectors.set_texts(TEXTS, fill=False)
    vectors.fill()
    assert vectors.has_vectors(text_rows).all()
    assert vectors.cache_error == "No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_down_leaves_scores_at_0_and_says_so(server: Server) -> None:
    server.status = 503
    vectors = PassageVectors(EmbeddingEndpoint(server.url, "m"))
    text_rows = vectors.set_texts(TEXTS, fill=False)
    vectors.fill()
    assert "status 503" in str(vectors.embedding_error)
    assert vectors.embed_query([("aaa", 1.0)]) is None
    assert not vectors.has_vectors(text_rows).any()


def test_a_server_that_changes_its_dimension_half_way_keeps_what_was_good(server: Server) -> None:
    vectors = PassageVectors(EmbeddingEndpoint(server.url, "m"))
    text_rows = vectors.set_texts(TEXTS[:20], fill=False)
    vectors.fill()
    server.change = lambda rows: [{**row, "embedding": [1.0] * 30} for row in rows]
    text_rows = vectors.set_texts(TEXTS, text_rows, fill=False)
    vectors.fill()
    assert "other lengths" in str(vectors.embedding_error)
    assert vectors.has_vectors(text_rows).sum() == 20


def test_after_a_failure_the_work_goes_on(server: Server) -> None:
    server.status = 503
    vectors = PassageVectors(EmbeddingEndpoint(server.url, "m"), first_wait=0.01)
    text_rows = vectors.set_texts(TEXTS)
    while len(server.asked) < 3:
        time.sleep(0.005)
    server.status = 200
    wait_for_vectors(vectors, text_rows)
    assert vectors.embedding_error is None
    vectors.stop()


def test_each_project_has_its_folder_in_the_cache() -> None:
    assert vector_folder("one") != vector_folder("other")
    assert vector_folder("../../etc").parent == cache.cache_folder() / "vectors"


def test_no_texts_at_all() -> None:
    vectors = PassageVectors(Letters())
    text_rows = vectors.set_texts([])
    assert vectors.progress == (0, 0)
    assert scores(vectors, text_rows, "aaa") == []


def test_a_program_that_ends_while_vectors_are_made_ends_quietly() -> None:
    code = (
        "import atexit, time; atexit.register(time.sleep, 0.5)\n"
        "from fabula.search.embeddings.embedder import load_local_model\n"
        "from fabula.search.embeddings.passage_vectors import PassageVectors\n"
        "vectors = PassageVectors(load_local_model())\n"
        "rows = vectors.set_texts([f'The keeper counted {number} ships.' for number in range(5000)])\n"
        "while not vectors.has_vectors(rows).any(): pass\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_long_text_says_at_its_end_is_found() -> None:
    model = load_local_model()
    assert model is not None
    vectors = PassageVectors(model)
    long = "The keeper counted the ships that passed the harbour in the rain. " * 40
    text_rows = vectors.set_texts(
        [f"{long}He owed the ferryman nine silver coins.", long, "The dog slept."], fill=False
    )
    vectors.fill()
    found = scores(vectors, text_rows, "money that somebody must pay back")
    assert found.index(max(found)) == 0
    assert found[0] > found[1] + 0.1


def test_a_long_text_that_stays_is_not_cut_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[str] = []

    def split(text: str) -> tuple[str, ...]:
        cut.append(text)
        return split_into_parts(text)

    monkeypatch.setattr(vectors_module, "split_into_parts", split)
    vectors = PassageVectors(Letters())
    first, second = "A lamp. " * 100, "A ferry. " * 100
    rows = vectors.set_texts([first], fill=False)
    vectors.set_texts([second, first, "short"], rows, fill=False)
    assert cut == [first, second]


@given(st.text(max_size=3000) | st.lists(st.sampled_from(["It rained. ", "灯灭了。", "\n\n", "x" * 300])).map("".join))
def test_parts_hold_every_word_of_a_text_in_order(text: str) -> None:
    parts = split_into_parts(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert 1 <= len(parts) <= MAX_PARTS


def test_of_an_endless_text_the_first_parts_have_vectors() -> None:
    assert len(split_into_parts("The keeper counted the ships. " * 10_000)) == MAX_PARTS
