"""Real requests of OpenAI's clients, mutated: every answer is a completion or a coded refusal, and none is a 5xx.

`FABULA_MUTATED_REQUESTS` is the number of requests; without it a slice of them is sent.
"""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import httpx2
import pytest
from langchain_openai import ChatOpenAI
from openai import OpenAI
from pydantic import SecretStr

from fabula.core.errors import Code
from fabula.server.problems import STATUSES
from fabula.workspace.workspace import Workspace
from tests.llm.server import ModelServer
from tests.server.running import run_server
from tests.server.test_completions import SILLYTAVERN_REQUEST
from tests.workspace.test_completions import TOOLS, harbour, model

__all__ = ["harbour", "model"]

COUNT = int(os.environ.get("FABULA_MUTATED_REQUESTS", "250"))
SEED = 18
URL = "/v1/chat/completions"
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
LLM = {
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who is Mara?"}],
    "model": "fabula/Harbour",
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0.7,
}
OPTIONS = ("project", "character", "document", "recipe", "perspective", "model", "window", "nothing")
TEXTS = (
    "",
    " ",
    "\0",
    "\ud800",
    "\u202e\u2066",
    "é́" * 50,
    "😀" * 300,
    "ﷺ" * 500,
    "马拉在码头上。" * 200,
    "x" * 30_000,
    "fabula/Harbour",
    "fabula/Harbour/Bo",
    "fabula//",
    "fabula/../../etc/passwd",
    "{{user}} {% for x in y %}",
    "]]></system>\r\n\r\ndata: [DONE]\n\n",
    "user",
    "tool",
    "assistant",
    "true",
)
NUMBERS = (0, -1, 1, 2, 0.5, -0.0, 1e308, -(2**31), 2**31, 2**63, 2**64, 10**40, 5e-324)


def record_clients() -> list[dict[str, Any]]:
    """What the `openai` client and LangChain send, as they send it."""
    bodies: list[dict[str, Any]] = []

    def keep(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(400, json={"error": {"message": "recorded"}})

    def attempt(call: Callable[[], object]) -> None:
        before = len(bodies)
        with pytest.raises(Exception, match="recorded"):
            call()
        assert len(bodies) == before + 1

    http = httpx2.Client(transport=httpx2.MockTransport(keep), trust_env=False)
    create: Any = OpenAI(base_url="http://localhost/v1", api_key="x", max_retries=0, http_client=http)
    create = create.chat.completions.create
    asked = {"role": "user", "content": "Who is Mara?"}
    call = {"id": "call_9", "type": "function", "function": {"name": "roll", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "call_9", "content": "six"}
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": {}}}}
    metadata = {"fabula_character": "Bo", "fabula_window": "16000"}
    more: list[dict[str, Any]] = [
        {"messages": [asked]},
        {"messages": [asked], "stream": True, "stream_options": {"include_usage": True}},
        {"messages": [asked, {"role": "assistant", "tool_calls": [call]}, result], "tools": TOOLS},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, IMAGE]}]},
        {"messages": [asked], "store": True, "metadata": metadata, "response_format": schema},
        {"messages": [asked], "max_completion_tokens": 50, "temperature": 0.3, "top_p": 0.9, "stop": "\n"},
    ]
    for one in more:
        attempt(lambda one=one: create(model="fabula/Harbour", **one))  # type: ignore[misc]
    chat = ChatOpenAI(
        model="fabula/Harbour/Mara",
        base_url="http://localhost/v1",
        api_key=SecretStr("x"),
        http_client=http,
        max_retries=0,
    )
    attempt(lambda: chat.invoke([("system", "Be brief."), ("human", "Where is the key?")]))
    attempt(lambda: list(chat.stream("Where is the key?")))
    http.close()
    return [*bodies, SILLYTAVERN_REQUEST, LLM]


def list_places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value with each of its keys or indexes."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from list_places(value[key])


def make_value(chance: Random) -> Any:
    """Something that hardly anybody sends."""
    match chance.randrange(8):
        case 0:
            return chance.choice(TEXTS)
        case 1:
            return chance.choice(NUMBERS)
        case 2:
            return chance.choice([None, True, False])
        case 3:
            return [make_value(chance) for _ in range(chance.randrange(4))]
        case 4:
            return {chance.choice(TEXTS): make_value(chance) for _ in range(chance.randrange(4))}
        case 5:
            deep: Any = "x"
            for _ in range(chance.choice([5, 60, 400])):
                deep = [deep] if chance.random() < 0.5 else {"content": deep}
            return deep
        case 6:
            return [chance.choice(TEXTS)[:40]] * chance.choice([100, 3_000])
        case _:
            return "".join(map(chr, (chance.randrange(0x110000) for _ in range(chance.randrange(30)))))


def mutate(body: Any, chance: Random) -> Any:
    """A request with one to four changes of values, names, lengths or nesting."""
    body = copy.deepcopy(body)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        places = list(list_places(body))
        if not places:
            return make_value(chance)
        container, key = chance.choice(places)
        match chance.randrange(7):
            case 0 | 1:
                container[key] = make_value(chance)
            case 2:
                del container[key]
            case 3:
                other, name = chance.choice(places)
                container[key] = copy.deepcopy(other[name])
            case 4 if isinstance(container, list):
                container[key:key] = [container[key]] * chance.choice([1, 10, 200])
            case 5 if isinstance(container, list):
                chance.shuffle(container)
            case _ if isinstance(container, dict):
                name = chance.choice([f"fabula_{chance.choice(OPTIONS)}", "functions", "n", *TEXTS[:6]])
                container[name] = make_value(chance)
            case _:
                container[key] = [container[key]]
    return body


def damage(data: bytes, chance: Random) -> bytes:
    """Bytes that were cut, changed or written in another encoding, now and then."""
    place = chance.randrange(len(data) + 1)
    match chance.randrange(24):
        case 0:
            return data[:place]
        case 1:
            return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]
        case 2:
            return data[:place] + data[place:] * 2
        case 3:
            return data.decode(errors="replace").encode(chance.choice(["utf-16", "utf-32", "utf-8-sig"]))
        case 4:
            return data[:place] + b"[" * 5_000 + data[place:]
        case _:
            return data


def make_headers(chance: Random) -> Any:
    headers = {"Content-Type": chance.choice(["application/json"] * 9 + ["text/plain", "multipart/form-data", "x"])}
    if chance.random() < 0.2:
        values = ("Harbour", "Bo", "1", "-1", "9" * 40, "\xe9", "%00", "x" * 3_000)
        headers[f"Fabula-{chance.choice(OPTIONS)}"] = chance.choice(values)
    if chance.random() < 0.1:
        headers["Accept-Language"] = chance.choice(["zh", "xx;q=9", ";;;", "en;q=nan", "zh;q=-inf"])
    return {name: value.encode("latin-1") for name, value in headers.items()}


def find_fault(answer: httpx2.Response) -> str:
    """What is wrong with an answer; empty where nothing is."""
    known = {code.value: status for code, status in STATUSES.items()}
    if answer.status_code >= 400:
        code = answer.json()["error"]["code"]
        return "" if known.get(code) == answer.status_code < 500 else f"{answer.status_code} {answer.text}"
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return "" if answer.json()["choices"] else answer.text
    for line in filter(None, answer.text.split("\n")):
        data = line.removeprefix("data: ")
        if data == line:
            return line
        error = {} if data == "[DONE]" else json.loads(data).get("error", {})
        if error and known[Code(error["code"])] >= 500:
            return line
    return ""


def test_mutated_requests_of_clients_are_answered_or_refused(model: ModelServer, harbour: Workspace) -> None:
    chance = Random(SEED)
    shapes = record_clients()
    statuses: Counter[int] = Counter()
    codes: Counter[str] = Counter()
    faults: list[str] = []
    with run_server(harbour) as server, server.client() as client:
        for number in range(COUNT):
            body = mutate(chance.choice(shapes), chance)
            data = damage(json.dumps(body).encode(), chance)
            answer = client.post(URL, content=data, headers=make_headers(chance))
            statuses[answer.status_code] += 1
            if answer.status_code >= 400:
                codes[answer.json().get("error", {}).get("code")] += 1
            fault = find_fault(answer)
            if fault:
                faults.append(f"{number}: {fault[:300]} {data[:600]!r}")
    print(f"{COUNT} requests, {dict(sorted(statuses.items()))}, {dict(codes)}")
    assert not faults, "\n".join(faults)
    assert statuses[200] > COUNT / 10
