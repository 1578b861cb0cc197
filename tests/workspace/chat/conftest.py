"""A project with a cast that talks on a pier."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace


@pytest.fixture
def pier(store: Store) -> Iterator[ProjectHandle]:
    """A player, three personas and a conversation of all four, on each engine in turn."""
    projects.create(store, "Party", project_id="party")
    with Workspace(store) as workspace:
        project = workspace.project("party")
        project.participants.ensure_player("Ann")
        project.participants.add("Mara", aliases=("Captain",), persona="PERSONA-MARA")
        project.participants.add("Bo", persona="PERSONA-BO")
        project.participants.add("Cleo", persona="PERSONA-CLEO")
        project.chat.start(title="Pier")
        yield project
