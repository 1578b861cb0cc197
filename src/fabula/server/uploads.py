"""Quotas of uploads: how many files, how many bytes and how much processor time one person has within an hour (ppl-2).

The owner of the store has no quota. Files are read in processes of their own, which are killed when they take too long;
their processor time counts, and that of the thread that stores what they found. Whoever has used up the quota is
refused before anything of the file is received. What one person and one process take at once is bounded for everybody,
and few files are read at once, so that other requests have threads.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from math import ceil

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.server.access import Access
from fabula.server.files import MAX_UPLOAD
from fabula.server.limits import OPEN_SECONDS, TokenBuckets
from fabula.settings.values import SettingValues

HOUR = 3_600.0
UPLOADS_AT_ONCE, PERSON_UPLOADS = 16, 4  # that one process takes, and of these of one person
READ_AT_ONCE = 4  # of these; reading one takes a thread of the workspace and a process


class UploadSettings(Struct, frozen=True):
    """What one person may upload within an hour: files, megabytes, and seconds of processor time for reading them."""

    files: int = 200
    megabytes: int = 1_000
    seconds: int = 600


def read_upload_settings(processes: int = 1) -> UploadSettings:
    """Return the quotas that this machine has, for one of some processes that share them; one file always fits."""
    values = SettingValues()
    megabytes = values["server.uploadMegabytesPerHour"]
    return UploadSettings(
        ceil(values["server.uploadsPerHour"] / processes),
        max(ceil(megabytes / processes), min(megabytes, MAX_UPLOAD // 1_000_000)),
        ceil(values["server.uploadSecondsPerHour"] / processes),
    )


class UploadQuota:
    """The uploads of everybody in this process; not for several threads."""

    def __init__(self, quotas: UploadSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        def make(amount: float) -> TokenBuckets:
            return TokenBuckets(amount / HOUR, amount, clock=clock)

        self._files, self._bytes = make(quotas.files), make(quotas.megabytes * 1e6)
        self._seconds = make(quotas.seconds)
        self._most_bytes = min(MAX_UPLOAD, int(quotas.megabytes * 1e6))

    def begin(self, caller: Access, size: int | None) -> int:
        """Count an upload of some bytes, or refuse it before anybody receives it; return how many were counted.

        One that does not say how long it is counts as the longest until it is there.
        """
        counted = self._most_bytes if size is None else size
        self._take(caller, (self._seconds, 0.001), (self._files, 1), (self._bytes, counted))
        return counted

    def correct(self, caller: Access, counted: int, size: int) -> None:
        """Count the bytes that have come in place of those that were counted."""
        if caller.everywhere is None:
            self._bytes.spend(caller.user, size - counted)

    def check_time(self, caller: Access) -> None:
        """Refuse to read a file of somebody whose other uploads have used up the time since this one began."""
        self._take(caller, (self._seconds, 0.001))

    def _take(self, caller: Access, *amounts: tuple[TokenBuckets, float]) -> None:
        if caller.everywhere is not None:
            return
        for buckets, amount in amounts:
            if seconds := buckets.take(caller.user, amount):
                raise FabulaError(
                    Code.HTTP_UPLOAD_QUOTA,
                    message(
                        "You have uploaded as much as one person may within an hour. Try again in {minutes} minutes. "
                        "Nothing was changed.",
                        minutes=max(1, ceil(seconds / 60)),
                    ),
                    retry_seconds=ceil(seconds),
                )

    def spend(self, caller: Access, seconds: float) -> None:
        """Count the processor time that an upload took."""
        if caller.everywhere is None:
            self._seconds.spend(caller.user, seconds)


class UploadPlaces:
    """The uploads that this process takes at once, from before anything of one is received until it is answered."""

    def __init__(self) -> None:
        self._people = Counter[str]()
        self._readers = asyncio.Semaphore(READ_AT_ONCE)

    @contextmanager
    def hold(self, person: str) -> Iterator[None]:
        """Count an upload of somebody while the block runs, or refuse it."""
        if self._people.total() >= UPLOADS_AT_ONCE or self._people[person] >= PERSON_UPLOADS:
            raise FabulaError(
                Code.HTTP_TOO_MANY_OPEN,
                message(
                    "Too many files are being uploaded at this moment, by you or by others. Wait a moment, then try "
                    "again. Nothing was changed."
                ),
                retry_seconds=OPEN_SECONDS,
            )
        self._people[person] += 1
        try:
            yield
        finally:
            self._people[person] -= 1
            if not self._people[person]:
                del self._people[person]

    def read(self) -> AbstractAsyncContextManager[None]:
        """Wait, without a thread, until a file may be read, and count it while the block runs."""
        return self._readers
