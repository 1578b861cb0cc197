"""A clock that a child process can set: libfaketime where it was loaded, else a patch of `time` and `datetime`.

With libfaketime the offset is in the file that FAKETIME_TIMESTAMP_FILE names. A child imports this module before
any other, so that every `from datetime import datetime` gets the patched class. Its parent must not import it.
"""

from __future__ import annotations

import datetime as datetime_module
import os
import time
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

OFFSET_FILE = "FAKETIME_TIMESTAMP_FILE"
_real_time, _real_time_ns = time.time, time.time_ns
_seconds = 0.0


class _ShiftedDatetime(datetime):
    """A datetime whose `now` is shifted."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        """The shifted time."""
        return super().now(tz) + timedelta(seconds=_seconds)


def set_clock(days: float) -> None:
    """Set the clock so many days ahead of the true time, or behind it."""
    global _seconds
    file = os.environ.get(OFFSET_FILE)
    if file:
        Path(file).write_text(f"{days * 86_400:+.0f}", encoding="ascii")
    else:
        _seconds = days * 86_400
    assert abs(time.time() - true_time() - days * 86_400) < 3600 or file is None, "libfaketime follows the file"


def true_time() -> float:
    """The time without an offset, as the parent told it; good to some minutes."""
    return float(os.environ["TRUE_TIME"])


if not os.environ.get(OFFSET_FILE):
    time.time = lambda: _real_time() + _seconds
    time.time_ns = lambda: _real_time_ns() + int(_seconds * 1e9)
    datetime_module.datetime = _ShiftedDatetime  # type: ignore[misc]
