"""Text that a person changes in an editor of their own ($VISUAL or $EDITOR), and changes of others meanwhile."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fabula.cli.opening import read_text
from fabula.cli.output import invalid_request
from fabula.core.errors import FabulaError
from fabula.core.messages import message


@contextmanager
def explain_conflict(command: str) -> Iterator[None]:
    """Say, where somebody else has changed a thing meanwhile, which command shows what it is now."""
    try:
        yield
    except FabulaError as error:
        if {"current", "expected"} - error.details.keys():
            raise
        sentence = message(
            "This was changed elsewhere in the meantime: it has version {current} now, you have {expected}. "
            "Nothing was changed. Look at the newer version, then make your change in it: {command}",
            command=command,
            **error.details,
        )
        raise FabulaError(error.code, sentence, **error.details) from None


def edit_text(text: str) -> str:
    """Return a text after a person has changed it in their editor."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="fabula-") as folder:
        file = Path(folder) / "text.md"
        file.write_text(text, "utf-8")
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except (OSError, ValueError) as error:
            raise invalid_request(
                "The editor {editor!r} could not be started. Set EDITOR, or give the text. Nothing was changed.",
                editor=editor,
            ) from error
        if done.returncode:
            code = done.returncode
            raise invalid_request(
                "The editor {editor!r} ended with {code}. Nothing was changed.", editor=editor, code=code
            )
        return read_text(str(file))
