"""Follow the change feeds of projects: what changed since it was last asked for, whichever process changed it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.store.store import Store


class ProjectChange(Struct, frozen=True):
    """One change of a project: the area, such as `codex`, and the item; both are empty where anything may differ."""

    project_id: str
    area: str = ""
    item: str = ""


class ChangeFeed:
    """The changes of one project, or of all, since this object was made."""

    def __init__(self, store: Store, project_id: str | None = None) -> None:
        self._store, self._project_id = store, project_id
        self._versions = self._read_versions()

    def read_new(self) -> list[ProjectChange]:
        """Return what changed since the last call; new and deleted projects are changes without an area."""
        before, self._versions = self._versions, self._read_versions()
        found: list[ProjectChange] = []
        for project_id in before.keys() | self._versions.keys():
            old, new = before.get(project_id), self._versions.get(project_id)
            if old is None or new is None:
                found.append(ProjectChange(project_id))
            elif old != new:
                with self._store.read(project=project_id) as reading:
                    changes = reading.changes("project", old)
                found += (
                    [ProjectChange(project_id)]
                    if changes is None
                    else [ProjectChange(project_id, one.area, one.item) for one in changes if one.version <= new]
                )
        return found

    def _read_versions(self) -> dict[str, int]:
        idents: Sequence[str] = [self._project_id] if self._project_id else self._store.project_ids()
        if not idents:
            return {}
        first, *others = idents
        version, _, *further = self._store.versions(project=first, others=others)
        return dict(zip(idents, (version, *further), strict=True))
