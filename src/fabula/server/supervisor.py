"""Runs the server in several processes that share one socket and one store.

The supervisor opens the socket and starts the processes; it answers no requests and has no store open. A process that
ends is replaced, at once or, if it ended before it could answer, after a pause that grows. SIGINT and SIGTERM are
passed on, and a process that has not ended in time is killed. A process ends by itself when the supervisor is gone.
Background jobs run in the first process.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.server.address import ServerAddress, make_address, open_socket
from fabula.server.logs import write_logs
from fabula.server.open_files import raise_file_limit
from fabula.workspace.workspace import Workspace

if TYPE_CHECKING:
    from fabula.server.serving import ProcessServer

log = logging.getLogger("fabula.server")

STOP_SECONDS = 20.0  # that a process has to end its requests and to close the store; then it is killed
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
MIN_PAUSE, MAX_PAUSE = 0.5, 10.0  # before a process that could not start is started again
_SPAWN = get_context("spawn")


class WorkerOptions(Struct, frozen=True):
    """What a process of the server is told."""

    store: str | None
    host: str
    token: str
    runs_jobs: bool
    processes: int  # that answer for one server


def serve_in_processes(
    store: str | None,
    *,
    processes: int,
    host: str = "127.0.0.1",
    port: int = 8600,
    worker: bool = True,
    on_ready: Callable[[ServerAddress], None],
) -> None:
    """Serve a store in several processes until SIGINT or SIGTERM; `on_ready` is called when all of them answer."""
    write_logs()
    raise_file_limit()
    with open_socket(host, port) as opened:
        with Workspace.open(store) as workspace:  # brings the store up to date before the processes open it
            address = make_address(workspace.store, host, opened)
        options = [
            WorkerOptions(store, host, address.token, runs_jobs=worker and number == 0, processes=processes)
            for number in range(processes)
        ]
        with tempfile.TemporaryDirectory(prefix="fabula-metrics-") as folder, _catch_signals() as signals:
            os.environ[METRICS_FOLDER] = folder  # where the processes put their metrics together
            Supervisor(opened, options, signals).run(lambda: on_ready(address))


class Supervisor:
    """Keeps a process running for each of some options until a signal arrives."""

    def __init__(self, opened: socket.socket, options: list[WorkerOptions], signals: Connection) -> None:
        """`signals` has something to read once the processes shall end, and again if they shall do so at once."""
        self._socket, self._signals = opened, signals
        self._workers = [_SupervisedProcess(one) for one in options]

    def run(self, on_ready: Callable[[], None]) -> None:
        """Start all processes, keep them running, and end them."""
        try:
            for worker in self._workers:
                worker.start(self._socket)
            self._keep_running(on_ready)
        finally:
            self._stop()

    def _keep_running(self, on_ready: Callable[[], None]) -> None:
        was_ready = False
        while True:
            pauses = [one.starts_at - time.monotonic() for one in self._workers if not one.is_running]
            waiting = [one.ready for one in self._workers if not one.is_ready and one.is_running]
            running = [one.process.sentinel for one in self._workers if one.is_running]
            found = connection.wait([self._signals, *waiting, *running], max(0.0, min(pauses)) if pauses else None)
            if self._signals in found:
                self._signals.recv_bytes()
                return
            for number, worker in enumerate(self._workers):
                if worker.is_running and not worker.process.is_alive():
                    if not was_ready:
                        raise _refuse_start(worker.process.exitcode)
                    worker.note_end()
                    log.warning("process %d of the server ended (%s)", number + 1, worker.process.exitcode)
                if not worker.is_running and worker.starts_at <= time.monotonic():
                    worker.start(self._socket)
                worker.check_ready()
            if not was_ready and all(one.is_ready for one in self._workers):
                was_ready = True
                on_ready()

    def _stop(self) -> None:
        until = time.monotonic() + STOP_SECONDS
        for worker in self._workers:
            worker.send_signal(signal.SIGTERM)
        while running := [one for one in self._workers if one.is_running]:
            left = until - time.monotonic()
            found = connection.wait([self._signals, *(one.process.sentinel for one in running)], max(0.0, left))
            if self._signals in found:
                self._signals.recv_bytes()
                for worker in running:
                    worker.send_signal(signal.SIGINT)  # the second one ends requests that are running
            for worker in running:
                if left <= 0:
                    log.warning("a process of the server did not end in time and was killed")
                    worker.process.kill()
                    worker.process.join()
                if not worker.process.is_alive():
                    worker.note_end()


class _SupervisedProcess:
    """One of the processes: what it is told, whether it runs and answers, and when it is started again."""

    def __init__(self, options: WorkerOptions) -> None:
        self._options = options
        self._pause = MIN_PAUSE
        self.starts_at = 0.0
        self.is_running = self.is_ready = False
        self.ready: Connection
        self.process: SpawnProcess

    def start(self, opened: socket.socket) -> None:
        self.ready, ready = _SPAWN.Pipe(duplex=False)
        self.process = _SPAWN.Process(target=_run_process, args=(opened, self._options, ready))
        self.process.start()
        ready.close()
        self.is_running, self.is_ready = True, False

    def check_ready(self) -> None:
        if self.is_running and not self.is_ready and self.ready.poll():
            try:
                self.is_ready = self.ready.recv() == "ready"
            except EOFError:
                return
            self._pause = MIN_PAUSE

    def note_end(self) -> None:
        _remove_gauges(self.process.pid)
        self.starts_at = time.monotonic() if self.is_ready else time.monotonic() + self._pause
        self._pause = self._pause if self.is_ready else min(2 * self._pause, MAX_PAUSE)
        self.is_running = self.is_ready = False
        self.ready.close()

    def send_signal(self, number: signal.Signals) -> None:
        if self.is_running and self.process.is_alive() and self.process.pid is not None:
            os.kill(self.process.pid, number)


def _run_process(opened: socket.socket, options: WorkerOptions, ready: Connection) -> None:
    """Be one of the processes."""
    from fabula.server.serving import ProcessServer  # the supervisor does without the application

    write_logs()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; until it serves, SIGTERM ends a process
    try:
        with Workspace.open(options.store) as workspace:
            server = ProcessServer(
                workspace,
                host=options.host,
                token=options.token,
                on_started=lambda: ready.send("ready"),
                processes=options.processes,
            )
            threading.Thread(target=_follow_supervisor, args=(server,), daemon=True).start()
            if options.runs_jobs:
                workspace.start_worker()
            server.run(sockets=[opened])
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the store is being closed
    except FabulaError as error:
        log.error("a process of the server could not start: %s", error.code.value)
        sys.exit(1)


def _follow_supervisor(server: ProcessServer) -> None:
    """End the process when the supervisor is gone."""
    supervisor = parent_process()
    assert supervisor is not None
    supervisor.join()
    server.should_exit = True
    time.sleep(STOP_SECONDS)
    os._exit(1)


def _remove_gauges(process_id: int | None) -> None:
    """Forget what a process that is gone said about the present; its counters stay."""
    for file in Path(os.environ[METRICS_FOLDER]).glob(f"gauge_live*_{process_id}.db"):
        file.unlink(missing_ok=True)


def _refuse_start(exit_code: int | None) -> FabulaError:
    return FabulaError(
        Code.SERVER_FAILED,
        message("A process of the server ended before it could answer ({code}). Nothing was changed.", code=exit_code),
    )


@contextmanager
def _catch_signals() -> Iterator[Connection]:
    """Return a connection that has something to read for each SIGINT and SIGTERM of this process."""
    arrived, sent = _SPAWN.Pipe(duplex=False)
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: sent.send_bytes(b"x")) for number in numbers}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        arrived.close()
        sent.close()
