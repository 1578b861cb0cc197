"""The log of a server: one line for each event on standard error, with time (UTC), level and logger (ctx-10).

A library is quiet unless it is asked; a server is asked here, in each of its processes. Lines of `fabula.security` say
who was refused and whose access changed. No line holds a text of a story or a key: of an exception it has the type and
the place.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fabula.core.errors import describe_place
from fabula.core.new_files import make_private_file, make_private_folder
from fabula.settings.values import SettingValues

LEVEL_SETTING = "server.logLevel"
SECURITY_LOG = "fabula.security"
ACCESS_LOG = "access.log"
_NO_HTTP = "Invalid HTTP request received."  # as uvicorn says it


class LineFormatter(logging.Formatter):
    """Writes a record as one line, without the text of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record; whatever a client sent cannot begin another one."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = f"{at} {record.levelname.lower()} {record.name} {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            line += f" exception={describe_place(record.exc_info[1])}"
        return "".join(one if one.isprintable() else " " for one in line)


@contextmanager
def append_access_log(folder: Path) -> Iterator[None]:
    """Append what happens to people, roles and keys to a file that the user of the store alone can read.

    Commands have no log that a service keeps.
    """
    make_private_folder(folder)
    make_private_file(folder / ACCESS_LOG)
    handler, security = logging.FileHandler(folder / ACCESS_LOG, encoding="utf-8"), logging.getLogger(SECURITY_LOG)
    handler.setFormatter(LineFormatter())
    level = security.level
    security.addHandler(handler)
    security.setLevel(logging.INFO)
    try:
        yield
    finally:
        security.setLevel(level)
        security.removeHandler(handler)
        handler.close()


def write_logs() -> None:
    """Write the log of this process to standard error: ours from the level in the settings on, of others warnings."""
    root, level = logging.getLogger(), str(SettingValues()[LEVEL_SETTING]).upper()
    if not any(isinstance(one.formatter, LineFormatter) for one in root.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(LineFormatter())
        root.addHandler(handler)
    logging.getLogger("fabula").setLevel(level)
    logging.getLogger("uvicorn.error").addFilter(_is_bounded)


def _is_bounded(record: logging.LogRecord) -> bool:
    """Whether nobody can fill the log with a line: what is no HTTP is refused before requests are counted."""
    return record.msg != _NO_HTTP
