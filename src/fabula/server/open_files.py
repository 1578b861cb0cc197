"""How many files and connections a process may have open: as many as the system lets it."""

from __future__ import annotations

from contextlib import suppress


def raise_file_limit() -> None:
    """Raise the limit of open files to the highest that this process may set; its children have the same.

    Every connection is an open file, and the usual limit of 1,024 is less than a server with many readers needs.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # macOS says that there is no limit, and refuses to set none
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
