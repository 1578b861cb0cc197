"""The disk cache of postings, so that a large project need not be counted again when it is opened.

Everything in the cache folder can be made again from the text, so nothing in it is trusted: files are replaced whole,
read without locks, and checked to the last number before use. A folder that is damaged, full or read-only costs time
and causes a warning, but never a wrong result.
"""

from __future__ import annotations

import logging
import os
import struct
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from fabula.search.index.inverted_index import Postings, count_postings
from fabula.search.model import Passage, SearchDocument

log = logging.getLogger("fabula.search")

CACHE_VARIABLE = "FABULA_CACHE"  # the environment variable that names the cache folder
MAX_FILE_BYTES = 1 << 30
MAX_AGE = 180 * 24 * 3600  # seconds after which a file that was not written again is deleted
_MAX_TEMPORARY_AGE = 3600  # seconds
_MAGIC = b"FABULA-INDEX-1\n"
_LENGTH_FORMAT = struct.Struct("<Q")
_DIGEST_SIZE = 32
_PROBE_DOCUMENT = SearchDocument(
    "probe", (Passage("probe", "The lamps weren't burning; 1912, 灯塔没有亮。", "A title 题目"),)
)


class CacheFileEntry(Struct, array_like=True, frozen=True):
    """One document in the header of a cache file: its digest and the sizes of its postings."""

    digest: str
    terms: int  # bytes
    starts: int
    places: int


class CacheFileHeader(Struct, array_like=True, frozen=True):
    """The header of a cache file: how terms were split when it was written, and its documents."""

    terms_version: str
    entries: list[CacheFileEntry]


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


def read_postings(project_id: str, documents: Sequence[SearchDocument]) -> tuple[dict[str, Postings], str]:
    """The cached postings of these documents by id, and why the file could not be used."""
    path = index_file(project_id)
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError("it is too large")
        data = path.read_bytes()
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError) as error:
        return {}, _log_error(path, error)
    try:
        return _unpack(data, documents), ""
    except (ValueError, msgspec.MsgspecError, struct.error) as error:
        return {}, _log_error(path, error)


def write_postings(project_id: str, documents: Sequence[SearchDocument], postings: Mapping[str, Postings]) -> str:
    """Write the postings of a project; returns why that failed, or ""."""
    path, temporary = index_file(project_id), None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="writing-")
        with open(handle, "wb") as file:
            file.write(_pack(documents, postings))
        os.replace(temporary, path)
        delete_old_files(path.parent, path.suffix)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        return _log_error(path, error)
    return ""


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


def _log_error(path: Path, error: Exception) -> str:
    reason = (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)
    log.warning("search cache %s not used: %s", path.name, reason)
    return reason


def _digest(document: SearchDocument) -> str:
    """A digest of the texts of a document."""
    digest = blake2b(digest_size=16)
    for passage in document.passages:
        for text in (passage.title, passage.text):
            data = text.encode()
            digest.update(_LENGTH_FORMAT.pack(len(data)))
            digest.update(data)
    return digest.hexdigest()


def _terms_version() -> str:
    """A digest of how terms are split: with other rules it differs, and every file becomes stale."""
    postings = count_postings(_PROBE_DOCUMENT)
    arrays = [array.tolist() for array in (postings.starts, postings.term_places, postings.counts)]
    return blake2b(msgspec.json.encode([postings.terms, *arrays]), digest_size=8).hexdigest()


def _pack(documents: Sequence[SearchDocument], postings: Mapping[str, Postings]) -> bytes:
    entries: list[CacheFileEntry] = []
    parts: list[bytes] = []
    for document in documents:
        counted = postings[document.id]
        terms = "\n".join(counted.terms).encode()
        entries.append(CacheFileEntry(_digest(document), len(terms), len(counted.starts), len(counted.term_places)))
        parts.append(terms)
        arrays = (counted.starts, counted.term_places, counted.counts)
        parts += [np.ascontiguousarray(array, "<i4").tobytes() for array in arrays]
    header = msgspec.json.encode(CacheFileHeader(_terms_version(), entries))
    body = b"".join([_MAGIC, _LENGTH_FORMAT.pack(len(header)), header, *parts])
    return body + blake2b(body, digest_size=_DIGEST_SIZE).digest()


def _unpack(data: bytes, documents: Sequence[SearchDocument]) -> dict[str, Postings]:
    body = memoryview(data)[:-_DIGEST_SIZE]
    if not data.startswith(_MAGIC) or blake2b(body, digest_size=_DIGEST_SIZE).digest() != data[-_DIGEST_SIZE:]:
        raise ValueError("it is damaged")
    at = len(_MAGIC) + _LENGTH_FORMAT.size
    (length,) = _LENGTH_FORMAT.unpack_from(body, len(_MAGIC))
    header = msgspec.json.decode(body[at : at + length], type=CacheFileHeader)
    at += length
    if header.terms_version != _terms_version():
        return {}
    by_digest: dict[str, list[SearchDocument]] = {}
    for document in documents:
        by_digest.setdefault(_digest(document), []).append(document)
    found: dict[str, Postings] = {}
    for entry in header.entries:
        sizes = (entry.terms, 4 * entry.starts, 4 * entry.places, 4 * entry.places)
        if min(sizes) < 0 or at + sum(sizes) > len(body):
            raise ValueError("its head does not fit what follows")
        for document in by_digest.get(entry.digest, ()):
            found[document.id] = _unpack_postings(body, at, entry, document)
        at += sum(sizes)
    return found


def _unpack_postings(body: memoryview, at: int, entry: CacheFileEntry, document: SearchDocument) -> Postings:
    """The postings of one document; ValueError where its numbers are impossible."""
    terms = tuple(bytes(body[at : at + entry.terms]).decode().split("\n")) if entry.terms else ()
    arrays = []
    at += entry.terms
    for size in (entry.starts, entry.places, entry.places):
        arrays.append(np.frombuffer(body, "<i4", size, at).astype(np.int32))
        at += 4 * size
    starts, places, counts = arrays
    is_valid = len(starts) == len(document.passages) + 1 and not starts[0] and starts[-1] == len(places)
    is_valid = is_valid and not np.any(np.diff(starts) < 0)
    if len(places):
        longest = max(len(passage.title) + len(passage.text) for passage in document.passages)
        is_valid = is_valid and places.min() >= 0 and places.max() < len(terms)
        is_valid = is_valid and counts.min() > 0 and counts.max() <= longest
    if not is_valid:
        raise ValueError("its numbers make no sense")
    return Postings(terms, starts, places, counts)
