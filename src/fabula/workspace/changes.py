"""What a person can do with the changes of a project: list them, take the last one back, make it again (man-7)."""

from __future__ import annotations

from collections.abc import Iterable

from fabula.manuscript.projects import ProjectSummary
from fabula.store import undo
from fabula.store.store import LOCAL_USER, Store
from fabula.store.undo import UndoStep
from fabula.workspace.verbs import ProjectVerbs


class ChangeVerbs(ProjectVerbs):
    """The last changes of an open project."""

    def list_changes(self) -> list[UndoStep]:
        """List the changes that can be undone, then those that can be made again; the latest first."""
        with self._read() as reading:
            return undo.list_steps(reading)

    def undo(self) -> UndoStep:
        """Take back the last change; refused if what it changed was changed since."""
        with self._write() as tx:
            return undo.undo(tx)

    def redo(self) -> UndoStep:
        """Make the change again that was undone last."""
        with self._write() as tx:
            return undo.redo(tx)


def find_last_step(
    store: Store, projects: Iterable[ProjectSummary], *, is_undone: bool
) -> list[tuple[str, ProjectSummary]]:
    """Find the project with the latest change that can be undone, or made again, and its time; none or one."""
    found: list[tuple[str, ProjectSummary]] = []
    for project in projects:
        with store.read(project=project.id, user=LOCAL_USER) as reading:
            times = [step.made for step in undo.list_steps(reading) if step.is_undone == is_undone]
        found += [(max(times), project)] if times else []
    return sorted(found, key=lambda pair: pair[0])[-1:]
