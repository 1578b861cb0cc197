"""A check that runs under the lock of the next change, before anything is changed.

An interface that must know whether something is still as a person saw it (`If-Match`) compares it here: no other
process can change the owner's rows between the check and the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("precondition", default=None)


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
