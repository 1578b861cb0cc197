"""The worker: threads that take jobs and run them, and a thread that monitors the running ones.

The worker polls for jobs, and looks at once when one was enqueued in this process. The monitor renews leases, cancels
jobs that were cancelled in the store, and gives up on jobs that take too long. A thread cannot be ended from outside:
such a job counts as failed, its thread is abandoned with a cancelled token, another thread takes its place, and the
late result is refused. The number of abandoned threads is bounded; beyond it the worker continues with fewer threads
until some of them return.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar
from weakref import ref

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.tracing import record_span
from fabula.jobs import execution, leases, maintenance
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.execution import JobFailure, JobRun
from fabula.jobs.lease_watch import LeaseWatch
from fabula.jobs.model import JobKind, Lease
from fabula.jobs.tables import jobs
from fabula.responses.keys import prune_keys
from fabula.store.store import Store

log = logging.getLogger("fabula.jobs")

LEASE_SECONDS = 30.0
POLL_SECONDS = 1.0
MAINTENANCE_SECONDS = 60.0
_TIMEOUT = JobFailure(Code.JOB_TIMEOUT, message("The job took longer than allowed."))
_Result = TypeVar("_Result")


class Worker:
    """Runs jobs of the given kinds until it is stopped; a context manager, or `start` and `stop`."""

    def __init__(
        self,
        store: Store,
        kinds: Mapping[str, JobKind],
        *,
        threads: int = 2,
        lease_seconds: float = LEASE_SECONDS,
        poll_seconds: float = POLL_SECONDS,
        max_abandoned: int = 8,
    ) -> None:
        self._store = store
        self._kinds = dict(kinds)
        self._threads = threads
        self._lease_seconds = lease_seconds
        self._watch = LeaseWatch(lease_seconds)
        self._poll_seconds = poll_seconds
        self._max_abandoned = max_abandoned
        self._condition = threading.Condition()
        self._notifications = 0
        self._runs: dict[str, JobRun] = {}
        self._workers: set[threading.Thread] = set()
        self._monitor: threading.Thread | None = None
        self._abandoned = 0  # threads
        self._stopping = False
        self._draining = False
        self._awaits_leases = False  # drains, and has time to learn whether the holders of expired leases live
        self._finished = 0  # jobs

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start to take jobs. The worker stops by itself when the program ends."""
        with self._condition:
            if self._monitor is not None:
                return
            self._stopping = False
            self._store.hooks.add_after_commit(jobs, self._notify)
            atexit.register(self.stop)
            self._monitor = _start_thread(self._run_monitor)
            self._start_workers()

    def stop(self, *, timeout: float = 5.0) -> None:
        """Take no more jobs, cancel the running ones, and return those to the queue that do not end in time."""
        with self._condition:
            if self._monitor is None:
                return
            self._stopping = True
            for run in self._runs.values():
                run.token.cancel(Code.JOB_STOPPED)
            self._condition.notify_all()
            self._condition.wait_for(lambda: not self._runs, timeout=timeout)
            abandoned = [run for run in self._runs.values() if not run.has_returned]
            for run in abandoned:
                self._abandon(run)
            monitor, self._monitor = self._monitor, None
            self._condition.notify_all()
            self._condition.wait_for(lambda: not self._workers, timeout=timeout)
        for run in abandoned:
            execution.return_job(self._store, run)
        monitor.join(timeout=timeout)
        self._store.hooks.remove_after_commit(self._notify)
        atexit.unregister(self.stop)

    def drain(self, *, seconds: float | None = None, progress: Callable[[int], None] | None = None) -> None:
        """Run the jobs that are due, become due meanwhile, or lose a dead holder; return when none is left.

        After `seconds`, the running ones return to the queue. `progress` is told how many have ended.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        self._draining, self._awaits_leases = True, seconds is None
        try:
            self._maintain()
            self.start()
            with self._condition:
                while self._workers and not self._stopping:
                    remaining = None if deadline is None else deadline - time.monotonic()
                    if remaining is not None and remaining <= 0:
                        break
                    self._condition.wait(remaining)
                    if progress is not None:
                        progress(self._finished)
        finally:
            self.stop(timeout=5.0 if seconds is None else 1.0)
            self._draining = False

    @property
    def running_leases(self) -> list[Lease]:
        """The leases of the jobs that run in this worker."""
        with self._condition:
            return [run.lease for run in self._runs.values()]

    def _notify(self) -> None:
        with self._condition:
            self._notifications += 1
            self._condition.notify_all()

    def _start_workers(self) -> None:
        """Start worker threads up to the configured number, unless too many were abandoned."""
        while len(self._workers) < self._threads and self._abandoned <= self._max_abandoned and not self._stopping:
            self._workers.add(_start_thread(self._run_worker))

    def _abandon(self, run: JobRun) -> None:
        """Abandon the thread of a job: nobody waits for it any more."""
        run.is_abandoned = True
        self._abandoned += 1
        del self._runs[run.lease.holder]
        self._workers = {thread for thread in self._workers if thread.ident != run.thread}

    # Worker threads

    def _run_worker(self) -> None:
        try:
            while self._take_one():
                pass
        finally:
            with self._condition:
                self._workers.discard(threading.current_thread())
                self._condition.notify_all()

    def _take_one(self) -> bool:
        """Take a job and run it, or wait for one; return False where this thread should end."""
        with self._condition:
            if self._stopping:
                return False
            seen = self._notifications
        lease = _log_errors(lambda: leases.take_job(self._store, self._kinds, seconds=self._lease_seconds))
        if lease is not None:
            return self._run_job(lease)
        with self._condition:
            if self._draining and not (self._awaits_leases and self._watch.is_waiting):
                return False
            self._condition.wait_for(lambda: self._stopping or self._notifications != seen, timeout=self._poll_seconds)
        return True

    def _run_job(self, lease: Lease) -> bool:
        """Run a job to its end; return False where its thread was abandoned meanwhile."""
        kind = self._kinds[lease.kind]
        held: ref[JobRun]  # the run holds its token, which must not hold the run
        token = CancellationToken(kind.timeout, renew_lease=lambda: self._renew(held()))
        run = JobRun(lease=lease, kind=kind, token=token, thread=threading.get_ident())
        held = ref(run)
        with self._condition:
            self._runs[lease.holder] = run
            if self._stopping:
                run.token.cancel(Code.JOB_STOPPED)
        with record_span("job", kind=lease.kind):
            result = execution.call_handler(run)
        with self._condition:
            run.has_returned = True
            if run.is_abandoned:
                self._abandoned -= 1
                if not self._draining:
                    self._start_workers()
        if run.is_abandoned:
            execution.book_late_cost(self._store, run)
            return False
        breaker_closed = _log_errors(lambda: execution.finish_run(self._store, run, result))
        if breaker_closed:
            _log_errors(
                lambda: maintenance.release_waiting(self._store, lease.project_id, Code.JOB_BREAKER_OPEN, lease.kind)
            )
        with self._condition:
            del self._runs[lease.holder]
            self._finished += 1
            self._condition.notify_all()
        return True

    # The monitor thread

    def _run_monitor(self) -> None:
        tick = min(self._lease_seconds / 6, 1.0)
        next_requeue = next_maintenance = time.monotonic()
        while True:
            with self._condition:
                if not self._is_monitor():
                    return
                seen, runs = self._notifications, list(self._runs.values())
            for run in runs:
                self._renew_or_abandon(run)
            if runs:
                self._cancel_runs(runs)
            if time.monotonic() >= next_maintenance:
                self._maintain()
                next_maintenance = time.monotonic() + MAINTENANCE_SECONDS
            if time.monotonic() >= next_requeue:
                _log_errors(self._requeue_lost)
                next_requeue = time.monotonic() + self._lease_seconds / 3
            with self._condition:
                self._wait(seen, tick)

    def _is_monitor(self) -> bool:
        return self._monitor is threading.current_thread()

    def _wait(self, seen: int, seconds: float) -> None:
        self._condition.wait_for(lambda: not self._is_monitor() or self._notifications != seen, timeout=seconds)

    def _renew_or_abandon(self, run: JobRun) -> None:
        """Renew the lease of a job, or abandon it after its timeout."""
        with self._condition:
            timed_out = not run.token.remaining_seconds and not run.has_returned and not run.is_abandoned
            if timed_out:
                self._abandon(run)
                self._start_workers()
                self._condition.notify_all()
        if timed_out:
            run.token.cancel(Code.JOB_TIMEOUT)
            _log_errors(lambda: execution.record_failure(self._store, run, _TIMEOUT))
        elif not run.is_abandoned and time.monotonic() - run.renewed_at >= self._lease_seconds / 3:
            renewed = _log_errors(lambda: self._renew(run))
            run.renewed_at = time.monotonic()
            if renewed is False and not run.has_returned:
                run.token.cancel(Code.JOB_LEASE_LOST)

    def _renew(self, run: JobRun | None) -> bool:
        """Renew the lease of a job; return False where another worker has the job, or it has ended."""
        if run is None:
            return False
        cost = run.token.cost_micros
        renewed = leases.renew_lease(self._store, run.lease, cost=cost)
        if renewed:
            run.booked_cost = cost
        return renewed

    def _cancel_runs(self, runs: list[JobRun]) -> None:
        cancelled = _log_errors(lambda: leases.find_cancelled(self._store, [run.lease for run in runs])) or []
        for run in runs:
            if run.lease.holder in cancelled:
                run.token.cancel(Code.JOB_CANCELLED)

    def _requeue_lost(self) -> None:
        maintenance.requeue_lost(self._store, self._kinds, self._watch, seconds=self._lease_seconds)

    def _maintain(self) -> None:
        """One round of maintenance."""
        _log_errors(lambda: maintenance.fix_future_times(self._store, seconds=self._lease_seconds))
        _log_errors(self._requeue_lost)
        _log_errors(lambda: maintenance.release_within_budget(self._store))
        _log_errors(lambda: maintenance.prune_finished(self._store))
        _log_errors(lambda: prune_keys(self._store))


def _start_thread(target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, name="fabula-jobs", daemon=True)
    thread.start()
    return thread


def _log_errors(step: Callable[[], _Result]) -> _Result | None:
    """Call a step; an error is logged and does not end the thread. The next round tries again."""
    try:
        return step()
    except FabulaError as error:
        log.warning("worker error: %s", error.code.value)
    except Exception as error:
        log.error("worker error: %s", type(error).__name__)
    return None
