"""The manifest of a save: what the file is, and what is in it.

It is read before anything else and says by which format the rest is to be understood. Every other member
stands in it with its checksum, so that nothing can be missing, added or altered unnoticed. A save of an
older format is brought up to date while it is read, through one small step for each format in between:
a step gets a table's name and its rows, and gives back the name and the rows of the next format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import sound_id

FORMAT = "fabula-save"
VERSION = 2
FILE = "manifest.json"

Record = dict[str, Any]
Upgrade = Callable[[str, Iterator[Record]], tuple[str, Iterator[Record]]]
Count = Annotated[int, Meta(ge=0, le=2**53)]


def _from_1(table: str, rows: Iterator[Record]) -> tuple[str, Iterator[Record]]:
    """Format 1 had nothing of a person, and did not say what details, evidence, priorities and shares may be."""
    mend = {
        "budgets": lambda row: _with(row, "profile", _shares),
        "codex_entries": lambda row: _with(row, "details", _details),
        "constraints": lambda row: _with(row, "priority", lambda number: max(0, min(100, number))),
        "memories": lambda row: _with(row, "evidence", lambda said: [_words(one) for one in said]),
    }.get(table)
    return table, rows if mend is None else map(mend, rows)


def _with(row: Record, name: str, mended: Callable[[Any], Any]) -> Record:
    try:
        return {**row, name: mended(row[name])} if name in row else row
    except (AttributeError, TypeError):
        return row  # it is not even of the right sort, and will be refused


def _shares(profile: Record) -> Record:
    return {name: share for name, share in profile.items() if isinstance(share, dict) or name.startswith("reply")}


def _details(details: Record) -> Record:
    return {name: _words(value) for name, value in details.items() if value is not None}


def _words(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


UPGRADES: dict[int, Upgrade] = {1: _from_1}  # from the format of that number to the next


class Member(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file inside the save."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    size: Count = field(name="bytes")
    rows: Count | None = None  # of a table; a text has none


class Origin(Struct, frozen=True, kw_only=True):
    """The project that was saved."""

    id: str
    title: str


class Manifest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a save says about itself."""

    format: str
    version: int
    program: str
    made: str
    project: Origin
    members: dict[str, Member]
    left_out: dict[str, Count] = {}  # rows that were not saved, by table: what looks like a secret

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return sum(member.rows or 0 for member in self.members.values())

    @property
    def size(self) -> int:
        """How many bytes all members have."""
        return sum(member.size for member in self.members.values())


class _Head(Struct):
    format: str
    version: int


def write(manifest: Manifest) -> bytes:
    """A manifest as readable JSON."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read(data: bytes, label: str) -> Manifest:
    """The manifest in these bytes; a format that this program does not know is refused."""
    try:
        head = msgspec.json.decode(data, type=_Head)
    except (ValueError, RecursionError):
        raise damaged(label, f"its {FILE} cannot be read") from None
    if head.format != FORMAT:
        raise damaged(label, f"its {FILE} calls it {head.format[:40]!r}, and a save of Fabula is a {FORMAT!r}")
    if head.version > VERSION:
        raise FabulaError(
            Code.SAVE_TOO_NEW,
            f"{label}: it was saved by a newer Fabula (format {head.version}; this program knows {VERSION}). "
            "Nothing was changed. Update Fabula, then load it.",
        )
    if any(step not in UPGRADES for step in range(head.version, VERSION)):
        raise damaged(label, f"it claims the format {head.version}, and there never was one")
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (ValueError, RecursionError) as error:
        raise damaged(label, f"its {FILE} makes no sense ({error})") from None
    if not sound_id(manifest.project.id):
        raise unsafe(label, f"its project has an id that no project can have ({manifest.project.id[:40]!r})")
    return manifest


def upgraded(version: int, table: str, rows: Iterator[Record]) -> tuple[str, Iterator[Record]]:
    """A table of an older format as this format has it."""
    for step in range(version, VERSION):
        table, rows = UPGRADES[step](table, rows)
    return table, rows


def damaged(label: str, problem: str) -> FabulaError:
    """A save that is broken, or makes no sense."""
    return FabulaError(Code.SAVE_DAMAGED, f"{label}: {problem}. Nothing was changed. Use another copy of the save.")


def unsafe(label: str, problem: str) -> FabulaError:
    """A save that no honest program wrote."""
    return FabulaError(Code.SAVE_UNSAFE, f"{label}: {problem}. Nothing was changed. Do not trust this file.")
