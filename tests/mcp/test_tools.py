"""Tools call verbs, answer with their schemas, and refuse with codes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fabula.core.messages import list_languages
from fabula.mcp.access import McpAccess
from fabula.mcp.tool_arguments import DESCRIPTIONS, describe_input
from fabula.mcp.tools import TOOLS
from fabula.workspace.workspace import Workspace
from mcp import Client, MCPError
from tests.mcp.conftest import OTHER, P, call, run_client

CALLS: dict[str, dict[str, Any]] = {
    "list_projects": {},
    "search_story": {"words": "lamp"},
    "list_chapters": {},
    "read_chapter": {"chapter": "Arrival"},
    "read_synopses": {},
    "read_recaps": {},
    "list_entries": {"kind": "item"},
    "read_entry": {"entry": "Lamp"},
    "add_entry": {
        "name": "Oar",
        "kind": "item",
        "description": "Ash wood.",
        "knownTo": ["Mara"],
        "details": {"age": "9"},
    },
    "edit_entry": {"entry": "Lamp", "description": "New brass."},
    "add_progression": {"entry": "Lamp", "text": "It goes out.", "since": "Supper"},
    "set_knowledge": {"entry": "Debt", "knower": "Mara", "since": "Supper"},
    "list_facts": {"entry": "Mara"},
    "list_needs": {},
    "use_fact": {"entry": "Mara", "fact": "1", "use": "progression"},
    "check_continuity": {"text": "And suddenly Mara spoke.", "chapter": "3"},
    "assemble_context": {"documentId": "3", "skillId": "continue", "window": 8000},
    "explain_context": {"documentId": "3", "name": "Lamp"},
    "remember": {"text": "Short sentences."},
    "propose_edit": {"chapter": "Supper", "text": "They drank.", "replaces": "They ate."},
}


def test_every_tool_is_tried_here() -> None:
    assert set(CALLS) == set(TOOLS)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_answers_by_its_schema_and_in_readable_text(workspace: Workspace, mode: str) -> None:
    async def talk(client: Client) -> None:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        assert set(tools) == set(CALLS)
        for name, arguments in CALLS.items():
            tool, result = tools[name], await client.call_tool(name, arguments)
            assert not result.is_error, (name, result.content)
            assert tool.output_schema is not None  # by which the client has checked the answer
            assert set(result.structured_content) <= set(tool.output_schema["properties"])
            assert set(tool.input_schema["required"]) <= set(arguments) <= set(tool.input_schema["properties"])
            text = result.content[0].text  # type: ignore[union-attr]
            assert re.fullmatch(r".+\n<story (\w{16})>\n.+\n</story \1>", text, re.DOTALL), text

    run_client(workspace, talk, mode=mode)


def test_what_a_tool_may_do_is_told(workspace: Workspace) -> None:
    async def talk(client: Client) -> Any:
        return {one.name: one.annotations for one in (await client.list_tools()).tools}

    found = run_client(workspace, talk)
    assert {name for name, one in found.items() if not one.read_only_hint} == {
        "add_entry",
        "edit_entry",
        "add_progression",
        "set_knowledge",
        "use_fact",
        "remember",
        "propose_edit",
    }
    assert {name for name, one in found.items() if one.destructive_hint} == {"edit_entry", "set_knowledge"}


@pytest.mark.parametrize("language", list_languages())
def test_every_argument_is_described(language: str) -> None:
    used = set[str]()
    for tool in TOOLS.values():
        schema = describe_input(tool, McpAccess(), language)
        assert all(one["description"] for one in schema["properties"].values())
        used.update(schema["properties"])
        if tool.needs_project:
            assert "project" in schema["required"]
    assert len(used) == len(DESCRIPTIONS)


def test_changes_are_made_and_a_proposal_changes_nothing_yet(workspace: Workspace) -> None:
    for name in ("add_entry", "edit_entry", "add_progression", "remember", "propose_edit"):
        assert not call(workspace, name, CALLS[name]).is_error
    project = workspace.project(P)
    assert project.codex.find("Oar").known_to == frozenset({"mara"})
    assert project.codex.find("Lamp").description == "New brass."
    assert len(project.codex.find("Lamp").progressions) == 2
    remembered = {one.item.text for one in project.memory.list_memories()}
    assert remembered == {"Short sentences.", "Prefers larkspurn sentences."}  # the second one was planted
    assert project.chapters.read("Supper").text.startswith("They ate.")
    (run,) = project.runs.list_runs()
    assert run.model == "mcp:mcp"
    project.runs.accept(run.id)
    assert project.chapters.read("Supper").text == "They drank. Mara spoke of the lamp."


def test_continuity_finds_broken_rules_in_a_text_and_in_the_story(workspace: Workspace) -> None:
    found = call(workspace, "check_continuity", {"text": "Suddenly Mara spoke.", "chapter": "Supper"})
    assert [one["constraint"] for one in found.structured_content["findings"]] == ["rule"]
    workspace.project(P).chapters.write("Supper", "Then, suddenly, rain.")
    story = call(workspace, "check_continuity", {}).structured_content
    assert (story["total"], story["violations"][0]["words"]) == (1, "suddenly")


def test_a_long_chapter_is_read_in_parts(workspace: Workspace) -> None:
    workspace.project(P).chapters.write("Supper", "abc " * 12_000)
    parts: list[str] = []
    start: int | None = 0
    while start is not None:
        part: dict[str, Any] = call(workspace, "read_chapter", {"chapter": "Supper", "start": start}).structured_content
        parts.append(part["text"])
        start = part["next"]
    assert "".join(parts) == "abc " * 12_000
    assert len(parts) == 3


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "words"),
    [
        ("read_chapter", {}, "CONTEXT_REQUEST_INVALID", "`chapter` is missing"),
        ("read_chapter", {"chaptr": "1"}, "CONTEXT_REQUEST_INVALID", "'chapter'"),
        ("read_chapter", {"chapter": "Arival"}, "CONTEXT_DOCUMENT_UNKNOWN", "Arrival"),
        ("read_chapter", {"chapter": ["a", {}]}, "CONTEXT_REQUEST_INVALID", "`chapter` must be a text"),
        ("read_chapter", {"chapter": "1", "limit": 10**9}, "CONTEXT_REQUEST_INVALID", "limit"),
        ("read_chapter", {"chapter": "1", "start": -1}, "CONTEXT_REQUEST_INVALID", "start"),
        ("read_entry", {"entry": "Lmap"}, "STORE_NOT_FOUND", "Lamp"),
        ("read_entry", {"entry": "Plan"}, "STORE_NOT_FOUND", "no entry"),
        ("edit_entry", {"entry": "Plan", "description": "x"}, "STORE_NOT_FOUND", "no entry"),
        ("add_entry", {"name": "Oar", "knwonTo": ["Mara"]}, "CONTEXT_REQUEST_INVALID", "knownTo"),
        ("add_entry", {"name": "Oar", "notes": "private"}, "CONTEXT_REQUEST_INVALID", "notes"),
        ("add_entry", {"name": "Lamp"}, "STORE_DUPLICATE", "Lamp"),
        ("add_entry", {"name": "half \ud83d"}, "TEXT_INVALID", "surrogate"),
        ("list_entries", {"kind": "charactre"}, "CODEX_INVALID", "character"),
        ("search_story", {"words": "x" * 1_100_000}, "CONTEXT_INPUT_TOO_LARGE", "1,000,000"),
        ("search_story", {"words": "lamp", "limit": "many"}, "CONTEXT_REQUEST_INVALID", "limit"),
        ("search_story", {"words": "lamp", "project": "Elsewhere"}, "CONTEXT_NOT_ALLOWED", "owner"),
        ("search_story", {"words": "lamp", "project": "Nowhere"}, "CONTEXT_NOT_ALLOWED", "owner"),
        ("search_story", {"words": "lamp", "project": {}}, "CONTEXT_REQUEST_INVALID", "project"),
        ("propose_edit", {"chapter": "1", "text": "x", "replaces": "nope"}, "CONTEXT_REQUEST_INVALID", "nope"),
        ("assemble_context", {"documentId": "9"}, "CONTEXT_DOCUMENT_UNKNOWN", "9"),
        ("assemble_context", {"skillId": "contineu"}, "CONTEXT_SKILL_UNKNOWN", "continue"),
        ("remember", {"text": "x", "kind": "style"}, "CONTEXT_REQUEST_INVALID", "preference"),
    ],
)
def test_bad_arguments_are_refused_with_a_code_and_the_nearest_right_name(
    workspace: Workspace, tool: str, arguments: dict[str, Any], code: str, words: str
) -> None:
    version = workspace.store.versions(project=P)
    result = call(workspace, tool, arguments)
    assert result.is_error
    assert result.structured_content["code"] == code
    assert words in result.structured_content["sentence"]
    assert code in result.content[0].text
    assert workspace.store.versions(project=P) == version


def test_an_unknown_tool_is_refused_with_the_nearest_one(workspace: Workspace) -> None:
    with pytest.raises(MCPError, match="search_story"):
        call(workspace, "serch_story", {"words": "x"})
    with pytest.raises(MCPError, match="list_projects"):
        call(workspace, "x" * 100_000)


def test_a_server_of_all_projects_needs_the_name_of_one(workspace: Workspace) -> None:
    everywhere: dict[str, Any] = {"project_id": None}
    listed = call(workspace, "list_projects", **everywhere).structured_content["projects"]
    assert {one["id"] for one in listed} == {P, OTHER}
    assert call(workspace, "list_chapters", **everywhere).structured_content["code"] == "CONTEXT_REQUEST_INVALID"
    found = call(workspace, "list_chapters", {"project": "Elsewhere"}, **everywhere)
    assert [one["id"] for one in found.structured_content["items"]] == ["far"]
    unknown = call(workspace, "list_chapters", {"project": "Elsewere"}, **everywhere).structured_content
    assert unknown["code"] == "PROJECT_NOT_FOUND"
    assert "Elsewhere" in unknown["sentence"]


def test_a_server_that_only_reads_has_no_tool_that_writes(workspace: Workspace) -> None:
    async def talk(client: Client) -> set[str]:
        for name, arguments in CALLS.items():
            if not TOOLS[name].reads_only:
                with pytest.raises(MCPError, match="no tool"):
                    await client.call_tool(name, arguments)
        return {one.name for one in (await client.list_tools()).tools}

    version = workspace.store.versions(project=P)
    assert run_client(workspace, talk, is_read_only=True) == {one.name for one in TOOLS.values() if one.reads_only}
    assert workspace.store.versions(project=P) == version


def test_a_closed_store_is_a_coded_refusal(workspace: Workspace) -> None:
    async def talk(client: Client) -> Any:
        workspace.close()
        with pytest.raises(MCPError) as refused:
            await client.list_resources()
        assert refused.value.data == {"code": "STORE_CLOSED"}
        return await client.call_tool("list_chapters")

    result = run_client(workspace, talk)
    assert result.structured_content["code"] == "STORE_CLOSED"


def test_what_fails_inside_is_told_without_details(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("zephyrine")

    async def talk(client: Client) -> None:
        monkeypatch.setattr("fabula.workspace.reading.ReadingVerbs.list_chapters", fail)
        for ask in (client.call_tool("list_chapters"), client.list_resources()):
            with pytest.raises(MCPError) as refused:
                await ask
            assert "zephyrine" not in str(refused.value)

    run_client(workspace, talk)


def test_every_tool_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
    table = page.partition("## Tools")[2].partition("##")[0]
    assert set(re.findall(r"`([a-z]+_[a-z]+|remember)`", table)) == set(TOOLS)
