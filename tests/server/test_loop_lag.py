"""Nothing of ours holds the event loop: what takes long runs in a thread, and what holds the loop is measured."""

from __future__ import annotations

import asyncio
import threading
import time
from types import ModuleType
from typing import Any

import httpx2
import pytest

from fabula.server import app, handlers
from fabula.server.loop_lag import watch_loop_lag
from fabula.workspace.project import ProjectHandle


def test_what_holds_the_loop_is_measured() -> None:
    seen: list[float] = []

    async def run() -> None:
        async with watch_loop_lag(seen.append, interval=0.01):
            await asyncio.sleep(0.03)
            time.sleep(0.2)
            await asyncio.sleep(0.03)

    asyncio.run(run())
    assert max(seen) >= 0.15
    assert min(seen) >= 0


def test_the_page_of_routes_and_answers_with_a_key_are_made_beside_the_loop(
    client: httpx2.Client, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[str, str] = {}

    def note(module: ModuleType, name: str) -> None:
        function = getattr(module, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            threads[name] = threading.current_thread().name
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    note(app, "make_page")
    note(app, "make_document")
    note(handlers, "read_body")
    note(handlers, "hash_request")
    assert client.get("/api").status_code == 200
    assert client.get("/api/openapi.json").status_code == 200
    made = client.post("/api/projects", json={"title": "Another"}, headers={"Idempotency-Key": "one"})
    assert made.status_code == 201
    assert len(threads) == 4
    assert all(name.startswith("fabula") for name in threads.values()), threads
