"""The bytes of a save.

One `.jsonl` a table, one line a row, in the order of the keys; one Markdown file a document, numbered as
they are read; the manifest last. Nothing depends on the engine or the clock, so the same project saves to
the same bytes. Rows stream from the store: no more than one part of one table is held at a time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from hashlib import sha256
from math import isfinite
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec
from sqlalchemy import Row, String, select

from fabula import __version__
from fabula.store.save import manifest as manifests
from fabula.store.save.manifest import Manifest, Member, Origin, Record
from fabula.store.save.progress import Steps
from fabula.store.save.secrets import holds_secret, is_secret, without_secrets
from fabula.store.save.tables import Shape, shapes
from fabula.store.tables import projects
from fabula.store.transaction import Reading

PART = 32_000_000  # bytes of one member; a larger table goes on in the next
_LONGEST_SLUG = 40
_LEVEL = 3
_AT_ONCE = 500
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def write(reading: Reading, file: IO[bytes], made: str, steps: Steps) -> Manifest:
    """Write a project into an open file; says what was written."""
    project = reading.need(projects)
    source = _Source(reading)
    with ZipFile(file, "w", compression=ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        writer = _Writer(archive, source, steps)
        for shape in shapes():
            if reading.belongs_to(shape.owner):
                writer.table(shape)
        manifest = Manifest(
            format=manifests.FORMAT,
            version=manifests.VERSION,
            program=__version__,
            made=made,
            project=Origin(id=project.project_id, title=project.title),
            members=dict(sorted(writer.members.items())),
            left_out=writer.left_out,
        )
        writer.put(manifests.FILE, manifests.write(manifest))
    return manifest


def slug(title: str) -> str:
    """A title as part of a file's name, in any script."""
    plain = unicodedata.normalize("NFC", title).lower()
    return re.sub(r"[\W_]+", "-", plain).strip("-")[:_LONGEST_SLUG].rstrip("-")


class _Source(Reading):
    """Reads whole tables, a few rows at a time."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading._connection, reading._owners)

    def stream(self, shape: Shape) -> Iterator[Row[Any]]:
        """The owner's rows by their keys; text is ordered by its bytes, whatever language a server speaks."""
        table = shape.table
        order: list[Any] = [table.c[name] for name in shape.key]
        if self._connection.dialect.name == "postgresql":
            order = [column.collate("C") if isinstance(column.type, String) else column for column in order]
        query = select(*[table.c[name] for name in shape.columns]).where(self._owned(table)).order_by(*order)
        with self._connection.execute(query.execution_options(yield_per=_AT_ONCE)) as found:
            yield from found


class _Writer:
    """Puts tables into an archive, and remembers what went in."""

    def __init__(self, archive: ZipFile, source: _Source, steps: Steps) -> None:
        self.members: dict[str, Member] = {}
        self.left_out: dict[str, int] = {}
        self._archive = archive
        self._source = source
        self._steps = steps

    def table(self, shape: Shape) -> None:
        """All rows of a table, and the texts that belong to them."""
        encode = msgspec.json.Encoder().encode
        numbers = _numbers(self._source, shape) if shape.files else {}
        lines: list[bytes] = []
        size, part = 0, 1
        for row in self._source.stream(shape):
            record: Record = dict(zip(shape.columns, row, strict=True))
            self._steps.took()
            if shape.pairs and not self._harmless(shape, record):
                continue
            for name in shape.fractions:
                if record[name] is not None and not isfinite(record[name]):
                    del record[name]  # JSON has no word for it
            for name in shape.files:
                record[name] = self._file(shape, name, record, numbers)
            line = encode(record) + b"\n"
            if lines and size + len(line) > PART:
                self._part(shape, part, lines)
                lines, size, part = [], 0, part + 1
            lines.append(line)
            size += len(line)
        if lines:
            self._part(shape, part, lines)

    def put(self, name: str, data: bytes) -> None:
        """One file, the same bytes whenever and wherever it is written."""
        info = ZipInfo(name, _NO_TIME)
        info.compress_type = ZIP_DEFLATED
        info.create_system = 3
        info.external_attr = 0o100644 << 16
        self._archive.writestr(info, data, compresslevel=_LEVEL)

    def _part(self, shape: Shape, part: int, lines: list[bytes]) -> None:
        name = f"{shape.name}.jsonl" if part == 1 else f"{shape.name}-{part}.jsonl"
        self._member(name, b"".join(lines), rows=len(lines))

    def _file(self, shape: Shape, column: str, record: Record, numbers: dict[Any, int]) -> dict[str, str] | None:
        text = record[column]
        if text is None:
            return None
        number = numbers[tuple(record[name] for name in shape.key)]
        words = slug(str(record.get("title") or record.get("name") or ""))
        name = f"{shape.name}/{number:04}{'-' if words else ''}{words}.{shape.files[column]}"
        self._member(name, text.encode())
        return {"file": name}

    def _member(self, name: str, data: bytes, rows: int | None = None) -> None:
        self.members[name] = Member(sha256=sha256(data).hexdigest(), size=len(data), rows=rows)
        self.put(name, data)

    def _harmless(self, shape: Shape, record: Record) -> bool:
        """Is anything of a name and its value left when what looks like a secret is taken out?"""
        secret = is_secret(record["name"], record["value"])
        if secret or holds_secret(record["value"]):
            self.left_out[shape.name] = self.left_out.get(shape.name, 0) + 1
            record["value"] = without_secrets(record["value"])
        return not secret


def _numbers(reading: Reading, shape: Shape) -> dict[Any, int]:
    """The number of every row: as a tree is read from top to bottom, else by the keys."""
    tree = shape.parent is not None and "place" in shape.columns
    parent = shape.parent.columns if shape.parent is not None else ()
    below: dict[Any, list[tuple[Any, Any]]] = {}
    for row in reading.rows(shape.table, only=(*shape.key, *parent, *(("place",) if tree else ()))):
        found = row._mapping
        key = tuple(found[name] for name in shape.key)
        above = tuple(found[name] for name in parent)
        below.setdefault(above if tree and None not in above else None, []).append((found["place"] if tree else 0, key))
    order: dict[Any, int] = {}
    everybody = {key for keys in below.values() for _, key in keys}
    waiting = [key for _, key in sorted(below.get(None, ()), reverse=True)]
    while waiting:
        above = waiting.pop()
        order[above] = len(order) + 1
        waiting.extend(key for _, key in sorted(below.get(above, ()), reverse=True))
    for lost in sorted(everybody - order.keys()):
        order[lost] = len(order) + 1
    return order
