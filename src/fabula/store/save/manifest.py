"""The manifest of a save: the format of the file, and every member with its checksum.

It is read first. Every other member of the archive is listed with its size and checksum, so that nothing can be
missing, added or altered unnoticed. A save of an older format is upgraded while it is read, by one function for each
format in between: it gets the name of a table and its rows, and returns the name and the rows of the next format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import is_valid_id
from fabula.core.messages import Sentence, message
from fabula.store.old_presets import remove_unknown_fields
from fabula.store.renamed_settings import rename_settings
from fabula.store.save.tables import SERIES_FOLDER

FORMAT = "fabula-save"
FORMAT_VERSION = 5
MANIFEST_FILE = "manifest.json"

Record = dict[str, Any]
RecordUpgrade = Callable[[str, Iterator[Record]], tuple[str, Iterator[Record]]]
RowCount = Annotated[int, Meta(ge=0, le=2**53)]


def _from_1(table: str, rows: Iterator[Record]) -> tuple[str, Iterator[Record]]:
    """Upgrade from format 1, which allowed any details, evidence, priorities and shares."""
    fix = {
        "budgets": lambda row: _fix_field(row, "profile", _fix_shares),
        "codex_entries": lambda row: _fix_field(row, "details", _fix_details),
        "constraints": lambda row: _fix_field(row, "priority", lambda number: max(0, min(100, number))),
        "memories": lambda row: _fix_field(row, "evidence", lambda evidence: [_as_text(value) for value in evidence]),
    }.get(table)
    return table, rows if fix is None else map(fix, rows)


def _from_2(table: str, rows: Iterator[Record]) -> tuple[str, Iterator[Record]]:
    """Upgrade from format 2, which had older names of settings, and presets with fields that are unknown."""
    if table in ("settings", "person/user_settings"):
        return table, rename_settings(rows, of_project=table == "settings")
    if table == "presets":
        return table, (_fix_field(row, "nodes", remove_unknown_fields) for row in rows)
    return table, rows


def _from_3(table: str, rows: Iterator[Record]) -> tuple[str, Iterator[Record]]:
    """Upgrade from format 3, which left out what a series shares with its book."""
    return table, rows


def _from_4(table: str, rows: Iterator[Record]) -> tuple[str, Iterator[Record]]:
    """Upgrade from format 4, which had ranges of messages that participants heard, whatever their branch."""
    if table != "presence":
        return table, rows
    by_participant = groupby(rows, key=lambda row: (row.get("conversation_id"), row.get("participant_id")))
    return table, (change for _, own in by_participant for change in _list_presence_changes(list(own)))


def _list_presence_changes(ranges: list[Record]) -> Iterator[Record]:
    """Return who came and left behind which message; ranges that touch are one."""
    try:
        pairs = [(row.get("since_number", 0), row.get("until_number")) for row in ranges]
        starts, ends = ({pair[place] for pair in pairs if pair[0] != pair[1]} for place in (0, 1))
        for row, (since, until) in zip(ranges, pairs, strict=True):
            own = {name: value for name, value in row.items() if name != "until_number"}
            if since == until:
                continue
            if since not in ends:
                yield {**own, "since_number": since, "after_number": since - 1}
            if until is not None and until not in starts:
                yield {**own, "since_number": until, "after_number": until - 1, "leaves": 1}
    except TypeError:
        yield from ranges  # a value has a wrong type, and the check will refuse it


def _fix_field(row: Record, name: str, fix: Callable[[Any], Any]) -> Record:
    try:
        return {**row, name: fix(row[name])} if name in row else row
    except (AttributeError, TypeError):
        return row  # the value has a wrong type, and the check will refuse it


def _fix_shares(profile: Record) -> Record:
    return {name: share for name, share in profile.items() if isinstance(share, dict) or name.startswith("reply")}


def _fix_details(details: Record) -> Record:
    return {name: _as_text(value) for name, value in details.items() if value is not None}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


UPGRADES: dict[int, RecordUpgrade] = {1: _from_1, 2: _from_2, 3: _from_3, 4: _from_4}  # by the format they upgrade from


class SaveMember(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file in the archive."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    size: RowCount = field(name="bytes")
    rows: RowCount | None = None  # None for a text


class SavedProject(Struct, frozen=True, kw_only=True):
    """The project in a save."""

    id: str
    title: str


class SaveManifest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a save holds, and which program wrote it."""

    format: str
    version: int
    program: str
    created_at: str = field(name="made")
    project: SavedProject
    series: SavedProject | None = None  # the series of the book, of which the save has the row and the codex
    members: dict[str, SaveMember]
    omitted_rows: dict[str, RowCount] = field(name="left_out", default_factory=dict)  # by table: possible secrets

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return sum(member.rows or 0 for member in self.members.values())

    @property
    def size(self) -> int:
        """The number of bytes of all members."""
        return sum(member.size for member in self.members.values())


class _Format(Struct):
    format: str
    version: int


def encode_manifest(manifest: SaveManifest) -> bytes:
    """Encode a manifest as readable JSON."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def parse_manifest(data: bytes, label: str) -> SaveManifest:
    """Parse a manifest; a format that this program does not know is refused."""
    try:
        head = msgspec.json.decode(data, type=_Format)
    except (ValueError, RecursionError):
        raise save_damaged(label, message("its {file} cannot be read", file=MANIFEST_FILE)) from None
    if head.format != FORMAT:
        problem = message(
            "its {file} names the format {found!r}; a save of Fabula has the format {expected!r}",
            file=MANIFEST_FILE,
            found=head.format[:40],
            expected=FORMAT,
        )
        raise save_damaged(label, problem)
    if head.version > FORMAT_VERSION:
        raise FabulaError(
            Code.SAVE_TOO_NEW,
            message(
                "{label}: a newer Fabula saved it (in format {version}; this program knows {latest}). "
                "Nothing was changed. Update Fabula, then load it.",
                label=label,
                version=head.version,
                latest=FORMAT_VERSION,
            ),
        )
    if any(step not in UPGRADES for step in range(head.version, FORMAT_VERSION)):
        raise save_damaged(label, message("it claims format {version}, which does not exist", version=head.version))
    try:
        manifest = msgspec.json.decode(data, type=SaveManifest)
    except (ValueError, RecursionError) as error:
        problem = message(
            "its {file} is not valid ({error})", file=MANIFEST_FILE, error=explain_decode_error(error, SaveManifest)
        )
        raise save_damaged(label, problem) from None
    for saved in (manifest.project, manifest.series):
        if saved is not None and not is_valid_id(saved.id):
            project_id = saved.id[:40]
            raise save_unsafe(label, message("no project can have the id of its project ({id!r})", id=project_id))
    return manifest


def upgrade_records(version: int, table: str, rows: Iterator[Record]) -> tuple[str, Iterator[Record]]:
    """Upgrade the rows of a table from an older format to this one."""
    folder = SERIES_FOLDER if table.startswith(SERIES_FOLDER) else ""
    table = table.removeprefix(folder)
    for step in range(version, FORMAT_VERSION):
        table, rows = UPGRADES[step](table, rows)
    return folder + table, rows


def save_damaged(label: str, problem: Sentence) -> FabulaError:
    """The error for a save that is incomplete or inconsistent."""
    return FabulaError(
        Code.SAVE_DAMAGED,
        message("{label}: {problem}. Nothing was changed. Use another copy of the save.", label=label, problem=problem),
    )


def save_unsafe(label: str, problem: Sentence) -> FabulaError:
    """The error for a save that was made to do harm."""
    return FabulaError(
        Code.SAVE_UNSAFE,
        message("{label}: {problem}. Nothing was changed. Do not trust this file.", label=label, problem=problem),
    )
