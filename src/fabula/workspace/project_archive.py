"""A project folder as a ZIP file: found, unpacked within bounds, and read in a process that can be killed (man-6).

The files of the folder stand at the top of the archive, or in the one folder that everything in it belongs to. They are
unpacked into a folder that the caller makes and removes, so that nothing is left of a process that is killed.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from fabula.codex.facts import Facts
from fabula.core.archives import ArchiveLimits, open_zip
from fabula.core.file_errors import describe_os_error
from fabula.core.messages import message
from fabula.core.view import View
from fabula.formats.bounded_import import read_bounded
from fabula.formats.safe.files import read_beginning
from fabula.formats.safe.import_errors import CHECK_FILE, refuse_unreadable, refuse_unsafe
from fabula.search.corpus import Corpus
from fabula.skills.files import Skills
from fabula.workspace.project_folder import find_unlisted_chapters
from fabula.workspace.read_only import read_view

PROJECT_FILE = "project.toml"
LIMITS = ArchiveLimits(
    max_entries=5_000, max_entry_bytes=64_000_000, max_total_bytes=200_000_000, max_ratio=50, free_bytes=5_000_000
)
_MAX_NAME = 200  # bytes of one part of a name
_DERIVED = (Corpus, Facts, Skills)  # made anew from the rest; locks and functions in them reach no other process


def has_project(path: Path) -> bool:
    """Whether a file is an archive with a project folder in it."""
    if not path.is_file() or read_beginning(path, 4) != b"PK\3\4":
        return False
    with open_zip(path) as archive:
        return _find_root(archive.names) is not None


def read_project_archive(path: Path) -> tuple[View, tuple[str, ...]]:
    """Read the project folder in an archive, as far as it is copied into a store, and the chapters it does not list."""
    with TemporaryDirectory(prefix="fabula-project-") as folder:
        return read_bounded(unpack_project, path, folder=Path(folder))


def unpack_project(path: Path, *, folder: Path) -> tuple[View, tuple[str, ...]]:
    """Unpack the project folder of an archive into a folder, and read it."""
    with open_zip(path, LIMITS) as archive:
        root = _find_root(archive.names)
        if root is None:
            refuse_unreadable(path.name, message("it has no project.toml"), CHECK_FILE)
        inside = folder / (root.rstrip("/") or path.stem)  # whose name the project has where it states none
        for name in archive.names:
            target = _find_target(inside, name.removeprefix(root), path.name)
            data = archive.read(name)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as stream:
                    stream.write(data)
            except OSError as error:
                problem = message("it could not be unpacked ({error})", error=describe_os_error(error))
                refuse_unreadable(path.name, problem, CHECK_FILE)
    view = read_view(inside)
    kept = {kind: one for kind, one in view.snapshots.items() if kind not in _DERIVED}
    return View(view.project, view.timeline, kept), find_unlisted_chapters(inside)


def _find_root(names: tuple[str, ...]) -> str | None:
    """Return what the names of the project's files begin with; None where there is no project."""
    if PROJECT_FILE in names:
        return ""
    root = names[0].partition("/")[0] + "/" if names else ""
    return root if root + PROJECT_FILE in names and all(name.startswith(root) for name in names) else None


def _find_target(folder: Path, name: str, label: str) -> Path:
    """Return where a file is unpacked to, inside of the folder on every system."""
    parts = name.split("/")
    if any(not part or part in (".", "..") or len(part.encode()) > _MAX_NAME for part in parts) or "\\" in name:
        refuse_unsafe(label, message("it names a file that no folder can hold ({name!r})", name=name[:80]))
    return folder.joinpath(*parts)
