"""Fixtures of the codex tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabula.store.store import Store
from fabula.workspace.workspace import Workspace


@pytest.fixture
def workspace(store: Store) -> Iterator[Workspace]:
    """A workspace on a fresh store of each engine."""
    with Workspace(store) as opened:
        yield opened
