"""Files that are sent to the server or fetched from it: a verb reads or writes them in a folder of their own.

The folder is gone when the request is answered. The name of an upload says which format it has, and nothing else. An
upload is written into its file as it comes in, so that it takes no memory however many come at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from litestar import Request
from msgspec import Struct
from msgspec.structs import replace

from fabula.formats.bounded_import import read_in_processes
from fabula.server.calls import Reply, call_verb, make_reply
from fabula.server.requests import receive_parts
from fabula.server.routes.route import Call, Route

MAX_UPLOAD = 50_000_000  # bytes


class UploadedFile(Struct, frozen=True):
    """A file that was received: where it is, how long it is, and the hash of its content."""

    path: Path
    size: int
    digest: bytes


@asynccontextmanager
async def receive_upload(
    request: Request[Any, Any, Any], name: str, on_size: Callable[[int], None]
) -> AsyncIterator[UploadedFile]:
    """Write the body of a request into a file, beside the event loop; it is there as long as the block runs.

    `on_size` is told how many bytes have come, also where the body breaks off.
    """
    folder = await asyncio.to_thread(TemporaryDirectory, prefix="fabula-upload-")
    try:
        path, digest, size = Path(folder.name) / name, hashlib.sha256(), 0
        try:
            with await asyncio.to_thread(path.open, "wb", buffering=0) as file:
                async for part in receive_parts(request, MAX_UPLOAD):
                    size += len(part)
                    await asyncio.to_thread(file.write, part)
                    digest.update(part)
        finally:
            on_size(size)
        yield UploadedFile(path, size, digest.digest())
    finally:
        await asyncio.to_thread(folder.cleanup)


def take_upload(route: Route, call: Call, file: Path, on_cost: Callable[[float], None] = lambda _: None) -> Reply:
    """Call the verb of a route with an uploaded file, which is read in a process of its own.

    `on_cost` is told the seconds of processor time that it took, also where it was refused.
    """
    with read_in_processes() as reading:
        given, began = replace(call, file=file), time.thread_time()
        try:
            return make_reply(route, call_verb(route, given), given)
        finally:
            on_cost(reading.seconds + time.thread_time() - began)


def make_download(route: Route, call: Call) -> tuple[str, bytes]:
    """Call the verb of a route, which writes a file; return its name and its content."""
    with TemporaryDirectory(prefix="fabula-download-") as folder:
        file: Path = call_verb(route, replace(call, file=Path(folder)))
        return file.name, file.read_bytes()
