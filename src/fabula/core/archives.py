"""Open untrusted ZIP archives safely.

The directory of a ZIP may declare false sizes, paths outside the archive or millions of entries.
`open_zip` checks names and counts before it reads any entry. `Archive.read` counts bytes while it
decompresses. Nothing is unpacked to disk. The caller chooses the error codes, so that an import and
a save report the same problem under their own code.
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NoReturn

from msgspec import Struct

from fabula.core.errors import Code, FabulaError

_READ_SIZE = 1 << 16
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_DIRECTORY_BYTES_PER_ENTRY = 500  # generous: 46 bytes and a long name


class ArchiveLimits(Struct, frozen=True, kw_only=True):
    """Upper bounds on what is read from an archive."""

    max_entries: int = 20_000
    max_entry_bytes: int = 64_000_000
    max_total_bytes: int = 1_000_000_000
    max_file_bytes: int = 500_000_000


class ArchiveErrorCodes(Struct, frozen=True, kw_only=True):
    """The error code for each kind of problem with an archive."""

    unreadable: Code = Code.IMPORT_UNREADABLE
    unsafe: Code = Code.IMPORT_UNSAFE
    too_large: Code = Code.IMPORT_TOO_LARGE


class Archive:
    """An open ZIP archive: the names of its files, and their bytes within the limits."""

    def __init__(self, stream: BinaryIO, label: str, limits: ArchiveLimits, codes: ArchiveErrorCodes) -> None:
        self.label = label
        self._stream = stream
        self._file = zipfile.ZipFile(stream)
        self._limits = limits
        self._codes = codes
        self._bytes_read = 0
        self._entries: dict[str, zipfile.ZipInfo] = {}
        infos = self._file.infolist()
        if len(infos) > limits.max_entries:
            self._too_large(f"it holds {len(infos)} entries, and at most {limits.max_entries} are read")
        if sum(info.file_size for info in infos) > limits.max_total_bytes:
            self._too_large(f"unpacked it would be more than {limits.max_total_bytes // 1_000_000} MB")
        for info in infos:
            name = _decode_name(info)
            self._check(info, name)
            if not info.is_dir() and not _is_system_file(name):
                self._entries[name] = info
        self.names = tuple(self._entries)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the underlying file."""
        self._file.close()
        self._stream.close()

    def read(self, name: str) -> bytes:
        """Decompress one file; its size is checked while reading."""
        info = self._entries.get(name)
        if info is None:
            self._refuse(self._codes.unreadable, f"it has no {name!r}", "Check that the file is whole.")
        pieces = []
        size = 0
        try:
            with self._file.open(info) as stream:
                while piece := stream.read(_READ_SIZE):
                    size += len(piece)
                    if size > self._limits.max_entry_bytes:
                        self._too_large(f"{name!r} unpacks to more than {self._limits.max_entry_bytes // 1_000_000} MB")
                    if self._bytes_read + size > self._limits.max_total_bytes:
                        self._too_large(f"it unpacks to more than {self._limits.max_total_bytes // 1_000_000} MB")
                    pieces.append(piece)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError, ValueError):
            self._refuse(self._codes.unreadable, f"{name!r} in it is damaged", "Fetch or save the file again.")
        self._bytes_read += size
        return b"".join(pieces)

    def _check(self, info: zipfile.ZipInfo, name: str) -> None:
        parts = name.split("/")
        if name.startswith("/") or ".." in parts or ":" in parts[0] or "\0" in info.orig_filename:
            self._unsafe(f"it names a file outside itself ({name[:80]!r})")
        if stat.S_ISLNK(info.external_attr >> 16):
            self._unsafe(f"it holds a link ({name[:80]!r})")
        if info.flag_bits & 1:
            remedy = "Unpack it with its password, and import the folder."
            self._refuse(self._codes.unreadable, "it is encrypted", remedy)

    def _unsafe(self, problem: str) -> NoReturn:
        self._refuse(self._codes.unsafe, problem, "Do not trust this file; ask where it came from.")

    def _too_large(self, problem: str) -> NoReturn:
        self._refuse(self._codes.too_large, problem, "Leave out what is not text, or split it.")

    def _refuse(self, code: Code, problem: str, remedy: str) -> NoReturn:
        raise FabulaError(code, f"{self.label}: {problem}. Nothing was taken from it. {remedy}")


def open_zip(
    path: Path | bytes, limits: ArchiveLimits | None = None, codes: ArchiveErrorCodes | None = None, label: str = ""
) -> Archive:
    """Open an archive on disk or in memory and check its names and its directory."""
    limits, codes = limits or ArchiveLimits(), codes or ArchiveErrorCodes()
    label = label or (path.name if isinstance(path, Path) else "The archive")
    try:
        stream: BinaryIO = BytesIO(path) if isinstance(path, bytes) else path.open("rb")
        try:
            _check_size(stream, limits, codes, label)
            return Archive(stream, label, limits, codes)
        except BaseException:
            stream.close()
            raise
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, EOFError):
        sentence = f"{label}: it is not a whole ZIP file. Nothing was taken from it. Fetch or save it again."
        raise FabulaError(codes.unreadable, sentence) from None
    except OSError as error:
        sentence = f"{label}: it could not be read ({error.strerror}). Check that the file is there and may be read."
        raise FabulaError(codes.unreadable, sentence) from None


def _check_size(stream: BinaryIO, limits: ArchiveLimits, codes: ArchiveErrorCodes, label: str) -> None:
    """Refuse a file or a directory that is too large, before `zipfile` parses it."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _END.size - 65_535 - 100))
    tail = stream.read()
    directory = 0
    at = tail.rfind(b"PK\5\6")
    if at >= 0 and len(tail) - at >= _END.size:
        directory = _END.unpack_from(tail, at)[5]
    at = tail.rfind(b"PK\6\6")
    if directory == 0xFFFFFFFF and at >= 0 and len(tail) - at >= _END64.size:
        directory = _END64.unpack_from(tail, at)[8]
    if size > limits.max_file_bytes or min(directory, size) > limits.max_entries * _DIRECTORY_BYTES_PER_ENTRY:
        raise FabulaError(
            codes.too_large,
            f"{label}: the archive is larger than {limits.max_file_bytes // 1_000_000} MB or lists more than "
            f"{limits.max_entries} entries. Nothing was taken from it. Leave out what is not text, or split it.",
        )
    stream.seek(0)


def _decode_name(info: zipfile.ZipInfo) -> str:
    """Decode the name of an entry; old archives use the code page of the machine that made them."""
    name = info.filename
    if not info.flag_bits & 0x800 and not name.isascii():
        raw = name.encode("cp437", "replace")
        for encoding in ("utf-8", "gb18030"):
            try:
                name = raw.decode(encoding)
                break
            except UnicodeDecodeError:
                continue
    return name.replace("\\", "/")


def _is_system_file(name: str) -> bool:
    return name.startswith("__MACOSX/") or name.rsplit("/", 1)[-1] in (".DS_Store", "Thumbs.db", "desktop.ini")
