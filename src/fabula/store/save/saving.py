"""Saving: a project as one file that a person can read and a program can load again, exactly.

With it go the person's own things, profile, memory and settings, unless they are to stay at home.
Everything is read in one transaction, so the save is of one moment. The file is written beside its place
and then read back as a load would read it; only a complete and loadable one takes the place of an older
file, and whatever goes wrong before leaves nothing behind.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from fabula.core.ids import now
from fabula.store.save.checking import check
from fabula.store.save.manifest import Manifest
from fabula.store.save.progress import Progress, Steps
from fabula.store.save.reader import OpenSave
from fabula.store.save.tables import shapes
from fabula.store.save.writer import write
from fabula.store.store import OWNER, Store
from fabula.store.tables import projects
from fabula.store.transaction import Reading


def save(
    store: Store,
    project_id: str,
    path: Path,
    *,
    user: str | None = OWNER,
    made: str | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Save a project as it stands at one moment; an older file gives way only to a complete one.

    `user` is whose profile, memory and settings go with it; None for nobody's.
    """
    with store.read(project=project_id, user=user) as reading:
        return save_from(reading, path, made=made, progress=progress)


def save_from(reading: Reading, path: Path, *, made: str | None = None, progress: Progress | None = None) -> Manifest:
    """Save what a transaction sees of its project and its person."""
    reading.need(projects)
    ours = [shape.table for shape in shapes() if reading.belongs_to(shape.owner)]
    steps = Steps(progress, 2 * sum(reading.count(table) for table in ours))
    temporary: Path | None = None
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=".save-", suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            manifest = write(reading, file, made or now(), steps)
            file.flush()
            os.fsync(file.fileno())
        with OpenSave(temporary, label=path.name) as written:
            check(written, steps)
        steps.finish()  # the last chance to cancel
        temporary.chmod(0o644)
        temporary.replace(path)
        _settle(path.parent)
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    return manifest


def _settle(folder: Path) -> None:
    """Wait until the disk knows the new name; where a folder cannot be waited for, the system sees to it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
