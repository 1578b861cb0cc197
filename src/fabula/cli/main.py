"""`fabula`: the command line (ppl-2). Each command parses, calls one verb of the workspace, and prints.

Heavy things are imported where they are used, so that `--help` answers at once.
"""

from __future__ import annotations

import sys

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
from fabula.cli.commands import CommandGroup, RootGroup
from fabula.cli.output import describe_error, print_line
from fabula.core.errors import Code, FabulaError
from fabula.core.version import __version__

WRITING = (context, write, runs, skills, search, synopsis, outline, constraint, memory)
MATERIAL = (codex, extract, lorebook, series, recaps, preset, projects, setting, jobs)

app = CommandGroup(cls=RootGroup, help="Keep everything about your story, and tell a model what it needs to know now.")
for module in WRITING + MATERIAL:
    app.add_typer(module.commands)


@app.command("version")
def show_version() -> None:
    """Say which version this is."""
    print_line(__version__)


def main() -> None:
    """Run the command line, and turn refusals into one clear line."""
    try:
        app()
    except FabulaError as error:
        print_line(describe_error(error), file=sys.stderr)
        raise SystemExit(3 if error.code is Code.PROJECT_NOT_FOUND else 2) from None
    except BrokenPipeError:
        raise SystemExit(0) from None


if __name__ == "__main__":
    main()
