"""`fabula`: the command line (ppl-2). Each command parses, calls one verb of the workspace, and prints.

Heavy things are imported where they are used, so that `--help` answers at once.
"""

from __future__ import annotations

import sys

import typer

from fabula.cli import (
    codex,
    constraint,
    context,
    extract,
    jobs,
    lorebook,
    memory,
    outline,
    preset,
    projects,
    recaps,
    runs,
    search,
    series,
    setting,
    skills,
    synopsis,
    write,
)
from fabula.cli.grouped_help import GroupedHelp
from fabula.core.errors import Code, FabulaError
from fabula.core.version import __version__

COMMANDS = (
    context,
    write,
    runs,
    skills,
    search,
    synopsis,
    outline,
    constraint,
    memory,
    codex,
    extract,
    lorebook,
    series,
    recaps,
    preset,
    projects,
    setting,
    jobs,
)

app = typer.Typer(
    cls=GroupedHelp,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Keep everything about your story, and tell a model what it needs to know now.",
)
for commands in COMMANDS:
    commands.register(app)


@app.command(name="version")
def show_version() -> None:
    """Say which version this is."""
    print(__version__)


def main() -> None:
    """Run the command line, and turn refusals into one clear line."""
    try:
        app()
    except FabulaError as error:
        print(f"{error.code.value}: {error.sentence}", file=sys.stderr)
        raise SystemExit(3 if error.code is Code.PROJECT_NOT_FOUND else 2) from None
    except BrokenPipeError:
        raise SystemExit(0) from None


if __name__ == "__main__":
    main()
