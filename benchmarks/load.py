"""The server under load: 500 assemblies at once over HTTP, how many it makes a second, and while people work.

Two processes share one socket and one SQLite store, with a project of a million characters in 125 documents or more.
The client is `wrk` of Debian, which `make bench` unpacks into `.venv`. A route that returns a ready answer of the same
size, and an empty one, are measured in the same run; both pass the same checks of the caller. `burst500_p95_ms` is the
time from sending a request to having its answer where 500 are sent at once on open connections, in the calmest of five
rounds, because what else runs on the machine can only make a round slower; `burst500_p95_median_ms` and
`burst500_p95_worst_ms` are of the median and of the slowest round. Every round, and the warm-up before them, has other
places in the same documents.

Then the server answers at half of its rate for ten seconds, or for `--soak MINUTES`, while people edit and chat and
background jobs run, among them recaps, with a model of this process that answers at once. A request runs on an event
loop in steps between two pauses. `loop_held_max_ms` is the processor time of the loop's thread in the longest step, and
`loop_held_wall_max_ms` the time that passed in the longest one, with all that the thread waited for: other programs,
and other threads that had the interpreter's lock. Both are of the steps of requests alone. `loop_lag_p99_ms` and
`loop_lag_max_ms` are how late timers of the loops were, whatever held the loops: these steps, everything else that runs
on them, and other programs. Errors are answers that are no success, replies without a text, and jobs that failed.

    python -m benchmarks.load [--json] [--data DIR] [--soak MINUTES]
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, cast

import httpx2
from litestar import MediaType, Request, Response, get, post
from msgspec import Struct
from tests.llm.server import Exchange, ModelServer, chunk, run_server

from benchmarks.figures import arguments, loop_ms, percentile, report, show
from benchmarks.novels import chapters, project
from fabula.access.passwords import make_secret
from fabula.jobs import queue
from fabula.jobs.model import JobState
from fabula.manuscript.model import Manuscript
from fabula.server.address import open_socket
from fabula.server.loop_lag import measure_loop_lag
from fabula.server.security import ASGIApp
from fabula.server.serving import ProcessServer
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

PROCESSES, CHARACTERS, WINDOW = 2, 1_000_000, 8192
MIN_DOCUMENTS = 125  # into which such a project is split at least, however long the chapters of a novel are
BURST, BURST_SECONDS, ROUNDS = 500, 6, 5  # a round ends with its last answer, or after so many seconds
SUSTAINED_CONNECTIONS, SUSTAINED_SECONDS = 64, 6
WORK_SECONDS = 10  # of people who edit and chat, without `--soak`
CHATS = 12  # that go on in turn
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


class LoopTimes(Struct):
    """How an event loop was held: milliseconds of lag, and of the longest steps of requests."""

    lags: list[float] = []
    longest_step: float = 0.0  # of the processor
    longest_wall_step: float = 0.0


class TimedSteps:
    """Awaits a coroutine, and measures each step of it between two pauses."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], times: LoopTimes) -> None:
        self._coroutine, self._times = coroutine, times

    def __await__(self) -> Generator[Any, Any, None]:
        step: Callable[[], Any] = partial(self._coroutine.send, None)
        while True:
            start, wall_start = time.thread_time(), time.perf_counter()
            try:
                waits_for = step()
            except StopIteration:
                return
            finally:
                times, used, passed = self._times, time.thread_time() - start, time.perf_counter() - wall_start
                times.longest_step = max(times.longest_step, used * 1000)
                times.longest_wall_step = max(times.longest_wall_step, passed * 1000)
            try:
                yield waits_for
            except BaseException as error:  # the request was cancelled
                step = partial(self._coroutine.throw, error)
            else:
                step = partial(self._coroutine.send, None)


def watch_steps(app: ASGIApp, times: LoopTimes) -> ASGIApp:
    """Return an application that measures the steps of each request."""

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        answering = cast("Coroutine[Any, Any, None]", app(scope, receive, send))
        await (TimedSteps(answering, times) if scope["type"] == "http" else answering)

    return watched


def serve_process(
    opened: socket.socket, store: str, token: str, size: int, runs_jobs: bool, is_watched: bool, parent: Connection
) -> None:
    """Be one of the processes of the server, with two more routes to compare with.

    The parent is told the id of the process, and at the end how its loop was held.
    """
    times = LoopTimes()
    tasks: list[asyncio.Task[None]] = []

    def begin() -> None:
        if is_watched:
            tasks.append(asyncio.create_task(measure_loop_lag(lambda lag: times.lags.append(lag * 1000))))
        parent.send(os.getpid())

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
            on_started=begin,
            handlers=[give_ready, give_empty],
        )
        if is_watched:
            server.config.app = watch_steps(cast("ASGIApp", server.config.app), times)
        server.run(sockets=[opened])
    parent.send((times.lags, times.longest_step, times.longest_wall_step))


class LoadServer:
    """The server that is measured, with the requests for it."""

    def __init__(self, url: str, token: str, folder: Path, project_id: str, processes: Sequence[int]) -> None:
        self.url, self.token, self.project_id, self.processes = url, token, project_id, processes
        self.loop_times: list[LoopTimes] = []  # of each process, once all have ended
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
def run_load_server(
    folder: Path, project_id: str, size: int, *, runs_jobs: bool = False, is_watched: bool = False
) -> Iterator[LoadServer]:
    """Run the server until the block ends."""
    token, processes, pipes = make_secret(), [], []
    with open_socket("127.0.0.1", 0) as opened:
        try:
            for number in range(PROCESSES):
                pipe, sent = SPAWN.Pipe(duplex=False)
                words = (opened, str(folder / "data"), token, size, runs_jobs and number == 0, is_watched, sent)
                process = SPAWN.Process(target=serve_process, args=words)
                process.start()
                processes.append(process)
                pipes.append(pipe)
            url = f"http://127.0.0.1:{opened.getsockname()[1]}"
            server = LoadServer(url, token, folder, project_id, [pipe.recv() for pipe in pipes])
            yield server
        finally:
            for process in processes:
                process.terminate()
        server.loop_times = [LoopTimes(*pipe.recv()) for pipe in pipes]
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


def measure_bursts(server: LoadServer, rounds: Sequence[Path]) -> tuple[list[float], int]:
    """The p95 of each round of 500 at once, the calmest first, and the fewest good answers of any round.

    A round in which answers are missing took all of its time.
    """
    runs = [
        server.run(requests, connections=BURST, seconds=BURST_SECONDS, limit=BURST // 2, threads=2)
        for requests in rounds
    ]
    times = sorted(one.p95 if one.requests >= BURST else BURST_SECONDS * 1000.0 for one in runs)
    return times, min(min(one.requests, BURST) - one.errors for one in runs)


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
        view = project(_split(chapters(data)), characters=CHARACTERS, entries=1000, constraints=50)
        handle = workspace.copy_project(view, title="Bench")
        story = handle.view.snapshot(Manuscript) or Manuscript()
        documents = [(one.id, len(one.text)) for one in story.documents if len(one.text) > 200]
        size = _measure_answer(handle)
    assert len(documents) >= MIN_DOCUMENTS
    figures: dict[str, float] = {}
    rows: list[tuple[object, ...]] = []
    with run_load_server(folder, handle.id, size) as server:
        warm, assemble = (
            server.write_requests(f"{name}.txt", make_requests(handle.id, documents, 2000, seed))
            for seed, name in enumerate(("warm-up", "assemble"), start=1)
        )
        rounds = [
            server.write_requests(f"round-{seed}.txt", make_requests(handle.id, documents, BURST, seed))
            for seed in range(3, 3 + ROUNDS)
        ]
        for is_on, name in ((True, "burst500_search_p95"), (False, "burst500_p95")):
            set_search(server, is_on)
            warm_up(server, warm)
            times, ok = measure_bursts(server, rounds)
            for kind, figure in (("", times[0]), ("_median", median(times)), ("_worst", times[-1])):
                figures[f"{name}{kind}_ms"] = figure
                rows.append((f"500 at once, {name}{kind} ms", figure, f"{ok} of 500"))
            figures["burst500_ok"] = min(figures.get("burst500_ok", BURST), ok)
        figures |= measure_rates(server, assemble, rows)
    with run_model(folder) as model, Workspace.open(folder / "data") as workspace:
        chats = start_chats(workspace, handle.id)
        with run_load_server(folder, handle.id, size, runs_jobs=True, is_watched=True) as server:
            warm_up(server, warm)
            seconds = soak_minutes * 60 or WORK_SECONDS
            found = work(server, assemble, documents, chats, figures["sustained_per_s"] / 2, seconds, model)
        failed = count_failed_jobs(workspace, handle.id)
    lags = [lag for one in server.loop_times for lag in one.lags]
    figures |= {"loop_lag_p99_ms": percentile(lags, 0.99), "loop_lag_max_ms": max(lags)}
    figures["loop_held_max_ms"] = max(one.longest_step for one in server.loop_times)
    figures["loop_held_wall_max_ms"] = max(one.longest_wall_step for one in server.loop_times)
    rows += [("beside edits, chats and jobs: p99 ms; errors", found["soak_p99_ms"], found["soak_errors"] + failed)]
    rows += [(f"{name}, beside them", figures[name], "") for name in figures if name.startswith("loop_")]
    if soak_minutes:
        figures |= found | {"soak_errors": found["soak_errors"] + failed}
    speed.append(loop_ms())
    show("the server under load", ("workload", "figure", "beside it"), rows)
    figures["loop_ms"] = max(speed)
    return figures


def warm_up(server: LoadServer, requests: Path) -> None:
    """Let each process make prompts of every document."""
    for _ in range(2):
        server.run(requests, connections=SUSTAINED_CONNECTIONS, seconds=SUSTAINED_SECONDS)


def measure_rates(server: LoadServer, assemble: Path, rows: list[tuple[object, ...]]) -> dict[str, float]:
    """How many prompts, ready answers and empty ones the server makes a second, in turn."""
    ready = server.write_requests("ready.txt", ["POST /bench/ready {}"])
    empty = server.write_requests("empty.txt", ["GET /bench/empty"])
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
    rows += [(f"{kind}, a second; ms of processor each", rates[kind], costs[kind]) for kind in rates]
    rows.append(("sustained / ready, by rate; by processor time", median(ratios), costs["ready"] / costs["sustained"]))
    return {f"{kind}_per_s": rate for kind, rate in rates.items()} | {"sustained_ratio": median(ratios)}


def _split(texts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Split chapters between paragraphs, so that there are as many documents as are needed."""
    most, parts = CHARACTERS // MIN_DOCUMENTS - 1_000, list[tuple[str, str]]()
    for title, text in texts:
        start = len(parts)
        for paragraph in text.split("\n"):
            if len(parts) == start or len(parts[-1][1]) + len(paragraph) > most:
                parts.append((f"{title} {len(parts) - start + 1}", paragraph))
            else:
                parts[-1] = (parts[-1][0], f"{parts[-1][1]}\n{paragraph}")
    return parts


def _measure_answer(handle: ProjectHandle) -> int:
    """The bytes of one answer."""
    from msgspec.json import encode

    from fabula.workspace.schemas.context import describe_prompt

    return len(encode(describe_prompt(handle.assemble(handle.request(window=WINDOW)))))


async def answer_at_once(exchange: Exchange) -> None:
    """Answer as a model does, in some pieces."""
    await exchange.send_head()
    for piece in ("The lamp ", "was lit, ", "and nobody ", "had seen who lit it."):
        await exchange.send_event(chunk(piece))
    await exchange.send_event(chunk(why="stop"))
    await exchange.send_event("[DONE]")


@contextmanager
def run_model(folder: Path) -> Iterator[ModelServer]:
    """Run a model that people and background jobs ask, until the block ends."""
    before, models = os.environ.get("FABULA_MODELS"), folder / "models.toml"
    with run_server() as model:
        model.script = answer_at_once
        place = f'[places.lab]\nbase_url = "{model.url}"\nneeds_key = false\nmodel = "gpt-4o"\n'
        models.write_text(f'background = "lab"\n\n{place}', encoding="utf-8")
        os.environ["FABULA_MODELS"] = str(models)  # which the processes of the server have too
        try:
            yield model
        finally:
            os.environ.pop("FABULA_MODELS")
            if before is not None:
                os.environ["FABULA_MODELS"] = before


def start_chats(workspace: Workspace, project_id: str) -> list[str]:
    """Start conversations with somebody who answers; return their ids."""
    workspace.settings().set("llm.provider", "lab", scope="person")
    handle = workspace.project(project_id)
    handle.participants.add("Bo", persona="A pilot who knows the coast.")
    return [handle.chat.start(["Bo"]).record.id for _ in range(CHATS)]


def count_failed_jobs(workspace: Workspace, project_id: str) -> int:
    """How many background jobs have failed."""
    with workspace.store.read(project=project_id) as reading:
        return queue.count_jobs(reading)[JobState.FAILED]


def work(
    server: LoadServer,
    requests: Path,
    documents: Sequence[tuple[str, int]],
    chats: Sequence[str],
    rate: float,
    seconds: float,
    model: ModelServer,
) -> dict[str, float]:
    """Answer at a rate while people edit and chat, which background jobs follow from."""
    stop, failures = threading.Event(), list[str]()
    memory: list[float] = []

    def edit(client: httpx2.Client, number: int) -> None:
        path = f"/api/projects/{server.project_id}/chapters/{documents[number % len(documents)][0]}"
        text = client.get(path).raise_for_status().json()["text"]
        client.put(path, json={"text": f"{text}\n\nA line of round {number}."[-12_000:]}).raise_for_status()

    def talk(client: httpx2.Client, number: int) -> None:
        sent = {"message": f"Who lit the lamp in round {number}?", "thread_id": chats[number % len(chats)]}
        answer = client.post("/api/chat", json={**sent, "project_id": server.project_id}).raise_for_status().json()
        if not all(one.get("content") for one in answer["responses"]):
            failures.append(str(answer))
        model.exchanges.clear()

    def repeat(act: Callable[[httpx2.Client, int], None]) -> None:
        with server.client() as client:
            number = 0
            while not stop.wait(1.0):
                try:
                    act(client, number)
                except httpx2.HTTPError as error:
                    failures.append(repr(error))
                number += 1

    def sample() -> None:
        while not stop.wait(min(5.0, seconds / 20)):
            with suppress(OSError):
                memory.append(server.memory())

    threads = [threading.Thread(target=repeat, args=(act,)) for act in (edit, talk)]
    threads.append(threading.Thread(target=sample))
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
    for failure in failures[:5]:
        print(failure, file=sys.stderr)
    fifth = max(1, len(memory) // 5)
    growth = median(memory[-fifth:]) / median(memory[fifth : 2 * fifth] or memory) - 1
    return {"soak_p99_ms": run.p99, "soak_errors": float(run.errors + len(failures)), "soak_memory_growth": growth}


if __name__ == "__main__":
    main()
