"""The base of a project's verbs on one subject: its transactions, and its view.

`project.codex`, `project.constraints` and the like group what a person can do by subject. Each verb is one
transaction, takes and returns plain values, and accepts a thing by whatever a person calls it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fabula.core.errors import Code, FabulaError
from fabula.core.view import View

if TYPE_CHECKING:
    from fabula.store.store import Store
    from fabula.store.transaction import ReadTransaction, WriteTransaction
    from fabula.workspace.project import ProjectHandle


def require_store(project: ProjectHandle) -> Store:
    """Return the store of a project; one outside it is refused, since nothing can be changed there."""
    if project.store is None:
        raise FabulaError(
            Code.PROJECT_READ_ONLY,
            "This is a folder, a file or a sample, which can be looked at and not changed. "
            "Copy it into the store first: fabula new TITLE --from PATH. Nothing was changed.",
        )
    return project.store


class ProjectVerbs:
    """What a person can do with one subject of an open project."""

    def __init__(self, project: ProjectHandle) -> None:
        self._project = project

    @property
    def _view(self) -> View:
        return self._project.view

    @property
    def _store(self) -> Store:
        return require_store(self._project)

    @contextmanager
    def _read(self) -> Iterator[ReadTransaction]:
        """Read the project and the principal's own rows as they stand at one moment."""
        user = self._project.principal.user
        with self._store.read(project=self._project.id, user=user) as reading:
            yield reading

    @contextmanager
    def _write(self) -> Iterator[WriteTransaction]:
        """Change the project and the principal's own rows in one transaction."""
        user = self._project.principal.user
        with self._store.write(project=self._project.id, user=user) as tx:
            yield tx
