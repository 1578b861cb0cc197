"""Event streams of one server process: 1,000 idle ones and 200 whose projects are written to, all at once.

A server runs in a process of its own. 1,000 streams follow projects in which nothing happens, and 200 follow one
project each, which a writer of another process changes some times a second. Latency is the time from the end of a
change to the arrival of its event. Every event must arrive once and in order. Memory is that of the server. With
`--postgres` all of them use a PostgreSQL server of this run in place of SQLite.

    python -m benchmarks.event_streams [--postgres] [--json]
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.figures import arguments, percentile, report
from fabula.workspace.workspace import Workspace

IDLE, WRITING = 1_000, 200
QUIET_PROJECTS = 20  # that the idle streams follow
ROUNDS, PAUSE = 10, 1.0  # changes of each project, and the seconds between two
COMMAND = "import sys; from fabula.cli.main import main; sys.argv[0] = 'fabula'; main()"


class Reader:
    """A client of one stream, with the versions of its events and when each arrived."""

    def __init__(self, project_id: str) -> None:
        self.project_id = project_id
        self.arrivals: list[tuple[int, float]] = []
        self.is_ready = False
        self.is_lost = False

    async def read(self, port: int, token: str) -> None:
        """Read until the server closes the connection, or the task is cancelled."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(
                f"GET /api/projects/{self.project_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                f"Authorization: Bearer {token}\r\n\r\n".encode()
            )
            kind = b""
            while line := await reader.readline():
                if line.startswith(b"event: "):
                    kind = line[7:].strip()
                elif line.startswith(b"data: "):
                    if kind == b"change":
                        self.arrivals.append((msgspec.json.decode(line[6:])["version"], time.monotonic()))
                    self.is_ready = True
            self.is_lost = True
        finally:
            writer.close()


def start_server(store: str) -> tuple[subprocess.Popen[str], int, str]:
    """Start a server; return its process, its port and the token."""
    options = ["serve", "--port", "0", "--no-open", "--no-worker", "--store", store]
    process = subprocess.Popen([sys.executable, "-c", COMMAND, *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.readline() + process.stdout.readline()
    port = re.search(r"127\.0\.0\.1:(\d+)", printed)
    assert port is not None, printed
    return process, int(port[1]), Path(printed.strip().rpartition(": ")[2]).read_text().strip()


def read_memory(pid: int) -> float:
    """The resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def read_cpu_time(pid: int) -> float:
    """The seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_rounds(store: str, projects: list[str], times: dict[str, dict[int, float]]) -> None:
    """Change each project a number of times, and note when each version was stored."""
    with Workspace.open(store) as workspace:
        handles = [workspace.project(one) for one in projects]
        for handle in handles:
            handle.codex.add("Lamp")
        for number in range(ROUNDS):
            began = time.monotonic()
            for handle in handles:
                handle.codex.edit("Lamp", description=f"Version {number} of the lamp.")
                times[handle.id][workspace.store.versions(project=handle.id)[0]] = time.monotonic()
            time.sleep(max(0.0, PAUSE - (time.monotonic() - began)))


async def measure(store: str, projects: list[str], port: int, token: str, pid: int) -> dict[str, float]:
    """Open all streams, let the projects be changed, and compare what arrived with what was stored."""
    started = read_memory(pid)
    quiet, busy = projects[:QUIET_PROJECTS], projects[QUIET_PROJECTS:]
    readers = [Reader(quiet[number % len(quiet)]) for number in range(IDLE)]
    writing = [Reader(project_id) for project_id in busy]
    tasks = []
    for one in (*readers, *writing):
        tasks.append(asyncio.ensure_future(one.read(port, token)))
        await asyncio.sleep(0.001)
    while not all(one.is_ready for one in (*readers, *writing)):
        await asyncio.sleep(0.05)
    opened, cpu, began = read_memory(pid), read_cpu_time(pid), time.monotonic()
    await asyncio.sleep(10)
    idle_cpu = (read_cpu_time(pid) - cpu) / (time.monotonic() - began)
    times: dict[str, dict[int, float]] = defaultdict(dict)
    writer = threading.Thread(target=write_rounds, args=(store, busy, times))
    cpu, began = read_cpu_time(pid), time.monotonic()
    writer.start()
    while writer.is_alive():
        await asyncio.sleep(0.05)
    busy_cpu = (read_cpu_time(pid) - cpu) / (time.monotonic() - began)
    await asyncio.sleep(2)
    dropped, latencies = sum(one.is_lost for one in readers), []
    for one in writing:
        arrived = dict(one.arrivals)
        versions = [version for version, _ in one.arrivals]
        dropped += one.is_lost + len(times[one.project_id].keys() - arrived.keys())
        dropped += versions != sorted(set(versions))
        latencies += [
            (arrived[version] - at) * 1000 for version, at in times[one.project_id].items() if version in arrived
        ]
    final = read_memory(pid)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return {
        "streams": float(IDLE + WRITING),
        "events": float(len(latencies)),
        "dropped": float(dropped),
        "latency_p50_ms": percentile(latencies, 0.5),
        "latency_p95_ms": percentile(latencies, 0.95),
        "latency_max_ms": max(latencies),
        "memory_started_mb": started,
        "memory_opened_mb": opened,
        "memory_final_mb": final,
        "memory_per_stream_kb": (opened - started) * 1000 / (IDLE + WRITING),
        "idle_cpu_share": idle_cpu,
        "busy_cpu_share": busy_cpu,
    }


@contextmanager
def make_store(*, is_server: bool) -> Iterator[str]:
    """A store that is gone when the block ends: a folder, or a database of a PostgreSQL server."""
    if is_server:
        from tests.postgres import run_postgres

        with run_postgres() as postgres:
            yield postgres.get_uri()
    else:
        with tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder:
            yield folder


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--postgres", action="store_true", help="with PostgreSQL in place of SQLite")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))
    with make_store(is_server=options.postgres) as store:
        with Workspace.open(store) as workspace:
            projects = [workspace.create_project(f"Story {one}").id for one in range(QUIET_PROJECTS + WRITING)]
        process, port, token = start_server(store)
        try:
            figures = asyncio.run(measure(store, projects, port, token, process.pid))
        finally:
            process.terminate()
            process.wait()
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
