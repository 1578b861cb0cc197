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
from typing import BinaryIO

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import describe_os_error, missing_file
from fabula.core.messages import Sentence, message
from fabula.core.regular_files import open_regular_file

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
    max_ratio: int | None = None  # bytes in all for each byte of the file, beyond `free_bytes`
    free_bytes: int = 0
    is_exact: bool = False  # refuse names that occur twice, unusual compression, and bytes before or after the archive


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
        self._limits = limits
        self._codes = codes
        self._bytes_read = 0
        self.file_bytes = stream.seek(0, 2)
        self._max_total = limits.max_total_bytes
        if limits.max_ratio is not None:
            self._max_total = min(self._max_total, limits.free_bytes + limits.max_ratio * self.file_bytes)
        self._check_size()
        self._file = zipfile.ZipFile(stream)
        infos = self._file.infolist()
        if len(infos) > limits.max_entries or sum(info.file_size for info in infos) > self._max_total:
            raise self._too_large()
        entries = {_decode_name(info): info for info in infos}
        if limits.is_exact:
            self._check_exact(infos, entries)
        for name, info in entries.items():
            self._check(info, name)
        self._entries = {name: info for name, info in entries.items() if not self._is_skipped(info, name)}
        self.names = tuple(self._entries)
        self.unpacked_bytes = sum(info.file_size for info in infos)  # as the directory declares; no more is read

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
            raise _refuse(self._codes.unreadable, self.label, message("it has no {name!r}", name=name))
        limit = min(self._limits.max_entry_bytes, self._max_total - self._bytes_read)
        pieces, size = [], 0
        try:
            with self._file.open(info) as stream:
                while size <= limit and (piece := stream.read(_READ_SIZE)):
                    pieces.append(piece)
                    size += len(piece)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError, ValueError):
            problem = message("{name!r} in it is damaged", name=name)
            raise _refuse(self._codes.unreadable, self.label, problem) from None
        if size > limit:
            raise self._too_large()
        self._bytes_read += size
        return b"".join(pieces)

    def _check(self, info: zipfile.ZipInfo, name: str) -> None:
        parts = name.split("/")
        if name.startswith("/") or ".." in parts or ":" in parts[0] or "\0" in info.orig_filename:
            problem = message("it names a file outside itself ({name!r}); do not trust it", name=name[:80])
            raise _refuse(self._codes.unsafe, self.label, problem)
        if stat.S_ISLNK(info.external_attr >> 16):
            problem = message("it holds a link ({name!r}); do not trust it", name=name[:80])
            raise _refuse(self._codes.unsafe, self.label, problem)
        if info.flag_bits & 1:
            problem = message("it is encrypted; unpack it with its password, and import the folder")
            raise _refuse(self._codes.unreadable, self.label, problem)

    def _is_skipped(self, info: zipfile.ZipInfo, name: str) -> bool:
        """Whether an entry is a folder, or what a system left behind; an exact archive hides nothing in either."""
        if self._limits.is_exact:
            return info.is_dir() and not info.file_size
        return info.is_dir() or _is_system_file(name)

    def _check_exact(self, infos: list[zipfile.ZipInfo], entries: dict[str, zipfile.ZipInfo]) -> None:
        """Refuse an archive that two programs could read differently, or that hides bytes."""
        problem: Sentence | None = None
        if len(entries) < len(infos):
            problem = message("it holds two files of one name")
        elif any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
            problem = message("it is compressed in an unusual way")
        else:
            self._stream.seek(max(0, self.file_bytes - _END.size))
            end = self._stream.read()
            starts_at_once = not infos or min(info.header_offset for info in infos) == 0
            if not starts_at_once or not end.startswith(b"PK\5\6") or self._file.comment:
                problem = message("it has bytes before or after the archive")
        if problem is not None:
            raise _refuse(self._codes.unreadable, self.label, problem)

    def _check_size(self) -> None:
        """Refuse a file or a directory that is too large, before `zipfile` parses it."""
        size = self.file_bytes
        self._stream.seek(max(0, size - _END.size - 65_535 - 100))
        tail = self._stream.read()
        directory = 0
        at = tail.rfind(b"PK\5\6")
        if at >= 0 and len(tail) - at >= _END.size:
            directory = _END.unpack_from(tail, at)[5]
        at = tail.rfind(b"PK\6\6")
        if directory == 0xFFFFFFFF and at >= 0 and len(tail) - at >= _END64.size:
            directory = _END64.unpack_from(tail, at)[8]
        most = self._limits.max_entries * _DIRECTORY_BYTES_PER_ENTRY
        if size > self._limits.max_file_bytes or min(directory, size) > most:
            raise self._too_large()
        self._stream.seek(0)

    def _too_large(self) -> FabulaError:
        problem = message(
            "it is too large: at most {files} files of {each} MB, and {total} MB in all, are read; "
            "leave out what is not text, or split it",
            files=self._limits.max_entries,
            each=self._limits.max_entry_bytes // 1_000_000,
            total=self._max_total // 1_000_000,
        )
        return _refuse(self._codes.too_large, self.label, problem)


def open_zip(
    path: Path | bytes, limits: ArchiveLimits | None = None, codes: ArchiveErrorCodes | None = None, label: str = ""
) -> Archive:
    """Open an archive on disk or in memory and check its names and its directory."""
    codes = codes or ArchiveErrorCodes()
    label = label or (path.name if isinstance(path, Path) else "ZIP")
    try:
        stream: BinaryIO = BytesIO(path) if isinstance(path, bytes) else open_regular_file(path)
        try:
            return Archive(stream, label, limits or ArchiveLimits(), codes)
        except BaseException:
            stream.close()
            raise
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, EOFError):
        problem = message("it is not a whole ZIP file; fetch or save it again")
        if not _begins_like_zip(path):
            problem = message("it is not a ZIP file at all, and so neither a save nor an archive")
    except FileNotFoundError:
        assert isinstance(path, Path)
        raise missing_file(path) from None
    except OSError as error:
        problem = message("it could not be read ({error})", error=describe_os_error(error))
    raise _refuse(codes.unreadable, label, problem)


def _begins_like_zip(path: Path | bytes) -> bool:
    if isinstance(path, bytes):
        return path.startswith(b"PK")
    with open_regular_file(path) as stream:
        return stream.read(2) == b"PK"


def _refuse(code: Code, label: str, problem: Sentence) -> FabulaError:
    return FabulaError(code, message("{file}: {problem}. Nothing was taken from it.", file=label, problem=problem))


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
