"""User-defined providers: reads `models.toml`, a file of this machine and never of a project.

A project's settings travel with its save, and a save may come from anybody. So this file in the user's configuration
folder alone says where prompts are sent, and which provider background jobs may spend money on:

    background = "lab"            # the provider of background jobs; without it they call no model

    [places.lab]
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

from fabula.core.decoding import explain_decode_error, explain_syntax_error
from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import describe_os_error
from fabula.core.messages import Sentence, join_names, message
from fabula.llm.provider_config import BUILT_IN_PROVIDERS, ProviderConfig

FILE_VARIABLE = "FABULA_MODELS"  # the environment variable that names another file
MAX_FILE_BYTES = 100_000


class _ProviderTable(ProviderConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A provider in the file; its name is the name of its table."""

    name: str = ""


class _ProvidersFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    places: dict[str, _ProviderTable] = {}
    background: str = ""


class ProviderRegistry(Struct, frozen=True):
    """All providers by name, built-in and user-defined, and the name of the one for background jobs."""

    providers: Mapping[str, ProviderConfig]
    background_provider: str = ""

    def find(self, name: str) -> ProviderConfig:
        """Find a provider by name."""
        config = self.providers.get(name)
        if config is None:
            raise FabulaError(
                Code.SETTING_INVALID,
                message(
                    "There is no provider called {name!r}. There are: {names}.",
                    name=name,
                    names=join_names(sorted(self.providers)),
                ),
            )
        return config


def find_providers_file() -> Path:
    """The path of `models.toml`, whether or not it exists."""
    path = os.environ.get(FILE_VARIABLE, "").strip()
    return Path(path) if path else user_config_path("fabula") / "models.toml"


def load_providers() -> ProviderRegistry:
    """Load the built-in providers and those of the file, if it exists."""
    file = find_providers_file()
    try:
        if not file.is_file():
            return ProviderRegistry(BUILT_IN_PROVIDERS)
        if file.stat().st_size > MAX_FILE_BYTES:
            raise _invalid_file(file, message("it is larger than {limit} kB", limit=MAX_FILE_BYTES // 1000))
        content = msgspec.convert(tomllib.loads(file.read_text("utf-8")), _ProvidersFile)
    except msgspec.ValidationError as error:
        raise _invalid_file(file, explain_decode_error(error, _ProvidersFile)) from error
    except OSError as error:
        raise _invalid_file(file, describe_os_error(error)) from error
    except (UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise _invalid_file(file, explain_syntax_error(error)) from error
    own = {name: replace(row, name=name) for name, row in content.places.items()}
    registry = ProviderRegistry({**BUILT_IN_PROVIDERS, **own}, content.background)
    if content.background:
        registry.find(content.background)  # refuses an unknown name
    return registry


def _invalid_file(file: Path, why: str | Sentence) -> FabulaError:
    sentence = message("{file} cannot be used: {why}. Correct it or remove it.", file=file.name, why=why)
    return FabulaError(Code.SETTING_INVALID, sentence)
