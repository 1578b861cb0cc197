"""Servers that are killed under load, and a database that goes away and comes back.

python -m benchmarks.server_kills [--kills 50] [--restarts 10] [--half-open 60] [--json]

People edit, talk, read and queue jobs over HTTP all the time. With PostgreSQL there are two server processes, one of
which is killed again and again; with SQLite there is one, which is killed and started again. Then PostgreSQL itself is
restarted, its connections are held open without being carried, and all of its connections are taken.

`lost` counts what was acknowledged and is not there at the end, or a job without its effect; `late_jobs` jobs that have
not ended within five minutes; `doubled_jobs` effects that are there twice; `broken_streams` streams that a client could
not read to their end in order and without a gap, coming back with `Last-Event-ID`; `problem_streams` streams that were
read to their end in order, but that end with a coded problem, and `stopped_streams` those that ended as stopped:
`done_streams` alone have the whole answer. `streams_cut_off` are those problems whose process was killed
(`SERVER_CUT_OFF`): their end is not the end of the answer. For each of the others the client has what was
written until then, and can ask again or keep that as the answer, which is tried for some (`kept_answers`);
`uncoded_ends` are ends that say nothing of that. `dropped_by_living_server` counts connections that broke, or were not
taken, though their server had not been killed in the last seconds and was not starting. `other_errors` are answers that
are neither a success nor a 503 with a code while the database is away. `longest_503_s` is the longest time after which
such a 503 came, and `longest_return_s` the longest from the moment when the database was back to the first success. Of
`unknown_edits` and `unanswered_messages` the server was killed before it answered, so that the client cannot know
whether they were made.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import msgspec
import psycopg
from tests.llm.server import Exchange, ModelServer, chunk, run_server
from tests.postgres import Proxy, run_postgres

from benchmarks.figures import arguments, report
from benchmarks.server_process import KIND
from fabula.conversation.tables import messages
from fabula.core.errors import FabulaError
from fabula.jobs import queue
from fabula.jobs.model import JobState
from fabula.manuscript.tables import documents
from fabula.workspace.workspace import Workspace

ROOT = Path(__file__).parents[1]
WORDS = 12  # of every answer of the model
PATIENCE = 300.0  # seconds until a client gives up
QUEUED = 50  # jobs that may wait
LONG_LIFE = 12.0  # seconds of every fifth life of a server: longer than a stream without its writer takes to end
EVENT_ENDS = ("done", "stopped", "problem")
CUT_OFF = "SERVER_CUT_OFF"  # of a stream whose process was killed
FORGIVEN_SECONDS = 2.0  # behind a kill, in which a client may still learn of it


class Outcome:
    """What happened, counted."""

    def __init__(self) -> None:
        self.figures: Counter[str] = Counter()
        self.longest: dict[str, float] = {"longest_503_s": 0.0, "longest_return_s": 0.0}
        self.notes: list[str] = []
        self.entries: set[str] = set()  # acknowledged
        self.messages: set[str] = set()  # acknowledged
        self.jobs: set[str] = set()  # queued
        self._lock = threading.Lock()

    def count(self, what: str, note: str = "") -> None:
        """Count something, and keep the first few notes."""
        with self._lock:
            self.figures[what] += 1
            if note and len(self.notes) < 20:
                self.notes.append(f"{what}: {note}")

    def measure(self, what: str, seconds: float) -> None:
        """Keep the longest time."""
        with self._lock:
            self.longest[what] = max(self.longest[what], seconds)


class Site:
    """Server processes on one store, which can be killed and started again."""

    def __init__(self, address: str, data: Path, models: Path, count: int) -> None:
        self.address = address
        self.ports = [find_port() for _ in range(count)]
        self._away: dict[int, tuple[float, float]] = {}  # by port: when it was killed last, and when it answered again
        self._environment = {**os.environ, "FABULA_DATA": str(data), "FABULA_MODELS": str(models)}
        self._environment |= {"FABULA_CACHE": str(data / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
        self._processes: list[subprocess.Popen[str] | None] = [None] * count

    def start(self, number: int) -> None:
        """Start a server, and wait until it answers."""
        command = [sys.executable, "-m", "benchmarks.server_process", self.address, str(self.ports[number])]
        process = subprocess.Popen(command, cwd=ROOT, env=self._environment, stdout=subprocess.PIPE, text=True)
        self._processes[number] = process
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", "a server did not start"
        port = self.ports[number]
        if port in self._away:
            self._away[port] = (self._away[port][0], time.monotonic())

    def kill(self, number: int) -> None:
        """Kill a server with SIGKILL."""
        self._away[self.ports[number]] = (time.monotonic(), math.inf)
        self._end(number, signal.SIGKILL)

    def was_away(self, port: int, since: float) -> bool:
        """Whether a server was killed or starting at some time since a request was sent to it, or a moment before."""
        killed, back = self._away.get(port, (math.inf, -math.inf))
        return killed <= time.monotonic() and back >= since - FORGIVEN_SECONDS

    def find_exit_status(self, port: int) -> int | None:
        """Return how a server ended that was not told to; None where it runs."""
        process = self._processes[self.ports.index(port)]
        return None if process is None else process.poll()

    def stop(self) -> None:
        """Stop all servers."""
        for number in range(len(self.ports)):
            self._end(number, signal.SIGTERM)

    def _end(self, number: int, how: signal.Signals) -> None:
        process, self._processes[number] = self._processes[number], None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


class Load:
    """People who edit, talk, read and queue jobs until they are told to stop."""

    def __init__(self, site: Site, workspace: Workspace, outcome: Outcome, *, may_fail: bool = False) -> None:
        self.site, self.workspace, self.outcome = site, workspace, outcome
        self.may_fail = may_fail  # with a 503, because the database goes away
        self.project = workspace.create_project("Harbour")
        self.project.participants.add("Bo", persona="A pilot.")
        self.project.chapters.add("One", "Mara stood on the pier with Bo.")
        self.token = workspace.people.create_key("the load").secret
        self.base = f"/api/projects/{self.project.id}"
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    @contextmanager
    def run(self) -> Iterator[None]:
        """Work in threads until the block ends."""
        for number in range(2):
            talk = self.project.chat.start(["Bo"]).record.id
            self._begin(self._edit, f"e{number}")
            self._begin(self._talk, f"t{number}", talk)
        self._begin(self._read, "r")
        self._begin(self._queue, "j")
        try:
            yield
        finally:
            self._over.set()
            for thread in self._threads:
                thread.join()

    def _begin(self, work: Callable[..., None], name: str, *given: object) -> None:
        def repeat() -> None:
            chance, number = Random(name), 0
            with httpx2.Client(
                timeout=PATIENCE, trust_env=False, headers={"Authorization": f"Bearer {self.token}"}
            ) as client:
                while not self._over.is_set():
                    try:
                        work(client, chance, f"{name}-{number}", *given)
                    except Exception as error:
                        self.outcome.count("other_errors", f"{name}: {type(error).__name__} {error}")
                    number += 1
                    time.sleep(chance.uniform(0.0, 0.2))

        self._threads.append(threading.Thread(target=repeat))
        self._threads[-1].start()

    def request(self, client: httpx2.Client, chance: Random, method: str, path: str, **given: Any) -> httpx2.Response:
        """Send a request to any server, again where it was killed or the database is away."""
        deadline = time.monotonic() + PATIENCE
        while True:
            began = time.monotonic()
            port = chance.choice(self.site.ports)
            try:
                answer = client.request(method, f"http://127.0.0.1:{port}{path}", **given)
            except httpx2.TransportError as error:
                if began > deadline:
                    raise
                self._count_break(port, began, error)
                time.sleep(0.1)
                continue
            if not self.check(answer, time.monotonic() - began) or began > deadline:
                return answer
            time.sleep(0.2)

    def _count_break(self, port: int, began: float, error: httpx2.TransportError) -> None:
        """Count a connection that broke: its server was killed, or it dropped its client."""
        if self.site.was_away(port, began):
            self.outcome.count("reconnections")
        else:
            status = self.site.find_exit_status(port)
            self.outcome.count("dropped_by_living_server", f"{port}, exit status {status}: {error!r}")

    def check(self, answer: httpx2.Response, seconds: float) -> bool:
        """Whether an answer says to try again; one that is neither this nor a success is counted."""
        if answer.status_code == 503 and self.may_fail and answer.json()["code"].startswith("STORE_"):
            self.outcome.count("refusals")
            self.outcome.measure("longest_503_s", seconds)
            return True
        if answer.status_code >= 400 and not answer.json().get("code", "").startswith("HTTP_KEY_"):
            self.outcome.count("other_errors", f"{answer.request.url.path} {answer.status_code} {answer.text[:200]}")
        return False

    def _edit(self, client: httpx2.Client, chance: Random, name: str) -> None:
        answer = self.request(
            client, chance, "POST", f"{self.base}/codex", json={"name": name}, headers={"Idempotency-Key": name}
        )
        if answer.status_code == 201:
            self.outcome.entries.add(name)
            self.outcome.count("edits")
        elif answer.status_code == 409:  # the key was taken by a server that did not live to answer
            self.outcome.count("unknown_edits")

    def _read(self, client: httpx2.Client, chance: Random, _: str) -> None:
        self.request(client, chance, "GET", f"{self.base}/codex", params={"pageSize": 5})
        self.request(client, chance, "GET", f"{self.base}/chapters/1")
        self.outcome.count("reads", "")

    def _queue(self, client: httpx2.Client, chance: Random, name: str) -> None:
        with suppress(FabulaError):
            with self.workspace.store.read(project=self.project.id) as reading:
                waiting = [one for one in queue.list_jobs(reading) if one.kind == KIND and one.state is JobState.QUEUED]
            if len(waiting) > QUEUED:
                return
            with self.workspace.store.write(project=self.project.id) as tx:
                queue.enqueue(tx, KIND, name)
            self.outcome.jobs.add(name)
            self.outcome.count("jobs")

    def _talk(self, client: httpx2.Client, chance: Random, name: str, conversation: str) -> None:
        """Say something, read the stream, and come back where it breaks off."""
        port = chance.choice(self.site.ports)
        url, headers = f"{self.base}/chats/{conversation}/send", dict[str, str]()
        method, body = "POST", {"text": f"I say {name}."}
        seen: list[tuple[str, str]] = []
        texts: list[str] = []
        end: dict[str, Any] = {}
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            began = time.monotonic()
            try:
                with client.stream(
                    method, f"http://127.0.0.1:{port}{url}", headers=headers, json=body or None
                ) as answer:
                    if answer.status_code != 200:
                        answer.read()
                        self.check(answer, time.monotonic() - began)
                        if method == "POST":
                            return
                    else:
                        url, method, body = answer.headers.get("location", url), "GET", {}
                        for ident, kind, data in read_events(answer):
                            seen.append((ident, kind))
                            texts += [data["text"]] if kind == "delta" else []
                            end = data
                            self._acknowledge(kind, data)
                            headers = {"Last-Event-ID": ident}
                        if seen and seen[-1][1] in EVENT_ENDS:
                            break
            except httpx2.TransportError as error:
                self._count_break(port, began, error)
                if method == "POST":
                    self.outcome.count("unanswered_messages")
                    return  # nothing was acknowledged
            port = chance.choice(self.site.ports)
            time.sleep(0.2)
        numbers = [ident.rpartition(".")[2] for ident, _ in seen]
        if numbers != [str(one) for one in range(1, len(seen) + 1)] or seen[-1][1] not in EVENT_ENDS:
            self.outcome.count("broken_streams", str(seen[-8:]))
        self.outcome.count("streams")
        if seen and seen[-1][1] in EVENT_ENDS:
            self._count_end(client, chance, seen[-1][1], end, "".join(texts), conversation)

    def _count_end(
        self, client: httpx2.Client, chance: Random, kind: str, end: dict[str, Any], text: str, conversation: str
    ) -> None:
        """Count how a stream ended; of one that was cut off, keep what there is as the answer, as a client can."""
        self.outcome.count(f"{kind}_streams")
        if kind == "done":
            return
        if kind == "stopped" and not end.get("reason"):
            self.outcome.count("uncoded_ends", str(end))
        if end.get("code") != CUT_OFF:
            return
        words = len(text.split())
        self.outcome.count(
            "streams_cut_off", f"{words} of {WORDS} words reached the client, which can ask again or paste"
        )
        if words:
            body = {"text": text, "participant": "Bo"}
            answer = self.request(client, chance, "POST", f"{self.base}/chats/{conversation}/paste", json=body)
            if answer.status_code == 200 and "event: done" in answer.text:
                self.outcome.count("kept_answers")

    def _acknowledge(self, kind: str, data: dict[str, Any]) -> None:
        if kind in ("message", "reply"):
            self.outcome.messages.add(data["message"]["id"])
            self.outcome.count("messages")
        elif kind in ("problem", "failure") and not (
            data.get("code") == CUT_OFF or (self.may_fail and str(data.get("error", data)["code"]).startswith("STORE_"))
        ):
            self.outcome.count("other_errors", str(data))

    def verify(self) -> None:
        """Count what was acknowledged and is not there, and what is there twice."""
        store = self.workspace.store
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with store.read(project=self.project.id) as reading:
                states = {one.key: one.state for one in queue.list_jobs(reading) if one.kind == KIND}
            if set(states.values()) <= {JobState.DONE}:
                break
            time.sleep(0.5)
        with store.read(project=self.project.id) as reading:
            effects = Counter(row.title for row in reading.rows(documents, only=("title",)))
            said = {row.id for row in reading.rows(messages, only=("id",))}
        names = Counter(one.name for one in self.project.codex.list_entries())
        twice = [name for name in self.outcome.jobs if effects[name] > 1]
        late = {key for key, state in states.items() if state in (JobState.QUEUED, JobState.RUNNING)}
        for name in late & self.outcome.jobs:
            self.outcome.count("late_jobs", name)
        lost = [name for name in self.outcome.jobs - late if not effects[name]]
        lost += sorted(self.outcome.entries - set(names)) + sorted(self.outcome.messages - said)
        for name in lost:
            self.outcome.count("lost", name)
        for name in twice:
            self.outcome.count("doubled_jobs", name)
        for name, count in names.items():
            if count > 1:
                self.outcome.count("other_errors", f"{name} is there {count} times")


def find_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as opened:
        port: int = opened.getsockname()[1]
        return port


def read_events(answer: httpx2.Response) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The events of a stream: id, kind and data."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield fields.get("id", ""), fields["event"], msgspec.json.decode(fields["data"])
            fields = {}


async def answer_slowly(exchange: Exchange) -> None:
    """Answer as a model does, word by word."""
    await exchange.send_head()
    for number in range(WORDS):
        await exchange.send_event(chunk(f"word{number} "))
        await asyncio.sleep(0.03)
    await exchange.send_event(chunk(why="stop"))
    await exchange.send_event("[DONE]")


@contextmanager
def open_site(
    address: str, folder: Path, count: int, outcome: Outcome, *, direct: str = "", may_fail: bool = False
) -> Iterator[tuple[Site, Load]]:
    """Servers on a store, a model that answers, and people who work with them; `direct` is another way to the store."""
    models = folder / "models.toml"
    with ExitStack() as stack:
        model: ModelServer = stack.enter_context(run_server())
        model.script = answer_slowly
        models.write_text(f'[places.lab]\nbase_url = "{model.url}"\nneeds_key = false\nmodel = "gpt-4o"\n')
        os.environ["FABULA_DATA"], os.environ["FABULA_MODELS"] = str(folder), str(models)
        workspace = stack.enter_context(Workspace.open(direct or address))
        workspace.settings().set("llm.provider", "lab", scope="person")
        site = Site(address, folder, models, count)
        stack.callback(site.stop)
        load = Load(site, workspace, outcome, may_fail=may_fail)
        for number in range(count):
            site.start(number)
        yield site, load
        load.verify()


def run_kills(address: str, folder: Path, outcome: Outcome, *, kills: int, processes: int) -> None:
    """Kill the first server again and again while people work."""
    chance = Random(kills)
    with open_site(address, folder, processes, outcome) as (site, load), load.run():
        for number in range(kills):
            wait_for_work(outcome)
            time.sleep(LONG_LIFE if number % 5 == 4 else chance.uniform(0.0, 1.0))
            site.kill(0)
            outcome.count("kills")
            time.sleep(chance.uniform(0.0, 0.3))
            site.start(0)
        time.sleep(1)


def wait_for_work(outcome: Outcome) -> None:
    """Wait until something was done, for half a minute at most: a server that has done nothing is not worth a kill."""
    names = ("edits", "reads", "streams")
    before, deadline = sum(outcome.figures[name] for name in names), time.monotonic() + 30
    while sum(outcome.figures[name] for name in names) < before + 3 and time.monotonic() < deadline:
        time.sleep(0.02)


def run_outages(outcome: Outcome, folder: Path, *, restarts: int, half_open: float) -> None:
    """Restart PostgreSQL, hold its connections without carrying them, and take all of them, while people work."""
    with run_postgres() as postgres:
        direct = postgres.get_uri()
        proxy = Proxy(direct)
        with open_site(proxy.address, folder, 2, outcome, direct=direct, may_fail=True) as (site, load), load.run():
            for _ in range(restarts):
                time.sleep(1)
                postgres.stop()
                time.sleep(0.5)
                postgres.ensure_postgres_running()
                outcome.count("restarts")
                wait_for_return(site, load)
            if half_open:
                proxy.carries.clear()
                time.sleep(half_open)
                proxy.carries.set()
                wait_for_return(site, load)
                exhaust(direct, site, load)
        proxy.close()


def exhaust(address: str, site: Site, load: Load) -> None:
    """Take every connection that the database gives for some seconds, and end those of the servers."""
    taken: list[psycopg.Connection[Any]] = []
    with psycopg.connect(address, autocommit=True) as control:
        control.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname IS NOT NULL"
        )
        with suppress(psycopg.OperationalError):
            taken.extend(psycopg.connect(address) for _ in range(1_000))
        time.sleep(5)
    for one in taken:
        one.close()
    wait_for_return(site, load)


def wait_for_return(site: Site, load: Load) -> None:
    """Wait until every server answers with a success again."""
    began = time.monotonic()
    with httpx2.Client(timeout=PATIENCE, trust_env=False) as client:
        for port in site.ports:
            while True:
                asked = time.monotonic()
                answer = client.get(f"http://127.0.0.1:{port}/readyz")
                if not load.check(answer, time.monotonic() - asked):
                    break
                time.sleep(0.1)
    load.outcome.measure("longest_return_s", time.monotonic() - began)


def measure(*, kills: int, restarts: int, half_open: float) -> Outcome:
    """Run everything, and return what happened."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="fabula-kills-") as folder:
        parts = [Path(folder) / name for name in ("postgres", "sqlite", "outages")]
        for part in parts:
            part.mkdir()
        if kills:
            with run_postgres() as postgres:
                run_kills(postgres.get_uri(), parts[0], outcome, kills=kills, processes=2)
            forget(outcome)
            run_kills(str(parts[1] / "data"), parts[1], outcome, kills=kills, processes=1)
            forget(outcome)
        if restarts or half_open:
            run_outages(outcome, parts[2], restarts=restarts, half_open=half_open)
    return outcome


def forget(outcome: Outcome) -> None:
    """Forget what was acknowledged by a store that is gone."""
    for acknowledged in (outcome.entries, outcome.messages, outcome.jobs):
        acknowledged.clear()


def main() -> None:
    """Run everything and print what happened."""
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--kills", type=int, default=50, help="of one server, with PostgreSQL and with SQLite")
    parser.add_argument("--restarts", type=int, default=10, help="of PostgreSQL")
    parser.add_argument("--half-open", type=float, default=60.0, help="seconds without anything carried")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the servers end with this process
    outcome = measure(kills=options.kills, restarts=options.restarts, half_open=options.half_open)
    for note in outcome.notes:
        print(note)
    names: tuple[str, ...] = (
        "kills",
        "lost",
        "late_jobs",
        "doubled_jobs",
        "broken_streams",
        "dropped_by_living_server",
        "other_errors",
        "restarts",
    )
    names += ("done_streams", "problem_streams", "streams_cut_off", "stopped_streams", "kept_answers", "uncoded_ends")
    more = (
        "edits",
        "unknown_edits",
        "messages",
        "unanswered_messages",
        "jobs",
        "streams",
        "reads",
        "refusals",
        "reconnections",
    )
    figures = {name: float(outcome.figures[name]) for name in names} | outcome.longest
    report(figures | {name: float(outcome.figures[name]) for name in more}, as_json=options.json)


if __name__ == "__main__":
    main()
