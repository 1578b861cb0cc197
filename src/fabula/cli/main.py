"""`fabula`: the command line (ppl-2). Each command parses, calls one verb of the workspace, and prints.

Only the module of the command that was typed is imported, and heavy things where they are used, so that small commands
answer at once.
"""

from __future__ import annotations

import atexit
import gc
import sys
from importlib import import_module

from fabula.cli.commands import CommandGroup, RootGroup
from fabula.cli.output import describe_error, print_line
from fabula.core.errors import Code, FabulaError
from fabula.core.version import __version__

COMMANDS = {  # by module
    "context": ("assemble", "inspect", "why", "samples"),
    "write": ("write",),
    "chat": ("chat",),
    "runs": ("runs", "cost", "accept", "reject"),
    "skills": ("skills",),
    "search": ("search",),
    "synopsis": ("synopsis",),
    "outline": ("outline",),
    "chapter": ("chapter",),
    "revision": ("revision",),
    "timeline": ("timeline",),
    "constraint": ("constraint",),
    "memory": ("memory",),
    "codex": ("codex",),
    "extract": ("extract",),
    "fact": ("fact",),
    "need": ("need",),
    "lorebook": ("lorebook",),
    "series": ("series",),
    "participant": ("participant",),
    "history": ("history",),
    "recaps": ("recap",),
    "biography": ("biography",),
    "preset": ("preset",),
    "projects": ("new", "projects", "import", "export", "save", "load", "verify", "doctor"),
    "project": ("project",),
    "undo": ("undo", "redo"),
    "backup": ("backup",),
    "setting": ("setting",),
    "jobs": ("jobs",),
    "mcp": ("mcp",),
    "serve": ("serve",),
    "account": ("account",),
}


def make_app(command: str = "") -> CommandGroup:
    """Make the command line: with the module of one command, or with all of them where there is no such command."""
    app = CommandGroup(
        cls=RootGroup, help="Keep everything about your story, and tell a model what it needs to know now."
    )
    for module in [name for name, commands in COMMANDS.items() if command in commands] or COMMANDS:
        app.add_typer(import_module(f"fabula.cli.{module}").commands)
    app.command("version", help="Say which version this is.")(show_version)
    return app


def show_version() -> None:
    """Say which version this is."""
    print_line(__version__)


def main() -> None:
    """Run the command line, and turn refusals into one clear line."""
    gc.set_threshold(50_000)  # imports make many objects, and none of them is garbage
    atexit.register(gc.freeze)  # a last collection would only take time
    try:
        make_app("".join(sys.argv[1:2]))()
    except FabulaError as error:
        print_line(describe_error(error), file=sys.stderr)
        raise SystemExit(3 if error.code is Code.PROJECT_NOT_FOUND else 2) from None
    except BrokenPipeError:
        raise SystemExit(0) from None


if __name__ == "__main__":
    main()
