"""The description of all routes as OpenAPI 3.1, made of the table of routes and the types of their requests.

Litestar could describe handlers by itself; this document comes from the same JSON Schema as `docs/schemas.json`, and
has the example, the right and the refusals of every route.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fabula.core.version import __version__
from fabula.server.pages import DEFAULT_LIMIT, MAX_LIMIT
from fabula.server.problems import MEDIA_TYPE, Problem
from fabula.server.requests import FILE_FIELD, JSON
from fabula.server.routes.route import Route

EVENTS = "text/event-stream"
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
    "revision": "1",
    "run": "last",
    "series": "The Coast",
    "skill": "shorten",
    "stream": "a1b2c3",
    "where": "1",
}
_PROBLEM = "#/components/responses/Problem"
_REF = "#/components/schemas/{name}"
_HEADERS = {
    "IfMatch": ("If-Match", "The ETag of what is changed; refused with 412 if it has another one by now."),
    "IdempotencyKey": ("Idempotency-Key", "A name of this request: sent again with it, it is not done again."),
    "LastEventId": ("Last-Event-ID", "The id of the last event that was received; those behind it follow."),
}
_STREAM_PARAMETERS = [
    {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, "example": PATH_EXAMPLES[name]}
    for name in ("project", "stream")
]
_STREAM_PATHS: dict[str, Any] = {  # of every stream, whatever began it
    "/api/projects/{project}/streams/{stream}": {
        "get": {
            "operationId": "streams.follow",
            "tags": ["streams"],
            "summary": "Go on with a stream behind an event, or from its beginning.",
            "parameters": [*_STREAM_PARAMETERS, {"$ref": "#/components/parameters/LastEventId"}],
            "responses": {
                "200": {"description": "The events.", "content": {EVENTS: {"schema": {"type": "string"}}}},
                "default": {"$ref": _PROBLEM},
            },
        },
        "delete": {
            "operationId": "streams.cancel",
            "tags": ["streams"],
            "summary": "Stop a stream.",
            "parameters": _STREAM_PARAMETERS,
            "responses": {"204": {"description": "Done."}, "default": {"$ref": _PROBLEM}},
        },
    }
}


def make_document(routes: Iterable[Route]) -> dict[str, Any]:
    """Make the OpenAPI document of routes."""
    routes = tuple(routes)
    kinds: dict[Any, None] = {Problem: None}
    for route in routes:
        kinds[route.request_type] = None
        if route.answer.kind is not None:
            kinds[route.answer.kind] = None
    ordered = tuple(kinds)
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    by_kind = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        readers = [one for one in routes if one.method == "GET" and one.path == route.path]
        operation = _describe_operation(route, by_kind, components, has_version=bool(readers))
        paths.setdefault(f"/api{route.path}", {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Fabula",
            "version": __version__,
            "description": "Keep everything about a story, and tell a model what it needs to know now.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {"session": []}],
        "paths": {**paths, **_STREAM_PATHS},
        "components": {
            "schemas": dict(sorted(components.items())),
            "parameters": {
                name: {"name": header, "in": "header", "description": text, "schema": {"type": "string"}}
                for name, (header, text) in _HEADERS.items()
            },
            "responses": {
                "Problem": {
                    "description": "A refusal with its code.",
                    "content": {MEDIA_TYPE: {"schema": by_kind[Problem]}},
                }
            },
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "fabula_session"},
            },
        },
    }


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
    media_type = EVENTS if route.stream else JSON
    return {"description": route.summary, "content": {media_type: {"schema": by_kind[route.answer.kind]}}}
