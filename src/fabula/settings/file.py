"""Reads a file with the settings of a machine: a variable and its value in each line, as systemd reads it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import describe_os_error
from fabula.core.messages import join_alternatives, message
from fabula.core.similar_names import find_similar_names
from fabula.settings.registry import SETTINGS

MAX_CHARACTERS = 100_000


def read_settings_file(path: Path, names: Collection[str] = ()) -> dict[str, str]:
    """Return the variables of a file; `names` are known beside those of the registry. A wrong line is refused."""
    try:
        with path.open(encoding="utf-8-sig") as stream:
            lines = stream.read(MAX_CHARACTERS).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = describe_os_error(error) if isinstance(error, OSError) else str(error)
        raise FabulaError(
            Code.SETTING_INVALID,
            message("The settings in {path} could not be read ({reason}).", path=path, reason=reason),
        ) from None
    known = {one.variable for one in SETTINGS.values() if one.variable} | set(names)
    values: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        name, equals, value = line.strip().partition("=")
        if not name or name.startswith("#"):
            continue
        if not equals or name not in known:
            nearest = find_similar_names(name, sorted(known)) or sorted(known)
            raise FabulaError(
                Code.SETTING_INVALID,
                message(
                    "Line {number} of {path} is no setting of the server: {name!r}. Did you mean {names}?",
                    number=number,
                    path=path,
                    name=name,
                    names=join_alternatives(nearest),
                ),
            )
        values[name] = value.strip().strip("'\"")
    return values
