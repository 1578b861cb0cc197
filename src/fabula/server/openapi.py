"""The description of all routes as OpenAPI 3.1, made of the table of routes and the types of their requests.

Litestar could describe handlers by itself; this document comes from the same JSON Schema as `docs/schemas.json`, and
has the examples of requests and answers, the right and the refusals of every route.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fabula.access.model import Right
from fabula.core.version import __version__
from fabula.server.answer_examples import (
    OPENAI_REFUSAL,
    add_answer_examples,
    list_refusals,
    load_answer_examples,
    refer_to_examples,
)
from fabula.server.descriptions import describe_document
from fabula.server.pages import DEFAULT_LIMIT, MAX_LIMIT
from fabula.server.problems import MEDIA_TYPE, Problem
from fabula.server.requests import EVENTS, FILE_FIELD, JSON
from fabula.server.routes.route import Route
from fabula.workspace.schemas.events import ProjectEvent
from fabula.workspace.schemas.people import SignInRequest

BINARY = "application/octet-stream"
PATH_EXAMPLES = {  # of the parameters of paths, by name
    "assembly": "a1b2c3",
    "beat": "1",
    "book": "Ships",
    "chapter": "1",
    "constraint": "1",
    "conversation": "On the quay",
    "deleted": "The Old Draft",
    "entry": "Mara",
    "fact": "1",
    "sample": "lantern_coast",
    "item": "1",
    "key": "my script",
    "kind": "prompt",
    "knower": "Will",
    "memory": "1",
    "message": "last",
    "name": "History.SummaryEveryNRounds",
    "number": "1",
    "other": "Will",
    "participant": "Bo",
    "person": "ann",
    "place": "The Lantern Coast",
    "preset": "calm",
    "project": "The Lantern Coast",
    "provider": "openai",
    "revision": "1",
    "run": "last",
    "series": "The Coast",
    "session": "0123456789ab",
    "skill": "shorten",
    "stream": "a1b2c3",
    "where": "ch-01",
}
_PROBLEM = "#/components/responses/Problem"
_REF = "#/components/schemas/{name}"
_HEADERS = {
    "IfMatch": ("If-Match", "The ETag of what is changed; refused with 412 if it has another one by now."),
    "IfNoneMatch": ("If-None-Match", "The ETag of what the caller has; answered with 304 if nothing changed since."),
    "IdempotencyKey": ("Idempotency-Key", "A name of this request: sent again with it, it is not done again."),
    "LastEventId": ("Last-Event-ID", "The id of the last event that was received; those behind it follow."),
}
_EVENT: dict[str, Any] = {  # of any stream; it begins with `stream` and ends with `done`, `stopped` or `problem`
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": JSON},
    },
    "required": ["event", "data"],
}


def _describe_event(*data: Mapping[str, Any]) -> dict[str, Any]:
    """Describe an event of a stream by what its data may be."""
    described = {**_EVENT["properties"]["data"], "contentSchema": {"anyOf": data}}
    return {**_EVENT, "properties": {**_EVENT["properties"], "data": described}}


_COMMON_DATA: tuple[dict[str, Any], ...] = (  # of the events that begin and end every stream of a verb
    {"type": "object", "properties": {"stream": {"type": "string"}}, "required": ["stream"]},
    {"type": "object", "properties": {"reason": {"type": "string"}}, "additionalProperties": False},
    {"$ref": _REF.format(name=Problem.__name__)},
)
_STREAM_PARAMETERS = [
    {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, "example": PATH_EXAMPLES[name]}
    for name in ("project", "stream")
]
_OBJECT = {"type": "object"}
_DONE = {"204": {"description": "Done."}}
_STATUS = {"200": {"description": "It does.", "content": {JSON: {"schema": _OBJECT}}}}
_DEFAULT = {"default": {"$ref": _PROBLEM}}
_SESSION_BODY = {
    "required": True,
    "content": {
        JSON: {
            "schema": {"$ref": _REF.format(name=SignInRequest.__name__)},
            "example": {"account": "ann", "password": "a long one"},
        }
    },
}
_OPENAI_ERROR = {
    "description": "A refusal in OpenAI's form.",
    "content": {
        JSON: {
            "schema": {"type": "object", "properties": {"error": _OBJECT}, "required": ["error"]},
            **refer_to_examples([OPENAI_REFUSAL]),
        }
    },
}


def _describe_other(
    name: str, summary: str, responses: Mapping[str, Any], *, default: Mapping[str, Any] = _DEFAULT, **more: Any
) -> dict[str, Any]:
    """Describe an address that is not in the table of routes."""
    return {
        "operationId": name,
        "tags": [name.partition(".")[0]],
        "summary": summary,
        "responses": {**responses, **default},
        **more,
    }


def _describe_openai(name: str, summary: str, example: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Describe an address of OpenAI's API, which a client knows already."""
    content: dict[str, Any] = {JSON: {"schema": _OBJECT}}
    if example is not None:
        body = {"schema": {**_OBJECT, "required": list(example)}, "example": dict(example)}
        more["requestBody"] = {"required": True, "content": {JSON: body}}
    if name == "openai.complete":
        content[EVENTS] = {"schema": {"type": "object", "properties": {"data": {"type": "string"}}}}
    answers = {"200": {"description": summary, "content": content}}
    return _describe_other(name, summary, answers, default={"default": _OPENAI_ERROR}, **more)


_OTHER_PATHS: dict[str, Any] = {  # beside those of the table of routes
    "/api/projects/{project}/events": {
        "get": _describe_other(
            "events.follow",
            "Say what changes in a project, from now on or behind an event.",
            {
                "200": {
                    "description": (
                        "The events: `ready` first, then `change`, or `reset` where anything may differ; `problem` or "
                        "`end` last."
                    ),
                    "content": {EVENTS: {"schema": _describe_event({"$ref": _REF.format(name=ProjectEvent.__name__)})}},
                }
            },
            description="Needs the right `assemble`. An event names what changed that the caller may read.",
            parameters=[_STREAM_PARAMETERS[0], {"$ref": "#/components/parameters/LastEventId"}],
        )
    },
    "/api/projects/{project}/streams/{stream}": {
        "get": _describe_other(
            "streams.follow",
            "Go on with a stream behind an event, or from its beginning.",
            {"200": {"description": "The events.", "content": {EVENTS: {"schema": _EVENT}}}},
            parameters=[*_STREAM_PARAMETERS, {"$ref": "#/components/parameters/LastEventId"}],
        ),
        "delete": _describe_other("streams.cancel", "Stop a stream.", _DONE, parameters=_STREAM_PARAMETERS),
    },
    "/api/session": {
        "post": _describe_other(
            "session.sign_in",
            "Begin a session with the name of an account and its password.",
            _DONE,
            security=[],
            requestBody=_SESSION_BODY,
        ),
        "delete": _describe_other("session.sign_out", "End the session that the request comes with.", _DONE),
    },
    "/healthz": {"get": _describe_other("health.live", "Say that the process answers.", _STATUS, security=[])},
    "/readyz": {"get": _describe_other("health.ready", "Say whether the store answers.", _STATUS, security=[])},
    "/v1/chat/completions": {
        "post": _describe_openai(
            "openai.complete",
            "Answer a client's conversation with the context of a story, at once or as a stream.",
            {
                "model": "fabula/The Lantern Coast",
                "messages": [{"role": "user", "content": "Who keeps the lantern now?"}],
            },
        )
    },
    "/v1/embeddings": {
        "post": _describe_openai(
            "openai.embed", "Turn texts into vectors.", {"model": "fabula/The Lantern Coast", "input": "The lantern."}
        )
    },
    "/v1/models": {"get": _describe_openai("openai.list_models", "List the projects of a caller as models.")},
    "/v1/models/{model}": {
        "get": _describe_openai(
            "openai.find_model",
            "Show a project, or a character of one, as a model.",
            parameters=[
                {
                    "name": "model",
                    "in": "path",
                    "required": True,
                    "schema": {"type": "string"},
                    "example": "fabula/The Lantern Coast",
                }
            ],
        )
    },
}


def make_document(routes: Iterable[Route]) -> dict[str, Any]:
    """Make the OpenAPI document of routes."""
    routes = tuple(routes)
    kinds: dict[Any, None] = {Problem: None, ProjectEvent: None, SignInRequest: None}
    for route in routes:
        kinds[route.request_type] = None
        if route.answer.kind is not None:
            kinds[route.answer.kind] = None
    ordered = tuple(kinds)
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    by_kind = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        has_version = any(one.has_version for one in routes if one.path == route.path)
        operation = _describe_operation(route, by_kind, components, has_version=has_version)
        paths.setdefault(f"/api{route.path}", {})[route.method.lower()] = operation
    examples = load_answer_examples()
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Fabula",
            "version": __version__,
            "description": "Keep everything about a story, and tell a model what it needs to know now.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {"session": []}],
        "paths": add_answer_examples({**paths, **_OTHER_PATHS}, examples),
        "components": {
            "schemas": dict(sorted(components.items())),
            "parameters": {
                name: {"name": header, "in": "header", "description": text, "schema": {"type": "string"}}
                for name, (header, text) in _HEADERS.items()
            },
            "responses": {
                "Problem": {
                    "description": "A refusal with its code.",
                    "content": {MEDIA_TYPE: {"schema": by_kind[Problem], **refer_to_examples(list_refusals(examples))}},
                }
            },
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "fabula_session_8600",
                    "description": "Its name has the port of the address, and begins with `__Host-` over TLS.",
                },
            },
        },
    }
    wire_names = {name for one in components.values() for name in one.get("properties", ())}
    described: dict[str, Any] = describe_document(document, wire_names | {right.value for right in Right})
    described["components"]["examples"] = {name: {"value": value} for name, value in sorted(examples.items())}
    return described


def choose_path_example(route: Route, name: str) -> str:
    """Return an example of a path's parameter."""
    return route.path_example.get(name, PATH_EXAMPLES[name])


def _describe_operation(
    route: Route, by_kind: Mapping[Any, Any], components: Mapping[str, Any], *, has_version: bool
) -> dict[str, Any]:
    request = by_kind[route.request_type]
    fields = components[request["$ref"].rpartition("/")[2]] if "$ref" in request else request
    parameters: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string"},
            "example": choose_path_example(route, name),
        }
        for name in route.parameters
    ]
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.subject],
        "summary": route.summary,
        "description": f"Needs the right `{route.right.value}`.",
        "parameters": parameters,
        "responses": {str(route.status): _describe_answer(route, by_kind), "default": {"$ref": _PROBLEM}},
    }
    if route.has_version:
        operation["responses"]["304"] = {"description": "It has the version that `If-None-Match` names."}
        parameters.append({"$ref": "#/components/parameters/IfNoneMatch"})
    if route.reads_query:
        parameters.extend(_describe_query(route, fields))
        if route.file == "upload":
            parameters.append({"name": FILE_FIELD, "in": "query", "required": True, "schema": {"type": "string"}})
            binary = {"schema": {"type": "string", "format": "binary"}}
            operation["requestBody"] = {"required": True, "content": {BINARY: binary}}
    else:
        content = {"schema": request, "example": dict(route.example)}
        operation["requestBody"] = {"required": bool(fields.get("required")), "content": {JSON: content}}
        if has_version:
            parameters.append({"$ref": "#/components/parameters/IfMatch"})
    if route.method == "POST":
        parameters.append({"$ref": "#/components/parameters/IdempotencyKey"})
    return operation


def _describe_query(route: Route, fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    required = fields.get("required", ())
    described = []
    for name, schema in fields.get("properties", {}).items():
        one = {"name": name, "in": "query", "required": name in required, "schema": schema}
        if name in route.example:
            one["example"] = route.example[name]
        described.append(one)
    if route.answer.item_key is not None:
        size = {"type": "integer", "default": DEFAULT_LIMIT, "minimum": 1, "maximum": MAX_LIMIT}
        cursor = {"type": "string", "description": "The `next` of the page before."}
        described += [
            {"name": "cursor", "in": "query", "schema": cursor},
            {"name": "pageSize", "in": "query", "schema": size},
        ]
    return described


def _describe_answer(route: Route, by_kind: Mapping[Any, Any]) -> dict[str, Any]:
    if route.answer.kind is None:
        return {"description": "Done."}
    if route.file == "download":
        return {"description": route.summary, "content": {BINARY: {"schema": {"type": "string", "format": "binary"}}}}
    schema = by_kind[route.answer.kind]
    if route.stream:
        return {"description": route.summary, "content": {EVENTS: {"schema": _describe_event(schema, *_COMMON_DATA)}}}
    return {"description": route.summary, "content": {JSON: {"schema": schema}}}


if __name__ == "__main__":
    from fabula.server.routes import ROUTES

    print(msgspec.json.format(msgspec.json.encode(make_document(ROUTES))).decode())
