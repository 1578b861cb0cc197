"""Follow the change feeds of projects: what changed, whichever process changed it.

One thread of the process follows all projects that somebody listens to, and ends when nobody does. It reads the
versions of these projects in one query, and the feed of those that changed once, however many listen.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.store.store import Store
from fabula.store.transaction import Change

log = logging.getLogger("fabula.workspace")


class ChangeBatch(Struct, frozen=True):
    """The changes of a project between two of its versions; None where the feed does not tell them any more."""

    project_id: str
    since: int
    version: int
    changes: tuple[Change, ...] | None


Listener = Callable[[ChangeBatch], None]


def read_changes(store: Store, project_id: str, since: int) -> ChangeBatch:
    """Read what changed in a project since a version of it."""
    with store.read(project=project_id) as reading:
        version, changes = reading.version("project"), reading.changes("project", since)
    return ChangeBatch(project_id, since, version, None if changes is None else tuple(changes))


class _FollowedProject:
    """A project that somebody listens to, at the version that all of them were told of."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.listeners: dict[object, Listener] = {}


class ChangeFollower:
    """Tells listeners of this process what changes in projects, each change once and in order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._projects: dict[str, _FollowedProject] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether the thread that looks for changes runs."""
        return self._thread is not None

    def follow(self, project_id: str, listener: Listener) -> tuple[int, Callable[[], None]]:
        """Call a listener with every change of a project from now on, in the follower's thread.

        Return the version at which that begins, and the function that ends it. The listener must return at once.
        """
        (version,) = _read_versions(self._store, [project_id])
        key = object()
        with self._lock:
            followed = self._projects.setdefault(project_id, _FollowedProject(version))
            followed.listeners[key] = listener
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="fabula-changes", daemon=True)
                self._thread.start()
            version = followed.version

        def end() -> None:
            with self._lock:
                followed.listeners.pop(key, None)
                if not followed.listeners and self._projects.get(project_id) is followed:
                    del self._projects[project_id]

        return version, end

    def close(self) -> None:
        """End the thread; nobody is told of anything any more."""
        self._stopping.set()
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        signal = self._store.open_change_signal()
        try:
            while self._goes_on():
                signal.wait(self._stopping)
                try:
                    self._tell_changes()
                except Exception as error:
                    code = error.code if isinstance(error, FabulaError) else type(error).__name__
                    log.warning("changes could not be read: %s", code)
                    if code is Code.STORE_CLOSED:
                        self._stopping.set()
        finally:
            signal.close()

    def _goes_on(self) -> bool:
        with self._lock:
            if self._projects and not self._stopping.is_set():
                return True
            self._thread = None
            return False

    def _tell_changes(self) -> None:
        with self._lock:
            known = {project_id: followed.version for project_id, followed in self._projects.items()}
        if not known:
            return
        current = _read_versions(self._store, list(known))
        for (project_id, since), version in zip(known.items(), current, strict=True):
            if version != since:
                self._tell(read_changes(self._store, project_id, since))

    def _tell(self, batch: ChangeBatch) -> None:
        with self._lock:
            followed = self._projects.get(batch.project_id)
            if followed is None or followed.version != batch.since:  # all left, and others came, in the meantime
                return
            followed.version = batch.version
            for listener in followed.listeners.values():
                listener(batch)


def _read_versions(store: Store, project_ids: list[str]) -> list[int]:
    first, *others = project_ids
    version, _, *further = store.versions(project=first, others=others)
    return [version, *further]
