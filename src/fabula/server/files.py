"""Files that are sent to the server or fetched from it: a verb reads or writes them in a folder of their own.

The folder is gone when the request is answered. The name of an upload says which format it has, and nothing else.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from fabula.server.calls import Reply, call_verb, make_reply
from fabula.server.routes.route import Call, Route

MAX_UPLOAD = 50_000_000  # bytes


def take_upload(route: Route, call: Call, name: str, data: bytes) -> Reply:
    """Call the verb of a route with an uploaded file."""
    with TemporaryDirectory(prefix="fabula-upload-") as folder:
        file = Path(folder) / name
        file.write_bytes(data)
        given = replace(call, file=file)
        return make_reply(route, call_verb(route, given), given)


def make_download(route: Route, call: Call) -> tuple[str, bytes]:
    """Call the verb of a route, which writes a file; return its name and its content."""
    with TemporaryDirectory(prefix="fabula-download-") as folder:
        file: Path = call_verb(route, replace(call, file=Path(folder)))
        return file.name, file.read_bytes()
