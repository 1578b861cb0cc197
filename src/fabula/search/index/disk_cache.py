"""The disk cache of postings, so that a large project need not be counted again when it is opened.

Everything in the cache folder can be made again from the text, so nothing in it is trusted: files are replaced whole,
read without locks, and checked to the last number before use. A folder that is damaged, full or read-only costs time
and causes a warning, but never a wrong result.

A file holds one document after the other, each behind its size. Encoding all of them in one call would keep every other
thread of the process waiting for as long.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import msgspec
import numpy as np
from msgspec import Struct

from fabula.core.background import work_on
from fabula.core.messages import Sentence, message
from fabula.search.index.inverted_index import Postings, count_postings
from fabula.search.model import Passage, SearchDocument

log = logging.getLogger("fabula.search")

CACHE_VARIABLE = "FABULA_CACHE"  # the environment variable that names the cache folder
MAX_FILE_BYTES = 1 << 30
MAX_AGE = 180 * 24 * 3600  # seconds after which a file that was not written again is deleted
_MAX_TEMPORARY_AGE = 3600  # seconds
_FORMAT = b"FABULA-INDEX-"  # with which a file of any version begins
_MAGIC = _FORMAT + b"3\n"
_SIZE_BYTES = 8  # of the number before each part of a file: the version of the terms, then the documents
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


def read_postings(
    project_id: str, documents: Sequence[SearchDocument], after_each: Callable[[], None] = work_on
) -> tuple[dict[str, Postings], str | Sentence]:
    """The cached postings of these documents by id, and why the file could not be used.

    `after_each` is called after each document of the file.
    """
    path = index_file(project_id)
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError("it is too large")
        return _unpack(path.read_bytes(), documents, after_each), ""
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        return {}, _log_error(path, error)


def write_postings(
    project_id: str,
    documents: Sequence[SearchDocument],
    postings: Mapping[str, Postings],
    after_each: Callable[[], None] = work_on,
) -> str | Sentence:
    """Write the postings of a project, and call `after_each` after each document; returns why that failed, or ""."""
    path = index_file(project_id)
    try:
        replace_file(path, _pack(documents, postings, after_each))
        delete_old_files(path.parent, path.suffix)
    except OSError as error:
        return _log_error(path, error)
    return ""


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Write the parts of a file under another name first, so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"writing-{uuid4().hex}")
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
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
    """A digest of the texts of a document. They are one flat list: pairs would set off the collector of cycles."""
    texts = [text for passage in document.passages for text in (passage.title, passage.text)]
    return blake2b(msgspec.msgpack.encode(texts), digest_size=16).hexdigest()


def _terms_version() -> str:
    """A digest of how terms are split: with other rules it differs, and every file becomes stale."""
    postings = count_postings(_PROBE_DOCUMENT)
    arrays = [array.tolist() for array in (postings.starts, postings.term_places, postings.counts)]
    return blake2b(msgspec.json.encode([postings.terms, *arrays]), digest_size=8).hexdigest()


def _pack(
    documents: Iterable[SearchDocument], postings: Mapping[str, Postings], after_each: Callable[[], None]
) -> Iterator[bytes]:
    """The parts of a cache file, with a digest of all of them at the end."""
    digest = blake2b(_MAGIC, digest_size=_DIGEST_SIZE)
    yield _MAGIC
    for content in _encode(documents, postings):
        size = len(content).to_bytes(_SIZE_BYTES, "little")
        digest.update(size)
        digest.update(content)
        yield size
        yield content
        after_each()
    yield digest.digest()


def _encode(documents: Iterable[SearchDocument], postings: Mapping[str, Postings]) -> Iterator[bytes]:
    encode = msgspec.msgpack.Encoder().encode
    yield encode(_terms_version())
    for document in documents:
        counted = postings[document.id]
        arrays = (counted.starts, counted.term_places, counted.counts)
        packed = (np.ascontiguousarray(array, "<i4").tobytes() for array in arrays)
        yield encode(CachedDocument(_digest(document), counted.terms, *packed))


def _unpack(data: bytes, documents: Iterable[SearchDocument], after_each: Callable[[], None]) -> dict[str, Postings]:
    if data.startswith(_FORMAT) and not data.startswith(_MAGIC):
        return {}  # of another version of Fabula
    body = memoryview(data)[:-_DIGEST_SIZE]
    if not data.startswith(_MAGIC) or blake2b(body, digest_size=_DIGEST_SIZE).digest() != data[-_DIGEST_SIZE:]:
        raise ValueError("it is damaged")
    contents = _split(body[len(_MAGIC) :])
    if msgspec.msgpack.decode(next(contents, b""), type=str) != _terms_version():
        return {}
    by_digest: dict[str, list[SearchDocument]] = {}
    for document in documents:
        by_digest.setdefault(_digest(document), []).append(document)
        after_each()
    cached: dict[str, Postings] = {}
    decode = msgspec.msgpack.Decoder(CachedDocument).decode
    for content in contents:
        row = decode(content)
        cached |= {document.id: _unpack_postings(row, document) for document in by_digest.get(row.digest, ())}
        after_each()
    return cached


def _split(body: memoryview) -> Iterator[memoryview]:
    """The contents in the body of a file, each of which follows its size; ValueError where a size is impossible."""
    while body:
        size = int.from_bytes(body[:_SIZE_BYTES], "little")
        if not 0 < size <= len(body) - _SIZE_BYTES:
            raise ValueError("its sizes make no sense")
        yield body[_SIZE_BYTES : _SIZE_BYTES + size]
        body = body[_SIZE_BYTES + size :]


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
