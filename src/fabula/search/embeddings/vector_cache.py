"""Kept vectors: what was computed once need not be computed again, as long as nobody deletes the folder.

Each batch becomes a file of its own, written whole under another name and then renamed, never changed after that;
when there are many they are made into one. So nobody needs a lock, and two processes that fill one folder only
double some work. A file that is damaged or of another shape is thrown away. Numbers are kept at half precision.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

KEY = 16  # bytes of a text's hash
MANY = 8  # files, before they are made into one
LARGEST = 1 << 30  # bytes of one file
OLDEST = 180 * 24 * 3600  # seconds after which a file is thrown away, whoever's it was
_MAGIC = b"FABVEC1\n"
_HEAD = struct.Struct("<8sIII")  # magic, dimension, count, checksum of what follows
_LONG = 0.01  # how far a vector's length may be from 1

Vectors = NDArray[np.float32]


def key(text: str) -> bytes:
    """By which a text's vector is found again."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=KEY).digest()


class Kept:
    """The vectors of one embedder in one folder."""

    def __init__(self, folder: Path, embedder: str) -> None:
        """Nothing is read or made yet."""
        self.folder = folder
        self._prefix = blake2b(embedder.encode(), digest_size=8).hexdigest()
        self._files: list[Path] = []

    def read(self) -> Iterator[tuple[list[bytes], Vectors]]:
        """Every sound file's keys and vectors; OSError where the folder cannot be read."""
        if not self.folder.is_dir():
            return
        self._sweep()
        self._files = sorted(self.folder.glob(f"{self._prefix}-*.vec"))
        for path in tuple(self._files):
            if path.stat().st_size <= LARGEST and (found := _unpacked(path.read_bytes())):
                with suppress(OSError):
                    os.utime(path)
                yield found
            else:
                self._forget(path)

    def write(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep some more; OSError where that cannot be done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{self._prefix}-{time.time_ns():020}-{uuid4().hex[:8]}.vec"
        making = path.with_suffix(".part")
        try:
            making.write_bytes(_packed(keys, vectors))
            os.replace(making, path)
        finally:
            making.unlink(missing_ok=True)
        self._files.append(path)

    @property
    def many(self) -> bool:
        """Are there so many files that they should become one?"""
        return len(self._files) > MANY

    def replace(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep these instead of all that was read or written here."""
        old = tuple(self._files)
        self.write(keys, vectors)
        for path in old:
            self._forget(path)

    def _forget(self, path: Path) -> None:
        self._files.remove(path)
        with suppress(OSError):
            path.unlink()

    def _sweep(self) -> None:
        """Files nobody wrote for long, and what a process that died left behind."""
        for path in self.folder.iterdir():
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > (OLDEST if path.suffix == ".vec" else 3600):
                    path.unlink()


def _packed(keys: Sequence[bytes], vectors: Vectors) -> bytes:
    body = b"".join(keys) + vectors.astype("<f2").tobytes()
    return _HEAD.pack(_MAGIC, vectors.shape[1], len(keys), crc32(body)) + body


def _unpacked(data: bytes) -> tuple[list[bytes], Vectors] | None:
    """Keys and vectors, or None where they cannot be meant."""
    if len(data) < _HEAD.size:
        return None
    magic, dimension, count, checksum = _HEAD.unpack_from(data)
    body = memoryview(data)[_HEAD.size :]
    if magic != _MAGIC or not dimension or len(body) != count * (KEY + 2 * dimension) or crc32(body) != checksum:
        return None
    keys = [bytes(body[at : at + KEY]) for at in range(0, count * KEY, KEY)]
    vectors = np.frombuffer(body, "<f2", offset=count * KEY).reshape(count, dimension).astype(np.float32)
    with np.errstate(all="ignore"):
        lengths = np.einsum("ij,ij->i", vectors, vectors)
        sound = bool((np.abs(lengths - 1) < 2 * _LONG).all())
    return (keys, vectors) if sound else None
