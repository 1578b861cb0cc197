from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from fabula.search.embeddings import vector_cache as vector_cache_module
from fabula.search.embeddings.vector_cache import MAX_FILES, VectorCache, text_key
from tests.search.embedders import Letters

TEXTS = ["one", "two", "three", "four"]
KEYS = [text_key(text) for text in TEXTS]


def vectors(texts: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return Letters().embed(texts)


def everything(cache: VectorCache) -> dict[bytes, list[float]]:
    return {one: row.tolist() for keys, rows in cache.read() for one, row in zip(keys, rows, strict=True)}


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    VectorCache(tmp_path / "deep" / "er", "m").write(KEYS, vectors(TEXTS))
    found = everything(VectorCache(tmp_path / "deep" / "er", "m"))
    assert list(found) == KEYS
    assert np.allclose([*found.values()], vectors(TEXTS), atol=1e-3)


def test_each_embedder_has_its_own(tmp_path: Path) -> None:
    VectorCache(tmp_path, "m").write(KEYS, vectors(TEXTS))
    assert everything(VectorCache(tmp_path, "other")) == {}


def test_no_folder_is_an_empty_one(tmp_path: Path) -> None:
    assert everything(VectorCache(tmp_path / "missing", "m")) == {}
    assert not (tmp_path / "missing").exists()


def test_many_files_become_one(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "m")
    for _ in range(MAX_FILES + 1):
        cache.write(KEYS, vectors(TEXTS))
        many = cache.has_many_files
    assert many
    cache.replace(KEYS, vectors(TEXTS))
    assert not cache.has_many_files
    assert len(files(tmp_path)) == 1
    assert list(everything(VectorCache(tmp_path, "m"))) == KEYS


def test_two_who_write_into_one_folder_lose_nothing(tmp_path: Path) -> None:
    one, other = VectorCache(tmp_path, "m"), VectorCache(tmp_path, "m")
    one.write(KEYS[:2], vectors(TEXTS[:2]))
    other.write(KEYS[2:], vectors(TEXTS[2:]))
    one.replace(KEYS[:2], vectors(TEXTS[:2]))
    assert set(everything(VectorCache(tmp_path, "m"))) == set(KEYS)


@pytest.mark.parametrize("at", [0, 9, 13, 17, 25, 60, -1])
def test_a_damaged_file_is_thrown_away(tmp_path: Path, at: int) -> None:
    cache = VectorCache(tmp_path, "m")
    cache.write(KEYS, vectors(TEXTS))
    (path,) = files(tmp_path)
    data = bytearray(path.read_bytes())
    data[at] ^= 0x55
    path.write_bytes(data)
    assert everything(VectorCache(tmp_path, "m")) == {}
    assert files(tmp_path) == []


@pytest.mark.parametrize("length", [0, 5, 20, 50, 100])
def test_a_file_cut_short_is_thrown_away(tmp_path: Path, length: int) -> None:
    VectorCache(tmp_path, "m").write(KEYS, vectors(TEXTS))
    (path,) = files(tmp_path)
    path.write_bytes(path.read_bytes()[:length])
    assert everything(VectorCache(tmp_path, "m")) == {}


@pytest.mark.parametrize("number", [np.nan, np.inf, 0.0, 60000.0])
def test_numbers_that_are_no_direction_are_thrown_away(tmp_path: Path, number: float) -> None:
    VectorCache(tmp_path, "m").write(KEYS, np.full((4, 26), number, np.float32))
    assert everything(VectorCache(tmp_path, "m")) == {}


def test_a_file_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    VectorCache(tmp_path, "m").write(KEYS, vectors(TEXTS))
    monkeypatch.setattr(vector_cache_module, "MAX_FILE_BYTES", 100)
    assert everything(VectorCache(tmp_path, "m")) == {}


def test_files_nobody_needs_are_swept_away(tmp_path: Path) -> None:
    VectorCache(tmp_path, "long ago").write(KEYS, vectors(TEXTS))
    for path in files(tmp_path):
        os.utime(path, (0, 0))
    (tmp_path / "left.part").write_bytes(b"half")
    os.utime(tmp_path / "left.part", (0, 0))
    VectorCache(tmp_path, "m").write(KEYS, vectors(TEXTS))
    assert set(everything(VectorCache(tmp_path, "m"))) == set(KEYS)
    assert len(files(tmp_path)) == 1


def test_a_folder_that_is_a_file_is_an_error_of_the_disk(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        VectorCache(tmp_path / "file", "m").write(KEYS, vectors(TEXTS))
