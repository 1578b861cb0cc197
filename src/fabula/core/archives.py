"""Opening archives that somebody else made.

A ZIP can lie: about sizes, about names, about how many entries it has. So sizes are counted while
reading, names that leave the archive are refused before anything is read, and nothing is ever
unpacked to disk. Whoever opens an archive says which codes its refusals carry.
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

_STEP = 1 << 16
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY_BYTES = 500  # of the directory, with a generous name


class Limits(Struct, frozen=True, kw_only=True):
    """How much of an archive is borne."""

    entries: int = 20_000
    each: int = 64_000_000
    total: int = 1_000_000_000
    file: int = 500_000_000


class Codes(Struct, frozen=True, kw_only=True):
    """Which code each kind of refusal carries."""

    unreadable: Code = Code.IMPORT_UNREADABLE
    unsafe: Code = Code.IMPORT_UNSAFE
    too_large: Code = Code.IMPORT_TOO_LARGE


class Archive:
    """An open archive: the names of its files, and their bytes within the limits."""

    def __init__(self, stream: BinaryIO, label: str, limits: Limits, codes: Codes) -> None:
        self.label = label
        self._stream = stream
        self._file = zipfile.ZipFile(stream)
        self._limits = limits
        self._codes = codes
        self._read = 0
        self._entries: dict[str, zipfile.ZipInfo] = {}
        infos = self._file.infolist()
        if len(infos) > limits.entries:
            self._too_large(f"it holds {len(infos)} entries, and at most {limits.entries} are read")
        if sum(info.file_size for info in infos) > limits.total:
            self._too_large(f"unpacked it would be more than {limits.total // 1_000_000} MB")
        for info in infos:
            name = _named(info)
            self._check(info, name)
            if not info.is_dir() and not _of_the_system(name):
                self._entries[name] = info
        self.names = tuple(self._entries)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        self._stream.close()

    def read(self, name: str) -> bytes:
        """The bytes of one file, counted while they come."""
        info = self._entries.get(name)
        if info is None:
            self._refuse(self._codes.unreadable, f"it has no {name!r}", "Check that the file is whole.")
        pieces = []
        size = 0
        try:
            with self._file.open(info) as stream:
                while piece := stream.read(_STEP):
                    size += len(piece)
                    if size > self._limits.each:
                        self._too_large(f"{name!r} unpacks to more than {self._limits.each // 1_000_000} MB")
                    if self._read + size > self._limits.total:
                        self._too_large(f"it unpacks to more than {self._limits.total // 1_000_000} MB")
                    pieces.append(piece)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError, ValueError):
            self._refuse(self._codes.unreadable, f"{name!r} in it is damaged", "Fetch or save the file again.")
        self._read += size
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


def open_zip(path: Path | bytes, limits: Limits | None = None, codes: Codes | None = None, label: str = "") -> Archive:
    """An archive on disk or in memory, its names and its directory checked."""
    limits, codes = limits or Limits(), codes or Codes()
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


def _check_size(stream: BinaryIO, limits: Limits, codes: Codes, label: str) -> None:
    """Refuse a huge file, or a huge directory, before a line of it is parsed."""
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
    if size > limits.file or min(directory, size) > limits.entries * _ENTRY_BYTES:
        raise FabulaError(
            codes.too_large,
            f"{label}: the archive is larger than {limits.file // 1_000_000} MB or lists more than "
            f"{limits.entries} entries. Nothing was taken from it. Leave out what is not text, or split it.",
        )
    stream.seek(0)


def _named(info: zipfile.ZipInfo) -> str:
    """The name of an entry; old archives write names in the code page of where they were made."""
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


def _of_the_system(name: str) -> bool:
    return name.startswith("__MACOSX/") or name.rsplit("/", 1)[-1] in (".DS_Store", "Thumbs.db", "desktop.ini")
