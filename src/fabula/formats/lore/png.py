"""Read and replace the text chunks of a PNG without decoding the picture.

A PNG is a list of chunks, each with its length and a checksum. Cards are embedded in text chunks.
Lengths are compared with the file, checksums are verified, and compressed text is decompressed only
up to the size of the largest card, so a malformed picture is refused early. Writing replaces the text
of a keyword and leaves every other byte as it was. Of EXIF data only the comment of the user is read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fabula.core.messages import message
from fabula.formats.safe.import_errors import FETCH_AGAIN, refuse_more_bytes, refuse_too_large, refuse_unreadable

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_TEXT_BYTES = 48_000_000  # the JSON of a card in base64
_MAX_CHUNKS = 50_000
_HEADER = struct.Struct(">I4s")
_CHECKSUM = struct.Struct(">I")
_EXIF_DIRECTORY, _USER_COMMENT = 0x8769, 0x9286  # tags of EXIF
_EXIF_ENTRY_SIZE, _CHARSET_SIZE = 12, 8  # the comment begins with the name of its character set
_TEXT_CHUNKS = (b"tEXt", b"zTXt", b"iTXt")


class PngChunk(NamedTuple):
    """One chunk of a PNG."""

    kind: bytes
    data: bytes


def parse_chunks(data: bytes, label: str) -> tuple[list[PngChunk], bytes]:
    """All chunks with their checksums verified, and the bytes after the last."""
    if not data.startswith(SIGNATURE):
        refuse_unreadable(label, message("it is not a PNG"), message("Name a card as JSON, PNG or CHARX."))
    chunks: list[PngChunk] = []
    at = len(SIGNATURE)
    while not chunks or chunks[-1].kind != b"IEND":
        if len(chunks) >= _MAX_CHUNKS:
            refuse_too_large(label, message("it has more than {count} chunks", count=_MAX_CHUNKS))
        length, kind = _HEADER.unpack_from(data, at) if at + _HEADER.size <= len(data) else (len(data), b"")
        end = at + _HEADER.size + length
        if end + _CHECKSUM.size > len(data):
            refuse_unreadable(label, message("the picture is cut off"), FETCH_AGAIN)
        if kind in _TEXT_CHUNKS and length > MAX_TEXT_BYTES:
            refuse_more_bytes(label, MAX_TEXT_BYTES)
        if zlib.crc32(data[at + 4 : end]) != _CHECKSUM.unpack_from(data, end)[0]:
            problem = message("the checksum of the chunk {kind!r} is wrong", kind=kind.decode("latin-1"))
            refuse_unreadable(label, problem, FETCH_AGAIN)
        chunks.append(PngChunk(kind, data[at + _HEADER.size : end]))
        at = end + _CHECKSUM.size
    return chunks, data[at:]


def read_text_chunks(data: bytes, keywords: Sequence[str], label: str) -> dict[str, str]:
    """The text of each keyword that the picture has; of several chunks with one keyword, the first."""
    chunks, _ = parse_chunks(data, label)
    texts: dict[str, str] = {}
    for chunk in chunks:
        keyword = _read_keyword(chunk)
        if keyword in keywords and keyword not in texts:
            texts[keyword] = _read_text(chunk, label)
    return texts


def read_user_comment(data: bytes, label: str) -> str | None:
    """The comment of the user in the EXIF data of a picture; None where there is none."""
    chunks, _ = parse_chunks(data, label)
    exif = next((chunk.data for chunk in chunks if chunk.kind == b"eXIf"), b"")
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    try:
        start = struct.unpack_from(f"{order}I", exif, 4)[0] if order else None
        for tag in (_EXIF_DIRECTORY, _USER_COMMENT):
            start, length = _find_exif_value(exif, order or "", start, tag)
    except struct.error:
        return None
    comment = b"" if start is None else exif[start + _CHARSET_SIZE : start + length]
    return comment.rstrip(b"\0 ").decode("latin-1") or None


def _find_exif_value(exif: bytes, order: str, directory: int | None, tag: int) -> tuple[int | None, int]:
    """Where the value of a tag in a directory of EXIF data begins, and its length; None where there is none."""
    if directory is None:
        return None, 0
    (count,) = struct.unpack_from(f"{order}H", exif, directory)
    for number in range(count):
        found, _, length, value = struct.unpack_from(f"{order}HHII", exif, directory + 2 + number * _EXIF_ENTRY_SIZE)
        if found == tag:
            return value, length
    return None, 0


def replace_text_chunks(data: bytes, texts: Mapping[str, str | None], label: str) -> bytes:
    """Replace the text of keywords where they stand; new ones go before the end of the picture, None removes one."""
    chunks, trailing = parse_chunks(data, label)
    out: list[PngChunk] = []
    remaining = {keyword: text for keyword, text in texts.items() if text is not None}
    for chunk in chunks:
        keyword = _read_keyword(chunk)
        if chunk.kind == b"IEND":
            out += [_make_text_chunk(name, text) for name, text in remaining.items()]
        if keyword not in texts:
            out.append(chunk)
        elif keyword in remaining:
            out.append(_make_text_chunk(keyword, remaining.pop(keyword)))
    return SIGNATURE + b"".join(map(_encode_chunk, out)) + trailing


def _read_keyword(chunk: PngChunk) -> str:
    return chunk.data[:80].partition(b"\0")[0].decode("latin-1").lower() if chunk.kind in _TEXT_CHUNKS else ""


def _read_text(chunk: PngChunk, label: str) -> str:
    _, _, rest = chunk.data.partition(b"\0")
    if chunk.kind == b"tEXt":
        return rest.decode("latin-1")
    if chunk.kind == b"zTXt":
        return _decompress(rest[1:], label).decode("latin-1")
    is_compressed, rest = rest[:1] == b"\1", rest[2:]
    _, _, rest = rest.partition(b"\0")  # the language
    _, _, rest = rest.partition(b"\0")  # the translated keyword
    try:
        return (_decompress(rest, label) if is_compressed else rest).decode()
    except UnicodeDecodeError:
        refuse_unreadable(label, message("a text in it is not UTF-8"), FETCH_AGAIN)


def _decompress(data: bytes, label: str) -> bytes:
    decompressor = zlib.decompressobj()
    try:
        text = decompressor.decompress(data, MAX_TEXT_BYTES)
    except zlib.error:
        refuse_unreadable(label, message("a compressed text in it is damaged"), FETCH_AGAIN)
    if decompressor.unconsumed_tail:
        refuse_more_bytes(label, MAX_TEXT_BYTES)
    if not decompressor.eof:
        refuse_unreadable(label, message("a compressed text in it is cut off"), FETCH_AGAIN)
    return text


def _make_text_chunk(keyword: str, text: str) -> PngChunk:
    return PngChunk(b"tEXt", keyword.encode("latin-1") + b"\0" + text.encode("latin-1"))


def _encode_chunk(chunk: PngChunk) -> bytes:
    checksum = zlib.crc32(chunk.kind + chunk.data)
    return _HEADER.pack(len(chunk.data), chunk.kind) + chunk.data + _CHECKSUM.pack(checksum)
