"""Reading a save: its manifest, and rows and texts that match the manifest.

The file may come from anybody. The archive is opened with limits, the manifest must list exactly the members that are
there, and each member is compared with its checksum before it is parsed. A save that is opened twice gives the same
content twice or is refused; that is why a save can be checked in one pass and loaded in a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import msgspec

from fabula.core.archives import ArchiveErrorCodes, ArchiveLimits, open_zip
from fabula.core.decoding import explain_syntax_error
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message, plural
from fabula.store.save import manifest as manifests
from fabula.store.save.manifest import Record, save_damaged, save_unsafe, upgrade_records
from fabula.store.save.tables import SERIES_FOLDER, USER_FOLDER

TRUSTED_LIMITS = ArchiveLimits(  # of files that this program made of its own store
    max_entries=200_000,
    max_entry_bytes=1_000_000_000,
    max_total_bytes=4_000_000_000,
    max_file_bytes=4_000_000_000,
    is_exact=True,
)
SAVE_LIMITS = ArchiveLimits(
    max_entries=50_000,
    max_entry_bytes=40_000_000,
    max_total_bytes=4_000_000_000,
    max_file_bytes=1_000_000_000,
    max_ratio=20,
    free_bytes=100_000_000,
    is_exact=True,
)
MAX_ROWS = 10_000_000
FREE_ROWS, BYTES_PER_ROW = 50_000, 25  # a save has as many rows, and one more for so many bytes of the file
MAX_LINE_VALUES = 1_000_000  # a line with more could fill the memory; no real row comes near
FREE_VALUES = 2_000_000  # of all rows together, and one more for each two bytes of the file
MAX_JSON_DEPTH = 200

_CODES = ArchiveErrorCodes(unreadable=Code.SAVE_DAMAGED, unsafe=Code.SAVE_UNSAFE, too_large=Code.SAVE_UNSAFE)
_TABLE = re.compile(rf"((?:{USER_FOLDER}|{SERIES_FOLDER})?[a-z][a-z_]*)(?:-([1-9]\d{{0,5}}))?\.jsonl")
_TEXT = re.compile(r"[a-z][a-z_]*/[^/\\:]{1,200}\.md")


class SaveLine(NamedTuple):
    """A row of a save, and its place in the file."""

    member: str
    number: int
    record: Record

    @property
    def location(self) -> Sentence:
        """The line and the file, for an error message."""
        return _locate(self.number, self.member)


class SaveReader:
    """An open save; it caches nothing."""

    def __init__(self, path: Path, *, label: str = "", is_trusted: bool = False) -> None:
        """Open a save. A trusted one was made by this program of its own store: it may exceed what services allow."""
        self.label = label or path.name
        self.is_trusted = is_trusted
        self._value_counts: dict[str, int] = {}
        self._archive = open_zip(path, TRUSTED_LIMITS if is_trusted else SAVE_LIMITS, _CODES, self.label)
        try:
            if manifests.MANIFEST_FILE not in self._archive.names:
                problem = message("it has no {file}, and every save of Fabula has one", file=manifests.MANIFEST_FILE)
                raise save_damaged(self.label, problem)
            data = self._archive.read(manifests.MANIFEST_FILE)
            self._check_value_count(data, manifests.MANIFEST_FILE)
            self.manifest = manifests.parse_manifest(data, self.label)
            self.checksum = sha256(data).hexdigest()  # the manifest has the checksums of everything else
            self._check_members()
            self.tables = self._find_tables()
            self.texts = {name for name, member in self.manifest.members.items() if member.rows is None}
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> SaveReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def lines(self, table: str) -> Iterator[SaveLine]:
        """Every row of a table, upgraded to the current format."""
        for member in self.tables.get(table, ()):
            match = _TABLE.fullmatch(member)
            old_name = match[1] if match else table
            _, records = upgrade_records(self.manifest.version, old_name, self._records(member))
            for number, record in enumerate(records, start=1):
                yield SaveLine(member, number, record)

    def text(self, member: str) -> str:
        """The text of one member."""
        try:
            text = self._bytes(member).decode()
        except UnicodeDecodeError as error:
            problem = message("{file} is not UTF-8 (at byte {byte})", file=member, byte=error.start)
            raise save_damaged(self.label, problem) from None
        if "\x00" in text:
            raise save_damaged(self.label, message("{file} holds a null character", file=member))
        return text

    def _records(self, member: str) -> Iterator[Record]:
        decode = msgspec.json.Decoder().decode
        data = self._bytes(member)
        self._check_all_values(member, data)
        expected = self.manifest.members[member].rows
        start, number = 0, 0
        while start < len(data):
            number += 1
            end = data.find(b"\n", start)
            if end < 0:
                raise save_damaged(self.label, message("the last line of {file} is cut off", file=member))
            line = data[start:end]
            location = _locate(number, member)
            self._check_value_count(line, location)
            try:
                record = decode(line)
            except RecursionError:
                raise self._too_deep(location) from None
            except UnicodeDecodeError:
                raise save_damaged(self.label, message("{location} is not UTF-8", location=location)) from None
            except ValueError as error:
                problem = message(
                    "{location} is not JSON: {error}", location=location, error=explain_syntax_error(error)
                )
                raise save_damaged(self.label, problem) from None
            if not isinstance(record, dict):
                raise save_damaged(self.label, message("{location} is not a JSON object", location=location))
            if line.count(b"[") + line.count(b"{") > MAX_JSON_DEPTH and _is_too_deep(record):
                raise self._too_deep(location)
            yield record
            start = end + 1
        if number != expected:
            problem = plural(
                number,
                "{file} has {count} row, and {manifest} says {expected}",
                "{file} has {count} rows, and {manifest} says {expected}",
                file=member,
                manifest=manifests.MANIFEST_FILE,
                expected=expected,
            )
            raise save_damaged(self.label, problem)

    def _bytes(self, member: str) -> bytes:
        data = self._archive.read(member)
        expected = self.manifest.members[member]
        if len(data) != expected.size or sha256(data).hexdigest() != expected.sha256:
            problem = message("{file} is not what was saved: its size or checksum differs", file=member)
            raise save_damaged(self.label, problem)
        return data

    def _too_deep(self, location: Sentence) -> FabulaError:
        problem = message("{location} is nested deeper than {max} levels", location=location, max=MAX_JSON_DEPTH)
        return save_unsafe(self.label, problem)

    def _check_value_count(self, data: bytes, location: str | Sentence) -> None:
        if len(data) > MAX_LINE_VALUES and sum(map(data.count, (b",", b"[", b"{"))) > MAX_LINE_VALUES:
            problem = message("{location} holds more than {max} values", location=location, max=MAX_LINE_VALUES)
            raise save_unsafe(self.label, problem)

    def _check_all_values(self, member: str, data: bytes) -> None:
        """Refuse rows that hold more values in all than a file of this size could need."""
        self._value_counts[member] = sum(map(data.count, (b",", b"[", b"{")))
        most = FREE_VALUES + self._archive.file_bytes // 2
        if not self.is_trusted and sum(self._value_counts.values()) > most:
            raise save_unsafe(self.label, message("{location} holds more than {max} values", location=member, max=most))

    def _check_members(self) -> None:
        listed, present = set(self.manifest.members), set(self._archive.names) - {manifests.MANIFEST_FILE}
        if present - listed:
            names = _list_names(present - listed)
            problem = message("it holds {names}, which {file} does not list", names=names, file=manifests.MANIFEST_FILE)
            raise save_damaged(self.label, problem)
        if listed - present:
            names = _list_names(listed - present)
            problem = message("it lacks {names}, which {file} lists", names=names, file=manifests.MANIFEST_FILE)
            raise save_damaged(self.label, problem)
        rows, size = self.manifest.rows, self.manifest.size
        most = MAX_ROWS if self.is_trusted else min(MAX_ROWS, FREE_ROWS + self._archive.file_bytes // BYTES_PER_ROW)
        if size > SAVE_LIMITS.max_total_bytes or rows > most:
            problem = message("it claims {rows} rows and {size} bytes, which is too much", rows=rows, size=size)
            raise save_unsafe(self.label, problem)
        for name, member in self.manifest.members.items():
            match = _TEXT.fullmatch(name) if member.rows is None else _TABLE.fullmatch(name)
            if match is None:
                raise save_damaged(self.label, message("{name!r} is not part of any save", name=name[:80]))

    def _find_tables(self) -> dict[str, list[str]]:
        """The members of each table in order, by the table's current name."""
        tables: dict[str, list[tuple[int, str]]] = {}
        for member in self.manifest.members:
            match = _TABLE.fullmatch(member)
            if match is not None:
                table, _ = upgrade_records(self.manifest.version, match[1], iter(()))
                tables.setdefault(table, []).append((int(match[2] or 1), member))
        return {table: [member for _, member in sorted(members)] for table, members in tables.items()}


def _is_too_deep(value: object) -> bool:
    level, depth = [value], 0
    while level:
        inner: list[object] = []
        for part in level:
            if isinstance(part, dict):
                inner.extend(part.values())
            elif isinstance(part, list):
                inner.extend(part)
        level, depth = inner, depth + 1
    return depth > MAX_JSON_DEPTH


def _locate(number: int, member: str) -> Sentence:
    return message("line {number} of {file}", number=number, file=member)


def _list_names(names: set[str]) -> Sentence:
    shown = join_names([repr(name[:80]) for name in sorted(names)[:3]])
    return message("{names} and others", names=shown) if len(names) > 3 else shown
