"""Whatever a client sends to a tool is answered, or refused with a code."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.core.errors import FabulaError
from fabula.mcp.access import McpAccess
from fabula.mcp.tool_arguments import describe_input, read_arguments
from fabula.mcp.tools import TOOLS, StoryTools
from fabula.workspace.workspace import Workspace
from tests.mcp.conftest import SECRETS, P
from tests.mcp.test_tools import CALLS

WORDS = st.sampled_from(["Mara", "Bo", "Lamp", "Alone", "1", "3", "ch-2", "start", "Supper:ate", "after ate", "-1", ""])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | WORDS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool with arguments that are partly right."""
    name = draw(st.sampled_from(sorted(TOOLS)))
    known = sorted(describe_input(TOOLS[name], McpAccess(), "en")["properties"])
    right = {one: value for one, value in CALLS[name].items() if draw(st.booleans())}
    names = st.sampled_from([*known, "nonsense"]) | st.text(max_size=5)
    return name, {**right, **draw(st.dictionaries(names, VALUES, max_size=3))}


@pytest.mark.parametrize("character", [None, "Mara"])
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls())
def test_every_call_is_answered_or_refused_with_a_code(
    workspace: Workspace, character: str | None, call: tuple[str, dict[str, Any]]
) -> None:
    name, sent = call
    access = McpAccess(project_id=P, character=character)
    tool = TOOLS[name]
    if not tool.is_allowed(access):
        return
    try:
        project, arguments = read_arguments(tool, access, sent)
        answer = msgspec.json.encode(tool.run(StoryTools(workspace, access, project), **arguments)).decode()
    except FabulaError as error:
        answer = str(error.message)
    if character is not None:
        assert not [word for word in SECRETS if word in answer.lower() and word not in str(sent).lower()]
