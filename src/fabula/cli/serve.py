"""`fabula serve`: run the server until it is stopped."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import find_folder, open_workspace
from fabula.cli.options import HOST_VARIABLE, PORT_VARIABLE, STORE, STORE_VARIABLE
from fabula.cli.output import say, warn
from fabula.core.file_errors import describe_os_error
from fabula.core.new_files import make_private_file, make_private_folder
from fabula.store.connections import DATA_VARIABLE

if TYPE_CHECKING:
    from fabula.server.address import ServerAddress

WORKERS_VARIABLE = "FABULA_WORKERS"
OWN_VARIABLES = (HOST_VARIABLE, PORT_VARIABLE, WORKERS_VARIABLE, STORE_VARIABLE, DATA_VARIABLE)
OTHER_VARIABLES = (  # which the server reads beside its settings
    "FABULA_CACHE",
    "FABULA_EMBEDDING_KEY",
    "FABULA_EMBEDDING_LINK_LOCAL",
    "FABULA_EMBEDDING_MODEL",
    "FABULA_EMBEDDING_URL",
    "FABULA_LLM_KEY",
    "FABULA_LOCAL_MODEL",
    "FABULA_LOCAL_WINDOW",
    "FABULA_MODELS",
    "FABULA_SKILLS",
)

commands = CommandGroup()


def _read_settings(path: Path | None) -> None:
    """Take the settings of a file before the other options are read, which may be set in it."""
    if path is not None:
        from fabula.settings.file import read_settings_file

        for name, value in read_settings_file(path, (*OWN_VARIABLES, *OTHER_VARIABLES)).items():
            os.environ.setdefault(name, value)


def _has_browser() -> bool:
    """Whether a browser can open a window: one that runs in the terminal would hold up the server."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(one) for one in ("DISPLAY", "WAYLAND_DISPLAY"))


def _write_token(folder: Path, address: ServerAddress) -> Path | None:
    """Write the token into a file that the user of the server alone can read, and say where it is."""
    file = folder / f"token-{address.url.rpartition(':')[2]}"
    try:
        make_private_folder(folder)
        file.unlink(missing_ok=True)
        make_private_file(file)
        file.write_text(f"{address.token}\n", encoding="utf-8")
    except OSError as error:
        warn(
            "The token for programs could not be written to {file} ({reason}). Make a key for them: "
            "fabula account key new WHAT-FOR",
            file=file,
            reason=describe_os_error(error),
        )
        return None
    say("Programs send the token in this file: {file}", file=file)
    return file


@commands.command()
def serve(
    host: Annotated[
        str,
        Option("--host", envvar=HOST_VARIABLE, help="The address to listen at; by default only this machine."),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        Option("--port", envvar=PORT_VARIABLE, help="The port to listen at; 0 for any that is free.", min=0, max=65535),
    ] = 8600,
    settings: Annotated[
        Path | None,
        Option(
            "--settings",
            callback=_read_settings,
            is_eager=True,
            help="A file with a setting of the server in each line, as in: FABULA_PORT=8600",
        ),
    ] = None,
    samples: Annotated[bool, Option("--samples", help="Put the sample stories into a store that is empty.")] = False,
    no_open: Annotated[bool, Option("--no-open", help="Do not open the browser.")] = False,
    workers: Annotated[
        int,
        Option(
            "--workers",
            envvar=WORKERS_VARIABLE,
            help="How many processes answer requests, beside each other.",
            min=1,
            max=64,
        ),
    ] = 1,
    no_worker: Annotated[bool, Option("--no-worker", help="Leave background work to: fabula jobs run --keep")] = False,
    store: STORE = None,
) -> None:
    """Serve your projects to a browser and to programs, until Ctrl-C.

    Example: fabula serve --port 8600
    """

    token_file: Path | None = None

    def announce(address: ServerAddress) -> None:
        nonlocal token_file
        if not address.is_local:
            warn(
                "Anybody who can reach {url} and has the link or the token can read and change everything.",
                url=address.url,
            )
        if sys.stdout.isatty():  # the link last: a person looks for it
            say("Programs send this token: {token}", token=address.token)
        say("Open this link; it works once: {link}", link=address.link)
        if not sys.stdout.isatty():  # the output of a service ends in a log
            token_file = _write_token(find_folder(store), address)
        sys.stdout.flush()  # whoever started this process may read the link from a pipe
        if not no_open and _has_browser():
            import webbrowser

            webbrowser.open(address.link)

    if samples:
        with open_workspace(store, runs_jobs=False) as workspace:
            workspace.add_samples()
    try:
        if workers > 1:
            from fabula.server.supervisor import serve_in_processes

            serve_in_processes(store, processes=workers, host=host, port=port, worker=not no_worker, on_ready=announce)
        else:
            from fabula.server.serving import serve as run_server

            with open_workspace(store, runs_jobs=False) as workspace:
                run_server(workspace, host=host, port=port, worker=not no_worker, on_ready=announce)
    finally:
        if token_file is not None:
            token_file.unlink(missing_ok=True)
    say("Stopped.")
