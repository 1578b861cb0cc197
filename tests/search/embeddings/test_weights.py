from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabula.search.embeddings.weights import read

NUMBERS = np.arange(6, dtype="<f4")


def file(folder: Path, table: Any, body: bytes = NUMBERS.tobytes(), length: int | None = None) -> Path:
    """A safetensors file as one would be written."""
    written = table if isinstance(table, bytes) else json.dumps(table).encode()
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(written) if length is None else length) + written + body)
    return path


def place(shape: list[int], span: list[int], kind: str = "F32") -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": span}


def test_arrays_come_by_name_and_in_shape(tmp_path: Path) -> None:
    table = {"__metadata__": {"format": "pt"}, "a": place([2, 2], [0, 16]), "b": place([2], [16, 24])}
    arrays = read(file(tmp_path, table))
    assert arrays["a"].tolist() == [[0, 1], [2, 3]]
    assert arrays["b"].tolist() == [4, 5]


def test_numbers_of_another_kind_are_left_out(tmp_path: Path) -> None:
    arrays = read(file(tmp_path, {"a": place([3], [0, 12]), "ids": place([3], [12, 24], "I32")}))
    assert list(arrays) == ["a"]


def test_nothing_of_it_can_be_written_to(tmp_path: Path) -> None:
    arrays = read(file(tmp_path, {"a": place([6], [0, 24])}))
    with pytest.raises(ValueError, match="read-only"):
        arrays["a"][0] = 1


@pytest.mark.parametrize(
    "one",
    [
        place([6], [0, 28]),
        place([7], [0, 24]),
        place([3], [-12, 0]),
        place([-1], [0, 24]),
        place([3], [24, 12]),
        place([2**40, 2**40], [0, 24]),
    ],
)
def test_places_outside_the_file_are_refused(tmp_path: Path, one: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="does not lie"):
        read(file(tmp_path, {"a": one}))


@pytest.mark.parametrize("table", [b"{ ", b"[]", b'{"a": 1}', b'{"a": {"dtype": "F32"}}', b"\xff\xff\xff", b"{}}"])
def test_a_table_of_contents_that_is_none_is_refused(tmp_path: Path, table: bytes) -> None:
    with pytest.raises(ValueError, match="table of contents"):
        read(file(tmp_path, table))


@pytest.mark.parametrize("length", [0, 1, 2**20, 2**63])
def test_a_table_longer_than_the_file_is_refused(tmp_path: Path, length: int) -> None:
    with pytest.raises(ValueError, match="no safetensors"):
        read(file(tmp_path, {}, length=length))


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.touch()
    with pytest.raises(ValueError, match="empty"):
        read(path)
