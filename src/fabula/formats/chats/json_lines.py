"""Files of JSON lines: read within limits, and appended to so that no line is ever torn.

The last line of a file may be torn, if the program that wrote it was killed. A reader leaves it out and says so. A
writer finds it before it appends and puts it aside.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.core.regular_files import NOT_A_FILE
from fabula.formats.chats.model import MAX_MESSAGES, JsonObject
from fabula.formats.safe.files import refuse_unwritten
from fabula.formats.safe.import_errors import CORRECT, refuse_too_large, refuse_unreadable
from fabula.formats.safe.json_reader import encode_json, parse_json

MAX_FILE_BYTES = 64_000_000
MAX_LINE_BYTES = 8_000_000
_MAX_CONTAINERS = 2_000_000  # lists and objects of one file
_LINE_SEPARATORS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}  # some programs end lines there

NumberedLine = tuple[Sentence, JsonObject]  # what the line is called, and what it says


def parse_lines(data: bytes, label: str) -> tuple[list[NumberedLine], tuple[Sentence, ...]]:
    """Parse the lines of a file; return them, and what a person should know of it."""
    if data.count(b"\n") > MAX_MESSAGES + 1:
        refuse_too_large(label, message("it has more than {count:,} lines", count=MAX_MESSAGES + 1))
    if data.count(b"[") + data.count(b"{") > _MAX_CONTAINERS:
        refuse_too_large(label, message("it has more values than any chat"))
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
    is_open = not data.endswith(b"\n")
    found: list[NumberedLine] = []
    for number, line in lines:
        place = message("{file}, line {line}", file=label, line=number)
        if len(line) > MAX_LINE_BYTES:
            refuse_too_large(place, message("it is longer than {size} MB", size=MAX_LINE_BYTES // 1_000_000))
        try:
            value = parse_json(line.strip(), place)
        except FabulaError as error:
            if is_open and found and number == lines[-1][0] and error.code is Code.IMPORT_UNREADABLE:
                torn = message("{place}: the last line ends too early and is left out.", place=place)
                return found, (torn,)
            raise
        if not isinstance(value, dict):
            refuse_unreadable(place, message("it is no table of names and values"), CORRECT)
        found.append((place, value))
    return found, ()


def encode_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Encode rows as lines of JSON, each with its end."""
    return b"".join(_encode_line(row) for row in rows)


def append_lines(path: Path, data: bytes) -> tuple[Sentence, ...]:
    """Append lines to a file that no other program writes to now; all of them, or none.

    A torn last line is put aside into a file of its own first; what was done about it is returned.
    """
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, NOT_A_FILE)
            return _append(descriptor, data, path)
        finally:
            os.close(descriptor)
    except OSError as error:
        refuse_unwritten(path, error)


def _append(descriptor: int, data: bytes, path: Path) -> tuple[Sentence, ...]:
    size = os.fstat(descriptor).st_size
    tail = _read_tail(descriptor, size)
    notices: tuple[Sentence, ...] = ()
    if tail:
        try:
            parse_json(tail, path.name)
            data = b"\n" + data
        except FabulaError:
            aside = path.with_name(f"{path.name}.torn")
            with aside.open("ab") as stream:
                stream.write(tail + b"\n")
            size -= len(tail)
            os.ftruncate(descriptor, size)
            notices = (
                message("The last line of {file} ended too early. It was put aside: {aside}", file=path, aside=aside),
            )
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.fsync(descriptor)
    except BaseException:
        os.ftruncate(descriptor, size)
        raise
    return notices


def _read_tail(descriptor: int, size: int) -> bytes:
    """Return what stands behind the last line end of a file; nothing where it ends with one."""
    pieces: list[bytes] = []
    while size > 0 and not (pieces and b"\n" in pieces[-1]):
        step = min(size, 65_536)
        size -= step
        os.lseek(descriptor, size, os.SEEK_SET)
        pieces.append(os.read(descriptor, step))
    tail = b"".join(reversed(pieces))
    return tail[tail.rfind(b"\n") + 1 :]


def _encode_line(row: Mapping[str, Any]) -> bytes:
    text = encode_json(row, indent=None).decode()
    for separator, escape in _LINE_SEPARATORS.items():
        text = text.replace(separator, escape)
    return text.encode() + b"\n"
