"""The disk cache of vectors, so that no text is embedded twice.

Each batch becomes a file of its own. It is written under another name, renamed, and never changed after that; when
there are many files they are merged into one. So no lock is needed, and two processes that fill one folder only double
some work. A file that is damaged or of another shape is deleted. Numbers are stored at half precision. The folder may
be deleted at any time (sav-1).
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

from fabula.search.index.disk_cache import MAX_FILE_BYTES, delete_old_files, replace_file

KEY_BYTES = 16  # of a text's hash
MAX_FILES = 8  # before they are merged into one
_MAGIC = b"FABVEC1\n"
_HEADER = struct.Struct("<8sIII")  # magic, dimension, count, checksum of what follows
_LENGTH_TOLERANCE = 0.01  # by which a vector's length may differ from 1

Vectors = NDArray[np.float32]


def text_key(text: str) -> bytes:
    """The hash under which the vector of a text is stored."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=KEY_BYTES).digest()


class VectorCache:
    """The vectors of one embedder in one folder."""

    def __init__(self, folder: Path, embedder: str) -> None:
        """Nothing is read or created yet."""
        self.folder = folder
        self._prefix = blake2b(embedder.encode(), digest_size=8).hexdigest()
        self._files: list[Path] = []

    def read(self) -> Iterator[tuple[list[bytes], Vectors]]:
        """The keys and vectors of every valid file; OSError where the folder cannot be read."""
        if not self.folder.is_dir():
            return
        delete_old_files(self.folder, ".vec")
        self._files = sorted(self.folder.glob(f"{self._prefix}-*.vec"))
        for path in tuple(self._files):
            if path.stat().st_size <= MAX_FILE_BYTES and (content := _unpack(path.read_bytes())):
                with suppress(OSError):
                    os.utime(path)
                yield content
            else:
                self._delete(path)

    def write(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Store more vectors; OSError where that fails."""
        path = self.folder / f"{self._prefix}-{time.time_ns():020}-{uuid4().hex[:8]}.vec"
        replace_file(path, [_pack(keys, vectors)])
        self._files.append(path)

    @property
    def has_many_files(self) -> bool:
        """Are there so many files that they should be merged?"""
        return len(self._files) > MAX_FILES

    def replace(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Store these vectors in place of all files that were read or written here."""
        old = tuple(self._files)
        self.write(keys, vectors)
        for path in old:
            self._delete(path)

    def _delete(self, path: Path) -> None:
        self._files.remove(path)
        with suppress(OSError):
            path.unlink()


def _pack(keys: Sequence[bytes], vectors: Vectors) -> bytes:
    body = b"".join(keys) + vectors.astype("<f2").tobytes()
    return _HEADER.pack(_MAGIC, vectors.shape[1], len(keys), crc32(body)) + body


def _unpack(data: bytes) -> tuple[list[bytes], Vectors] | None:
    """Keys and vectors; None where the file is invalid."""
    if len(data) < _HEADER.size:
        return None
    magic, dimension, count, checksum = _HEADER.unpack_from(data)
    body = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC or not dimension or len(body) != count * (KEY_BYTES + 2 * dimension) or crc32(body) != checksum:
        return None
    keys = [bytes(body[at : at + KEY_BYTES]) for at in range(0, count * KEY_BYTES, KEY_BYTES)]
    vectors = np.frombuffer(body, "<f2", offset=count * KEY_BYTES).reshape(count, dimension).astype(np.float32)
    with np.errstate(all="ignore"):
        lengths = np.einsum("ij,ij->i", vectors, vectors)
        is_valid = bool((np.abs(lengths - 1) < 2 * _LENGTH_TOLERANCE).all())
    return (keys, vectors) if is_valid else None
