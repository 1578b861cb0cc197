"""Text in a PNG: read and written without ever looking at a pixel.

A picture is a list of chunks, each with its length and a checksum. Cards hide in text chunks. Lengths are
compared with what is there, checksums are made again, and a compressed text is unpacked only as far as any
card could reach, so a picture that lies about itself is refused and costs nothing. Writing replaces the
text of a keyword and leaves every other byte as it was.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fabula.formats.manuscripts.imported import unreadable
from fabula.formats.safe.json_reader import too_large

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_TEXT = 48_000_000  # a card's JSON in base64
_MOST_CHUNKS = 50_000
_HEAD = struct.Struct(">I4s")
_CHECK = struct.Struct(">I")
_KINDS = (b"tEXt", b"zTXt", b"iTXt")
_AGAIN = "Fetch or save the picture again."


class Chunk(NamedTuple):
    """One piece of a picture: its kind and its data; the last one may be followed by something else."""

    kind: bytes
    data: bytes


def read_chunks(data: bytes, what: str) -> tuple[list[Chunk], bytes]:
    """All chunks, their checksums tried, and whatever stands behind the last."""
    if not data.startswith(SIGNATURE):
        unreadable(what, "it is not a PNG", "Name a card as PNG, JSON or CHARX.")
    chunks: list[Chunk] = []
    at = len(SIGNATURE)
    while not chunks or chunks[-1].kind != b"IEND":
        if len(chunks) >= _MOST_CHUNKS:
            too_large(what, f"it has more than {_MOST_CHUNKS} chunks")
        if at + _HEAD.size > len(data):
            unreadable(what, "the picture is cut off", _AGAIN)
        length, kind = _HEAD.unpack_from(data, at)
        end = at + _HEAD.size + length
        if end + _CHECK.size > len(data):
            unreadable(what, "the picture is cut off, or a chunk says it is longer than it is", _AGAIN)
        if kind in _KINDS and length > MOST_TEXT:
            too_large(what, f"a text in it is larger than {MOST_TEXT // 1_000_000} MB")
        if zlib.crc32(data[at + 4 : end]) != _CHECK.unpack_from(data, end)[0]:
            unreadable(what, f"the checksum of a chunk is wrong ({kind.decode('latin-1')!r})", _AGAIN)
        chunks.append(Chunk(kind, data[at + _HEAD.size : end]))
        at = end + _CHECK.size
    return chunks, data[at:]


def texts_in(data: bytes, wanted: Sequence[str], what: str) -> dict[str, str]:
    """The texts of a picture under those keywords; of several under one, the first."""
    chunks, _ = read_chunks(data, what)
    found: dict[str, str] = {}
    for chunk in chunks:
        name = _keyword(chunk)
        if name in wanted and name not in found:
            found[name] = _text(chunk, what)
    return found


def with_texts(data: bytes, texts: Mapping[str, str], what: str) -> bytes:
    """The picture with those texts in place of the ones of their keywords, or before its end."""
    chunks, behind = read_chunks(data, what)
    written: list[Chunk] = []
    left = dict(texts)
    for chunk in chunks:
        name = _keyword(chunk)
        if chunk.kind == b"IEND":
            written += [_chunk(name, text) for name, text in left.items()]
        if name not in texts:
            written.append(chunk)
        elif name in left:
            written.append(_chunk(name, left.pop(name)))
    return SIGNATURE + b"".join(map(_packed, written)) + behind


def _keyword(chunk: Chunk) -> str:
    return chunk.data[:80].partition(b"\0")[0].decode("latin-1").lower() if chunk.kind in _KINDS else ""


def _text(chunk: Chunk, what: str) -> str:
    _, _, rest = chunk.data.partition(b"\0")
    if chunk.kind == b"tEXt":
        return rest.decode("latin-1")
    if chunk.kind == b"zTXt":
        return _unpacked(rest[1:], what).decode("latin-1")
    packed, rest = rest[:1] == b"\1", rest[2:]
    _, _, rest = rest.partition(b"\0")  # the language
    _, _, rest = rest.partition(b"\0")  # the keyword in it
    try:
        return (_unpacked(rest, what) if packed else rest).decode()
    except UnicodeDecodeError:
        unreadable(what, "a text in it is not UTF-8", _AGAIN)


def _unpacked(data: bytes, what: str) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(data, MOST_TEXT)
    except zlib.error:
        unreadable(what, "a packed text in it is damaged", _AGAIN)
    if unpacking.unconsumed_tail:
        too_large(what, f"a text in it unpacks to more than {MOST_TEXT // 1_000_000} MB")
    if not unpacking.eof:
        unreadable(what, "a packed text in it is cut off", _AGAIN)
    return text


def _chunk(name: str, text: str) -> Chunk:
    return Chunk(b"tEXt", name.encode("latin-1") + b"\0" + text.encode("latin-1"))


def _packed(chunk: Chunk) -> bytes:
    check = zlib.crc32(chunk.kind + chunk.data)
    return _HEAD.pack(len(chunk.data), chunk.kind) + chunk.data + _CHECK.pack(check)
