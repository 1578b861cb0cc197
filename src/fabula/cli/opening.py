"""What commands share: opening the workspace and a project, and reading a text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.cli.output import describe_error, invalid_request, quote_name, use_chapter_word, use_project_language, warn
from fabula.cli.progress import show_progress
from fabula.core.errors import FabulaError
from fabula.core.file_errors import describe_os_error, missing_file
from fabula.core.messages import message, plural
from fabula.core.regular_files import open_regular_file

if TYPE_CHECKING:
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.workspace import Workspace


JOB_SECONDS = 5.0  # that a command spends on the background work it leaves behind


@contextmanager
def open_workspace(location: str | None, *, runs_jobs: bool = True) -> Iterator[Workspace]:
    """Open the workspace of a store, and close it again; with `runs_jobs`, short background work is done first."""
    from fabula.workspace.workspace import Workspace

    with Workspace.open(location) as workspace:
        yield workspace
        if runs_jobs:
            _run_short_jobs(workspace)


def find_folder(store: str | None) -> Path:
    """Return the folder of a store, or the data folder where the store is on a database server."""
    from fabula.store.connections import data_folder, is_server_url

    if store is None or is_server_url(store):
        return data_folder()
    path = Path(store)
    return path.parent if path.suffix == ".db" else path


def _run_short_jobs(workspace: Workspace) -> None:
    """Do the short background work that a command has left, and say how to do the rest."""
    try:
        with show_progress(message("Updating synopses, recaps and the search index")) as progress:
            left = workspace.run_short_jobs(seconds=JOB_SECONDS, progress=progress)
    except FabulaError as error:  # the command itself has succeeded
        warn("Background work waits: {error}", error=describe_error(error))
        return
    if left.without_model:
        warn(
            plural(
                left.without_model,
                "{count} job waits for a model, as recaps do, and none works in the background: "
                "`background = NAME` in models.toml names one.",
                "{count} jobs wait for a model, as recaps do, and none works in the background: "
                "`background = NAME` in models.toml names one.",
            )
        )
    if left.ready:
        warn(
            plural(
                left.ready,
                "{count} job waits in the background; the next commands go on with it. To do it now: fabula jobs run",
                "{count} jobs wait in the background; the next commands go on with them. "
                "To do them now: fabula jobs run",
            )
        )


def find_project(workspace: Workspace, name: str) -> ProjectHandle:
    """Open a project of the store, and print in its language from now on."""
    handle = workspace.project(name)
    use_project_language(next(one.language for one in workspace.projects() if one.id == handle.id))
    with show_progress(message("Opening {title}", title=name)):
        use_words_of(handle)
    return handle


def use_words_of(project: ProjectHandle) -> None:
    """Print in the language of a project from now on, and count its chapters in its own word for them."""
    from fabula.manuscript.model import Manuscript
    from fabula.manuscript.numbering import find_chapter_word

    view = project.view
    use_project_language(view.project.language)
    use_chapter_word(find_chapter_word(one.title for one in (view.snapshot(Manuscript) or Manuscript()).documents))


def number_project(workspace: Workspace, project_id: str) -> int:
    """Return the number that the list of projects shows for a project."""
    return next(one.number for one in workspace.projects() if one.id == project_id)


def name_project(workspace: Workspace, project_id: str) -> str:
    """Return a project as a command that can be copied names it: by its title, or by its number if others have it."""
    title = next(one.title for one in workspace.projects() if one.id == project_id)
    is_unique = [one.title for one in workspace.projects()].count(title) == 1
    return quote_name(title) if title and is_unique else str(number_project(workspace, project_id))


@contextmanager
def open_project(name: str, location: str | None, *, runs_jobs: bool = True) -> Iterator[ProjectHandle]:
    """Open a project of the store, a folder, a text file or a sample, and print in its language from now on."""
    from fabula.workspace.read_only import is_read_only, open_read_only

    if is_read_only(name):
        with closing(open_read_only(name)) as handle:
            use_words_of(handle)
            yield handle
        return
    with open_workspace(location, runs_jobs=runs_jobs) as workspace:
        try:
            handle = find_project(workspace, name)
        except FabulaError as error:
            sentence = message("{sentence} No folder or file has that name.", sentence=error.message)
            raise FabulaError(error.code, sentence) from None
        yield handle


def read_bytes(name: str) -> bytes:
    """Read a file, or standard input where the name is -."""
    try:
        if name == "-":
            return sys.stdin.buffer.read()
        with open_regular_file(Path(name)) as stream:
            return stream.read()
    except FileNotFoundError:
        raise missing_file(Path(name)) from None
    except OSError as error:
        raise invalid_request(
            "{name} could not be read ({reason}).", name=name, reason=describe_os_error(error)
        ) from error


def read_text(name: str) -> str:
    """Read a UTF-8 text from a file, or from standard input where the name is -; line ends are normalised."""
    from fabula.text.offsets import normalise

    try:
        return normalise(read_bytes(name).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise invalid_request("{name} is not text in UTF-8. Save it as such and try again.", name=name) from error
