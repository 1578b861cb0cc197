"""What commands share: opening the workspace and a project, places in the story, progress, JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.workspace import Workspace

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@contextmanager
def open_workspace(location: str | None) -> Iterator[Workspace]:
    """Open the workspace of a store, and close it again."""
    from fabula.workspace.workspace import Workspace

    with Workspace.open(location) as workspace:
        yield workspace


@contextmanager
def open_project(project: str, location: str | None) -> Iterator[ProjectHandle]:
    """Open a project of the store, a folder, a text file or a sample."""
    from fabula.workspace.read_only import is_read_only, open_read_only

    if is_read_only(project):
        handle = open_read_only(project)
        try:
            yield handle
        finally:
            handle.close()
        return
    with open_workspace(location) as workspace:
        try:
            handle = workspace.project(project)
        except FabulaError as error:  # here, unlike in a server, a path would have been looked at
            here, anywhere = "in this store.", "in this store, and no folder or file of that name."
            raise FabulaError(error.code, error.sentence.replace(here, anywhere, 1)) from None
        yield handle


def print_json(data: object) -> None:
    """Print a schema, or a list of them, as readable JSON."""
    from fabula.workspace.schemas.schema import encode

    print(encode(data).decode())


@contextmanager
def show_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on the error stream of a terminal; it pulses until it is told how far the work is."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(title, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=max(total, 1))


def read_text(name: str) -> str:
    """Read a UTF-8 text from a file, or from standard input where the name is -; line ends are normalised."""
    from fabula.text.offsets import normalise

    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return normalise(data.decode("utf-8-sig"))
    except OSError as error:
        raise FabulaError(Code.REQUEST_INVALID, f"{name} could not be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise FabulaError(
            Code.REQUEST_INVALID, f"{name} is not text in UTF-8. Save it as such and try again."
        ) from error


def printable(text: str) -> str:
    """Return a text without control characters: what a model or a save made up cannot steer the terminal."""
    return _CONTROL.sub("", text)
