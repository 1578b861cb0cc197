"""An open save: its manifest, and rows and texts that are what the manifest says they are.

The file is anybody's. The archive is opened with bounds, the manifest must list what is there and nothing
else, and each member is compared with its checksum before a line of it is believed. Opened twice, a save
gives the same twice or is refused; that is why what was checked can be loaded from the file again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import msgspec

from fabula.core.archives import Codes, Limits, open_zip
from fabula.core.errors import Code, FabulaError
from fabula.store.save import manifest as manifests
from fabula.store.save.manifest import Record, damaged, unsafe, upgraded
from fabula.store.save.tables import PERSON

LIMITS = Limits(entries=200_000, each=1_000_000_000, total=4_000_000_000, file=4_000_000_000)
MOST_ROWS = 10_000_000
MOST_PIECES = 5_000_000  # of one line: what has more would fill the memory, and no row of ours comes near
DEEPEST = 200  # levels of JSON

_CODES = Codes(unreadable=Code.SAVE_DAMAGED, unsafe=Code.SAVE_UNSAFE, too_large=Code.SAVE_UNSAFE)
_TABLE = re.compile(rf"((?:{PERSON})?[a-z][a-z_]*)(?:-([1-9]\d{{0,5}}))?\.jsonl")
_TEXT = re.compile(r"[a-z][a-z_]*/[^/\\:]{1,200}\.md")


class Line(NamedTuple):
    """A row, and where it stands."""

    member: str
    number: int
    record: Record

    @property
    def where(self) -> str:
        """The place in words."""
        return f"line {self.number} of {self.member}"


class OpenSave:
    """A save that can be read; it reads nothing twice by itself and keeps nothing."""

    def __init__(self, path: Path, *, label: str = "") -> None:
        self.label = label or path.name
        self._archive = open_zip(path, LIMITS, _CODES, self.label)
        try:
            if manifests.FILE not in self._archive.names:
                raise damaged(self.label, f"it has no {manifests.FILE}; a save of Fabula has one")
            head = self._archive.read(manifests.FILE)
            self._check_pieces(head, manifests.FILE)
            self.manifest = manifests.read(head, self.label)
            self._check_members()
            self.tables = self._tables()
            self.texts = {name for name, member in self.manifest.members.items() if member.rows is None}
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> OpenSave:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._archive.close()

    def lines(self, table: str) -> Iterator[Line]:
        """Every row of a table, brought to the present format."""
        for member in self.tables.get(table, ()):
            written = _TABLE.fullmatch(member)
            old = written[1] if written else table
            _, records = upgraded(self.manifest.version, old, self._records(member))
            for number, record in enumerate(records, start=1):
                yield Line(member, number, record)

    def text(self, member: str) -> str:
        """One text."""
        try:
            text = self._bytes(member).decode()
        except UnicodeDecodeError as error:
            raise damaged(self.label, f"{member} is not UTF-8 (at byte {error.start})") from None
        if "\x00" in text:
            raise damaged(self.label, f"{member} holds a null character")
        return text

    def _records(self, member: str) -> Iterator[Record]:
        decode = msgspec.json.Decoder().decode
        data = self._bytes(member)
        expected = self.manifest.members[member].rows
        start, number = 0, 0
        while start < len(data):
            number += 1
            end = data.find(b"\n", start)
            if end < 0:
                raise damaged(self.label, f"the last line of {member} is cut off")
            line = data[start:end]
            where = f"line {number} of {member}"
            self._check_pieces(line, where)
            try:
                record = decode(line)
            except RecursionError:
                raise self._too_deep(where) from None
            except UnicodeDecodeError:
                raise damaged(self.label, f"{where} is not UTF-8") from None
            except ValueError as error:
                raise damaged(self.label, f"{where} is not JSON ({error})") from None
            if not isinstance(record, dict):
                raise damaged(self.label, f"{where} is not a row, which would be a JSON object")
            if line.count(b"[") + line.count(b"{") > DEEPEST and _deep(record):
                raise self._too_deep(where)
            yield record
            start = end + 1
        if number != expected:
            raise damaged(self.label, f"{member} has {number} rows, and its {manifests.FILE} says {expected}")

    def _bytes(self, member: str) -> bytes:
        data = self._archive.read(member)
        expected = self.manifest.members[member]
        if len(data) != expected.size or sha256(data).hexdigest() != expected.sha256:
            raise damaged(self.label, f"{member} is not what was saved: its size or its checksum is another")
        return data

    def _too_deep(self, where: str) -> FabulaError:
        return unsafe(self.label, f"{where} is nested deeper than {DEEPEST} levels")

    def _check_pieces(self, data: bytes, where: str) -> None:
        if len(data) > MOST_PIECES and sum(map(data.count, (b",", b"[", b"{"))) > MOST_PIECES:
            raise unsafe(self.label, f"{where} holds more than {MOST_PIECES} values")

    def _check_members(self) -> None:
        listed, there = set(self.manifest.members), set(self._archive.names) - {manifests.FILE}
        if there - listed:
            raise damaged(self.label, f"it holds {_some(there - listed)}, which its {manifests.FILE} does not list")
        if listed - there:
            raise damaged(self.label, f"it lacks {_some(listed - there)}, which its {manifests.FILE} lists")
        if self.manifest.size > LIMITS.total or self.manifest.rows > MOST_ROWS:
            raise unsafe(self.label, f"it claims {self.manifest.rows} rows and {self.manifest.size} bytes")
        for name, member in self.manifest.members.items():
            fits = _TEXT.fullmatch(name) if member.rows is None else _TABLE.fullmatch(name)
            if fits is None:
                raise damaged(self.label, f"{_some([name])} is nothing that a save holds")

    def _tables(self) -> dict[str, list[str]]:
        """The members of each table in order, by the table's present name."""
        found: dict[str, list[tuple[int, str]]] = {}
        for member in self.manifest.members:
            written = _TABLE.fullmatch(member)
            if written is not None:
                table, _ = upgraded(self.manifest.version, written[1], iter(()))
                found.setdefault(table, []).append((int(written[2] or 1), member))
        return {table: [member for _, member in sorted(members)] for table, members in found.items()}


def _deep(value: object) -> bool:
    level, depth = [value], 0
    while level:
        inner: list[object] = []
        for part in level:
            if isinstance(part, dict):
                inner.extend(part.values())
            elif isinstance(part, list):
                inner.extend(part)
        level, depth = inner, depth + 1
    return depth > DEEPEST


def _some(names: set[str] | list[str]) -> str:
    return ", ".join(repr(name[:80]) for name in sorted(names)[:3]) + (" and more" if len(names) > 3 else "")
