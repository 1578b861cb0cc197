"""A workspace with one story that has something of every kind, and a server for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.server.running import RunningServer, run_server


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(lay(tmp_path / "data")) as opened:
        yield opened


@pytest.fixture
def story(workspace: Workspace) -> ProjectHandle:
    """A copy of the sample."""
    return workspace.copy_project(open_read_only("sample:lantern_coast").view)


@pytest.fixture
def server(workspace: Workspace, story: ProjectHandle) -> Iterator[RunningServer]:
    with run_server(workspace) as running:
        yield running


@pytest.fixture
def client(server: RunningServer) -> Iterator[httpx2.Client]:
    with server.client() as one:
        yield one
