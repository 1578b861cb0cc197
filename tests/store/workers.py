"""Programs that the tests run in processes of their own, to be killed, crowded and starved.

`python -m tests.store.workers NAME ARGUMENTS` runs one. They speak in lines: whatever stands in a line
has happened before the line was written.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import alembic.command
import psycopg

from fabula.conversation.tables import conversations, messages
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as rows
from fabula.store.backup import back_up
from fabula.store.schema import all_tables
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction, WriteTransaction

WARM = (alembic, psycopg)  # imported before the forks, so that a child is at work at once
ROOT = Path(__file__).parents[2]
TOGETHER = 3  # messages of one transaction
COUNTERS = ("one", "two")
CROWD = 4
NOBODY = 65534


def start(name: str, *arguments: str) -> subprocess.Popen[str]:
    """Run one of the programs below, its lines to be read and written."""
    command = [sys.executable, "-m", "tests.store.workers", name, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_program(name: str, *arguments: str) -> list[str]:
    """Run one of the programs below to its end; its lines."""
    with start(name, *arguments) as process:
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    return said.splitlines()


def print_line(*words: object) -> None:
    """One line, out of this process before the next step."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


# Written to be killed


def create_project(store: Store, project: str) -> None:
    """A project for `write_on` and for `contend`."""
    projects.create(store, "Killed often", project_id=project)
    with store.write(project=project) as tx:
        for ident in ("alone", "together", *COUNTERS):
            documents.add(tx, ident, document_id=ident, text="0")
        tx.insert(conversations, {"id": "talk"})


def launch() -> None:
    """For every line `WHAT ADDRESS PROJECT`, a fresh process that does it until it is killed."""
    all_tables()  # else every child's first change waits until all rooms are imported
    for line in sys.stdin:
        what, *arguments = line.split()
        child = os.fork()
        if child == 0:
            print_line("pid", os.getpid())
            KILLED[what](*arguments)
            os._exit(0)
        os.waitpid(child, 0)
        print_line("gone")


def write_on(address: str, project: str) -> None:
    """Write without end; each line names a version that was kept, and what it holds."""
    store = Store.open(address)
    chance = random.Random()
    if store.file is not None and chance.random() < 0.5:
        with store.write(project=project) as tx:  # on the connection that the next changes get, too
            tx._connection.exec_driver_sql("PRAGMA wal_autocheckpoint = 8")  # so that kills meet checkpoints
    for number in range(1_000_000):
        token = f"{os.getpid()}-{number}"
        with store.write(project=project) as tx:
            documents.write(tx, "alone", f"{token} " + "words " * chance.randrange(4_000))
            if number % 2:
                documents.write(tx, "together", token)
                add_messages(tx, token)
        print_line("kept", tx.versions["project"], token, "together" if number % 2 else "alone")


def add_messages(tx: WriteTransaction, token: str) -> None:
    """Several messages and their number, which must all be there or not at all."""
    said = tx.require(conversations, id="talk").said
    tx.insert(
        messages,
        *(
            {"id": f"{token}-{place}", "conversation_id": "talk", "number": said + place, "content": token}
            for place in range(1, TOGETHER + 1)
        ),
    )
    tx.update_row(conversations, {"id": "talk"}, {"said": said + TOGETHER})


def make_stores(address: str) -> None:
    """Make a store, over and over: each a little further below."""
    for number in range(1_000):
        Store.open(Path(address) / str(number)).close()
        print_line("made", number)


KILLED: dict[str, Callable[..., None]] = {"write_on": write_on, "make": make_stores}


# Many at once


def contend(address: str, project: str, seconds: str) -> None:
    """Two threads that count in shared documents and talk in one conversation, and one that looks on."""
    store = Store.open(address)
    print_line("ready")
    sys.stdin.readline()
    until = time.monotonic() + float(seconds)
    done: Counter[str] = Counter()
    errors: list[str] = []

    def run(step: Callable[[random.Random], str], seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < until:
            try:
                done[step(chance)] += 1
            except Exception as error:
                errors.append(f"{error!r} from {error.__cause__!r}")

    def work(chance: random.Random) -> str:
        return _talk(store, project) if chance.random() < 0.4 else _count(store, project, chance.choice(COUNTERS))

    steps = [work, work, lambda _: _look(store, project)]
    threads = [threading.Thread(target=run, args=(step, seed)) for seed, step in enumerate(steps)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    print_line(json.dumps({"done": done, "errors": errors[:5]}))


def _count(store: Store, project: str, document: str) -> str:
    """One more, unless somebody else was quicker."""
    with store.read(project=project) as reading:
        row = reading.require(rows, id=document)
    try:
        with store.write(project=project) as tx:
            documents.write(tx, document, str(int(row.text) + 1), expected=row.version)
    except FabulaError as error:
        if error.code is not Code.DOCUMENT_STALE:
            raise
        return "conflict"
    return document


def _talk(store: Store, project: str) -> str:
    with store.write(project=project) as tx:
        said = (tx.max_value(messages, "number") or 0) + 1
        tx.insert(messages, {"id": f"m{said}", "conversation_id": "talk", "number": said})
        tx.update_row(conversations, {"id": "talk"}, {"said": said})
    return "message"


def _look(store: Store, project: str) -> str:
    """What is read in one go belongs to one moment."""
    early, _ = store.versions(project=project)
    with store.read(project=project) as reading:
        version = reading.version("project")
        told = total(reading)
        changes = reading.changes("project", max(version - 5, 0))
    late, _ = store.versions(project=project)
    if not early <= version <= late or told != version - 2 or not changes or changes[-1].version != version:
        raise AssertionError(f"versions {early}, {version}, {late}; {told} changes told; feed {changes}")
    return "look"


def total(reading: ReadTransaction) -> int:
    """How many changes were made by `contend`, by what they left behind."""
    counted = sum(int(reading.require(rows, id=ident).text) for ident in COUNTERS)
    said = reading.count(messages)
    assert said == reading.require(conversations, id="talk").said
    return counted + said


def open_at_once(*addresses: str) -> None:
    """Open each store from several processes at the same moment; a line for each process that did."""
    for address in addresses:
        gate, opener = os.pipe()
        crowd = []
        for _ in range(CROWD):
            child = os.fork()
            if child == 0:
                os.close(opener)
                os.read(gate, 1)  # returns when the parent lets go of the other end
                _open_and_leave(address)
            crowd.append(child)
        os.close(gate)
        os.close(opener)
        for child in crowd:
            os.waitpid(child, 0)


def _open_and_leave(address: str) -> None:
    try:
        Store.open(address).close()
        print_line("opened")
    except FabulaError as error:
        print_line(f"{error.code.value}: {error.sentence}")
    except Exception as error:
        print_line(repr(error))
    finally:
        os._exit(0)


# A machine that says no


def fill(address: str) -> None:
    """Write until files may not grow any more; then look, make room, and write again."""
    store = Store.open(address)
    create_project(store, "p")
    largest = max(file.stat().st_size for file in store.folder.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 200_000, resource.RLIM_INFINITY))
    kept = 0
    for number in range(1_000):
        try:
            with store.write(project="p") as tx:
                documents.add(tx, "More", text="word " * 4_000, document_id=f"more-{number}")
        except FabulaError as error:
            print_line("refused", error)
            break
        kept += 1
    for _ in range(3):
        try:
            with store.write(project="p") as tx:
                documents.add(tx, "Still more", text="word " * 4_000)
        except FabulaError as error:
            print_line("refused", error)
    with store.read(project="p") as reading:
        print_line("kept", kept, reading.count(rows, rows.c.id.like("more-%")))
    assert store.file is not None
    resource.setrlimit(resource.RLIMIT_FSIZE, (store.file.stat().st_size // 2, resource.RLIM_INFINITY))
    try:
        back_up(store.file)
    except FabulaError as error:
        print_line("refused", error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with store.write(project="p") as tx:
        documents.add(tx, "Room again", document_id="again")
    store.close()


def fill_new(address: str) -> None:
    """Make a store where there is no room for one."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
    try:
        Store.open(address)
    except FabulaError as error:
        print_line("refused", error)


def open_as_nobody(*addresses: str) -> None:
    """Open stores as somebody who may not write there."""
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    for address in addresses:
        try:
            Store.open(address)
        except FabulaError as error:
            print_line("refused", error)
        else:
            print_line("opened")


PROGRAMS: tuple[Callable[..., None], ...] = (launch, contend, open_at_once, fill, fill_new, open_as_nobody)

if __name__ == "__main__":
    {program.__name__: program for program in PROGRAMS}[sys.argv[1]](*sys.argv[2:])
