"""The disk cache of postings, so that a large project need not be counted again when it is opened.

Everything in the cache folder can be made again from the text, so nothing in it is trusted: files are replaced whole,
read without locks, and checked to the last number before use. A folder that is damaged, full or read-only costs time
and causes a warning, but never a wrong result.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import msgspec
import numpy as np
from msgspec import Struct

from fabula.core.messages import Sentence, message
from fabula.search.index.inverted_index import Postings, count_postings
from fabula.search.model import Passage, SearchDocument

log = logging.getLogger("fabula.search")

CACHE_VARIABLE = "FABULA_CACHE"  # the environment variable that names the cache folder
MAX_FILE_BYTES = 1 << 30
MAX_AGE = 180 * 24 * 3600  # seconds after which a file that was not written again is deleted
_MAX_TEMPORARY_AGE = 3600  # seconds
_MAGIC = b"FABULA-INDEX-2\n"
_DIGEST_SIZE = 32
_PROBE_DOCUMENT = SearchDocument(
    "probe", (Passage("probe", "The lamps weren't burning; 1912, 灯塔没有亮。", "A title 题目"),)
)


class CachedDocument(Struct, array_like=True, frozen=True):
    """The postings of one document in a cache file, by the digest of its texts; arrays are bytes of 32-bit numbers."""

    digest: str
    terms: tuple[str, ...]
    starts: bytes
    term_places: bytes
    counts: bytes


class CacheFile(Struct, array_like=True, frozen=True):
    """The content of a cache file: how terms were split when it was written, and its documents."""

    terms_version: str
    documents: list[CachedDocument]


def cache_folder() -> Path:
    """The folder of all caches: `FABULA_CACHE`, or the platform's own folder for caches."""
    folder = os.environ.get(CACHE_VARIABLE)
    if folder:
        return Path(folder).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("fabula", appauthor=False)


def index_file(project_id: str) -> Path:
    """The cache file of one project."""
    return cache_folder() / "search" / f"{blake2b(project_id.encode(), digest_size=12).hexdigest()}.index"


def read_postings(project_id: str, documents: Sequence[SearchDocument]) -> tuple[dict[str, Postings], str | Sentence]:
    """The cached postings of these documents by id, and why the file could not be used."""
    path = index_file(project_id)
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError("it is too large")
        return _unpack(path.read_bytes(), documents), ""
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        return {}, _log_error(path, error)


def write_postings(
    project_id: str, documents: Sequence[SearchDocument], postings: Mapping[str, Postings]
) -> str | Sentence:
    """Write the postings of a project; returns why that failed, or ""."""
    path = index_file(project_id)
    try:
        replace_file(path, _pack(documents, postings))
        delete_old_files(path.parent, path.suffix)
    except OSError as error:
        return _log_error(path, error)
    return ""


def replace_file(path: Path, data: bytes | bytearray) -> None:
    """Write a file under another name first, so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"writing-{uuid4().hex}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def delete_index_file(project_id: str) -> None:
    """Delete the cache file of a project."""
    with suppress(OSError):
        index_file(project_id).unlink()


def delete_old_files(folder: Path, suffix: str) -> None:
    """Delete cache files that were not written for long, and what a process that died left behind."""
    for path in folder.iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > (MAX_AGE if path.suffix == suffix else _MAX_TEMPORARY_AGE):
                path.unlink()


def _log_error(path: Path, error: Exception) -> str | Sentence:
    log.warning("search cache %s not used: %s", path.name, error if isinstance(error, ValueError) else type(error))
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else message("the file is damaged")


def _digest(document: SearchDocument) -> str:
    """A digest of the texts of a document."""
    texts = [(passage.title, passage.text) for passage in document.passages]
    return blake2b(msgspec.msgpack.encode(texts), digest_size=16).hexdigest()


def _terms_version() -> str:
    """A digest of how terms are split: with other rules it differs, and every file becomes stale."""
    postings = count_postings(_PROBE_DOCUMENT)
    arrays = [array.tolist() for array in (postings.starts, postings.term_places, postings.counts)]
    return blake2b(msgspec.json.encode([postings.terms, *arrays]), digest_size=8).hexdigest()


def _pack(documents: Sequence[SearchDocument], postings: Mapping[str, Postings]) -> bytearray:
    rows: list[CachedDocument] = []
    for document in documents:
        counted = postings[document.id]
        arrays = (counted.starts, counted.term_places, counted.counts)
        packed = (np.ascontiguousarray(array, "<i4").tobytes() for array in arrays)
        rows.append(CachedDocument(_digest(document), counted.terms, *packed))
    data = bytearray(_MAGIC)
    msgspec.msgpack.Encoder().encode_into(CacheFile(_terms_version(), rows), data, len(data))  # a copy less
    data += blake2b(data, digest_size=_DIGEST_SIZE).digest()
    return data


def _unpack(data: bytes, documents: Sequence[SearchDocument]) -> dict[str, Postings]:
    body = memoryview(data)[:-_DIGEST_SIZE]
    if not data.startswith(_MAGIC) or blake2b(body, digest_size=_DIGEST_SIZE).digest() != data[-_DIGEST_SIZE:]:
        raise ValueError("it is damaged")
    file = msgspec.msgpack.decode(body[len(_MAGIC) :], type=CacheFile)
    if file.terms_version != _terms_version():
        return {}
    cached = {row.digest: row for row in file.documents}
    rows = ((document, cached.get(_digest(document))) for document in documents)
    return {document.id: _unpack_postings(row, document) for document, row in rows if row is not None}


def _unpack_postings(row: CachedDocument, document: SearchDocument) -> Postings:
    """The postings of one document; ValueError where its numbers are impossible."""
    packed = (row.starts, row.term_places, row.counts)
    starts, places, counts = (np.frombuffer(array, "<i4").astype(np.int32) for array in packed)
    is_valid = len(starts) == len(document.passages) + 1 and not starts[0] and starts[-1] == len(places) == len(counts)
    is_valid = is_valid and not np.any(np.diff(starts) < 0)
    if len(places):
        longest = max(len(passage.title) + len(passage.text) for passage in document.passages)
        is_valid = is_valid and places.min() >= 0 and places.max() < len(row.terms)
        is_valid = is_valid and counts.min() > 0 and counts.max() <= longest
    if not is_valid:
        raise ValueError("its numbers make no sense")
    return Postings(row.terms, starts, places, counts)
