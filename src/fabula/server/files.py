"""Files that are sent to the server or fetched from it: a verb reads or writes them in a folder of their own.

The folder is gone when the request is answered. The name of an upload says which format it has, and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from fabula.formats.bounded_import import read_in_processes
from fabula.server.calls import Reply, call_verb, make_reply
from fabula.server.routes.route import Call, Route

MAX_UPLOAD = 50_000_000  # bytes


def take_upload(
    route: Route, call: Call, name: str, data: bytes, on_cost: Callable[[float], None] = lambda _: None
) -> Reply:
    """Call the verb of a route with an uploaded file, which is read in a process of its own.

    `on_cost` is told the seconds of processor time that it took, also where it was refused.
    """
    with TemporaryDirectory(prefix="fabula-upload-") as folder, read_in_processes() as reading:
        file = Path(folder) / name
        file.write_bytes(data)
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
