"""Quotas of uploads: how many files, how many bytes and how much processor time one person has within an hour (ppl-2).

The owner of the store has no quota. Files are read in processes of their own, which are killed when they take too long;
their processor time counts, and that of the thread that stores what they found.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.server.access import Access
from fabula.server.files import MAX_UPLOAD
from fabula.server.limits import TokenBuckets
from fabula.settings.values import SettingValues

HOUR = 3_600.0


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

    def begin(self, caller: Access, size: int) -> None:
        """Count an upload of some bytes, or refuse it before anybody reads it."""
        if caller.everywhere is not None:
            return
        for buckets, amount in ((self._seconds, 0.001), (self._files, 1), (self._bytes, size)):
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
