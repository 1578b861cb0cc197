"""What every test of a command needs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import pytest
import typer.main


@pytest.fixture(scope="session", autouse=True)
def commands() -> Iterator[None]:
    """A tree of the same commands is made once, because that takes longer than most commands do; they speak English."""
    make_tree, trees = typer.main.get_command, dict[Hashable, Any]()

    def make_once(app: typer.Typer) -> Any:
        key = tuple(group.typer_instance for group in app.registered_groups) or app
        if key not in trees:
            trees[key] = make_tree(app)
        return trees[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABULA_LANGUAGE", "en")
        patch.setattr("typer.main.get_command", make_once)
        patch.setattr("typer.testing._get_command", make_once)
        yield
