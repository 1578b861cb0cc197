"""Providers of one's own, and who works in the background: a file of this machine, never of a story.

A story's settings travel with its save, and a save may come from anybody. So where prompts are sent, and who may
spend money when nobody looks, stands in `models.toml` in Fabula's configuration:

    background = "house"          # who works in the background; nobody, if this is missing

    [places.house]
    base_url = "http://127.0.0.1:8000/v1"
    needs_key = false
    model = "qwen3-8b"
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from platformdirs import user_config_path

from fabula.core.errors import Code, FabulaError
from fabula.llm.provider_config import PLACES, Place

FILE = "FABULA_MODELS"  # the variable that names another file
LARGEST = 100_000  # bytes


class _Row(Place, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A provider as it stands in the file, where its name is that of its table."""

    name: str = ""


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    places: dict[str, _Row] = {}
    background: str = ""


class Own(Struct, frozen=True):
    """Every provider by its name, the built-in ones among them, and who works in the background."""

    places: Mapping[str, Place]
    background: str = ""

    def place(self, name: str) -> Place:
        """The provider of that name."""
        found = self.places.get(name)
        if found is None:
            raise FabulaError(
                Code.SETTING_INVALID,
                f"There is no provider called {name!r}. There are: {', '.join(sorted(self.places))}.",
            )
        return found


def own_file() -> Path:
    """Where it is written which providers there are."""
    named = os.environ.get(FILE, "").strip()
    return Path(named) if named else user_config_path("fabula") / "models.toml"


def own_models() -> Own:
    """What the file says; without one, what comes with the house."""
    file = own_file()
    try:
        if not file.is_file():
            return Own(PLACES)
        if file.stat().st_size > LARGEST:
            raise _refused(file, f"it is larger than {LARGEST // 1000} kB")
        read = msgspec.convert(tomllib.loads(file.read_text("utf-8")), _File)
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise _refused(file, str(error)) from error
    own = {name: replace(row, name=name) for name, row in read.places.items()}
    found = Own({**PLACES, **own}, read.background)
    if read.background:
        found.place(read.background)
    return found


def _refused(file: Path, why: str) -> FabulaError:
    return FabulaError(Code.SETTING_INVALID, f"{file.name} cannot be used: {why.rstrip('.')}. Correct it or remove it.")
