"""Loading a save: checked from end to end before the first row is written, then one transaction.

The file is read twice. The first time everything in it is checked; the second time its rows are written,
and since every member must match the checksums of the first reading, what is written is what was checked.
A project that is replaced is saved first, in the same transaction, into the folder of backups. What a
person says of themselves is only added to: profile, memories and settings that are here stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id, sound_id
from fabula.store.backup import FOLDER, KEPT
from fabula.store.save.checking import Report, check, depths, verify, warnings
from fabula.store.save.manifest import Manifest, Record, damaged
from fabula.store.save.progress import Progress, Steps
from fabula.store.save.reader import OpenSave
from fabula.store.save.saving import save_from
from fabula.store.save.tables import Shape, shapes
from fabula.store.save.writer import slug
from fabula.store.store import OWNER, Store
from fabula.store.tables import projects
from fabula.store.transaction import Writing

__all__ = ["Loaded", "Report", "load", "verify"]

_AT_ONCE = 500
_CHARACTERS = 4_000_000  # of one batch


class Loaded(Struct, frozen=True, kw_only=True):
    """What became of a save."""

    project_id: str
    backup: Path | None = None  # what was there before
    kept_back: dict[str, int] = {}  # rows of the person's that were not loaded, by table: here they say otherwise
    warnings: tuple[str, ...] = ()


def load(
    store: Store,
    path: Path,
    *,
    into: str | None = None,
    replace: bool = False,
    user: str | None = OWNER,
    progress: Progress | None = None,
) -> Loaded:
    """Load a save as a new project, or in place of one that is saved first; all of it or nothing.

    `user` is who gets the profile, memory and settings in it, where they have none yet; None for nobody.
    """
    with OpenSave(path) as first:
        manifest = first.manifest
        steps = Steps(progress, 2 * manifest.rows)
        check(first, steps)
    target = _target(store, manifest, into, replace)
    before, _ = store.versions(project=target)
    backup: Path | None = None
    kept_back: dict[str, int] = {}
    try:
        with OpenSave(path) as again, store.write(project=target, user=user) as tx:
            if again.manifest != manifest:
                raise damaged(again.label, "it changed while it was being read")
            if tx.row(projects) is not None:
                backup = _saved_first(tx, store, target, replace)
                for shape in reversed(shapes()):
                    if shape.owner == "project":
                        tx.remove(shape.table)  # one by one: whoever holds a view learns what is gone
            for shape in shapes():
                if not tx.belongs_to(shape.owner):
                    continue
                rows = _rows(again, shape)
                if shape.owner == "user":
                    rows = _missing_here(tx, shape, rows, kept_back)
                for batch in _batches(rows):
                    tx.add(shape.table, *batch)
                    steps.took(len(batch))
            steps.finish()  # the last chance to cancel
    except BaseException:
        if backup is not None:
            _forget(store, target, before, backup)
        raise
    _prune(store, target)
    said = [
        f"{count} of {table} stayed as they are here; the save says otherwise." for table, count in kept_back.items()
    ]
    return Loaded(project_id=target, backup=backup, kept_back=kept_back, warnings=(*warnings(manifest), *said))


def backups(store: Store, project_id: str) -> list[Path]:
    """What was saved of a project before something else took its place, the oldest first."""
    return sorted((store.folder / FOLDER).glob(f"*-{_mark(project_id)}*.fabula"))


def _target(store: Store, manifest: Manifest, into: str | None, replace: bool) -> str:
    """The id under which the project will stand."""
    if into is not None and not sound_id(into):
        raise FabulaError(
            Code.PROJECT_INVALID,
            f"{into[:80]!r} cannot be the id of a project: it must be short, without spaces or slashes. "
            "Nothing was changed.",
        )
    wanted = into or manifest.project.id
    if replace or wanted not in store.project_ids():
        return wanted
    if into is None:
        return new_id()
    raise _taken(wanted)


def _saved_first(tx: Writing, store: Store, project_id: str, replace: bool) -> Path:
    """A save of what is there now, if it may be replaced."""
    if not replace:
        raise _taken(project_id)
    folder = store.folder / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%S%f")
    words = slug(tx.need(projects).title)
    backup = folder / f"{stamp}-{_mark(project_id)}{'-' if words else ''}{words}.fabula"
    save_from(tx, backup)
    return backup


def _taken(project_id: str) -> FabulaError:
    return FabulaError(
        Code.STORE_DUPLICATE,
        f"There is a project {project_id!r} already. Nothing was changed. Choose another id, or replace the project: "
        "it is saved first.",
    )


def _rows(save: OpenSave, shape: Shape) -> Iterator[Record]:
    """The rows of a table as the store takes them, those above before those below."""
    records: Iterator[Record] = (line.record for line in save.lines(shape.name))
    if shape.parent is not None:
        records = iter(_from_the_top(list(records), shape.key, shape.parent.columns))
    for record in records:
        for name in shape.files:
            if record.get(name) is not None:
                record[name] = save.text(record[name]["file"])
        for name in shape.empty:
            if record.get(name, ...) is None:
                del record[name]
        yield record


def _missing_here(tx: Writing, shape: Shape, records: Iterator[Record], kept_back: dict[str, int]) -> Iterator[Record]:
    """The rows of a person whose keys are not taken here; counts those that say something else than is here."""
    here = {tuple([row._mapping[name] for name in shape.key]): row._mapping for row in tx.rows(shape.table)}
    for record in records:
        found = here.get(tuple([record[name] for name in shape.key]))
        if found is None:
            yield record
        elif any(found[name] != value for name, value in record.items()):
            kept_back[shape.name] = kept_back.get(shape.name, 0) + 1


def _from_the_top(records: list[Record], key: tuple[str, ...], parent: tuple[str, ...]) -> list[Record]:
    above = {}
    for record in records:
        higher = tuple(record.get(name) for name in parent)
        above[tuple(record[name] for name in key)] = None if None in higher else higher
    levels = depths(above)
    return sorted(records, key=lambda record: levels[tuple(record[name] for name in key)])


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Rows in bundles that are neither many nor long."""
    batch: list[Record] = []
    characters = 0
    for record in records:
        batch.append(record)
        characters += sum(len(value) for value in record.values() if isinstance(value, str))
        if len(batch) >= _AT_ONCE or characters > _CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _mark(project_id: str) -> str:
    """A project's id as part of a file's name, whatever is in it."""
    return sha256(project_id.encode()).hexdigest()[:10]


def _forget(store: Store, project_id: str, version: int, backup: Path) -> None:
    """A backup of what was not replaced after all is not needed; where that is unsure, it stays."""
    with suppress(FabulaError, OSError):
        if store.versions(project=project_id)[0] == version:
            backup.unlink(missing_ok=True)


def _prune(store: Store, project_id: str) -> None:
    for old in backups(store, project_id)[:-KEPT]:
        with suppress(OSError):
            old.unlink(missing_ok=True)
