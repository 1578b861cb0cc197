"""Completions: a client's own conversation with the context of the story, against a real model server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fabula.conversation.model import MAX_MESSAGE_CHARACTERS
from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Usage
from fabula.workspace.completions import prepare_completion, read_options, stream_completion
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.completions import join_tool_calls, read_completion
from fabula.workspace.workspace import Workspace
from fabula.workspace.writing import Completed, Failed, TextDelta, WritingEvent
from tests.llm.server import Exchange, ModelServer, chunk, openai_answer, run_server

TOOLS = [{"type": "function", "function": {"name": "roll", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelServer]:
    """A model server that the settings name."""
    with run_server() as running:
        file = tmp_path / "models.toml"
        file.write_text(f'[places.lab]\nbase_url = "{running.url}"\nneeds_key = false\nmodel = "gpt-4o"\n')
        monkeypatch.setenv("FABULA_MODELS", str(file))
        yield running


@pytest.fixture
def harbour(tmp_path: Path, model: ModelServer) -> Iterator[Workspace]:
    """A book whose captain hides a key, and a mate who does not know it."""
    with Workspace.open(tmp_path / "data") as workspace:
        project = workspace.create_project("Harbour")
        project.chapters.add("One", "Mara stood on the pier with Bo.")
        project.codex.add("Mara", kind="character", description="The captain of the Kestrel.", level="always")
        project.codex.add("Bo", kind="character", description="Her mate.")
        project.codex.add(
            "Key", kind="thing", description="It hangs under the quay.", level="always", known_to=["Mara"]
        )
        workspace.settings().set("llm.provider", "lab", scope="person")
        yield workspace


def body(*messages: Mapping[str, Any], **more: Any) -> bytes:
    return json.dumps({"model": "fabula/Harbour", "messages": messages, **more}).encode()


def say(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def reply(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def complete(workspace: Workspace, data: bytes, **headers: str) -> list[WritingEvent]:
    """Everything that a completion yields."""
    asked = read_completion(data)
    options = read_options(asked, headers)
    prepared = prepare_completion(workspace.project(options.project), asked, options)

    async def run() -> list[WritingEvent]:
        return [event async for event in stream_completion(prepared)]

    return asyncio.run(run())


def sent(model: ModelServer) -> list[dict[str, Any]]:
    """The messages of the last request that the model got."""
    messages: list[dict[str, Any]] = model.exchanges[-1].request["messages"]
    return messages


def refuse(workspace: Workspace, data: bytes, **headers: str) -> FabulaError:
    with pytest.raises(FabulaError) as refused:
        complete(workspace, data, **headers)
    return refused.value


def test_a_clients_question_is_answered_with_the_context_of_the_story(harbour: Workspace, model: ModelServer) -> None:
    model.script = openai_answer("She is ", "the captain.", usage={"prompt_tokens": 300, "completion_tokens": 5})
    events = complete(harbour, body(say("Who is Mara?"), temperature=0.3, seed=7))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "She is the captain."
    (end,) = [event for event in events if isinstance(event, Completed)]
    assert end.usage == Usage(input_tokens=300, output_tokens=5)
    assert "The captain of the Kestrel." in str(sent(model))
    assert sent(model)[-1]["content"].endswith("Who is Mara?")
    assert (model.exchanges[-1].request["temperature"], model.exchanges[-1].request["seed"]) == (0.3, 7)


def test_what_the_client_sends_as_history_is_the_history_and_stands_once(
    harbour: Workspace, model: ModelServer
) -> None:
    history = [say("First word?"), reply("Aye-one."), say("Second word?"), reply("Aye-two."), say("Third word?")]
    complete(harbour, body({"role": "system", "content": "CLIENT-PROMPT"}, *history))
    whole = "\n".join(one["content"] for one in sent(model))
    for text in ("CLIENT-PROMPT", "First word?", "Aye-one.", "Second word?", "Aye-two.", "Third word?"):
        assert whole.count(text) == 1
    assert [one["role"] for one in sent(model)][-5:] == ["user", "assistant", "user", "assistant", "user"]


def test_the_prefix_of_a_conversation_stays_the_same_from_request_to_request(
    harbour: Workspace, model: ModelServer
) -> None:
    history = [say("Word 0?")]
    for number in range(1, 6):
        complete(harbour, body(*history))
        history += [reply(f"Aye {number}."), say(f"Word {number}?")]
    texts = [
        "\x1e".join(f"{one['role']}:{one['content']}" for one in exchange.request["messages"])
        for exchange in model.exchanges
    ]
    for before, after in pairwise(texts):
        assert after.startswith(before)


def test_a_character_is_told_what_it_knows_and_nothing_else(harbour: Workspace, model: ModelServer) -> None:
    data = json.loads(body(say("Where is the key?")))
    for name, knows in (("Mara", True), ("Bo", False)):
        complete(harbour, json.dumps({**data, "model": f"fabula/Harbour/{name}"}).encode())
        assert ("under the quay" in str(sent(model))) is knows


def test_a_character_answers_as_in_a_conversation_between_two(harbour: Workspace, model: ModelServer) -> None:
    project = harbour.project("Harbour")
    project.participants.add("Old Nan", persona="You are Old Nan. You mend NETS-MARK.")
    project.participant_texts.add("biography", "Old Nan", "Born in the BIO-MARK year.")
    project.participants.ensure_player("Ann")
    for recipe in ("chat", "character-chat"):
        complete(harbour, body(say("Good day."), model="fabula/Harbour/Old Nan"), recipe=recipe)
        assert sent(model)[0]["content"].startswith("You are Old Nan. You mend NETS-MARK.")
        assert "BIO-MARK" in str(sent(model))
    complete(harbour, body(say("Good day."), model="fabula/Harbour/Bo"))
    assert sent(model)[0]["content"].startswith("You are Bo.")
    complete(harbour, body(say("Good day.")))
    assert "NETS-MARK" not in str(sent(model))
    assert not sent(model)[0]["content"].startswith("You are Bo.")


def test_what_a_character_answers_is_recorded_under_its_name(harbour: Workspace, model: ModelServer) -> None:
    project = harbour.project("Harbour")
    nan = project.participants.add("Old Nan", persona="You mend nets.", namespace="persona")
    model.script = openai_answer("Aye-one.")
    complete(harbour, body(say("Hello?"), model="fabula/Harbour/Old Nan", store=True))
    complete(harbour, body(say("Hello?"), reply("Aye-one."), say("Again?"), model="fabula/Harbour/Old Nan", store=True))
    (kept,) = project.conversations.list_all()
    player = project.participants.ensure_player()
    spoken = [one.speaker for one in project.conversations.read_page(kept.record.id).messages]
    assert spoken == [player.id, f"{nan.id}#1"] * 2
    assert set(project.chat.get(kept.record.id).attendance.present) == {player.id, nan.id}
    complete(harbour, body(say("Hello?"), model="fabula/Harbour/Bo", store=True))
    assert "Bo" in [one.name for one in project.participants.list_all()]


def test_nothing_is_recorded_unless_the_client_asks_for_it(harbour: Workspace, model: ModelServer) -> None:
    complete(harbour, body(say("Hello?")))
    assert harbour.project("Harbour").conversations.list_all() == []


def test_a_stored_conversation_grows_by_what_is_new_and_branches_where_the_client_does(
    harbour: Workspace, model: ModelServer
) -> None:
    model.script = openai_answer("Aye-one. ")
    complete(harbour, body(say("Hello?"), store=True))
    model.script = openai_answer("Aye-two.")
    complete(harbour, body(say("Hello?"), reply("Aye-one."), say("Again?"), store=True))
    complete(harbour, body(say("Hello?"), reply("Aye-one."), say("Again?"), store=True))
    project = harbour.project("Harbour")
    (kept,) = project.conversations.list_all()
    assert texts(project, kept.record.id) == ["Hello?", "Aye-one.", "Again?", "Aye-two."]
    model.script = openai_answer("Aye-three.")
    complete(harbour, body(say("Hello?"), reply("Aye-one."), say("Otherwise?"), store=True))
    assert texts(project, kept.record.id) == ["Hello?", "Aye-one.", "Otherwise?", "Aye-three."]
    assert len(project.conversations.list_all()) == 1


def texts(project: ProjectHandle, conversation: str) -> list[str]:
    return [one.content for one in project.conversations.read_page(conversation).messages]


def test_tools_calls_and_images_pass_through_as_they_are(harbour: Workspace, model: ModelServer) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    picture = {"role": "user", "content": [{"type": "text", "text": "Who is this?"}, image]}
    call = {"id": "call_1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}
    calling = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "six"}
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    complete(harbour, body(picture, calling, result, tools=TOOLS, response_format=schema))
    assert sent(model)[-3:] == [picture, calling, result]
    request = model.exchanges[-1].request
    assert (request["tools"], request["response_format"]) == (TOOLS, schema)


def test_calls_of_tools_come_back(harbour: Workspace, model: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        for piece in (
            {"index": 0, "id": "call_9", "type": "function", "function": {"name": "roll", "arguments": ""}},
            {"index": 0, "function": {"arguments": '{"sides":'}},
            {"index": 0, "function": {"arguments": " 6}"}},
        ):
            event = chunk()
            event["choices"][0]["delta"] = {"tool_calls": [piece]}
            await exchange.send_event(event)
        await exchange.send_event(chunk(why="tool_calls"))
        await exchange.send_event("[DONE]")

    model.script = script
    events = complete(harbour, body(say("Roll."), tools=TOOLS))
    pieces = [piece for event in events if isinstance(event, TextDelta) for piece in event.tool_calls]
    assert join_tool_calls(pieces) == [
        {"id": "call_9", "type": "function", "function": {"name": "roll", "arguments": '{"sides": 6}'}}
    ]
    (end,) = [event for event in events if isinstance(event, Completed)]
    assert end.finish_reason == "tool_calls"


def test_options_come_from_the_models_name_the_metadata_and_the_headers() -> None:
    asked = read_completion(body(say("x"), metadata={"fabula_recipe": "novel", "fabula_window": "4096", "other": "1"}))
    options = read_options(asked, {"character": "Mara"})
    assert (options.project, options.recipe, options.window, options.character) == ("Harbour", "novel", 4096, "Mara")


def test_a_failing_model_ends_in_a_coded_failure(harbour: Workspace, model: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_json(400, {"error": {"message": "no"}})

    model.script = script
    (end,) = complete(harbour, body(say("x")))
    assert isinstance(end, Failed)
    assert end.error.code is Code.LLM_REFUSED


@pytest.mark.parametrize(
    ("data", "code", "names"),
    [
        (b"", Code.REQUEST_INVALID, "ends too early"),
        (b"[]", Code.REQUEST_INVALID, "table of names"),
        (b'{"model": "fabula/Harbour"}', Code.REQUEST_INVALID, "messages"),
        (body(), Code.REQUEST_INVALID, "no messages"),
        (body({"role": "wizard", "content": "x"}), Code.REQUEST_INVALID, "wizard"),
        (body({"role": "user", "content": 7}), Code.REQUEST_INVALID, "content"),
        (body(say("x"), n=2), Code.REQUEST_INVALID, "`n`"),
        (body(say("x"), logprobs=True), Code.REQUEST_INVALID, "logprobs"),
        (body(say("x"), max_tokens=0), Code.REQUEST_INVALID, "max_tokens"),
        (body(say("x"), stream="yes"), Code.REQUEST_INVALID, "stream"),
        (body(say("x"), metadata={"fabula_recipee": "chat"}), Code.REQUEST_INVALID, "recipe"),
        (body(say("x"), metadata={"fabula_recipe": "zz"}), Code.RECIPE_UNKNOWN, "zz"),
        (body(say("x"), metadata={"fabula_character": "Maraa"}), Code.STORE_NOT_FOUND, "Did you mean Mara?"),
        (body(say("x")).replace(b"Harbour", b"Arbour"), Code.PROJECT_NOT_FOUND, "Arbour"),
    ],
)
def test_a_request_that_cannot_be_answered_is_refused(harbour: Workspace, data: bytes, code: Code, names: str) -> None:
    error = refuse(harbour, data)
    assert error.code is code
    assert names in error.sentence


def test_an_answer_that_cannot_be_recorded_has_failed(harbour: Workspace, model: ModelServer) -> None:
    model.script = openai_answer("Aye.")
    long = "word " * (MAX_MESSAGE_CHARACTERS // 5 + 1)
    events = complete(harbour, body(say(long), reply("Aye."), say("Again?"), store=True))
    assert isinstance(events[-1], Failed)
    assert events[-1].error.code is Code.TEXT_INVALID
    assert events[-1].text == "Aye."
    assert not harbour.project("Harbour").conversations.list_all()
