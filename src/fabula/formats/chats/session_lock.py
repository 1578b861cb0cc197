"""The lock of a session on disk: a file beside its messages that exists while a program writes (cht-5).

A program waits 2 seconds for the lock. A lock that is older than 30 seconds belongs to a program that was killed, and
is taken over. Its age is measured by the time since the machine was started, which a wrong or changed clock does not
touch: our locks say when they were made by that time. Of a lock of another program, or of another machine, the first
one that meets it writes down when that was.
"""

from __future__ import annotations

import os
import random
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import message
from fabula.core.regular_files import open_regular_file
from fabula.formats.safe.files import refuse_unwritten

if sys.platform != "win32":
    import fcntl

__all__ = ["LOCK_FILE", "STALE_SECONDS", "WAIT_SECONDS", "hold_lock"]

LOCK_FILE = "._session.lock"
WAIT_SECONDS = 2.0
STALE_SECONDS = 30.0
_PAUSE = 0.02  # seconds between two attempts, at most
_MAX_BYTES = 4096


class _Holder(Struct, frozen=True, kw_only=True):
    """What our locks say: who holds it, on which machine since it was last started, and since when."""

    token: str
    pid: int
    machine: str
    since: float  # seconds since the machine was started


class _Sighting(Struct, frozen=True):
    """When a lock of another program was first seen, and which one it was."""

    lock: tuple[int, int, int]  # its inode, time of change and size
    machine: str
    since: float


@contextmanager
def hold_lock(path: Path, *, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock at a path, which is a file while it is held; one who waits too long is refused."""
    token = new_id()
    deadline = time.monotonic() + wait
    try:
        while not (_create(path, token) or _take_over(path, token)):
            if time.monotonic() >= deadline:
                raise FabulaError(
                    Code.EXPORT_REFUSED,
                    message(
                        "Another program is writing to {path}. Nothing was changed. Try again in a moment.",
                        path=path.parent,
                    ),
                )
            time.sleep(random.uniform(0, _PAUSE))
    except OSError as error:
        refuse_unwritten(path, error)
    try:
        yield
    finally:
        _release(path, token)


def _create(path: Path, token: str) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(_make_holder(token))
    return True


def _take_over(path: Path, token: str) -> bool:
    """Put our lock in place of a stale one; of several who try, one succeeds."""
    with suppress(FileNotFoundError), open_regular_file(path) as stream:
        if not _claim(stream.fileno(), path) or not _is_stale(path, stream.read(_MAX_BYTES)):
            return False
        own = path.with_name(f"{path.name}.{token}")
        own.write_bytes(_make_holder(token))
        own.replace(path)
        return True
    return False


def _release(path: Path, token: str) -> None:
    """Remove our lock, unless it was stale and somebody else has it now."""
    with suppress(OSError), open_regular_file(path) as stream:
        _sighting_path(path).unlink(missing_ok=True)
        is_own = f'"{token}"'.encode() in stream.read(_MAX_BYTES)
        if is_own and sys.platform == "win32":
            stream.close()  # an open file cannot be removed there
            path.unlink()
        elif is_own and _claim(stream.fileno(), path, waits=True):
            path.unlink()


def _claim(descriptor: int, path: Path, *, waits: bool = False) -> bool:
    """Let nobody else replace the lock file until it is closed; False where it is another file by now."""
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:  # some network folders have no such locks
            return True
    return os.path.samestat(os.fstat(descriptor), path.stat())


def _is_stale(path: Path, data: bytes) -> bool:
    machine, now = _identify_machine(), _read_uptime()
    with suppress(msgspec.DecodeError):
        holder = msgspec.json.decode(data, type=_Holder)
        if holder.machine == machine:
            return now - holder.since >= STALE_SECONDS
    status = path.stat()
    lock = (status.st_ino, status.st_mtime_ns, status.st_size)
    seen = _sighting_path(path)
    with suppress(OSError, msgspec.DecodeError):
        with open_regular_file(seen) as stream:
            sighting = msgspec.json.decode(stream.read(_MAX_BYTES), type=_Sighting)
        if (sighting.lock, sighting.machine) == (lock, machine):
            return now - sighting.since >= STALE_SECONDS
    with suppress(OSError):
        own = seen.with_name(f"{seen.name}.{new_id()}")  # in place of a link, and never through one
        own.write_bytes(msgspec.json.encode(_Sighting(lock, machine, now)))
        own.replace(seen)
    return False


def _sighting_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.seen")


def _make_holder(token: str) -> bytes:
    holder = _Holder(token=token, pid=os.getpid(), machine=_identify_machine(), since=_read_uptime())
    return msgspec.json.encode(holder)


def _identify_machine() -> str:
    """Return what tells this machine from others, and from itself before it was last started."""
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{socket.gethostname()} {boot}"


def _read_uptime() -> float:
    """Return the seconds since this machine was started, the same for every process, whatever the clock says."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)  # of Linux; it counts while the machine sleeps
    return time.monotonic() if clock is None else time.clock_gettime(clock)
