"""A page that shows the OpenAPI document to people: plain HTML without scripts, made here, so that it works offline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any

import msgspec

from fabula.core.version import __version__
from fabula.server.descriptions import name_type
from fabula.server.openapi import choose_path_example, make_document
from fabula.server.requests import JSON
from fabula.server.routes.route import Route

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { background: #f4f1ec; padding: 0.5rem 0.75rem; overflow-x: auto; }
summary { cursor: pointer; padding: 0.15rem 0; }
summary code:first-child { display: inline-block; min-width: 4.5em; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; }
dd { margin: 0; }
"""


def make_page(routes: Iterable[Route]) -> str:
    """Make the page of all routes, by subject."""
    ordered = sorted(routes, key=lambda one: one.subject)
    document = make_document(ordered)
    groups = [(subject, list(own)) for subject, own in groupby(ordered, key=lambda one: one.subject)]
    contents = " · ".join(f'<a href="#{escape(subject)}">{escape(subject)}</a>' for subject, _ in groups)
    sections = "".join(
        f'<h2 id="{escape(subject)}">{escape(subject)}</h2>' + "".join(_make_entry(one, document) for one in own)
        for subject, own in groups
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fabula API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/api/style.css"></head><body>'
        f"<h1>Fabula {escape(__version__)}</h1>"
        '<p>The same as data: <a href="/api/openapi.json">openapi.json</a>. '
        "Every request needs <code>Authorization: Bearer TOKEN</code>.</p>"
        f"<p>{contents}</p>{sections}</body></html>"
    )


def _make_entry(route: Route, document: Mapping[str, Any]) -> str:
    path = f"/api{route.path}"
    operation = document["paths"][path][route.method.lower()]
    for name in route.parameters:
        path = path.replace(f"{{{name}}}", choose_path_example(route, name))
    rows = "".join(
        f"<dt><code>{escape(name)}</code></dt><dd>{escape(name_type(schema))}{'' if is_required else ', optional'}</dd>"
        for name, schema, is_required in _list_fields(operation, document["components"]["schemas"])
    )
    example = f"{route.method} {path}"
    if route.example:
        example += "\n\n" + msgspec.json.format(msgspec.json.encode(route.example), indent=2).decode()
    return (
        f"<details><summary><code>{route.method}</code> <code>/api{escape(route.path)}</code> "
        f"{escape(operation['summary'])}</summary><p>{escape(operation['description']).replace('`', '')}</p>"
        f"<dl>{rows}</dl><pre>{escape(example)}</pre>{_show_answer(operation, document)}</details>"
    )


def _show_answer(operation: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """Show the example of an answer; of a stream, its events."""
    described = [one for status, one in operation["responses"].items() if status.isdecimal()]
    names = [name for one in described for body in one.get("content", {}).values() for name in body.get("examples", ())]
    values = (document["components"]["examples"][name]["value"] for name in names)
    shown = "\n\n".join(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() for value in values)
    return f"<p>The answer:</p><pre>{escape(shown)}</pre>" if shown else ""


def _list_fields(
    operation: Mapping[str, Any], schemas: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Return the fields of the query and of the body of an operation, and whether each is required."""
    for one in operation["parameters"]:
        if one.get("in") == "query":
            yield one["name"], one["schema"], one.get("required", False)
    body = operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("schema", {})
    fields = schemas[body["$ref"].rpartition("/")[2]] if "$ref" in body else body
    for name, schema in fields.get("properties", {}).items():
        yield name, schema, name in fields.get("required", ())
