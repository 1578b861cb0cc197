"""Health checks of a store, for `fabula doctor`.

The checks look at the engine, the version of the tables, integrity, the change feed, disk space and backups, and say
what would be lost if the disk failed now.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import reduce
from pathlib import Path

from msgspec import Struct
from sqlalchemy import Connection, func, inspect, literal, select, text

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import format_time
from fabula.core.messages import Sentence, advise, join_names, message, plural
from fabula.store.copies import list_copies
from fabula.store.database_errors import translate_errors
from fabula.store.latest_changes import count_versions, decode_lines
from fabula.store.store import Store
from fabula.store.tables import changes, owner_versions, projects
from fabula.store.upgrade import LATEST_VERSION, find_schema_version

LOW_DISK_SPACE = 1 << 30  # bytes
MANY_CHANGES = 1000  # after the newest copy


class HealthState(StrEnum):
    """The result of one check."""

    HEALTHY = "well"
    WARNING = "mind"
    FAILED = "ill"


CheckResult = tuple[HealthState, Sentence]


class HealthFinding(Struct, frozen=True):
    """One check, its result, and a sentence about it."""

    name: str
    state: HealthState
    sentence: Sentence

    @property
    def is_failure(self) -> bool:
        """Is something broken?"""
        return self.state is HealthState.FAILED

    @property
    def is_warning(self) -> bool:
        """Is something to be looked after?"""
        return self.state is HealthState.WARNING


def examine(store: Store) -> Iterator[HealthFinding]:
    """Run every check; one that cannot be run counts as failed, with the reason."""
    for name, check in CHECKS.items():
        try:
            with translate_errors():
                state, sentence = check(store)
        except FabulaError as error:
            if error.code is Code.STORE_UNREACHABLE:
                raise
            state, sentence = HealthState.FAILED, error.message
        yield HealthFinding(name, state, sentence)


def _check_engine(store: Store) -> CheckResult:
    with store.engine.connect() as connection:
        if store.file is None:
            version = connection.execute(text("SHOW server_version")).scalar_one()
            return HealthState.HEALTHY, message("PostgreSQL {version}", version=version)
        version = connection.execute(text("SELECT sqlite_version()")).scalar_one()
        journal = connection.execute(text("PRAGMA journal_mode")).scalar_one()
        synchronous = connection.execute(text("PRAGMA synchronous")).scalar_one()
    safe = journal == "wal" and synchronous == 2
    return HealthState.HEALTHY if safe else HealthState.FAILED, message(
        "SQLite {version}, journal {journal}, synchronous {synchronous}",
        version=version,
        journal=journal,
        synchronous=synchronous,
    )


def _check_tables(store: Store) -> CheckResult:
    with store.engine.connect() as connection:
        found = find_schema_version(connection)
    if found == LATEST_VERSION:
        return HealthState.HEALTHY, message("version {version}", version=found)
    if found is None:
        return HealthState.FAILED, message("This database has no tables of Fabula.")
    if found > LATEST_VERSION:
        sentence = message(
            "version {version}; this program knows {latest}. Use the newer program.",
            version=found,
            latest=LATEST_VERSION,
        )
    else:
        sentence = message(
            "version {version}; this program knows {latest}. Fabula upgrades the store when it opens it.",
            version=found,
            latest=LATEST_VERSION,
        )
    return HealthState.FAILED, sentence


def _check_integrity(store: Store) -> CheckResult:
    if store.file is None:
        return HealthState.HEALTHY, message("The database server checks this itself.")
    with store.engine.connect() as connection:
        problems = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check(5)"))]
        orphans = len(connection.execute(text("PRAGMA foreign_key_check")).all())
    if problems == ["ok"] and not orphans:
        return HealthState.HEALTHY, message("All pages and references are sound.")
    return HealthState.FAILED, plural(
        orphans,
        "{problems}; {count} broken reference. Restore the newest backup.",
        "{problems}; {count} broken references. Restore the newest backup.",
        problems=" ".join("; ".join(problems).split())[:300],
    )


def _check_feed(store: Store) -> CheckResult:
    """Check that the version of every owner is the last one in the change feed, and that no change was lost."""
    missing = store.last_change.count_missing() if store.last_change is not None else 0
    if missing:
        return HealthState.FAILED, plural(
            missing,
            "At least {count} change that was stored is missing. The file that ends with `-wal` was deleted or cut "
            "off, or an older copy was put here. Bring back that file, or restore the newest backup.",
            "At least {count} changes that were stored are missing. The file that ends with `-wal` was deleted or cut "
            "off, or an older copy was put here. Bring back that file, or restore the newest backup.",
        )
    newest = select(changes.c.owner, func.max(changes.c.version).label("last")).group_by(changes.c.owner).subquery()
    with store.engine.connect() as connection:
        has_latest = "latest" in [column["name"] for column in inspect(connection).get_columns(owner_versions.name)]
        latest = owner_versions.c.latest if has_latest else literal("").label("latest")  # before version 0021
        query = select(owner_versions.c.owner, owner_versions.c.version, latest, newest.c.last)
        rows = connection.execute(query.outerjoin(newest, owner_versions.c.owner == newest.c.owner)).all()
    inconsistent = [row.owner for row in rows if row.version != (row.last or 0) + count_versions(row.latest)]
    if inconsistent:
        return HealthState.FAILED, message(
            "The version and the change feed differ for {owners}.", owners=join_names(inconsistent[:5])
        )
    return HealthState.HEALTHY, plural(
        len(rows), "{count} version agrees with its change feed.", "{count} versions agree with their change feeds."
    )


def _check_disk(store: Store) -> CheckResult:
    folder = store.folder
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    files = [] if store.file is None else [store.file, Path(f"{store.file}-wal")]
    size = sum(file.stat().st_size for file in files if file.exists())
    state = HealthState.HEALTHY if free > max(LOW_DISK_SPACE, size) else HealthState.WARNING
    if not size:
        return state, message("{free} are free.", free=_format_bytes(free))
    return state, message(
        "The store takes {size}; {free} are free.", size=_format_bytes(size), free=_format_bytes(free)
    )


def _check_backups(store: Store) -> CheckResult:
    """Say what the copies hold, what would be lost without them, and whether one disk holds both."""
    copies = list_copies(store.folder, store.file)
    readable = [copy for copy in copies if not copy.problem]
    if not readable:
        return HealthState.WARNING, message(
            "There is no backup: if this disk fails, everything is lost. {advice}",
            advice=advise(message("Make one with `fabula save`."), message("Save the projects.")),
        )
    newest: dict[str, str] = {}  # the newest state of each project in any copy
    for copy in readable:
        for project in copy.projects:
            newest[project.id] = max(project.changed, newest.get(project.id, ""))
    try:
        with translate_errors(), store.engine.connect() as connection:
            titles = {row.project_id: str(row.title) for row in connection.execute(select(projects))}
            later = [
                _count_later(connection, project_id, newest[project_id])
                for project_id in titles
                if project_id in newest
            ]
    except FabulaError:
        return HealthState.WARNING, message("What the copies hold cannot be compared: the store cannot be read.")
    missing = [title for project_id, title in titles.items() if project_id not in newest]
    sentences = [
        message(
            "{copies} in {folder}/ with {held} of {all} projects; their newest state is of {time}.",
            copies=plural(len(readable), "{count} copy", "{count} copies"),
            folder=readable[0].path.parent.name,
            held=len(titles) - len(missing),
            all=len(titles),
            time=format_time(readable[0].state),
        )
    ]
    if missing:
        shown = join_names([message("“{title}”", title=title) for title in missing[:3]])
        sentences.append(
            plural(len(missing), "In no copy: {names}.", "In no copy: {count} projects, such as {names}.", names=shown)
        )
    if sum(later):
        sentences.append(
            plural(sum(later), "{count} later change is in no copy.", "{count} later changes are in no copy.")
        )
    if len(readable) < len(copies):
        count = len(copies) - len(readable)
        sentences.append(plural(count, "{count} copy cannot be read.", "{count} copies cannot be read."))
    same_disk = store.file is not None and store.file.stat().st_dev == readable[0].path.stat().st_dev
    if same_disk:
        sentences.append(
            advise(
                message(
                    "They are on the same disk as the store, and fail with it: keep saves elsewhere (`fabula save`)."
                ),
                message("They are on the same disk as the store, and fail with it: keep saves elsewhere."),
            )
        )
    is_safe = not missing and not same_disk and len(readable) == len(copies) and sum(later) < MANY_CHANGES
    return HealthState.HEALTHY if is_safe else HealthState.WARNING, reduce(_join, sentences)


def _join(first: Sentence, following: Sentence) -> Sentence:
    return message("{first} {following}", first=first, following=following)


def _count_later(connection: Connection, project_id: str, state: str) -> int:
    """Count the changes of a project after a state."""
    owner = f"project:{project_id}"
    query = select(func.count()).select_from(changes).where(changes.c.owner == owner, changes.c.at > state)
    count = int(connection.execute(query).scalar_one())
    latest = select(owner_versions.c.version, owner_versions.c.latest).where(owner_versions.c.owner == owner)
    for row in connection.execute(latest):
        count += sum(line.at > state for line in decode_lines(row.version, row.latest))
    return count


CHECKS: dict[str, Callable[[Store], CheckResult]] = {
    "engine": _check_engine,
    "tables": _check_tables,
    "integrity": _check_integrity,
    "versions": _check_feed,
    "disk": _check_disk,
    "copies": _check_backups,
}


def _format_bytes(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
