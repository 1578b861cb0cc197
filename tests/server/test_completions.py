"""OpenAI's API against a real server on the loopback: the `openai` client, the `llm` tool, LangChain, plain HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import unpack
from typing import Any

import httpx2
import pytest
from openai import APIStatusError, NotFoundError, OpenAI, RateLimitError, UnprocessableEntityError

from fabula.access.model import Membership, Role
from fabula.codex import Codex
from fabula.context.request import Grants
from fabula.server.access import Access
from fabula.workspace.project import EmbeddedTexts, ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.llm.server import Exchange, ModelServer, chunk, openai_answer, start_answer
from tests.server.running import OWNER_TOKEN, RunningServer, post_and_leave, run_process_server, run_server
from tests.workspace.test_completions import TOOLS, harbour, model, reply, say, sent

__all__ = ["harbour", "model"]
SILLYTAVERN_REQUEST = {
    "messages": [
        {"role": "system", "content": "Write Mara's next reply in a fictional chat."},
        {"role": "system", "content": "[Start a new Chat]"},
        {"role": "assistant", "content": "Ahoy."},
        {"role": "user", "content": "Hello."},
    ],
    "model": "fabula/Harbour/Mara",
    "temperature": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "top_p": 1,
    "max_tokens": 300,
    "stream": True,
    "stop": ["\nYou:"],
    "logit_bias": {},
    "seed": -1,
    "n": 1,
    "top_k": 0,
    "min_p": 0.05,
    "reverse_proxy": None,
}


@pytest.fixture
def server(harbour: Workspace) -> Iterator[RunningServer]:
    project = harbour.project("Harbour")
    ids = {one.name: one.id for one in project.view.snapshots[Codex].entries}
    player = Access(
        user="bob", memberships={project.id: Membership(Role.PLAYER, Grants(characters=frozenset({ids["Bo"]})))}
    )
    reader = Access(user="rita", memberships={project.id: Membership(Role.READER)})
    stranger = Access(user="zed")
    with run_server(harbour, {"player": player, "reader": reader, "stranger": stranger}) as running:
        yield running


def open_client(server: RunningServer, token: str = OWNER_TOKEN) -> OpenAI:
    http = httpx2.Client(trust_env=False)
    return OpenAI(base_url=f"{server.base_url}/v1", api_key=token, max_retries=0, http_client=http)


def test_the_openai_client_gets_the_context_of_the_story(server: RunningServer, model: ModelServer) -> None:
    usage = {"prompt_tokens": 300, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 128}}
    model.script = openai_answer("The cap", "tain.", usage=usage)
    with open_client(server) as client:
        answer = client.chat.completions.create(model="fabula/Harbour", messages=[say("Who is Mara?")])  # type: ignore[list-item]
    assert answer.choices[0].message.content == "The captain."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens_details is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (300, 5)
    assert answer.usage.prompt_tokens_details.cached_tokens == 128
    assert "The captain of the Kestrel." in str(sent(model))


def test_the_openai_client_streams(server: RunningServer, model: ModelServer) -> None:
    model.script = openai_answer("The ", "captain.", usage={"prompt_tokens": 300, "completion_tokens": 5})
    with open_client(server) as client:
        chunks = list(
            client.chat.completions.create(
                model="fabula/Harbour",
                messages=[{"role": "user", "content": "Who is Mara?"}],
                stream=True,
                stream_options={"include_usage": True},
            )
        )
    assert "".join(one.choices[0].delta.content or "" for one in chunks if one.choices) == "The captain."
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 305
    assert {one.model for one in chunks} == {"fabula/Harbour"}


CHAT = [say("Who lit it?"), reply("Bo did."), say("When?"), reply("At dusk."), say("Why?")]


def ask(
    server: RunningServer,
    messages: list[dict[str, Any]],
    token: str = OWNER_TOKEN,
    *,
    model: str = "fabula/Harbour",
    **more: Any,
) -> str:
    """Ask as the openai client does; return the answer."""
    with open_client(server, token) as client:
        answer: Any = client.chat.completions.create(
            model=model,
            messages=messages,  # type: ignore[arg-type]
            extra_headers={"Fabula-Provider": "lab"},
            **more,
        )
    return str(answer.choices[0].message.content)


def list_paths(harbour: Workspace) -> dict[str, list[str]]:
    """The texts of the active path of every recorded conversation."""
    kept = harbour.project("Harbour").conversations
    return {one.record.id: [said.content for said in kept.read_page(one.record.id).messages] for one in kept.list_all()}


def test_a_client_that_leaves_out_old_messages_and_changes_its_system_prompt_goes_on(
    harbour: Workspace, model: ModelServer
) -> None:
    history, said = [dict(one) for one in CHAT], [one["content"] for one in CHAT]
    for number in range(3):
        model.script = openai_answer(f"Answer {number}.")
        prompt = {"role": "system", "content": f"It is {number} o'clock."}
        note = {"role": "system", "content": f"Note {number}."}
        with run_server(harbour) as server:  # a new one has nothing in memory
            history.append(reply(ask(server, [prompt, *history[:-1], note, history[-1]], store=True)))
        said.append(f"Answer {number}.")
        assert list(list_paths(harbour).values()) == [said]
        history = [*history[2:], say(f"And {number}?")]
        said.append(f"And {number}?")


def test_a_trimmed_history_that_was_edited_is_a_branch(
    harbour: Workspace, server: RunningServer, model: ModelServer
) -> None:
    model.script = openai_answer("To be seen.")
    ask(server, CHAT, store=True)
    model.script = openai_answer("By hand.")
    ask(server, [*CHAT[1:4], say("How?")], store=True)
    (path,) = list_paths(harbour).values()
    assert path == [*(one["content"] for one in CHAT[:4]), "How?", "By hand."]
    ask(server, [*CHAT[2:], reply("To be seen."), say("By whom?")], store=True)
    (path,) = list_paths(harbour).values()
    assert path[4:] == ["Why?", "To be seen.", "By whom?", "By hand."]


def test_a_tail_that_is_short_or_of_several_chats_begins_a_conversation(
    harbour: Workspace, server: RunningServer, model: ModelServer
) -> None:
    ask(server, CHAT, store=True)
    ask(server, [*CHAT[2:4], say("How?")], store=True)  # two messages are too few
    assert len(list_paths(harbour)) == 2
    for other in ([say("Who saw it?")], [say("Who saw it?"), *CHAT[1:]]):
        ask(server, other, store=True)
        assert len(list_paths(harbour)) == 3
    ask(server, [*CHAT[1:], reply("For nobody."), say("Truly?")], store=True)  # both chats have these
    assert len(list_paths(harbour)) == 4


def test_two_chats_that_begin_alike_go_on_apart(harbour: Workspace, server: RunningServer, model: ModelServer) -> None:
    model.script = openai_answer("To be seen.")
    ask(server, CHAT, store=True)
    other = [*CHAT[:2], say("Where?")]
    model.script = openai_answer("On the pier.")
    ask(server, other, store=True)
    for chat, answer in ((CHAT, "To be seen."), (other, "On the pier.")):
        ask(server, [*chat[-2:], reply(answer), say("Go on.")], store=True)
        (path,) = list_paths(harbour).values()
        assert path[:-1] == [*(one["content"] for one in chat), answer, "Go on."]


def test_a_tail_is_looked_for_among_the_chats_of_the_same_person_and_character(
    harbour: Workspace, model: ModelServer
) -> None:
    project = harbour.project("Harbour").id
    other = harbour.create_project("Elsewhere")
    other.codex.add("Mara", kind="character")
    editor = Access(user="ed", memberships={project: Membership(Role.EDITOR)})
    with run_server(harbour, {"ed": editor}) as server:
        model.script = openai_answer("To be seen.")
        ask(server, CHAT, model="fabula/Harbour/Mara", store=True)
        tail = [*CHAT[2:], reply("To be seen."), say("By whom?")]
        ask(server, tail, model="fabula/Harbour/Bo", store=True)
        ask(server, tail, "ed", model="fabula/Harbour/Mara", store=True)
        ask(server, tail, model="fabula/Elsewhere/Mara", store=True)
    assert sorted(map(len, list_paths(harbour).values())) == [6, 6, 6]
    assert len(other.conversations.list_all()) == 1


def test_what_lasts_for_some_messages_lasts_where_old_messages_are_left_out(
    harbour: Workspace, server: RunningServer, model: ModelServer
) -> None:
    project = harbour.project("Harbour")
    project.lorebooks.create("Sea")
    entry = {"key": ["kraken"], "content": "It is the hollowfen.", "sticky": 6, "scanDepth": 1}
    project.lorebooks.add_entry("Sea", entry)
    chat = [*CHAT[:4], say("A kraken?")]
    model.script = openai_answer("Aye.")
    ask(server, chat)
    assert "hollowfen" in str(sent(model))
    rest = [reply("Aye."), say("Go on.")]
    for known, messages in ((True, [*chat[2:], *rest]), (False, [say("What?"), reply("No."), *rest])):
        ask(server, [{"role": "system", "content": "Be brief."}, *messages])
        assert ("hollowfen" in str(sent(model))) is known


def test_tools_come_and_go_through_the_openai_client(server: RunningServer, model: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        event = chunk()
        piece = {"index": 0, "id": "call_9", "type": "function", "function": {"name": "roll", "arguments": "{}"}}
        event["choices"][0]["delta"] = {"tool_calls": [piece]}
        await exchange.send_event(event)
        await exchange.send_event(chunk(why="tool_calls"))
        await exchange.send_event("[DONE]")

    model.script = script
    with open_client(server) as client:
        answer = client.chat.completions.create(
            model="fabula/Harbour",
            messages=[{"role": "user", "content": "Roll."}],
            tools=TOOLS,  # type: ignore[arg-type]
        )
        call = (answer.choices[0].message.tool_calls or [])[0]
        assert (answer.choices[0].finish_reason, call.id) == ("tool_calls", "call_9")
        model.script = openai_answer("A six.")
        said = answer.choices[0].message.to_dict()
        result = {"role": "tool", "tool_call_id": "call_9", "content": "six"}
        client.chat.completions.create(
            model="fabula/Harbour",
            messages=[{"role": "user", "content": "Roll."}, said, result],  # type: ignore[list-item]
            tools=TOOLS,  # type: ignore[arg-type]
        )
    assert [one["role"] for one in sent(model)][-3:] == ["user", "assistant", "tool"]


def test_models_are_the_projects_of_the_caller(server: RunningServer) -> None:
    with open_client(server) as client:
        assert [one.id for one in client.models.list()] == ["fabula/Harbour"]
        assert client.models.retrieve("fabula/Harbour").owned_by == "fabula"
        assert client.models.retrieve("fabula/Harbour/mara").id == "fabula/Harbour/Mara"
        with pytest.raises(NotFoundError) as refused:
            client.models.retrieve("gpt-4o")
        assert "fabula/Harbour" in str(refused.value)
        for name in ("fabula", "fabula/Nowhere", "fabula/Harbour/Nobody", "fabula/Harbour/Mara/Bo", "openai/gpt-4o"):
            with pytest.raises(NotFoundError):
                client.models.retrieve(name)
    with open_client(server, "stranger") as client:
        assert list(client.models.list()) == []


def test_a_place_answers_nobody_and_the_refusal_says_what_it_is(server: RunningServer, harbour: Workspace) -> None:
    harbour.project("Harbour").codex.add("The Pier", kind="location")
    body = {"model": "fabula/Harbour/the pier", "messages": [{"role": "user", "content": "Hello"}]}
    with server.client() as client:
        for refused in (client.get(f"/v1/models/{body['model']}"), client.post("/v1/chat/completions", json=body)):
            assert (refused.status_code, refused.json()["error"]["code"]) == (404, "STORE_NOT_FOUND")
            assert "The Pier is no character (location)" in refused.json()["error"]["message"]


def test_langchain_talks_to_a_character(server: RunningServer, model: ModelServer) -> None:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    model.script = openai_answer("Aye", ".")
    http = httpx2.Client(trust_env=False)
    chat = ChatOpenAI(
        model="fabula/Harbour/Mara",
        base_url=f"{server.base_url}/v1",
        api_key=SecretStr(OWNER_TOKEN),
        http_client=http,
        max_retries=0,
    )
    assert chat.invoke([("system", "Be brief."), ("human", "Where is the key?")]).content == "Aye."
    assert "".join(str(piece.content) for piece in chat.stream("Where is the key?")) == "Aye."
    assert "under the quay" in str(sent(model))


def test_the_llm_tool_asks_a_project(server: RunningServer, model: ModelServer, tmp_path: Path) -> None:
    model.script = openai_answer("Aye, ", "captain.")
    config = {
        "model_id": "story",
        "model_name": "fabula/Harbour",
        "api_base": f"{server.base_url}/v1",
        "api_key_name": "story",
    }
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps([config]))
    environment = {"LLM_USER_PATH": str(tmp_path), "LLM_LOAD_PLUGINS": "", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "llm", "-m", "story", "--key", OWNER_TOKEN, "Who is Mara?"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "Aye, captain.", done.stderr
    assert "The captain of the Kestrel." in str(sent(model))


def test_the_request_of_sillytavern_is_answered(server: RunningServer, model: ModelServer) -> None:
    with server.client() as client, client.stream("POST", "/v1/chat/completions", json=SILLYTAVERN_REQUEST) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    assert all(line.startswith("data: ") for line in lines)
    assert model.exchanges[-1].request["min_p"] == 0.05


def test_a_failure_before_any_text_has_its_status_and_openais_form(server: RunningServer, model: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_json(400, {"error": {"message": "no"}})

    model.script = script
    for stream in (False, True):
        with open_client(server) as client, pytest.raises(APIStatusError) as refused:
            client.chat.completions.create(
                model="fabula/Harbour", messages=[{"role": "user", "content": "x"}], stream=stream
            )
        assert refused.value.status_code == 502
        assert refused.value.code == "LLM_REFUSED"


def test_a_name_of_any_script_can_be_said_in_a_header(
    harbour: Workspace, server: RunningServer, model: ModelServer
) -> None:
    harbour.project("Harbour").chapters.add("夜航", text="Mara 出海了。")
    model.script = openai_answer("Yes.")
    body = {"model": "fabula/Harbour", "messages": [say("Who is Mara?")]}
    with server.client() as client:
        headers = [(b"Fabula-Document", "夜航".encode())]
        answer = client.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200, answer.text


def test_tools_for_a_provider_that_takes_none_are_the_clients_mistake(
    server: RunningServer, model: ModelServer
) -> None:
    body = {"model": "fabula/Harbour", "messages": [say("Roll.")], "tools": TOOLS}
    with server.client() as client:
        refused = client.post("/v1/chat/completions", json=body, headers={"Fabula-Provider": "demo"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "CONTEXT_REQUEST_INVALID")
    assert refused.json()["error"]["type"] == "invalid_request_error"
    assert not model.exchanges


def test_a_failure_in_the_middle_of_a_stream_says_so(server: RunningServer, model: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await start_answer(exchange, "openai", "The cap")

    model.script = script
    body = {"model": "fabula/Harbour", "messages": [say("x")], "stream": True}
    with server.client() as client, client.stream("POST", "/v1/chat/completions", json=body) as answer:
        lines = [json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line]
    assert lines[1]["choices"][0]["delta"]["content"] == "The cap"
    assert lines[-1]["error"]["code"] == "LLM_GONE"


def test_a_fault_in_the_middle_of_a_stream_is_told_and_logged_without_its_text(
    server: RunningServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> str:
        raise RuntimeError("the heir is Mara")

    monkeypatch.setattr("fabula.server.completions.name_finish_reason", fail)
    body = {"model": "fabula/Harbour", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    with server.client() as client:
        lines = [line for line in client.post("/v1/chat/completions", json=body).text.splitlines() if line]
    assert '"code":"SERVER_FAILED"' in lines[-1]
    assert "RuntimeError" in caplog.text
    assert "heir" not in caplog.text + lines[-1]


def test_a_client_that_leaves_stops_the_model(server: RunningServer, model: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await start_answer(exchange, "openai", "The cap")
        await asyncio.sleep(60)

    model.script = script
    body = {"model": "fabula/Harbour", "messages": [say("x")], "stream": True}
    with server.client() as client, client.stream("POST", "/v1/chat/completions", json=body) as answer:
        next(line for line in answer.iter_lines() if "The cap" in line)
    assert model.client_left.wait(20)


@pytest.mark.parametrize(("stream", "text"), [(False, "The cap"), (True, "")])
def test_a_client_that_leaves_before_it_has_an_answer_stops_the_model(
    server: RunningServer, model: ModelServer, stream: bool, text: str
) -> None:
    asked = threading.Event()

    async def script(exchange: Exchange) -> None:
        if text:
            await start_answer(exchange, "openai", text)
        asked.set()
        await asyncio.sleep(60)

    model.script = script
    body = {"model": "fabula/Harbour", "messages": [say("x")], "stream": stream}
    post_and_leave(server.base_url, "/v1/chat/completions", body, asked)
    assert model.client_left.wait(20)


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_is_told_to_stop_says_so_to_a_client_that_waits_for_an_answer(
    harbour: Workspace, model: ModelServer, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.setattr("fabula.server.serving.STREAM_SECONDS", 0.5)
    with run_process_server(harbour) as server, server.client() as client:

        async def script(exchange: Exchange) -> None:
            await start_answer(exchange, "openai", "The cap")
            server.stop()
            await asyncio.sleep(60)

        model.script = script
        body = {"model": "fabula/Harbour", "messages": [say("x")], "stream": stream}
        answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == (200 if stream else 503)
    last = [line for line in answer.text.splitlines() if line][-1]
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "SERVER_STOPPING"
    assert model.client_left.wait(20)


def test_a_player_asks_no_model_of_the_owner(server: RunningServer, model: ModelServer, harbour: Workspace) -> None:
    project = harbour.project("Harbour")
    before = project.conversations.list_all()
    with server.client("player") as player:
        assert player.get("/v1/models").json()["data"] == []
        for headers in ({}, {"Fabula-Provider": "openai"}, {"Fabula-Provider": "clipboard"}, {"Fabula-Model": "x"}):
            for character in ("Bo", "Mara", project.codex.find("Bo").id):
                body = {"model": f"fabula/{project.id}/{character}", "messages": [say("The key?")], "store": True}
                refused = player.post("/v1/chat/completions", json=body, headers=headers)
                assert (refused.status_code, refused.json()["error"]["code"]) == (403, "CONTEXT_NOT_ALLOWED")
    assert model.exchanges == []
    assert project.conversations.list_all() == before


def test_a_message_finds_no_entry_of_a_lorebook_that_the_character_cannot_know(
    server: RunningServer, model: ModelServer, harbour: Workspace
) -> None:
    project = harbour.project("Harbour")
    project.lorebooks.create("Sea")
    project.lorebooks.add_entry("Sea", {"key": ["kraken"], "content": "The kraken is the hollowfen."})
    project.lorebooks.add_entry("Sea", {"key": ["anchor"], "content": "The anchor is of sablemoth."})
    project.lorebooks.limit_entry("Sea", 1, known_to=["Bo"])
    body = {"messages": [say("A kraken on an anchor?")], "store": True}
    told: list[str] = []
    with server.client() as client:
        for character in ("Mara", "Bo"):
            asked = client.post("/v1/chat/completions", json={"model": f"fabula/Harbour/{character}", **body})
            assert asked.status_code == 200, asked.text
            told.append(json.dumps(sent(model)))
    assert ["hollowfen" in one for one in told] == [True, True]
    assert ["sablemoth" in one for one in told] == [False, True]


def test_the_prompt_is_never_the_answer(server: RunningServer, model: ModelServer) -> None:
    with server.client() as client:
        for stream in (False, True):
            body = {"model": "fabula/Harbour", "messages": [say("Who is Mara?")], "stream": stream}
            refused = client.post("/v1/chat/completions", json=body, headers={"Fabula-Provider": "clipboard"})
            assert refused.json()["error"]["code"] == "LLM_NO_KEY"
            assert "llm.provider" in refused.json()["error"]["message"]
    assert model.exchanges == []


def test_a_reader_may_not_ask_a_model_and_a_stranger_finds_nothing(server: RunningServer, harbour: Workspace) -> None:
    project = harbour.project("Harbour").id
    for token, code in (("reader", "CONTEXT_NOT_ALLOWED"), ("stranger", "PROJECT_NOT_FOUND")):
        with open_client(server, token) as client, pytest.raises(APIStatusError) as refused:
            client.chat.completions.create(model=f"fabula/{project}", messages=[say("x")])  # type: ignore[list-item]
        assert refused.value.code == code
    with open_client(server, "nobody") as client, pytest.raises(APIStatusError) as refused:
        client.models.list()
    assert refused.value.status_code == 401


def test_embeddings_are_refused_where_nothing_makes_vectors(server: RunningServer) -> None:
    with open_client(server) as client, pytest.raises(UnprocessableEntityError) as refused:
        client.embeddings.create(model="fabula/Harbour", input="Mara")
    assert refused.value.code == "EMBEDDING_UNAVAILABLE"
    with open_client(server) as client, pytest.raises(NotFoundError):
        client.embeddings.create(model="fabula/Nowhere", input="Mara")


def test_the_openai_client_makes_embeddings(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, harbour: Workspace
) -> None:
    def embed(_: ProjectHandle, texts: Sequence[str]) -> EmbeddedTexts:
        return EmbeddedTexts("tiny", [[0.25, -1.5, float(number)] for number, _ in enumerate(texts)])

    monkeypatch.setattr(ProjectHandle, "embed", embed)
    expected = [[0.25, -1.5, 0.0], [0.25, -1.5, 1.0]]
    with open_client(server) as client:  # which asks for base64 where nothing is said
        for made in (
            client.embeddings.create(model="fabula/Harbour", input=["Mara", "Bo"]),
            client.embeddings.create(model="fabula/Harbour", input=["Mara", "Bo"], encoding_format="float"),
        ):
            assert [one.embedding for one in made.data] == expected
    with server.client() as plain:
        asked = {"model": "fabula/Harbour", "input": ["Mara", "Bo"], "encoding_format": "base64"}
        data = plain.post("/v1/embeddings", json=asked).json()["data"]
    assert [list(unpack("<3f", b64decode(one["embedding"]))) for one in data] == expected


def test_a_provider_that_asks_to_slow_down_is_a_429(server: RunningServer, model: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_json(429, {"error": {"message": "slow"}}, **{"retry-after": "77"})

    model.script = script
    with open_client(server) as client, pytest.raises(RateLimitError) as refused:
        client.chat.completions.create(model="fabula/Harbour", messages=[say("Hello?")])  # type: ignore[list-item]
    assert refused.value.code == "LLM_RATE_LIMITED"
    assert int(refused.value.response.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("method", "path", "token", "status"),
    [
        ("POST", "/v1/responses", OWNER_TOKEN, 404),
        ("GET", "/v1", OWNER_TOKEN, 404),
        ("DELETE", "/v1/models", OWNER_TOKEN, 405),
        ("GET", "/v1/models", "unknown", 401),
    ],
)
def test_every_refusal_below_v1_has_openais_form(
    server: RunningServer, method: str, path: str, token: str, status: int
) -> None:
    with server.client(token) as client:
        refused = client.request(method, path)
    assert refused.status_code == status
    assert set(refused.json()["error"]) == {"message", "type", "param", "code"}
    assert refused.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "CONTEXT_REQUEST_INVALID"),
        (b"{", "CONTEXT_REQUEST_INVALID"),
        (b"\xff", "CONTEXT_REQUEST_INVALID"),
        (b"[" * 20_000, "CONTEXT_REQUEST_INVALID"),
        (b'{"model": "fabula/Harbour", "messages": "x"}', "CONTEXT_REQUEST_INVALID"),
        (b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "x"}]}', "CHAT_PROJECT_MISSING"),
    ],
)
def test_bad_bodies_are_refused_in_openais_form(server: RunningServer, body: bytes, code: str) -> None:
    with server.client() as client:
        answer = client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]["code"] == code


def test_a_role_that_there_is_not_is_refused_with_those_that_there_are(server: RunningServer) -> None:
    for role, said in (("wizard", "write assistant, developer"), ("usr", "the nearest is 'user'")):
        body = {"model": "fabula/Harbour", "messages": [{"role": role, "content": "x"}]}
        with server.client() as client:
            error = client.post("/v1/chat/completions", json=body).json()["error"]
        assert error["code"] == "CONTEXT_REQUEST_INVALID"
        assert said in error["message"]
