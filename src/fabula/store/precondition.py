"""A check that runs under the lock of the next change, before anything is changed, and the versions that it made.

An interface that must know whether something is still as a person saw it (`If-Match`) compares it here: no other
process can change the owner's rows between the check and the change. What it reads behind the change is what the
change made where the owners still have these versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("precondition", default=None)
_VERSIONS: ContextVar[dict[str, int] | None] = ContextVar("versions", default=None)


@contextmanager
def require_before_change(check: Callable[[], None]) -> Iterator[None]:
    """Run a check within the first change that this thread makes inside the block; what it raises ends the change."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def run_precondition() -> None:
    """Run the check that waits for this change, once."""
    check = _CHECK.get()
    if check is not None:
        _CHECK.set(None)
        check()


@contextmanager
def collect_versions() -> Iterator[Mapping[str, int]]:
    """Collect the versions that changes of this thread inside the block give to their owners, `project:ID` and such."""
    versions: dict[str, int] = {}
    token = _VERSIONS.set(versions)
    try:
        yield versions
    finally:
        _VERSIONS.reset(token)


def note_versions(versions: Mapping[str, int]) -> None:
    """Note the versions that a change has given to its owners, for whoever collects them."""
    collected = _VERSIONS.get()
    if collected is not None:
        collected.update(versions)
