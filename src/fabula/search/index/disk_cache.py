"""The cache folder: word counts of large projects, so that opening one again need not read it all again.

Everything in it can be made anew from the text, so nothing here is ever waited for or trusted: files are
replaced whole, read without locks, and checked to the last number before use. A folder that is damaged,
full, or not to be written to costs time and gets a warning, never an answer.
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

from fabula.search.index.postings import Postings, count
from fabula.search.model import Passage, Thread

log = logging.getLogger("fabula.search")

SETTING = "FABULA_CACHE"  # the environment variable
LARGEST = 1 << 30  # bytes of one file
OLDEST = 180 * 24 * 3600  # seconds after which a file nobody wrote again is thrown away
_MAGIC = b"FABULA-INDEX-1\n"
_LENGTH = struct.Struct("<Q")
_DIGEST = 32
_PROBE = Thread("probe", (Passage("probe", "The lamps weren't burning; 1912, 灯塔没有亮。", "A title 题目"),))


class Entry(Struct, array_like=True, frozen=True):
    """What the head of a file says of one thread: its hash, the bytes of its words, how many rows and numbers."""

    mark: str
    words: int
    starts: int
    places: int


class Head(Struct, array_like=True, frozen=True):
    """The head of a file: how words were told apart when it was written, and the threads in it."""

    probe: str
    entries: list[Entry]


def folder() -> Path:
    """Where caches are kept: `FABULA_CACHE`, or the platform's own place for such things."""
    chosen = os.environ.get(SETTING)
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("fabula", appauthor=False)


def file_of(project_id: str) -> Path:
    """The file of one project."""
    return folder() / "search" / f"{blake2b(project_id.encode(), digest_size=12).hexdigest()}.index"


def read(project_id: str, threads: Sequence[Thread]) -> tuple[dict[str, Postings], str]:
    """What is known of these threads, by their ids; and, where the file could not be used, why."""
    path = file_of(project_id)
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError("it is too large")
        data = path.read_bytes()
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError) as error:
        return {}, _told(path, error)
    try:
        return _unpacked(data, threads), ""
    except (ValueError, msgspec.MsgspecError, struct.error) as error:
        return {}, _told(path, error)


def write(project_id: str, threads: Sequence[Thread], postings: Mapping[str, Postings]) -> str:
    """Keep what was counted; where that cannot be done, why."""
    path, made = file_of(project_id), None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(dir=path.parent, prefix="writing-")
        with open(handle, "wb") as file:
            file.write(_packed(threads, postings))
        os.replace(made, path)
        _sweep(path.parent)
    except OSError as error:
        if made is not None:
            with suppress(OSError):
                os.unlink(made)
        return _told(path, error)
    return ""


def forget(project_id: str) -> None:
    """Throw away what is kept of a project."""
    with suppress(OSError):
        file_of(project_id).unlink()


def _sweep(place: Path) -> None:
    """Files of projects nobody opened for long, and what a process that died left behind."""
    for path in place.iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > (OLDEST if path.suffix == ".index" else 3600):
                path.unlink()


def _told(path: Path, error: Exception) -> str:
    why = (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)
    log.warning("search cache %s not used: %s", path.name, why)
    return why


def _mark(thread: Thread) -> str:
    """By which the words of a thread are known again."""
    digest = blake2b(digest_size=16)
    for passage in thread.passages:
        for text in (passage.title, passage.text):
            data = text.encode()
            digest.update(_LENGTH.pack(len(data)))
            digest.update(data)
    return digest.hexdigest()


def _probe() -> str:
    """How words are told apart, in short: other rules give another answer, and make every file stale."""
    made = count(_PROBE)
    said = msgspec.json.encode([made.words, made.starts.tolist(), made.places.tolist(), made.counts.tolist()])
    return blake2b(said, digest_size=8).hexdigest()


def _packed(threads: Sequence[Thread], postings: Mapping[str, Postings]) -> bytes:
    entries: list[Entry] = []
    parts: list[bytes] = []
    for thread in threads:
        held = postings[thread.id]
        words = "\n".join(held.words).encode()
        entries.append(Entry(_mark(thread), len(words), len(held.starts), len(held.places)))
        parts.append(words)
        parts += [np.ascontiguousarray(numbers, "<i4").tobytes() for numbers in (held.starts, held.places, held.counts)]
    head = msgspec.json.encode(Head(_probe(), entries))
    body = b"".join([_MAGIC, _LENGTH.pack(len(head)), head, *parts])
    return body + blake2b(body, digest_size=_DIGEST).digest()


def _unpacked(data: bytes, threads: Sequence[Thread]) -> dict[str, Postings]:
    body = memoryview(data)[:-_DIGEST]
    if not data.startswith(_MAGIC) or blake2b(body, digest_size=_DIGEST).digest() != data[-_DIGEST:]:
        raise ValueError("it is damaged")
    at = len(_MAGIC) + _LENGTH.size
    (length,) = _LENGTH.unpack_from(body, len(_MAGIC))
    head = msgspec.json.decode(body[at : at + length], type=Head)
    at += length
    if head.probe != _probe():
        return {}
    wanted: dict[str, list[Thread]] = {}
    for thread in threads:
        wanted.setdefault(_mark(thread), []).append(thread)
    found: dict[str, Postings] = {}
    for entry in head.entries:
        sizes = (entry.words, 4 * entry.starts, 4 * entry.places, 4 * entry.places)
        if min(sizes) < 0 or at + sum(sizes) > len(body):
            raise ValueError("its head does not fit what follows")
        for thread in wanted.get(entry.mark, ()):
            found[thread.id] = _checked(body, at, entry, thread)
        at += sum(sizes)
    return found


def _checked(body: memoryview, at: int, entry: Entry, thread: Thread) -> Postings:
    """The numbers of one thread, if they can be meant."""
    words = tuple(bytes(body[at : at + entry.words]).decode().split("\n")) if entry.words else ()
    arrays = []
    at += entry.words
    for size in (entry.starts, entry.places, entry.places):
        arrays.append(np.frombuffer(body, "<i4", size, at).astype(np.int32))
        at += 4 * size
    starts, places, counts = arrays
    sound = len(starts) == len(thread.passages) + 1 and not starts[0] and starts[-1] == len(places)
    sound = sound and not np.any(np.diff(starts) < 0)
    if len(places):
        sound = sound and places.min() >= 0 and places.max() < len(words)
        sound = sound and counts.min() > 0 and counts.max() <= max(len(p.title) + len(p.text) for p in thread.passages)
    if not sound:
        raise ValueError("its numbers make no sense")
    return Postings(words, starts, places, counts)
