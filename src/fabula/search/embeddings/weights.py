"""Weights: a model's numbers from a safetensors file, read in place.

The file is a length, a table of contents in JSON, and the numbers themselves. It is mapped, not loaded: what
is never looked at (most rows of a vocabulary) takes no memory. Every place in the table of contents is checked
against the file before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

_HEADER = 8  # bytes that say how long the table of contents is
_LONGEST_TABLE = 10_000_000
_KIND = "F32"

Array = NDArray[np.float32]


class _Place(Struct, frozen=True):
    kind: str = field(name="dtype")
    shape: tuple[int, ...]
    span: tuple[int, int] = field(name="data_offsets")


def read(file: Path) -> Mapping[str, Array]:
    """Every array of 32-bit numbers in the file, by name, not to be written to; ValueError where it makes no sense."""
    data: NDArray[np.uint8] = np.memmap(file, dtype=np.uint8, mode="r")
    length = int.from_bytes(data[:_HEADER].tobytes(), "little")
    if not 2 <= length <= min(_LONGEST_TABLE, data.size - _HEADER):
        raise ValueError(f"{file.name} is no safetensors file.")
    table = data[_HEADER : _HEADER + length].tobytes()
    body = data[_HEADER + length :]
    try:
        raw = msgspec.json.decode(table, type=dict[str, msgspec.Raw])
        places = {name: msgspec.json.decode(one, type=_Place) for name, one in raw.items() if name != "__metadata__"}
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"The table of contents of {file.name} cannot be read: {error}") from error
    return {name: _array(name, place, body) for name, place in places.items() if place.kind == _KIND}


def _array(name: str, place: _Place, body: NDArray[np.uint8]) -> Array:
    start, end = place.span
    sound = 0 <= start <= end <= body.size and min(place.shape, default=0) >= 0
    if not sound or 4 * prod(place.shape) != end - start:
        raise ValueError(f"{name} does not lie where the table of contents says.")
    return body[start:end].view("<f4").reshape(place.shape)
