"""The server under load: 500 assemblies at once over HTTP, how many it makes a second, and a long run.

Two processes share one socket and one SQLite store, with a project of a million characters in 125 documents or more.
The client is `wrk` of Debian, which `make bench` unpacks into `.venv`. A route that returns a ready answer of the same
size, and an empty one, are measured in the same run; both pass the same checks of the caller. `burst500_p95_ms` is the
time from sending a request to having its answer where 500 are sent at once on open connections. The calmest of several
rounds counts, because what else runs on the machine can only make a round slower.

With `--soak MINUTES` the server answers at half of its rate for so long, while documents are edited and background
jobs run. No chat goes on meanwhile.

    python -m benchmarks.load [--json] [--data DIR] [--soak MINUTES]
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import httpx2
from litestar import MediaType, Request, Response, get, post
from msgspec import Struct

from benchmarks.figures import arguments, loop_ms, report, show
from benchmarks.novels import chapters, project
from fabula.access.passwords import make_secret
from fabula.manuscript.model import Manuscript
from fabula.server.address import open_socket
from fabula.server.serving import ProcessServer
from fabula.workspace.workspace import Workspace

PROCESSES, CHARACTERS, WINDOW = 2, 1_000_000, 8192
BURST, BURST_SECONDS, ROUNDS = 500, 5, 5  # wrk always runs for whole seconds
SUSTAINED_CONNECTIONS, SUSTAINED_SECONDS = 64, 6
SCRIPT = Path(__file__).with_name("load.lua")
SPAWN = get_context("spawn")


class LoadResult(Struct):
    """What wrk reports of a run; times in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p95: float
    p99: float
    errors: int

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return self.requests / self.seconds


def find_wrk() -> tuple[str, dict[str, str]]:
    """The command and its environment: as installed, or as `make bench` unpacks it."""
    installed = shutil.which("wrk")
    if installed is not None:
        return installed, {**os.environ}
    unpacked = Path(sys.prefix) / "wrk"
    if not (unpacked / "usr/bin/wrk").exists():
        sys.exit("wrk is missing: run `make bench`, or install it with apt-get install wrk")
    libraries = next(unpacked.glob("usr/lib/*/libluajit*")).parent
    return str(unpacked / "usr/bin/wrk"), {**os.environ, "LD_LIBRARY_PATH": str(libraries)}


def serve_process(opened: socket.socket, store: str, token: str, size: int, runs_jobs: bool, ready: Connection) -> None:
    """Be one of the processes of the server, with two more routes to compare with."""
    answer = json.dumps({"answer": "x" * (size - 14)}).encode()

    @post("/bench/ready", status_code=200)
    async def give_ready(request: Request[Any, Any, Any]) -> Response[bytes]:
        await request.body()
        return Response(answer, media_type=MediaType.JSON)

    @get("/bench/empty", status_code=200)
    async def give_empty() -> Response[bytes]:
        return Response(b"", media_type=MediaType.JSON)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Workspace.open(store) as workspace:
        if runs_jobs:
            workspace.start_worker()
        server = ProcessServer(
            workspace,
            host="127.0.0.1",
            token=token,
            on_started=lambda: ready.send(os.getpid()),
            handlers=[give_ready, give_empty],
        )
        server.run(sockets=[opened])


class LoadServer:
    """The server that is measured, with the requests for it."""

    def __init__(self, url: str, token: str, folder: Path, project_id: str, processes: Sequence[int]) -> None:
        self.url, self.token, self.project_id, self.processes = url, token, project_id, processes
        self._folder = folder
        self._command, self._environment = find_wrk()

    def write_requests(self, name: str, lines: Sequence[str]) -> Path:
        """Write requests into a file for wrk."""
        file = self._folder / name
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file

    def run(
        self, file: Path, *, connections: int, seconds: float, limit: int = 0, pause: float = 0.0, threads: int = 1
    ) -> LoadResult:
        """Run wrk with the requests of a file."""
        words = [self._command, f"-t{threads}", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "60s"]
        words += ["-s", str(SCRIPT), self.url, "--", str(file), self.token, str(limit), str(pause)]
        done = subprocess.run(words, env=self._environment, capture_output=True, text=True, check=True)
        return LoadResult(**json.loads(done.stdout.strip().splitlines()[-1]))

    def client(self) -> httpx2.Client:
        """A client with the token."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)

    def processor_seconds(self) -> float:
        """What the processes have used so far."""
        stats = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in self.processes]
        return sum(int(one[11]) + int(one[12]) for one in stats) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Megabytes that the processes hold."""
        pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in self.processes)
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def run_load_server(folder: Path, project_id: str, size: int, *, runs_jobs: bool) -> Iterator[LoadServer]:
    """Run the server until the block ends."""
    token, processes, ids = make_secret(), [], []
    with open_socket("127.0.0.1", 0) as opened:
        try:
            for number in range(PROCESSES):
                ready, sent = SPAWN.Pipe(duplex=False)
                words = (opened, str(folder / "data"), token, size, runs_jobs and number == 0, sent)
                process = SPAWN.Process(target=serve_process, args=words)
                process.start()
                processes.append(process)
                ids.append(ready.recv())
            yield LoadServer(f"http://127.0.0.1:{opened.getsockname()[1]}", token, folder, project_id, ids)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.join()


def make_requests(project_id: str, documents: Sequence[tuple[str, int]], number: int, seed: int) -> list[str]:
    """Requests for prompts at random places of all documents in turn."""
    random = Random(seed)
    lines = []
    for at in range(number):
        document, length = documents[at % len(documents)]
        body = {"projectId": project_id, "documentId": document, "cursorPosition": random.randint(200, length)}
        body |= {"skillId": "continue", "model": "gpt-4o", "window": WINDOW}
        lines.append(f"POST /api/projects/{project_id}/assemble {json.dumps(body)}")
    random.shuffle(lines)
    return lines


def measure_bursts(server: LoadServer, requests: Path) -> tuple[float, int]:
    """The p95 of the calmest round of 500 at once, and the fewest good answers of any round."""
    rounds = [
        server.run(requests, connections=BURST, seconds=BURST_SECONDS, limit=BURST // 2, threads=2)
        for _ in range(ROUNDS)
    ]
    return min(one.p95 for one in rounds), min(min(one.requests, BURST) - one.errors for one in rounds)


def set_search(server: LoadServer, is_on: bool) -> None:
    """Switch the passages in prompts on or off."""
    with server.client() as client:
        path = f"/api/projects/{server.project_id}/settings/search.passages"
        client.put(path, json={"value": is_on}).raise_for_status()


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--soak", type=float, default=0.0, metavar="MINUTES", help="a long run behind it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fabula-load-") as name:
        figures = measure(Path(name), options.data, options.soak)
    report(figures, as_json=options.json)


def measure(folder: Path, data: Path | None, soak_minutes: float) -> dict[str, float]:
    """Make the project, run the server, and measure."""
    speed = [loop_ms()]
    with Workspace.open(folder / "data") as workspace:
        view = project(chapters(data), characters=CHARACTERS, entries=1000, constraints=50)
        handle = workspace.copy_project(view, title="Bench")
        story = handle.view.snapshot(Manuscript) or Manuscript()
        documents = [(one.id, len(one.text)) for one in story.documents if len(one.text) > 200]
        size = _measure_answer(handle)
    assert len(documents) >= 125
    figures: dict[str, float] = {}
    rows: list[tuple[object, ...]] = []
    with run_load_server(folder, handle.id, size, runs_jobs=bool(soak_minutes)) as server:
        assemble = server.write_requests("assemble.txt", make_requests(handle.id, documents, 2000, 1))
        ready = server.write_requests("ready.txt", ["POST /bench/ready {}"])
        empty = server.write_requests("empty.txt", ["GET /bench/empty"])
        for is_on, name in ((True, "burst500_search_p95_ms"), (False, "burst500_p95_ms")):
            set_search(server, is_on)
            for _ in range(2):  # each process has made prompts of every document then
                server.run(assemble, connections=SUSTAINED_CONNECTIONS, seconds=SUSTAINED_SECONDS)
            figures[name], ok = measure_bursts(server, assemble)
            rows.append((f"500 at once, search {'on' if is_on else 'off'}, p95 ms", figures[name], f"{ok} of 500"))
            figures["burst500_ok"] = min(figures.get("burst500_ok", BURST), ok)
        ratios, rates = [], {"sustained": 0.0, "ready": 0.0, "empty": 0.0}
        costs: dict[str, float] = {}
        for _ in range(3):
            found = {}
            for kind, file in (("ready", ready), ("sustained", assemble), ("empty", empty)):
                before = server.processor_seconds()
                run = server.run(file, connections=SUSTAINED_CONNECTIONS, seconds=SUSTAINED_SECONDS)
                found[kind] = run.per_second
                cost = (server.processor_seconds() - before) * 1000 / max(run.requests, 1)
                costs[kind] = min(costs.get(kind, cost), cost)
                rates[kind] = max(rates[kind], run.per_second)
            ratios.append(found["sustained"] / found["ready"])
        figures |= {f"{kind}_per_s": rate for kind, rate in rates.items()}
        figures["sustained_ratio"] = median(ratios)
        rows += [(f"{kind}, a second; ms of processor each", rates[kind], costs[kind]) for kind in rates]
        by_cost = costs["ready"] / costs["sustained"]
        rows.append(("sustained / ready, by rate; by processor time", median(ratios), by_cost))
        if soak_minutes:
            figures |= soak(server, assemble, documents, rates["sustained"] / 2, soak_minutes * 60)
        speed.append(loop_ms())
    show("the server under load", ("workload", "figure", "beside it"), rows)
    figures["loop_ms"] = max(speed)
    return figures


def _measure_answer(handle: Any) -> int:
    """The bytes of one answer."""
    from msgspec.json import encode

    from fabula.workspace.schemas.context import describe_prompt

    return len(encode(describe_prompt(handle.assemble(handle.request(window=WINDOW)))))


def soak(
    server: LoadServer, requests: Path, documents: Sequence[tuple[str, int]], rate: float, seconds: float
) -> dict[str, float]:
    """Answer at a rate while documents are edited and jobs run."""
    stop, failures = threading.Event(), []
    memory: list[float] = []

    def disturb() -> None:
        with server.client() as client:
            path = f"/api/projects/{server.project_id}"
            for number in range(10**9):
                if stop.wait(1.0):
                    return
                chapter = documents[number % len(documents)][0]
                try:
                    text = client.get(f"{path}/chapters/{chapter}").raise_for_status().json()["text"]
                    changed = {"text": f"{text}\n\nA line of round {number}."[-12_000:]}
                    client.put(f"{path}/chapters/{chapter}", json=changed).raise_for_status()
                except httpx2.HTTPError as error:
                    failures.append(repr(error))

    def sample() -> None:
        while not stop.wait(5.0):
            with suppress(OSError):
                memory.append(server.memory())

    threads = [threading.Thread(target=one) for one in (disturb, sample)]
    for thread in threads:
        thread.start()
    run = server.run(
        requests,
        connections=SUSTAINED_CONNECTIONS,
        seconds=seconds,
        pause=SUSTAINED_CONNECTIONS / rate * 1000,
    )
    stop.set()
    for thread in threads:
        thread.join()
    fifth = max(1, len(memory) // 5)
    growth = median(memory[-fifth:]) / median(memory[fifth : 2 * fifth] or memory) - 1
    return {"soak_p99_ms": run.p99, "soak_errors": run.errors + len(failures), "soak_memory_growth": growth}


if __name__ == "__main__":
    main()
