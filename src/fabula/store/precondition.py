"""A check under the lock of the next change, before anything is changed; a note with every change; what it left.

An interface that must know whether something is still as a person saw it (`If-Match`) compares it here: no other
process can change the owner's rows between the check and the change. What it reads behind the change is what the
change made where the owners still have these versions. One that must know whether a request has changed anything notes
it in the transaction of each change. One that offers to take a change back must know its step that can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabula.store.transaction import WriteTransaction

ChangeNote = Callable[["WriteTransaction"], None]
_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("precondition", default=None)
_NOTES: ContextVar[list[tuple[str, ChangeNote]]] = ContextVar("notes")  # of one block at most; none when it is over
_VERSIONS: ContextVar[dict[str, int] | None] = ContextVar("versions", default=None)
_STEPS: ContextVar[list[tuple[str, int]] | None] = ContextVar("steps", default=None)


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
def note_changes(user: str, note: ChangeNote) -> Iterator[None]:
    """Call a function in every change inside the block, before its commit, with a transaction of this person's rows.

    What it writes is stored or rolled back with the change, and what it raises ends the change. It is called no more
    when the block is over, also by what was begun inside it.
    """
    notes = [(user, note)]
    token = _NOTES.set(notes)
    try:
        yield
    finally:
        notes.clear()
        _NOTES.reset(token)


def find_notes() -> Sequence[tuple[str, ChangeNote]]:
    """Return what is called with this change, and for whom."""
    return tuple(_NOTES.get(()))


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


@contextmanager
def collect_steps() -> Iterator[Sequence[tuple[str, int]]]:
    """Collect the steps that changes of this thread inside the block leave, each with its project."""
    steps: list[tuple[str, int]] = []
    token = _STEPS.set(steps)
    try:
        yield steps
    finally:
        _STEPS.reset(token)


def note_step(project: str, number: int) -> None:
    """Note the step of a change that can be undone for whoever collects them."""
    collected = _STEPS.get()
    if collected is not None:
        collected.append((project, number))
