"""A server that sees through a character's eyes tells nobody what that character does not know."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.mcp.access import McpAccess
from fabula.mcp.resources import make_uri
from fabula.mcp.tools import TOOLS
from fabula.workspace.workspace import Workspace
from mcp import Client, MCPError
from tests.mcp.conftest import AUTHORS, OTHER, SECRETS, P, call, run_client
from tests.mcp.test_tools import CALLS

HIDDEN = ("Alone", "ch-2", "Debt", "debt", "Plan", "plan", "Map", "map", "Vellichor", "On the quay", "quay")
QUESTIONS: dict[str, list[dict[str, Any]]] = {
    "search_story": [{"words": word} for word in (*SECRETS, *HIDDEN, "ledger key lamp hid")],
    "read_chapter": [{"chapter": name} for name in (*HIDDEN, "1", "2", "3", "Arrival", "Supper")],
    "read_synopses": [{}, *({"chapters": [name]} for name in ("Alone", "ch-2", "2"))],
    "read_recaps": [{}, {"conversation": "quay"}, {"conversation": "On the quay"}],
    "list_entries": [{}, {"kind": "lore"}],
    "read_entry": [{"entry": name} for name in (*HIDDEN, "Mara", "Bo", "Lamp")],
    "explain_context": [{}, *({"name": name} for name in HIDDEN)],
    "check_continuity": [{}, *({"text": f"{name} was there."} for name in HIDDEN)],
    "assemble_context": [
        {},
        *({"documentId": name} for name in ("1", "2", "3", "ch-2", "Alone", "Arrival")),
        *({"conversationId": name} for name in ("quay", "On the quay")),
        *({"additionalInput": f"{name}?"} for name in (*HIDDEN, *SECRETS)),
        *(
            {"skillId": name}
            for name in ("continue", "critique", "judge", "brainstorm", "synopsis", "ferncastle", "nope")
        ),
    ],
}


FURTHER: list[dict[str, Any]] = [
    {},
    {"everything": True},
    {"perspective": "author"},
    {"character": "bo"},
    {"include": ["debt"]},
]


def collect(text: str, asked: object) -> set[str]:
    """Return the planted words in an answer that were not in the question."""
    return {word for word in SECRETS if word in text.lower() and word not in str(asked).lower()}


def ask_everything(workspace: Workspace, mode: str, **access: Any) -> tuple[set[str], int]:
    """Ask everything there is to ask; return the planted words that were told, and how many answers there were."""

    async def talk(client: Client) -> tuple[set[str], int]:
        told, answers = set[str](), 0
        for name in TOOLS:
            for arguments in (CALLS[name], *QUESTIONS.get(name, [])):
                for further in (
                    {},
                    {"everything": True},
                    {"perspective": "author"},
                    {"character": "bo"},
                    {"include": ["debt"]},
                ):
                    try:
                        result = await client.call_tool(name, {**arguments, **further})
                    except MCPError as error:
                        told |= collect(f"{error} {error.data}", (name, arguments))
                    else:
                        told |= collect(str(result.model_dump()), arguments)
                        answers += not result.is_error
        listed = await client.list_resources()
        told |= collect(str(listed.model_dump()), "")
        idents = [*HIDDEN, "mara", "bo", "lamp", "ch-1", "ch-3", "character:bo"]
        for uri in (make_uri(P, kind, ident) for kind in ("chapter", "entry", "recap") for ident in idents):
            try:
                read = await client.read_resource(uri)
            except MCPError as error:
                told |= collect(f"{error} {error.data}", uri)
            else:
                told |= collect(str(read.model_dump()), uri)
                answers += 1
        prompts = await client.list_prompts()
        for prompt in prompts.prompts:
            for chapter in ("ch-1", "ch-2", "ch-3"):
                arguments = {"chapter": chapter, "instruction": "Tell of Vellichor, Debt and Plan."}
                if "selection" in [one.name for one in prompt.arguments or ()]:
                    arguments["selection"] = "Mara"
                try:
                    made = await client.get_prompt(prompt.name, arguments)
                except MCPError as error:
                    told |= collect(f"{error} {error.data}", arguments)
                else:
                    told |= collect(str(made.model_dump()), arguments)
                    answers += 1
        return told, answers

    return run_client(workspace, talk, mode=mode, **access)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_no_answer_of_any_tool_resource_or_prompt_tells_a_planted_secret(workspace: Workspace, mode: str) -> None:
    told, answers = ask_everything(workspace, mode, character="Mara")
    assert told == set()
    assert answers > 60


def test_the_owner_is_told_the_same_secrets_except_what_is_for_no_model(
    workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    told, _ = ask_everything(workspace, "auto", is_read_only=True)
    assert collect(caplog.text, "") == set()
    assert {"zephyrine", "quillwort", "marchpane", "halcyonid", "tamarisk", "vellichor", *AUTHORS} <= told
    assert told.isdisjoint({"obsidius", "susurrus"})


def test_a_character_is_told_what_it_knows(workspace: Workspace) -> None:
    told, _ = ask_everything(workspace, "auto", character="Bo")
    assert {"zephyrine", "quillwort", "halcyonid", "tamarisk"} <= told
    assert told.isdisjoint({"obsidius", "susurrus", "marchpane", *AUTHORS})


def test_what_a_character_learns_is_told_at_once(workspace: Workspace) -> None:
    async def talk(client: Client) -> list[bool]:
        found = []
        for _ in range(2):
            result = await client.call_tool("read_entry", {"entry": "Debt"})
            found.append(not result.is_error)
            workspace.project(P).codex.set_knowledge("debt", "Mara")
        return found

    assert run_client(workspace, talk, character="Mara") == [False, True]


def test_a_character_changes_nothing_and_inspects_nothing(workspace: Workspace) -> None:
    async def talk(client: Client) -> set[str]:
        return {one.name for one in (await client.list_tools()).tools}

    names = run_client(workspace, talk, character="Mara")
    assert names == {one.name for one in TOOLS.values() if one.is_for_limited}
    assert all(TOOLS[name].reads_only for name in names)
    assert "explain_context" not in names


@pytest.mark.parametrize(
    "uri", ["chapter/far", "chapter/none", "entry/far", "chapter/..%2F..%2Ffar", "chapter/", "x/y"]
)
def test_what_is_foreign_hidden_or_absent_is_refused_in_the_same_words(workspace: Workspace, uri: str) -> None:
    async def talk(client: Client) -> str:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(f"fabula://project/{OTHER}/{uri}")
        with pytest.raises(MCPError) as absent:
            await client.read_resource(f"fabula://project/{P}/chapter/none")
        assert refused.value.data == absent.value.data == {"code": "STORE_NOT_FOUND"}
        assert str(refused.value) == str(absent.value)
        return str(refused.value)

    assert "far" not in run_client(workspace, talk, character="Mara")


def test_a_character_needs_a_project_and_must_be_there(workspace: Workspace) -> None:
    with pytest.raises(FabulaError) as refused:
        McpAccess(character="Mara")
    assert refused.value.code is Code.REQUEST_INVALID
    with pytest.raises(FabulaError) as unknown:
        McpAccess(project_id=P, character="Marra").open_project(workspace)
    assert "Mara" in str(unknown.value.message)


def test_a_character_is_told_no_version_and_no_change_of_the_whole_project(workspace: Workspace) -> None:
    (whole,) = call(workspace, "list_projects").structured_content["projects"]
    (seen,) = call(workspace, "list_projects", character="Mara").structured_content["projects"]
    assert whole["version"] > 0
    assert (seen["version"], seen["changed"]) == (0, whole["made"])
