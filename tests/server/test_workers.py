"""`fabula serve --workers`: several processes with one socket and one store."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from fabula.server import supervisor
from fabula.server.address import ServerAddress
from fabula.workspace.read_only import open_read_only
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.cli.processes import read_token, start_fabula
from tests.llm.server import Exchange, ModelServer, chunk
from tests.llm.server import run_server as run_model_server
from tests.server.running import make_client
from tests.server.test_streams import read_events

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are looked up in /proc")
WORDS = [f"word{number}" for number in range(60)]


def find_workers(supervisor_id: int) -> list[int]:
    """The ids of the processes that answer."""
    found = Path(f"/proc/{supervisor_id}/task/{supervisor_id}/children").read_text().split()
    return [int(one) for one in found if "spawn_main" in _read_process(int(one), "cmdline")]


def is_running(process_id: int) -> bool:
    return _read_process(process_id, "stat").rpartition(")")[2].split()[:1] not in ([], ["Z"])


def find_answering(processes: list[int], answer: httpx2.Response) -> int:
    """Which of some processes has the connection of an answer."""
    port = answer.extensions["network_stream"].get_extra_info("client_addr")[1]
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {f"socket:[{line[9]}]" for line in lines if line[2].endswith(f":{port:04X}")}
    for one in processes:
        for file in Path(f"/proc/{one}/fd").iterdir():
            with suppress(OSError):
                if os.readlink(file) in inodes:
                    return one
    raise AssertionError("no process has this connection")


def _read_process(process_id: int, name: str) -> str:
    try:
        return Path(f"/proc/{process_id}/{name}").read_text()
    except OSError:
        return ""


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


@contextmanager
def suspend(process_id: int) -> Iterator[None]:
    """Let a process stand still, so that others answer."""
    os.kill(process_id, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process_id, signal.SIGCONT)


class WorkerServer:
    """A server of several processes, as a terminal starts it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.link = re.findall(r"http://\S+", process.stdout.readline())[0]
        self.token = read_token(process)
        self.base, _, self.code = self.link.partition("/open/")

    @property
    def workers(self) -> list[int]:
        """The ids of the processes that answer."""
        return find_workers(self.process.pid)

    def client(self, **headers: str) -> httpx2.Client:
        """A client with a connection of its own, which any process may answer; with the token by default."""
        sent = headers or {"Authorization": f"Bearer {self.token}"}
        return make_client(self.base, sent, timeout=60)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        """Ask once."""
        with self.client(**headers) as client:
            return client.get(path)


@contextmanager
def run_workers(data: Path) -> Iterator[WorkerServer]:
    """Run `fabula serve --workers 2` until the block ends."""
    words = ("serve", "--port", "0", "--no-open", "--workers", "2", "--store", str(data))
    process = start_fabula(*words, folder=data.parent)
    try:
        yield WorkerServer(process)
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return lay(tmp_path / "data")


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """A model that writes sixty words slowly."""

    async def write_slowly(exchange: Exchange) -> None:
        await exchange.send_head()
        for word in WORDS:
            await exchange.send_event(chunk(f"{word} "))
            await asyncio.sleep(0.05)
        await exchange.send_event(chunk(why="stop"))
        await exchange.send_event("[DONE]")

    with run_model_server() as server:
        server.script = write_slowly
        yield server


@pytest.fixture(scope="module")
def server(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerServer]:
    """Two processes with a story whose jobs are queued when they start."""
    folder = tmp_path_factory.mktemp("workers")
    file = folder / "models.toml"
    file.write_text(f'[places.lab]\nbase_url = "{model.url}"\nneeds_key = false\nmodel = "m"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABULA_MODELS", str(file))
        with Workspace.open(lay(folder / "data")) as workspace:
            workspace.copy_project(open_read_only("sample:lantern_coast").view)
            workspace.settings().set("llm.provider", "lab", scope="person")
            assert any(one.jobs for one in workspace.list_jobs(states=["queued"]))
        with run_workers(folder / "data") as running:
            yield running


def test_every_process_takes_the_token_the_link_once_and_the_session_that_it_begins(server: WorkerServer) -> None:
    first, second = server.workers
    with suspend(second):
        opened = server.get(f"/open/{server.code}", Accept="*/*")
        assert opened.status_code == 303
        with server.client() as client:
            assert client.post("/api/projects", json={"title": "New"}).status_code == 201
    cookie = opened.headers["set-cookie"].partition(";")[0]
    name = cookie.partition("=")[0]
    for stopped in (first, second):
        with suspend(stopped):
            assert server.get(f"/open/{server.code}", Accept="*/*").status_code == 401
            for headers in ({}, {"Cookie": cookie}):
                listed = server.get("/api/projects", **headers).json()["items"]
                assert "New" in {one["title"] for one in listed}
            assert server.get("/api/projects", Cookie=f"{name}=x").status_code == 401


def test_background_jobs_run_beside_the_requests(server: WorkerServer) -> None:
    wait_until(lambda: not any(one["jobs"] for one in server.get("/api/jobs?states=queued").json()["projects"]))


def test_a_stream_goes_on_in_another_process_with_nothing_missing(server: WorkerServer) -> None:
    story = "The Lantern Coast"
    asked = {"projectId": story, "documentId": "1", "cursorPosition": 40, "skillId": "continue"}
    with server.client() as client, client.stream("POST", f"/api/projects/{story}/write", json=asked) as answer:
        assert answer.status_code == 200, answer.read()
        writer = find_answering(server.workers, answer)
        reading = read_events(answer)
        events = [next(reading) for _ in range(5)]
    reader = writer
    while reader == writer:
        sent = {"Last-Event-ID": events[-1][0]}
        with server.client() as client, client.stream("GET", answer.headers["location"], headers=sent) as rest:
            reader = find_answering(server.workers, rest)
            if reader != writer:
                events += read_events(rest)
    assert events[-1][1] == "done"
    assert [int(ident.rpartition(".")[2]) for ident, _, _ in events] == list(range(1, len(events) + 1))
    assert "".join(str(data["text"]) for _, kind, data in events if kind == "delta").split() == WORDS


def test_a_process_that_is_killed_is_replaced_and_the_other_one_answers_meanwhile(server: WorkerServer) -> None:
    before = server.workers
    os.kill(before[0], signal.SIGKILL)
    assert [server.get("/api/projects").status_code for _ in range(5)] == [200] * 5
    wait_until(lambda: len(server.workers) == 2 and before[0] not in server.workers)
    assert before[1] in server.workers
    os.kill(before[1], signal.SIGTERM)  # of one process alone: it ends in good order, and is replaced too
    wait_until(lambda: len(server.workers) == 2 and before[1] not in server.workers)
    assert [server.get("/api/projects").status_code for _ in range(5)] == [200] * 5


def test_all_processes_end_when_the_server_is_told_to(data: Path) -> None:
    with run_workers(data) as server:
        workers = server.workers
        assert len(workers) == 2
        server.process.send_signal(signal.SIGINT)
        rest, errors = server.process.communicate(timeout=60)
        assert (server.process.returncode, rest.strip(), errors.strip()) == (0, "Stopped.", "")
        assert not any(map(is_running, workers))


def test_processes_end_by_themselves_when_the_supervisor_is_killed(data: Path) -> None:
    with run_workers(data) as server:
        workers = server.workers
        server.process.kill()
        wait_until(lambda: not any(map(is_running, workers)))


def test_a_process_that_does_not_end_in_time_is_killed(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "STOP_SECONDS", 0.5)
    workers: list[int] = []

    def stop(_: ServerAddress) -> None:
        workers.extend(find_workers(os.getpid()))
        os.kill(workers[0], signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGTERM)

    supervisor.serve_in_processes(str(data), processes=2, port=0, worker=False, on_ready=stop)
    assert len(workers) == 2
    assert not any(map(is_running, workers))


def test_a_store_that_cannot_be_opened_is_refused_before_any_process_starts(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder")
    words = ("serve", "--port", "0", "--no-open", "--workers", "2", "--store", str(tmp_path / "data"))
    process = start_fabula(*words, folder=tmp_path)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "http://" not in rest
    assert "Traceback" not in errors
