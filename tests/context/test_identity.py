"""The identity prompt: built in, of the project, or emptied (ctx-3)."""

from __future__ import annotations

import pytest

from fabula.context import Engine, Project, Request, View
from fabula.context.phrases import load_phrases
from fabula.manuscript import projects
from fabula.store.store import Store
from tests.context.builders import check_result


@pytest.mark.parametrize("identity", ["", "  "])
def test_the_identity_can_be_emptied(identity: str) -> None:
    view = View(Project(id="p", identity=identity))
    result = Engine().assemble(Request(project_id="p", additional_input="Go on."), view)
    assert [(part.role, part.content) for part in result.messages] == [("user", "Go on.")]
    assert result.identity_tokens == 0
    check_result(result)


def test_without_an_identity_of_its_own_a_project_has_the_built_in_one() -> None:
    result = Engine().assemble(Request(project_id="p", additional_input="Go on."), View(Project(id="p")))
    assert result.messages[0].content == load_phrases("en").identity


@pytest.mark.parametrize("identity", [None, "", "You are a poet."])
def test_a_stored_project_keeps_an_identity_that_was_emptied(store: Store, identity: str | None) -> None:
    projects.create(store, "The Coast", project_id="coast", identity=projects.store_identity(identity))
    with store.read(project="coast") as reading:
        project, _, _ = projects.load_project(reading)
    assert (project.identity if project.identity is None else project.identity.strip()) == identity
