"""The worker: threads that take jobs and run them, and one that watches over those that run.

It looks for work now and then, and at once when something was queued in this process. The watching thread renews
leases, tells jobs to stop that were cancelled, and gives up on those that take too long: nobody can end a thread
from outside, so such a job counts as failed, its thread is left behind with a token that says stop, another takes
its place, and the late result is refused. How many threads can be left behind is bounded too; beyond that the
worker goes on with fewer, until some of them come back.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from fabula.core.errors import Code, FabulaError
from fabula.jobs import execution as ending
from fabula.jobs import leases
from fabula.jobs import maintenance as upkeep
from fabula.jobs.cancellation import Stop
from fabula.jobs.execution import Run, Trouble
from fabula.jobs.model import Kind, Lease
from fabula.jobs.tables import jobs
from fabula.store.store import Store

log = logging.getLogger("fabula.jobs")

LEASE = 30.0  # seconds
POLL = 1.0  # seconds between looks for work
UPKEEP = 60.0  # seconds between rounds of upkeep
_TOO_LONG = Trouble(Code.JOB_TIMEOUT, "It took longer than jobs of its kind may.")
_Found = TypeVar("_Found")


class Worker:
    """Runs jobs of the given kinds until it is stopped; use it as a context, or start and stop it."""

    def __init__(
        self,
        store: Store,
        kinds: Mapping[str, Kind],
        *,
        threads: int = 2,
        lease: float = LEASE,
        poll: float = POLL,
        most_left: int = 8,
    ) -> None:
        self._store = store
        self._kinds = dict(kinds)
        self._threads = threads
        self._lease = lease
        self._poll = poll
        self._most_left = most_left
        self._bell = threading.Condition()
        self._rings = 0
        self._runs: dict[str, Run] = {}
        self._takers: set[threading.Thread] = set()
        self._watcher: threading.Thread | None = None
        self._left = 0  # threads that were left behind
        self._stopping = False
        self._draining = False

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to take jobs. Stops by itself when the program ends."""
        with self._bell:
            if self._watcher is not None:
                return
            self._stopping = False
            self._store.following.hear(jobs, self._ring)
            atexit.register(self.stop)
            self._watcher = _begun(self._watch)
            self._fill()

    def stop(self, *, patience: float = 5.0) -> None:
        """Take nothing more, ask running jobs to stop, and give back those that have not after a while."""
        with self._bell:
            if self._watcher is None:
                return
            self._stopping = True
            for run in self._runs.values():
                run.stop.ask(Code.JOB_STOPPED)
            self._bell.notify_all()
            self._bell.wait_for(lambda: not self._runs, timeout=patience)
            left = [run for run in self._runs.values() if not run.ending]
            for run in left:
                self._leave(run)
            watcher, self._watcher = self._watcher, None
            self._bell.notify_all()
            self._bell.wait_for(lambda: not self._takers, timeout=patience)
        for run in left:
            ending.give_back(self._store, run)
        watcher.join(timeout=patience)
        self._store.following.leave(self._ring)
        atexit.unregister(self.stop)

    def drain(self) -> None:
        """Run what is due, and what becomes due meanwhile; come back when nothing is left to do now."""
        self._draining = True
        try:
            self._maintain()
            self.start()
            with self._bell:
                self._bell.wait_for(lambda: not self._takers or self._stopping)
        finally:
            self.stop()
            self._draining = False

    @property
    def running(self) -> list[Lease]:
        """The jobs that are running here."""
        with self._bell:
            return [run.lease for run in self._runs.values()]

    def _ring(self) -> None:
        with self._bell:
            self._rings += 1
            self._bell.notify_all()

    def _fill(self) -> None:
        """As many threads as there should be, unless too many were left behind."""
        while len(self._takers) < self._threads and self._left <= self._most_left and not self._stopping:
            self._takers.add(_begun(self._work))

    def _leave(self, run: Run) -> None:
        """Leave the thread of a job behind: nobody waits for it any more."""
        run.left = True
        self._left += 1
        del self._runs[run.lease.holder]
        self._takers = {thread for thread in self._takers if thread.ident != run.thread}

    # Taking

    def _work(self) -> None:
        try:
            while self._take_one():
                pass
        finally:
            with self._bell:
                self._takers.discard(threading.current_thread())
                self._bell.notify_all()

    def _take_one(self) -> bool:
        """Take a job and run it, or rest; false when this thread is no longer needed."""
        with self._bell:
            if self._stopping:
                return False
            seen = self._rings
        lease = _guarded(lambda: leases.take(self._store, self._kinds, seconds=self._lease))
        if lease is not None:
            return self._run(lease)
        with self._bell:
            if self._draining:
                return False
            self._bell.wait_for(lambda: self._stopping or self._rings != seen, timeout=self._poll)
        return True

    def _run(self, lease: Lease) -> bool:
        """Run a job to its end; false when its thread was left behind meanwhile."""
        kind = self._kinds[lease.kind]
        run = Run(lease=lease, kind=kind, stop=Stop(kind.seconds), thread=threading.get_ident())
        with self._bell:
            self._runs[lease.holder] = run
            if self._stopping:
                run.stop.ask(Code.JOB_STOPPED)
        made = ending.called(run)
        with self._bell:
            run.ending = True
            if run.left:
                self._left -= 1
                if not self._draining:
                    self._fill()
        if run.left:
            ending.book_late(self._store, run)
            return False
        closed = _guarded(lambda: ending.settle(self._store, run, made))
        if closed:
            _guarded(lambda: upkeep.release(self._store, lease.project_id, Code.JOB_BREAKER_OPEN, lease.kind))
        with self._bell:
            del self._runs[lease.holder]
            self._bell.notify_all()
        return True

    # Watching

    def _watch(self) -> None:
        tick = min(self._lease / 6, 1.0)
        next_dead = next_round = time.monotonic()
        while True:
            with self._bell:
                if not self._watching():
                    return
                seen, runs = self._rings, list(self._runs.values())
            for run in runs:
                self._look_after(run)
            if runs:
                self._tell_the_cancelled(runs)
            if time.monotonic() >= next_round:
                self._maintain()
                next_round = time.monotonic() + UPKEEP
            if time.monotonic() >= next_dead:
                _guarded(lambda: upkeep.give_back_dead(self._store, self._kinds, seconds=self._lease))
                next_dead = time.monotonic() + self._lease / 3
            with self._bell:
                self._wait(seen, tick)

    def _watching(self) -> bool:
        return self._watcher is threading.current_thread()

    def _wait(self, seen: int, seconds: float) -> None:
        self._bell.wait_for(lambda: not self._watching() or self._rings != seen, timeout=seconds)

    def _look_after(self, run: Run) -> None:
        """Renew the lease of a job, or give up on it."""
        with self._bell:
            over = not run.stop.left and not run.ending and not run.left
            if over:
                self._leave(run)
                self._fill()
                self._bell.notify_all()
        if over:
            run.stop.ask(Code.JOB_TIMEOUT)
            _guarded(lambda: ending.give_up(self._store, run, _TOO_LONG))
        elif not run.left and time.monotonic() - run.renewed >= self._lease / 3:
            spent = run.stop.spent
            held = _guarded(lambda: leases.renew(self._store, run.lease, spent=spent))
            run.renewed = time.monotonic()
            if held:
                run.told = spent
            elif held is False and not run.ending:
                run.stop.ask(Code.JOB_LEASE_LOST)

    def _tell_the_cancelled(self, runs: list[Run]) -> None:
        told = _guarded(lambda: leases.cancelled(self._store, [run.lease for run in runs])) or []
        for run in runs:
            if run.lease.holder in told:
                run.stop.ask(Code.JOB_CANCELLED)

    def _maintain(self) -> None:
        """One round of upkeep."""
        _guarded(lambda: upkeep.put_times_right(self._store, seconds=self._lease))
        _guarded(lambda: upkeep.give_back_dead(self._store, self._kinds, seconds=self._lease))
        _guarded(lambda: upkeep.release_paid(self._store))
        _guarded(lambda: upkeep.prune(self._store))


def _begun(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="fabula-jobs", daemon=True)
    thread.start()
    return thread


def _guarded(step: Callable[[], _Found]) -> _Found | None:
    """A step that may fail without ending the thread; the next round tries again."""
    try:
        return step()
    except FabulaError as error:
        log.warning("the worker met %s", error.code.value)
    except Exception as error:
        log.error("the worker met %s", type(error).__name__)
    return None
