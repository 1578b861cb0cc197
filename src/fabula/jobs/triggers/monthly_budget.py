"""The trigger on the monthly budget: a change releases jobs that waited for it, in all projects."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from fabula.core.errors import FabulaError
from fabula.jobs.maintenance import release_within_budget
from fabula.settings.tables import user_settings
from fabula.store.store import Store


class ReleasePaidJobs(Struct, frozen=True):
    """Releases jobs that wait for money; equal for the same store, so that it is connected once."""

    store: Store

    def __call__(self) -> None:
        with suppress(FabulaError):  # the change is kept, and a worker looks again within a minute
            release_within_budget(self.store)


def connect(store: Store) -> None:
    """Release waiting jobs whenever a person's settings have changed through this store."""
    release = ReleasePaidJobs(store)
    store.hooks.remove_after_commit(release)
    store.hooks.add_after_commit(user_settings, release)
