"""What tests of a project's verbs share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only, read_view
from fabula.workspace.workspace import Workspace

SAMPLE = "sample:lantern_coast"


@pytest.fixture
def workspace(store: Store) -> Iterator[Workspace]:
    """An empty workspace, on each engine in turn."""
    with Workspace(store) as opened:
        yield opened


@pytest.fixture
def coast(store: Store) -> Iterator[ProjectHandle]:
    """A copy of the sample story in a store, on each engine in turn."""
    workspace = Workspace(store)
    workspace.copy_project(read_view(SAMPLE), title="Coast")
    yield workspace.project("Coast")
    workspace.close()


@pytest.fixture
def read_only_coast() -> Iterator[ProjectHandle]:
    """The sample story, opened to look at."""
    project = open_read_only(SAMPLE)
    yield project
    project.close()
