"""What every test of a command needs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
import typer.main


@pytest.fixture(scope="session", autouse=True)
def commands() -> Iterator[None]:
    """The tree of commands is made once, because that takes longer than most commands do; they speak English."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABULA_LANGUAGE", "en")
        made_once = cache(typer.main.get_command)
        patch.setattr("typer.main.get_command", made_once)
        patch.setattr("typer.testing._get_command", made_once)
        yield
