"""Ending a job: call its handler and survive it, then keep the result or say what went wrong.

Whatever a handler does (raises, returns rubbish, comes back too late), its job ends in one of the known states, and
the money it spent is counted.
"""

from __future__ import annotations

import logging
import time

from msgspec import Struct, field

from fabula.core.errors import Code, FabulaError
from fabula.jobs import guards, leases
from fabula.jobs.cancellation import Stop
from fabula.jobs.model import Kind, Lease, Outcome
from fabula.store.store import Store
from fabula.store.tables import projects

log = logging.getLogger("fabula.jobs")


class Trouble(Struct, frozen=True):
    """Why a try came to nothing. Only our own refusals are kept in words: others might hold anything."""

    code: Code
    note: str = ""


class Run(Struct, kw_only=True, eq=False):
    """A job that is running here."""

    lease: Lease
    kind: Kind
    stop: Stop
    thread: int
    renewed: float = field(default_factory=time.monotonic)
    told: int = 0  # what the store knows of the money it has spent
    ending: bool = False  # its handler is back
    left: bool = False  # it took too long: its thread is on its own


def called(run: Run) -> Outcome | Trouble:
    """What the handler made of the job."""
    try:
        made: object = run.kind.handler(run.lease.job, run.stop)
        return _checked(made, run.stop)
    except BaseException as error:
        return _trouble(error)


def settle(store: Store, run: Run, made: Outcome | Trouble) -> bool:
    """Keep what was made and that the job is done, as one; says whether the breaker of its kind closed."""
    if isinstance(made, Outcome):
        try:
            with store.write(project=run.lease.project_id, user=made.user) as tx:
                closed = leases.finish(tx, run.lease, spent=run.stop.spent)
                if made.write is not None:
                    made.write(tx)
            return closed
        except BaseException as error:
            made = _trouble(error)
    if run.stop.why is Code.JOB_STOPPED and made.code is not Code.JOB_CANCELLED:
        give_back(store, run)
    else:
        give_up(store, run, made)
    return False


def give_up(store: Store, run: Run, trouble: Trouble) -> None:
    """The try failed."""
    spent = run.stop.spent
    try:
        with store.write(project=run.lease.project_id) as tx:
            state = leases.fail(tx, run.lease, run.kind, trouble.code, trouble.note, spent=spent)
        run.told = spent
        log.info("job %s of %s: %s, %s", run.lease.key, run.lease.project_id, trouble.code.value, state.value)
    except FabulaError as error:
        _not_ours(store, run, error)


def give_back(store: Store, run: Run) -> None:
    """The program ends before the job: somebody else takes it."""
    spent = run.stop.spent
    try:
        with store.write(project=run.lease.project_id) as tx:
            leases.give_back(tx, run.lease, run.kind, died=False, spent=spent)
        run.told = spent
    except FabulaError as error:
        _not_ours(store, run, error)


def book_late(store: Store, run: Run) -> None:
    """Money that was spent after the job had been given up here, or taken by another."""
    spent = run.stop.spent
    if spent <= run.told:
        return
    try:
        with store.write(project=run.lease.project_id) as tx:
            tx.need(projects)
            guards.book(tx, run.lease.kind, spent - run.told, tx.clock(), tries=0)
        run.told = spent
    except FabulaError as error:
        log.warning("the money of job %s was not booked: %s", run.lease.key, error.code.value)


def _not_ours(store: Store, run: Run, error: FabulaError) -> None:
    """The store says no: the job went to somebody else, or will when the lease runs out."""
    log.warning("job %s of %s: %s", run.lease.key, run.lease.project_id, error.code.value)
    if error.code is Code.JOB_LEASE_LOST:
        book_late(store, run)


def _checked(made: object, stop: Stop) -> Outcome:
    if not isinstance(made, Outcome):
        raise FabulaError(Code.JOB_ANSWER_INVALID, f"The handler returned {type(made).__name__}, which is no outcome.")
    sound_user = made.user is None or isinstance(made.user, str)
    if not sound_user or not (made.write is None or callable(made.write)):
        raise FabulaError(Code.JOB_ANSWER_INVALID, "The handler returned an outcome that makes no sense.")
    stop.spend(made.micros)
    return made


def _trouble(error: BaseException) -> Trouble:
    if isinstance(error, FabulaError):
        return Trouble(error.code, error.sentence)
    return Trouble(Code.JOB_FAILED, type(error).__name__)
