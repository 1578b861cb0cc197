"""The command line in a process of its own, as a terminal starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# A shell starts background jobs with SIGINT ignored, and children inherit that. A terminal does not.
_PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from fabula.cli.main import main; main()"
)


def start_fabula(*words: str, folder: Path) -> subprocess.Popen[str]:
    """Start a command that Ctrl-C can stop."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ},
    )


def read_token(process: subprocess.Popen[str]) -> str:
    """Read the token of a server from the file that it names behind its link."""
    assert process.stdout is not None
    return Path(process.stdout.readline().strip().partition(": ")[2]).read_text().strip()
