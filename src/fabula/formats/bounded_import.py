"""Read large files in a process of its own, with bounds on time and memory.

Readers of formats bound what they read, and small files are read where they are asked for. A file that unpacks to
more than a few megabytes, or a folder, is read by a child process. It can be interrupted, it is killed when it takes
too long, and running out of memory ends only the child. What somebody uploads is always read so (`read_in_processes`).
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from fabula.core.archives import open_zip
from fabula.core.errors import FabulaError
from fabula.core.messages import message
from fabula.core.regular_files import open_regular_file
from fabula.formats.safe.import_errors import refuse_too_large

__all__ = ["ReadingCost", "read_bounded", "read_in_processes"]

T = TypeVar("T")
SMALL_BYTES = 5_000_000  # unpacked; read without a process of its own
MAX_SECONDS = 30
MAX_MEMORY = 700_000_000  # bytes of address space
_EACH_MEGABYTE_SECONDS, _EACH_BYTE_MEMORY = 1, 16  # more for every megabyte or byte of a large file


class ReadingCost:
    """The processor time that files took which were read in processes of their own."""

    def __init__(self) -> None:
        self.seconds = 0.0


_cost: ContextVar[ReadingCost | None] = ContextVar("cost", default=None)


@contextmanager
def read_in_processes() -> Iterator[ReadingCost]:
    """Read every file inside the block in a process of its own, small ones too, and sum up what that takes."""
    cost = ReadingCost()
    token = _cost.set(cost)
    try:
        yield cost
    finally:
        _cost.reset(token)


def read_bounded(read: Callable[..., T], path: Path, **options: object) -> T:
    """Call a reader of files, in a process of its own if the file is large or was uploaded."""
    size, cost = _measure(path), _cost.get()
    if size <= SMALL_BYTES and cost is None:
        return read(path, **options)
    seconds = MAX_SECONDS + size // 1_000_000 * _EACH_MEGABYTE_SECONDS
    memory = MAX_MEMORY + max(0, _measure_packed(path) - SMALL_BYTES) * _EACH_BYTE_MEMORY
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "fabula.formats.bounded_import"]
    work = pickle.dumps((read, path.absolute(), options, seconds, memory))
    try:
        # In a session of its own the child does not see Ctrl-C; `run` kills it then and when its time is over.
        done = subprocess.run(
            command,
            input=work,
            stdout=subprocess.PIPE,
            env=environment,
            timeout=seconds,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        _add(cost, seconds)
        refuse_too_large(path.name, message("reading it takes longer than {seconds} seconds", seconds=seconds))
    if done.returncode:
        _add(cost, seconds)
        refuse_too_large(path.name, message("reading it takes more memory than is allowed for a file of its size"))
    result: T
    result, problem, spent = pickle.loads(done.stdout)
    _add(cost, spent)
    if problem is not None:
        raise FabulaError(*problem)
    return result


def _add(cost: ReadingCost | None, seconds: float) -> None:
    if cost is not None:
        cost.seconds += seconds


def _measure(path: Path) -> int:
    """Return the bytes of a file, unpacked if it is an archive; a folder counts as large."""
    if path.is_dir():
        return SMALL_BYTES + 1
    try:
        with open_regular_file(path) as stream:
            size, is_archive = os.fstat(stream.fileno()).st_size, stream.read(2) == b"PK"
        if size > SMALL_BYTES or not is_archive:
            return size
        with open_zip(path) as archive:
            return archive.unpacked_bytes
    except (OSError, FabulaError):
        return 0  # the reader says what is wrong with it


def _measure_packed(path: Path) -> int:
    return path.stat().st_size if path.is_file() else SMALL_BYTES * 10


def _limit_process(seconds: int, memory: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def main() -> None:
    """Read what standard input names and write the result, or the error, to standard output."""
    work = sys.stdin.buffer.read()
    if not work:  # Ctrl-C came before the parent could say what to read
        return
    read, path, options, seconds, memory = pickle.loads(work)
    _limit_process(seconds, memory)
    gc.disable()  # readers make no cycles, and passes over a large tree take a fifth of the time
    try:
        found, problem = read(path, **options), None
    except FabulaError as error:
        found, problem = None, (error.code, error.message)
    except (MemoryError, RecursionError):
        os._exit(1)
    try:
        result = pickle.dumps((found, problem, time.process_time()))
    except (MemoryError, RecursionError):
        os._exit(1)
    sys.stdout.buffer.write(result)


if __name__ == "__main__":
    main()
