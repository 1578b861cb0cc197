"""Writing a file whole or not at all: beside its place first, then moved there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from fabula.core.errors import Code, FabulaError


def save(data: bytes, path: Path, *, overwrite: bool = False) -> None:
    """Put the bytes at that path; what is there already stays, unless overwriting is asked for."""
    if path.is_dir():
        raise FabulaError(
            Code.EXPORT_REFUSED, f"{path} is a folder. Nothing was written. Name a file inside it, or another one."
        )
    if path.exists() and not overwrite:
        raise FabulaError(
            Code.EXPORT_REFUSED,
            f"There is already a file at {path}, and it was left as it is. Name another one, or allow overwriting.",
        )
    temporary: Path | None = None
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise FabulaError(
            Code.EXPORT_REFUSED,
            f"{path} could not be written ({error.strerror}). Nothing was changed. "
            "Check that the folder is there, that you may write to it, and that the disk has room.",
        ) from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
